"""Follows expressions: what a value is, and which marks it carries."""

from __future__ import annotations

import ast

from twinrun.knowledge.functions import canonical
from twinrun.source_audit import scopes
from twinrun.source_audit.abstract_values import MISSING, Arguments, Value, constant, join, plain, total
from twinrun.source_audit.containers import at, disorder, element_of, spill, store
from twinrun.source_audit.definitions import Class, Function, FunctionNode
from twinrun.source_audit.function_calls import call_value, enter, enter_unknown
from twinrun.source_audit.marks import ELEMENT, NONE, VALUE, as_value, by_position
from twinrun.source_audit.state import Frame, Syntax

# Facts about a value's form, not its content: they do not vary when the content does.
_FORM = frozenset({"shape", "dtype", "ndim", "itemsize", "rank", "element_spec"})


def truth(value: Value) -> bool | None:
    """What a condition comes to, when constants decide it."""
    if value.constant is not MISSING:
        return bool(value.constant)
    return True if value.sure == "true" else None


def iterate(frame: Frame, node: ast.AST, iterable: Value) -> Value:
    """One element of what is iterated over here; iterating over a set brings in its order."""
    if iterable.may_be("instance"):
        iterable = join(_own_elements(frame, node, each) for each in iterable.each())
    if iterable.may_be("dataset"):
        frame.state.iterated.update(origin for origin, mode in iterable.marks if mode != VALUE)
    element = element_of(iterable)
    # Numbers hash to themselves: a set of them has the same order in every process.
    unordered = any(each.kind == "set" and not each.is_numeric for each in iterable.each())
    if frame.state.hash_seed_works or not unordered:
        return element
    what = ast.unparse(node)[:60] if isinstance(node, ast.expr) else ""
    return element.marked(frozenset({(frame.state.origin("TW301", frame, node, what), ELEMENT)}))


def _own_elements(frame: Frame, node: ast.AST, value: Value) -> Value:
    """What iterating over an instance of a class of the program gives."""
    if value.kind != "instance":
        return value
    for name in ("__iter__", "__next__", "__getitem__"):
        method = value.ref.method(name, value)
        if method is None:
            continue
        result = enter_unknown(frame, node, method)
        if name != "__iter__":
            return Value("generator", element=result)
        if all(each is not value for each in result.each()):
            return result
    return value


# -- assignment ---------------------------------------------------------------------------------------


def assign(frame: Frame, target: ast.expr, value: Value) -> None:
    """Bind a target; under a condition, the value also depends on the condition."""
    value = value.marked(frame.state.control)
    if isinstance(target, ast.Name):
        scopes.bind(frame, target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(frame, target.elts, value)
    elif isinstance(target, ast.Starred):
        assign(frame, target.value, Value("list", value.marks, element=element_of(value)))
    elif isinstance(target, ast.Attribute):
        for holder in frame.evaluate(target.value).each():
            holder.set_attribute(target.attr, value)
    elif isinstance(target, ast.Subscript):
        holder = frame.evaluate(target.value)
        if isinstance(target.slice, ast.Slice):
            disorder(holder, total(value))
        else:
            store(holder, frame.evaluate(target.slice), value)


def _unpack(frame: Frame, targets: list[ast.expr], value: Value) -> None:
    items = _items_of(value, len(targets))
    exact = items is not None and len(items) == len(targets)
    if exact and not any(isinstance(target, ast.Starred) for target in targets):
        for target, item in zip(targets, items or (), strict=True):
            assign(frame, target, item.marked(by_position(value.marks)))
        return
    whole = value if value.kind == "plain" else element_of(value)
    for target in targets:
        part = whole.marked(value.marks)
        if part is value and value.constant is not MISSING:
            part = plain(value.marks, numeric=value.numeric)
        assign(frame, target, part if len(targets) == 1 else part.copied())


def _items_of(value: Value, count: int) -> list[Value] | None:
    """The items that a value is unpacked into, also when it is one of several tuples of that length."""
    if not value.alternatives:
        return value.items
    rows = [each.items for each in value.alternatives]
    if any(row is None or len(row) != count for row in rows):
        return None
    return [join(row[place].marked(value.marks) for row in rows if row is not None) for place in range(count)]


# -- leaves -------------------------------------------------------------------------------------------


def _name(frame: Frame, node: ast.Name) -> Value:
    found = scopes.lookup(frame, node.id)
    if found.kind == "function":
        frame.state.loaded.add(id(found.ref.node))
    for loop in frame.state.loops:
        if node.id in loop.counters:
            found = found.marked(frozenset((origin, VALUE) for origin in loop.origins))
    return found


def attribute(frame: Frame, node: ast.AST, holder: Value, name: str) -> Value:
    """`holder.name`."""
    if holder.alternatives:
        return join(attribute(frame, node, each, name) for each in holder.alternatives)
    known = holder.attribute(name) if holder.kind != "dict" else None
    if known is not None:
        return known.marked(holder.marks)
    if holder.kind == "external":
        return Value("external", path=canonical(f"{holder.path}.{name}"))
    if holder.kind == "module":
        return scopes.module_attribute(frame.state, holder.ref, name)
    if holder.kind == "namespace":
        return scopes.own_module(frame.state, f"{holder.path}.{name}") or plain()
    if holder.kind in ("instance", "class", "super"):
        return _class_attribute(frame, node, holder, name)
    if name in _FORM:
        return plain(numeric=name in ("shape", "ndim"))
    return Value("member", holder.marks, path=name, bound=holder, numeric=holder.numeric)


def _class_attribute(frame: Frame, node: ast.AST, holder: Value, name: str) -> Value:
    made: Class
    made, after = holder.ref if holder.kind == "super" else (holder.ref, None)
    found = made.find(name, after)
    if found is None:
        marks = total(holder) if name.endswith(("weights", "variables", "layers")) else holder.marks
        return Value("member", marks, path=name, bound=holder)
    if found.kind != "function" or holder.kind == "class":
        return found.marked(holder.marks)
    function: Function = found.ref
    if function.is_static:
        return found
    receiver = holder.bound if holder.kind == "super" and holder.bound else holder
    bound = Value("function", holder.marks, ref=function, bound=receiver)
    return enter(frame, node, bound, Arguments()) if function.is_property else bound


def _subscript(frame: Frame, node: ast.Subscript) -> Value:
    holder = frame.evaluate(node.value)
    if isinstance(node.slice, ast.Slice):
        return _sliced(frame, node.slice, holder)
    key = frame.evaluate(node.slice)
    if holder.kind == "external":  # a type annotation such as list[int], or os.environ["X"]
        return plain(numeric=False)
    return join(at(each, key) for each in holder.each())


def _sliced(frame: Frame, node: ast.Slice, holder: Value) -> Value:
    """A slice with bounds picks by position: of an order that varies, other elements each time."""
    bounds = [frame.evaluate(part) for part in (node.lower, node.upper) if part is not None]
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


def _call(frame: Frame, node: ast.Call) -> Value:
    """Evaluate the callee and the arguments, then call."""
    callee = frame.evaluate(node.func)
    given = Arguments()
    for argument in node.args:
        value = frame.evaluate(argument)
        if not isinstance(argument, ast.Starred):
            given.args.append(value)
        elif value.items is not None:
            given.args.extend(item.marked(value.marks) for item in value.items)
        else:
            given.open = True
            given.args.append(iterate(frame, argument, value))
    for keyword in node.keywords:
        value = frame.evaluate(keyword.value)
        if keyword.arg is not None:
            given.keywords[keyword.arg] = value
            continue
        held = (value.attributes or {}).items()
        given.keywords.update({name: inner for name, inner in held if isinstance(name, str)})
        given.spread |= total(value)
        given.open = given.open or value.kind != "dict" or value.element is not None
    return call_value(frame, node, callee, given)


def _walrus(frame: Frame, node: ast.NamedExpr) -> Value:
    value = frame.evaluate(node.value)
    assign(frame, node.target, value)
    return value


def _yield(frame: Frame, node: ast.Yield) -> Value:
    value = frame.evaluate(node.value) if node.value is not None else plain()
    frame.yielded.append(value.marked(frame.state.control))
    return plain()


def _yield_from(frame: Frame, node: ast.YieldFrom) -> Value:
    frame.yielded.append(iterate(frame, node, frame.evaluate(node.value)))
    return plain()


# -- functions ----------------------------------------------------------------------------------------


def function_value(frame: Frame, node: FunctionNode) -> Value:
    """The function as a value; its defaults are evaluated here, once, as Python does."""
    made = Function(node, getattr(node, "name", "lambda"), frame, {})
    with_defaults = [
        *zip(reversed(made.positional), reversed(node.args.defaults), strict=False),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    for parameter, default in with_defaults:
        if default is not None:
            made.defaults[parameter.arg] = frame.evaluate(default)
    frame.state.functions.setdefault(id(frame.module), {})[id(node)] = made
    return Value("function", ref=made, created=frame.state.clock)


def call_decorators(frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef, function: Value) -> Value:
    """A decorator of the program's own is called; one from elsewhere is taken to return the function."""
    names: list[str] = []
    result = function
    for decorator in reversed(node.decorator_list):
        value = frame.evaluate(decorator)
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        names.append(value.path or (target.attr if isinstance(target, ast.Attribute) else ""))
        if value.kind == "function":
            wrapped = enter(frame, decorator, value, Arguments([result]))
            if wrapped.kind == "function":
                result = wrapped
    function.ref.decorators = tuple(names)
    return result


EXPRESSIONS: Syntax = {
    ast.Constant: lambda frame, node: constant(node.value),
    ast.Name: _name,
    ast.Attribute: lambda frame, node: attribute(frame, node, frame.evaluate(node.value), node.attr),
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.NamedExpr: _walrus,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Await: lambda frame, node: frame.evaluate(node.value),
    ast.Starred: lambda frame, node: frame.evaluate(node.value),
    ast.Lambda: function_value,
}
