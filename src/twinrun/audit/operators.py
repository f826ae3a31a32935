"""Operators, comparisons, conditions and formatted text: what they come to, and the marks of the result."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from twinrun.audit import expressions
from twinrun.audit.containers import element_of
from twinrun.audit.marks import NONE, Marks, as_name, without_collection_order, without_order
from twinrun.audit.values import MISSING, Thing, constant, join, plain, total
from twinrun.audit.world import Frame, World


def binary_value(world: World, frame: Frame, node: ast.BinOp) -> Thing:
    left, right = (
        expressions.evaluate(world, frame, node.left),
        expressions.evaluate(world, frame, node.right),
    )
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


def unary_value(world: World, frame: Frame, node: ast.UnaryOp) -> Thing:
    operand = expressions.evaluate(world, frame, node.operand)
    if isinstance(node.op, ast.Not):
        decided = expressions.truth(operand)
        if decided is not None:
            return constant(not decided)
        return plain(without_collection_order(total(operand)), numeric=True)
    if isinstance(node.op, ast.USub) and isinstance(operand.constant, (int, float)):
        return constant(-operand.constant)
    return plain(total(operand), numeric=operand.numeric)


def boolean_value(world: World, frame: Frame, node: ast.BoolOp) -> Thing:
    """`a or b`: the operands that may be the answer."""
    stop = isinstance(node.op, ast.Or)
    possible: list[Thing] = []
    for operand in node.values:
        value = expressions.evaluate(world, frame, operand)
        decided = expressions.truth(value)
        if decided is None or decided is stop:
            possible.append(value)
        if decided is stop:
            break
    else:
        if not possible or possible[-1] is not value:
            possible.append(value)
    return join(possible)


def compare_value(world: World, frame: Frame, node: ast.Compare) -> Thing:
    left = expressions.evaluate(world, frame, node.left)
    rights = [expressions.evaluate(world, frame, each) for each in node.comparators]
    if len(rights) == 1:
        decided = _decided(node.ops[0], left, rights[0])
        if decided is not None:
            return constant(decided)
    if all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
        return plain(numeric=True)  # which object it is, not what it holds
    # Whether a key is in a mapping does not depend on what it is mapped to.
    marks = NONE.union(total(left), *(r.marks if r.kind == "dict" else total(r) for r in rights))
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


def conditional_value(world: World, frame: Frame, node: ast.IfExp) -> Thing:
    condition = expressions.evaluate(world, frame, node.test)
    decided = expressions.truth(condition)
    if decided is not None:
        return expressions.evaluate(world, frame, node.body if decided else node.orelse)
    marks = without_order(total(condition))
    with world.controlled(marks):
        chosen = join(
            [expressions.evaluate(world, frame, node.body), expressions.evaluate(world, frame, node.orelse)]
        )
    return chosen.marked(marks)


def text_value(world: World, frame: Frame, node: ast.JoinedStr) -> Thing:
    marks: Marks = NONE
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            marks |= total(expressions.evaluate(world, frame, part.value))
    return plain(as_name(marks) if len(node.values) > 1 else marks)
