"""Follows expressions: what a value is, and which marks it carries."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from twinrun.audit import calls, scope
from twinrun.audit.call import Arguments
from twinrun.audit.containers import at, element_of, put_in, spill, store
from twinrun.audit.definitions import Class, Function, FunctionNode
from twinrun.audit.marks import (
    ELEMENT,
    NONE,
    VALUE,
    Marks,
    as_name,
    as_value,
    by_position,
    without_collection_order,
    without_order,
)
from twinrun.audit.names import canonical
from twinrun.audit.outside import set_iterated
from twinrun.audit.values import MISSING, Thing, constant, join, plain, total
from twinrun.audit.world import Frame, UnorderedLoop, World

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


# -- displays and comprehensions ----------------------------------------------------------------------


def _sequence(world: World, frame: Frame, node: ast.List | ast.Tuple) -> Thing:
    made = Thing("list" if isinstance(node, ast.List) else "tuple", items=[])
    spread = False
    for element in node.elts:
        if isinstance(element, ast.Starred):
            spread = True
            put_in(made, element_met(world, frame, element, evaluate(world, frame, element.value)))
        else:
            put_in(made, evaluate(world, frame, element))
    if spread:
        spill(made)
    return made


def _set(world: World, frame: Frame, node: ast.Set) -> Thing:
    made = Thing("set", items=[])
    for element in node.elts:
        put_in(made, evaluate(world, frame, element))
    return made


def _dict(world: World, frame: Frame, node: ast.Dict) -> Thing:
    made = Thing("dict")
    for key, value in zip(node.keys, node.values, strict=True):
        held = evaluate(world, frame, value)
        if key is not None:
            store(made, evaluate(world, frame, key), held)
            continue
        for each in held.each():
            made.marks |= each.marks
            for name, inner in (each.attributes or {}).items():
                made.set_attribute(name, inner)
            if each.element is not None:
                made.element = each.element
    return made


def _comprehension(
    world: World, frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> Thing:
    conditions: Marks = NONE
    outer_names, loops = dict(frame.names), len(world.loops)
    for generator in node.generators:
        iterable = evaluate(world, frame, generator.iter)
        element = element_met(world, frame, generator.iter, iterable)
        unordered = frozenset(origin for origin, mode in total(element) if mode == ELEMENT)
        if unordered:
            world.loops.append(UnorderedLoop(unordered))
        assign(world, frame, generator.target, element)
        for test in generator.ifs:
            conditions |= without_order(total(evaluate(world, frame, test)))
    made: Thing
    world.repeats.append([])
    if isinstance(node, ast.DictComp):
        made = Thing("dict")
        key = evaluate(world, frame, node.key)
        store(made, key, evaluate(world, frame, node.value))
        made.element = join(t for t in (made.element, *(made.attributes or {}).values()) if t is not None)
        made.attributes = None
    else:
        value = evaluate(world, frame, node.elt)
        made = Thing("set" if isinstance(node, ast.SetComp) else "list", numeric=value.numeric, items=[])
        put_in(made, value)
        spill(made)
    made.marks |= conditions
    world.repeats.pop()
    del world.loops[loops:]
    frame.names = outer_names
    return made


# -- operators ----------------------------------------------------------------------------------------


def _binary(world: World, frame: Frame, node: ast.BinOp) -> Thing:
    left, right = evaluate(world, frame, node.left), evaluate(world, frame, node.right)
    if isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)) and _is_set(left, right):
        return Thing("set", without_order(total(left) | total(right)), numeric=left.numeric and right.numeric)
    if isinstance(node.op, ast.Add) and left.kind == right.kind and left.kind in ("list", "tuple"):
        made = Thing(left.kind, left.marks | right.marks, numeric=left.numeric and right.numeric)
        if left.items is not None and right.items is not None:
            made.items = [*left.items, *right.items]
        else:
            made.element = join((element_of(left), element_of(right)))
        return made
    if isinstance(node.op, ast.Mult) and left.kind in ("list", "tuple"):
        return Thing(left.kind, left.marks, element=element_of(left), numeric=left.numeric)
    if isinstance(left.constant, str) or isinstance(right.constant, str) or _is_path(left):
        path = left.path if _is_path(left) else ""
        return Thing("object" if path else "plain", as_name(total(left) | total(right)), path=path)
    path = left.path if left.kind == "object" else right.path if right.kind == "object" else ""
    return Thing(
        "object" if path else "plain",
        total(left) | total(right),
        path=path,
        numeric=left.numeric and right.numeric,
    )


def _is_path(thing: Thing) -> bool:
    return thing.kind == "object" and thing.path.startswith("pathlib.")


def _is_set(left: Thing, right: Thing) -> bool:
    return any(each.kind == "set" for thing in (left, right) for each in thing.each())


def _unary(world: World, frame: Frame, node: ast.UnaryOp) -> Thing:
    operand = evaluate(world, frame, node.operand)
    if isinstance(node.op, ast.Not):
        decided = truth(operand)
        if decided is not None:
            return constant(not decided)
        return plain(without_collection_order(total(operand)), numeric=True)
    if isinstance(node.op, ast.USub) and isinstance(operand.constant, (int, float)):
        return constant(-operand.constant)
    return plain(total(operand), numeric=operand.numeric)


def _boolean(world: World, frame: Frame, node: ast.BoolOp) -> Thing:
    """`a or b`: the operands that may be the answer."""
    stop = isinstance(node.op, ast.Or)
    possible: list[Thing] = []
    for operand in node.values:
        value = evaluate(world, frame, operand)
        decided = truth(value)
        if decided is None or decided is stop:
            possible.append(value)
        if decided is stop:
            break
    else:
        if not possible or possible[-1] is not value:
            possible.append(value)
    return join(possible)


def _compare(world: World, frame: Frame, node: ast.Compare) -> Thing:
    left = evaluate(world, frame, node.left)
    rights = [evaluate(world, frame, each) for each in node.comparators]
    if len(rights) == 1:
        decided = _decided(node.ops[0], left, rights[0])
        if decided is not None:
            return constant(decided)
    marks = NONE.union(total(left), *(total(right) for right in rights))
    return plain(without_collection_order(marks), numeric=True)


_ORDERINGS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _decided(op: ast.cmpop, left: Thing, right: Thing) -> bool | None:
    if isinstance(op, (ast.Is, ast.IsNot)) and right.constant is None:
        same: bool | None = None
        if left.constant is not MISSING:
            same = left.constant is None
        elif left.sure or left.kind not in ("plain", "either", "member"):
            same = False
        return same if same is None or isinstance(op, ast.Is) else not same
    if left.constant is MISSING or right.constant is MISSING:
        return None
    if isinstance(op, (ast.Eq, ast.NotEq)):
        same = bool(left.constant == right.constant)
        return same if isinstance(op, ast.Eq) else not same
    compare = _ORDERINGS.get(type(op))
    if compare is not None and all(isinstance(each.constant, (int, float)) for each in (left, right)):
        return bool(compare(left.constant, right.constant))
    return None


def _conditional(world: World, frame: Frame, node: ast.IfExp) -> Thing:
    condition = evaluate(world, frame, node.test)
    decided = truth(condition)
    if decided is not None:
        return evaluate(world, frame, node.body if decided else node.orelse)
    marks = without_order(total(condition))
    with world.controlled(marks):
        chosen = join([evaluate(world, frame, node.body), evaluate(world, frame, node.orelse)])
    return chosen.marked(marks)


def _text(world: World, frame: Frame, node: ast.JoinedStr) -> Thing:
    marks: Marks = NONE
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            marks |= total(evaluate(world, frame, part.value))
    return plain(as_name(marks) if len(node.values) > 1 else marks)


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
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.JoinedStr: _text,
    ast.NamedExpr: _walrus,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Await: _inner,
    ast.Starred: _inner,
    ast.Lambda: _lambda,
}
