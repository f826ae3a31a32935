"""Names and imports: what a name means where it is read, and which module an import brings in."""

from __future__ import annotations

import ast
import builtins

from twinrun.audit import interpret
from twinrun.audit.names import absolute, canonical, root
from twinrun.audit.program import Module
from twinrun.audit.values import Thing, constant, plain
from twinrun.audit.world import Frame, World

_BUILTINS = frozenset(dir(builtins))
_STAR = "*"


def lookup(world: World, frame: Frame, name: str) -> Thing:
    """The value of a name, looked for from the inside out."""
    scope: Frame | None = frame
    while scope is not None:
        found = scope.names.get(name)
        if found is not None:
            if found.kind == "lazy":
                del scope.names[name]  # a package that imports from itself means its submodule
                found = scope.names[name] = _force(world, found)
            return found
        scope = scope.outer
    if name in _BUILTINS:
        return Thing("external", path=f"builtins.{name}")
    star = _module_frame_of(frame).names.get(_STAR)
    if star is not None:
        return Thing("external", path=canonical(f"{star.path}.{name}"))
    return plain()


def bind(frame: Frame, name: str, value: Thing) -> None:
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


def module_frame(world: World, module: Module) -> Frame:
    """The names of one of the program's modules; it is executed the first time somebody needs them."""
    frame = world.modules.get(id(module))
    if frame is None:
        frame = Frame(module, {})
        frame.names["__name__"] = constant("__main__" if module is world.entry else module.name)
        frame.names["__file__"] = plain()
        world.modules[id(module)] = frame
        root, world.root = world.root, 0
        interpret.run_module(world, frame)
        world.root = root
    return frame


def module_attribute(world: World, module: Module, name: str) -> Thing:
    """`module.name`, or the submodule of that name."""
    frame = module_frame(world, module)
    found = frame.names.get(name)
    if found is not None:
        return lookup(world, frame, name)
    inside = own_module(world, f"{module.name}.{name}")
    if inside is not None:
        return inside
    star = frame.names.get(_STAR)
    if star is not None:
        return Thing("external", path=canonical(f"{star.path}.{name}"))
    return plain()


def own_module(world: World, dotted: str) -> Thing | None:
    """One of the program's own modules as a value, executed now unless importing it only defines things."""
    module = world.sources.find(dotted, world.roots)
    if module is None:
        if dotted and world.sources.is_folder(dotted, world.roots):
            return Thing("namespace", path=dotted)
        return None
    parent = dotted.rpartition(".")[0]
    if parent:
        own_module(world, parent)
    if id(module) not in world.modules and not world.sources.is_quiet(module, world.roots):
        module_frame(world, module)
    return Thing("module", ref=module, path=dotted)


def _force(world: World, lazy: Thing) -> Thing:
    module, name = lazy.ref
    return module_attribute(world, module, name)


# -- import statements --------------------------------------------------------------------------------


def run_import(world: World, frame: Frame, node: ast.Import) -> None:
    for alias in node.names:
        own = own_module(world, alias.name)
        if alias.asname:
            bind(frame, alias.asname, own or Thing("external", path=canonical(alias.name)))
            continue
        top = root(alias.name)
        own_top = own_module(world, top) if own is not None else None
        bind(frame, top, own_top or Thing("external", path=canonical(top)))


def run_import_from(world: World, frame: Frame, node: ast.ImportFrom) -> None:
    base = absolute(frame.module.package, node.module, node.level)
    own = own_module(world, base) if base else None
    for alias in node.names:
        if alias.name == "*":
            _import_star(world, frame, base, own)
            continue
        bound = alias.asname or alias.name
        if own is not None and own.kind == "module":
            if world.sources.is_quiet(own.ref, world.roots):
                bind(frame, bound, Thing("lazy", ref=(own.ref, alias.name)))
            else:
                bind(frame, bound, module_attribute(world, own.ref, alias.name))
            continue
        dotted = f"{base}.{alias.name}" if base else alias.name
        bind(frame, bound, own_module(world, dotted) or Thing("external", path=canonical(dotted)))


def _import_star(world: World, frame: Frame, base: str, own: Thing | None) -> None:
    if own is None or own.kind != "module":
        frame.names[_STAR] = Thing("external", path=canonical(base))
        return
    source = module_frame(world, own.ref)
    for name in list(source.names):
        if not name.startswith("_"):
            bind(frame, name, lookup(world, source, name) if name != _STAR else source.names[name])
