"""Follows expressions: what a value is, and which marks it carries."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from twinrun.audit import calls, displays, operators, scope
from twinrun.audit.call import Arguments
from twinrun.audit.containers import at, element_of, spill, store
from twinrun.audit.definitions import Class, Function, FunctionNode
from twinrun.audit.marks import (
    ELEMENT,
    NONE,
    VALUE,
    as_value,
    by_position,
)
from twinrun.audit.names import canonical
from twinrun.audit.outside import set_iterated
from twinrun.audit.values import MISSING, Thing, constant, join, plain, total
from twinrun.audit.world import Frame, World

# Facts about a value's form, not its content: they do not vary when the content does.
_FORM = frozenset({"shape", "dtype", "ndim", "itemsize", "rank", "element_spec"})


def evaluate(world: World, frame: Frame, node: ast.expr) -> Thing:
    """The value of an expression."""
    world.work += 1
    handler = _EXPRESSIONS.get(type(node))
    return handler(world, frame, node) if handler is not None else plain()


def truth(thing: Thing) -> bool | None:
    """What a condition comes to, when constants decide it."""
    if thing.constant is not MISSING:
        return bool(thing.constant)
    return True if thing.sure == "true" else None


def element_met(world: World, frame: Frame, node: ast.AST, iterable: Thing) -> Thing:
    """One element of what is gone through here; going through a set brings in its order."""
    if any(each.kind == "instance" for each in iterable.each()):
        iterable = join(_own_elements(world, frame, node, each) for each in iterable.each())
    if any(each.kind == "dataset" for each in iterable.each()):
        world.gone_through.update(origin for origin, mode in iterable.marks if mode != VALUE)
    marks = set_iterated(world, frame, node, iterable)
    return element_of(iterable).marked(frozenset((origin, ELEMENT) for origin, _ in marks))


def _own_elements(world: World, frame: Frame, node: ast.AST, thing: Thing) -> Thing:
    """What an instance of the program's own gives when it is gone through."""
    if thing.kind != "instance":
        return thing
    for name in ("__iter__", "__next__", "__getitem__"):
        method = thing.ref.find(name)
        if method is None or method.kind != "function":
            continue
        result = calls.enter_unknown(world, frame, node, Thing("function", ref=method.ref, bound=thing))
        if name != "__iter__":
            return Thing("generator", element=result)
        if all(each is not thing for each in result.each()):
            return result
    return thing


# -- assignment ---------------------------------------------------------------------------------------


def assign(world: World, frame: Frame, target: ast.expr, value: Thing) -> None:
    """Bind a target; under a condition, the value also depends on the condition."""
    if world.control:
        value = value.marked(world.control)
    if isinstance(target, ast.Name):
        scope.bind(frame, target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(world, frame, target.elts, value)
    elif isinstance(target, ast.Starred):
        assign(world, frame, target.value, Thing("list", value.marks, element=element_of(value)))
    elif isinstance(target, ast.Attribute):
        for holder in evaluate(world, frame, target.value).each():
            holder.set_attribute(target.attr, value)
    elif isinstance(target, ast.Subscript):
        holder = evaluate(world, frame, target.value)
        if isinstance(target.slice, ast.Slice):
            for each in holder.each():
                spill(each)
            holder.mark(total(value))
        else:
            store(holder, evaluate(world, frame, target.slice), value)


def _unpack(world: World, frame: Frame, targets: list[ast.expr], value: Thing) -> None:
    items = _items_of(value, len(targets))
    exact = items is not None and len(items) == len(targets)
    if exact and not any(isinstance(target, ast.Starred) for target in targets):
        for target, item in zip(targets, items or (), strict=True):
            assign(world, frame, target, item.marked(by_position(value.marks)) if value.marks else item)
        return
    whole = value if value.kind == "plain" else element_of(value)
    for target in targets:
        part = whole.marked(value.marks)
        if part is value and value.constant is not MISSING:
            part = plain(value.marks, numeric=value.numeric)
        assign(world, frame, target, part if len(targets) == 1 else part.copied())


def _items_of(value: Thing, count: int) -> list[Thing] | None:
    """The items that a value is unpacked into, also when it is one of several tuples of that length."""
    if not value.alternatives:
        return value.items
    rows = [each.items for each in value.alternatives]
    if any(row is None or len(row) != count for row in rows):
        return None
    return [join(row[place].marked(value.marks) for row in rows if row is not None) for place in range(count)]


# -- leaves -------------------------------------------------------------------------------------------


def _constant(world: World, frame: Frame, node: ast.Constant) -> Thing:
    return constant(node.value)


def _name(world: World, frame: Frame, node: ast.Name) -> Thing:
    found = scope.lookup(world, frame, node.id)
    if found.kind == "function":
        world.loaded.add(id(found.ref.node))
    for loop in world.loops:
        if node.id in loop.counters:
            found = found.marked(as_value(frozenset((origin, ELEMENT) for origin in loop.origins)))
    return found


def _attribute(world: World, frame: Frame, node: ast.Attribute) -> Thing:
    holder = evaluate(world, frame, node.value)
    return attribute(world, frame, node, holder, node.attr)


def attribute(world: World, frame: Frame, node: ast.AST, holder: Thing, name: str) -> Thing:
    """`holder.name`."""
    if holder.alternatives:
        return join(attribute(world, frame, node, each, name) for each in holder.alternatives)
    known = holder.attribute(name) if holder.kind != "dict" else None
    if known is not None:
        return known.marked(holder.marks)
    if holder.kind == "external":
        return Thing("external", path=canonical(f"{holder.path}.{name}"))
    if holder.kind == "module":
        return scope.module_attribute(world, holder.ref, name)
    if holder.kind == "namespace":
        return scope.own_module(world, f"{holder.path}.{name}") or plain()
    if holder.kind in ("instance", "class", "super"):
        return _class_attribute(world, frame, node, holder, name)
    if name in _FORM:
        return plain(numeric=name in ("shape", "ndim"))
    return Thing("member", holder.marks, path=name, bound=holder, numeric=holder.numeric)


def _class_attribute(world: World, frame: Frame, node: ast.AST, holder: Thing, name: str) -> Thing:
    made: Class
    made, after = holder.ref if holder.kind == "super" else (holder.ref, None)
    found = made.find(name, after)
    if found is None:
        marks = total(holder) if name.endswith(("weights", "variables", "layers")) else holder.marks
        return Thing("member", marks, path=name, bound=holder)
    if found.kind != "function" or holder.kind == "class":
        return found.marked(holder.marks)
    function: Function = found.ref
    if function.is_static:
        return found
    receiver = holder.bound if holder.kind == "super" and holder.bound else holder
    bound = Thing("function", holder.marks, ref=function, bound=receiver)
    return calls.enter(world, frame, node, bound, Arguments()) if function.is_property else bound


def _subscript(world: World, frame: Frame, node: ast.Subscript) -> Thing:
    holder = evaluate(world, frame, node.value)
    if isinstance(node.slice, ast.Slice):
        return _sliced(world, frame, node.slice, holder)
    key = evaluate(world, frame, node.slice)
    if holder.kind == "external":  # a type annotation such as list[int], or os.environ["X"]
        return plain(numeric=False)
    return join(at(each, key) for each in holder.each())


def _sliced(world: World, frame: Frame, node: ast.Slice, holder: Thing) -> Thing:
    """A slice with bounds picks by position: of an order that varies, other elements each time."""
    bounds = [evaluate(world, frame, part) for part in (node.lower, node.upper) if part is not None]
    part = holder.copied()
    part.alternatives, part.constant = (), MISSING
    if holder.alternatives:
        part.kind = "plain"
    if part.items is not None:
        spill(part)
    part.marks = holder.marks | NONE.union(*(total(bound) for bound in bounds))
    if bounds:
        part.marks = as_value(part.marks)
    return part


def _walrus(world: World, frame: Frame, node: ast.NamedExpr) -> Thing:
    value = evaluate(world, frame, node.value)
    assign(world, frame, node.target, value)
    return value


def _yield(world: World, frame: Frame, node: ast.Yield) -> Thing:
    value = evaluate(world, frame, node.value) if node.value is not None else plain()
    frame.yielded.append(value.marked(world.control) if world.control else value)
    return plain()


def _yield_from(world: World, frame: Frame, node: ast.YieldFrom) -> Thing:
    frame.yielded.append(element_met(world, frame, node, evaluate(world, frame, node.value)))
    return plain()


def _inner(world: World, frame: Frame, node: ast.Await | ast.Starred) -> Thing:
    return evaluate(world, frame, node.value)


# -- functions ----------------------------------------------------------------------------------------


def function_value(world: World, frame: Frame, node: FunctionNode) -> Thing:
    """The function as a value; its defaults are evaluated here, once, as Python does."""
    arguments = node.args
    defaults: dict[str, Thing] = {}
    positional = [*arguments.posonlyargs, *arguments.args]
    for parameter, default in zip(reversed(positional), reversed(arguments.defaults), strict=False):
        defaults[parameter.arg] = evaluate(world, frame, default)
    for parameter, keyword_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if keyword_default is not None:
            defaults[parameter.arg] = evaluate(world, frame, keyword_default)
    made = Function(node, getattr(node, "name", "lambda"), frame, defaults)
    world.functions.setdefault(id(frame.module), {})[id(node)] = made
    return Thing("function", ref=made, born=world.clock)


def call_decorators(
    world: World, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef, thing: Thing
) -> Thing:
    """A decorator of the program's own is called; one from elsewhere is taken to hand the function back."""
    names: list[str] = []
    result = thing
    for decorator in reversed(node.decorator_list):
        value = evaluate(world, frame, decorator)
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        names.append(value.path or (target.attr if isinstance(target, ast.Attribute) else ""))
        if value.kind == "function":
            wrapped = calls.enter(world, frame, decorator, value, Arguments([result]))
            if wrapped.kind == "function":
                result = wrapped
    thing.ref.decorators = tuple(names)
    return result


def _lambda(world: World, frame: Frame, node: ast.Lambda) -> Thing:
    return function_value(world, frame, node)


def _call(world: World, frame: Frame, node: ast.Call) -> Thing:
    return calls.call(world, frame, node)


_EXPRESSIONS: dict[type[ast.expr], Callable[[World, Frame, Any], Thing]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.List: displays.sequence_value,
    ast.Tuple: displays.sequence_value,
    ast.Set: displays.set_value,
    ast.Dict: displays.dict_value,
    ast.ListComp: displays.comprehension_value,
    ast.SetComp: displays.comprehension_value,
    ast.GeneratorExp: displays.comprehension_value,
    ast.DictComp: displays.comprehension_value,
    ast.BinOp: operators.binary_value,
    ast.UnaryOp: operators.unary_value,
    ast.BoolOp: operators.boolean_value,
    ast.Compare: operators.compare_value,
    ast.IfExp: operators.conditional_value,
    ast.JoinedStr: operators.text_value,
    ast.NamedExpr: _walrus,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Await: _inner,
    ast.Starred: _inner,
    ast.Lambda: _lambda,
}
