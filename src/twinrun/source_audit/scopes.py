"""Names and imports: what a name means where it is read, and which module an import brings in."""

from __future__ import annotations

import ast
import builtins

from twinrun.knowledge.functions import canonical, root
from twinrun.source_audit.abstract_values import Value, constant, plain
from twinrun.source_audit.program_files import Module, absolute
from twinrun.source_audit.state import Frame, State

_BUILTINS = frozenset(dir(builtins))
_STAR = "*"


def lookup(frame: Frame, name: str) -> Value:
    """The value of a name, looked for from the inside out."""
    scope: Frame | None = frame
    while scope is not None:
        found = scope.names.get(name)
        if found is not None:
            if found.kind == "lazy":
                del scope.names[name]  # a package that imports from itself means its submodule
                found = scope.names[name] = module_attribute(frame.state, *found.ref)
            return found
        scope = scope.outer
    if name in _BUILTINS:
        return Value("external", path=f"builtins.{name}")
    return _from_star(_module_frame_of(frame), name)


def _from_star(frame: Frame, name: str) -> Value:
    """A name that `from library import *` may have brought in."""
    star = frame.names.get(_STAR)
    return plain() if star is None else _external(f"{star.path}.{name}")


def _external(dotted: str) -> Value:
    return Value("external", path=canonical(dotted))


def bind(frame: Frame, name: str, value: Value) -> None:
    """Bind a name where Python would bind it."""
    if name in frame.declared_global:
        _module_frame_of(frame).names[name] = value
        return
    if name in frame.declared_outer:
        scope = frame.outer
        while scope is not None:
            if name in scope.names:
                scope.names[name] = value
                return
            scope = scope.outer
    frame.names[name] = value


def _module_frame_of(frame: Frame) -> Frame:
    while frame.outer is not None:
        frame = frame.outer
    return frame


# -- modules ------------------------------------------------------------------------------------------


def module_frame(state: State, module: Module) -> Frame:
    """The names of one of the program's modules; it is executed the first time somebody needs them."""
    frame = state.modules.get(id(module))
    if frame is None:
        name = constant("__main__" if module is state.entry else module.name)
        frame = state.modules[id(module)] = Frame(state, module, {"__name__": name, "__file__": plain()})
        with state.during(root=0):
            frame.execute(module.tree.body)
    return frame


def module_attribute(state: State, module: Module, name: str) -> Value:
    """`module.name`, or the submodule of that name."""
    frame = module_frame(state, module)
    if name in frame.names:
        return lookup(frame, name)
    return own_module(state, f"{module.name}.{name}") or _from_star(frame, name)


def own_module(state: State, dotted: str) -> Value | None:
    """One of the program's own modules as a value, executed now unless importing it only defines things."""
    module = state.sources.find(dotted, state.roots)
    if module is None:
        if dotted and state.sources.is_folder(dotted, state.roots):
            return Value("namespace", path=dotted)
        return None
    parent = dotted.rpartition(".")[0]
    if parent:
        own_module(state, parent)
    if id(module) not in state.modules and not state.sources.is_quiet(module, state.roots):
        module_frame(state, module)
    return Value("module", ref=module, path=dotted)


# -- import statements --------------------------------------------------------------------------------


def run_import(frame: Frame, node: ast.Import) -> None:
    for alias in node.names:
        own = own_module(frame.state, alias.name)
        if alias.asname:
            bind(frame, alias.asname, own or _external(alias.name))
            continue
        top = root(alias.name)
        own_top = own_module(frame.state, top) if own is not None else None
        bind(frame, top, own_top or _external(top))


def run_import_from(frame: Frame, node: ast.ImportFrom) -> None:
    base = absolute(frame.module.package, node.module, node.level)
    own = own_module(frame.state, base) if base else None
    for alias in node.names:
        if alias.name == "*":
            _import_star(frame, base, own)
            continue
        bound = alias.asname or alias.name
        if own is not None and own.kind == "module":
            if frame.state.sources.is_quiet(own.ref, frame.state.roots):
                bind(frame, bound, Value("lazy", ref=(own.ref, alias.name)))
            else:
                bind(frame, bound, module_attribute(frame.state, own.ref, alias.name))
            continue
        dotted = f"{base}.{alias.name}" if base else alias.name
        bind(frame, bound, own_module(frame.state, dotted) or _external(dotted))


def _import_star(frame: Frame, base: str, own: Value | None) -> None:
    if own is None or own.kind != "module":
        frame.names[_STAR] = _external(base)
        return
    source = module_frame(frame.state, own.ref)
    for name in list(source.names):
        if not name.startswith("_"):
            bind(frame, name, lookup(source, name) if name != _STAR else source.names[name])
