"""Changes of a program, as changes of nodes of its tree: expressions, arguments, parameters and whole lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import libcst as cst
from libcst.helpers import parse_template_expression

from twinrun.findings.fixes.module import Block, Function, Module, Unsure, require
from twinrun.knowledge.functions import Argument


@dataclass(frozen=True)
class Change:
    """A node, and what takes its place: made from the node as the other changes leave it."""

    node: cst.CSTNode
    make: Callable[[Any], Any]


Changes: TypeAlias = tuple[Change, ...]
Item = TypeVar("Item")
_BLANK = cst.EmptyLine(indent=False)
_NO_SPACE, _SPACE = cst.SimpleWhitespace(""), cst.SimpleWhitespace(" ")


@dataclass(frozen=True)
class Draft:
    """What one fixer proposes. `safe`: it can change nothing but randomness and order."""

    changes: Changes  # none of them: there is nothing to fix
    note: str
    safe: bool


def the_only(attempt: Callable[[Item], Changes], items: Iterable[Item]) -> Changes:
    """The changes for the only one of these that can be rewritten."""
    found = []
    for item in items:
        with suppress(Unsure):
            found.append(attempt(item))
    require(len(found) == 1)
    return found[0]


class _Rewriter(cst.CSTTransformer):
    def __init__(self, changes: Iterable[Change]) -> None:
        super().__init__()
        self._changes = list(changes)

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        for change in self._changes:
            if change.node is original_node:
                updated_node = change.make(updated_node)
        return updated_node


def rewritten(module: Module, changes: Iterable[Change]) -> str:
    """The module's source with the changes made."""
    return module.tree.visit(_Rewriter(changes)).code


# Expressions


def replace(node: cst.CSTNode, code: str) -> Change:
    return Change(node, lambda _: cst.parse_expression(code))


def wrap(node: cst.CSTNode, template: str) -> Change:
    """Put an expression into another one, `sorted({it})`; comments inside it stay where they are."""
    return Change(node, lambda updated: parse_template_expression(template, it=updated))


def sort(module: Module, node: cst.BaseExpression, key: str = "") -> Change:
    """`sorted(…)` around an expression; `list(…)` around it gives way, as sorted() returns a list."""
    outer = module.outer(node, cst.Call)
    if module.name(outer) == "builtins.list" and [arg.value for arg in outer.args] == [node]:
        return Change(outer, lambda list_call: _sorted(list_call.args[0].value, key))
    return Change(node, lambda updated: _sorted(updated, key))


def _sorted(node: cst.BaseExpression, key: str) -> cst.BaseExpression:
    return parse_template_expression("sorted({it}" + key + ")", it=node)


# Arguments and parameters


def argument(call: cst.Call, name: str, position: int | None) -> cst.BaseExpression | None:
    """The argument given by this name or at this position."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return arg.value
    by_position = [arg.value for arg in call.args if arg.keyword is None]
    return by_position[position] if position is not None and position < len(by_position) else None


def name_argument(arg: cst.Arg, name: str) -> Change:
    """Give a positional argument its name."""
    equal = cst.AssignEqual(_NO_SPACE, _NO_SPACE)
    return Change(arg, lambda updated: updated.with_changes(keyword=cst.Name(name), equal=equal))


def is_name(node: cst.CSTNode | None, *names: str) -> bool:
    """Whether an expression is one of these plain names; `None`, `True` and `False` are names to libcst."""
    return isinstance(node, cst.Name) and node.value in names


def unpacks(call: cst.Call) -> bool:
    """Whether the call takes arguments that cannot be seen: `*args`, `**kwargs`."""
    return any(arg.star for arg in call.args)


def seed_argument(module: Module, call: cst.Call, where: Argument, plus: int = 0) -> Changes:
    """Give a call a seed where it has none: in place of None, or as one more argument."""
    given = argument(call, where.name, where.position)
    if unpacks(call) or (given is not None and not is_name(given, "None")):
        return ()
    if given is not None:
        return (replace(given, module.seed(call, plus)),)
    return (add_argument(call, f"{where.name}={module.seed(call, plus)}"),)


def remove_argument(call: cst.Call, arg: cst.Arg) -> Change:
    """A call without one of its arguments."""

    def make(updated: cst.Call) -> cst.Call:
        at = call.args.index(arg)
        kept = [*updated.args[:at], *updated.args[at + 1 :]]
        if kept and at == len(kept):  # the last one goes, and what follows it stays
            last = updated.args[at]
            kept[-1] = kept[-1].with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
        return updated.with_changes(args=kept)

    return Change(call, make)


def add_argument(call: cst.Call, code: str) -> Change:
    """One more argument at the end of a call, in the way the call is laid out."""
    return Change(call, lambda updated: updated.with_changes(args=_one_more(updated, _arg(code))))


def _arg(code: str) -> cst.Arg:
    return cst.ensure_type(cst.parse_expression(f"f({code})"), cst.Call).args[0]


def _one_more(call: cst.Call, new: cst.Arg) -> list[cst.Arg]:
    if not call.args:
        return [new]
    *others, last = call.args
    after_comma = last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else None
    closing = last.whitespace_after_arg if after_comma is None else after_comma
    between: cst.BaseParenthesizableWhitespace = _SPACE
    if isinstance(closing, cst.ParenthesizedWhitespace):  # the closing parenthesis is on a line of its own
        commas = [arg.comma.whitespace_after for arg in others if isinstance(arg.comma, cst.Comma)]
        breaks = [each for each in (call.whitespace_before_args, *commas) if isinstance(each, type(closing))]
        indent = breaks[-1] if breaks else closing
        between = closing.with_changes(indent=indent.indent, last_line=indent.last_line)
        end = closing.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])
        if after_comma is None:
            new = new.with_changes(whitespace_after_arg=end)
        else:
            new = new.with_changes(comma=cst.Comma(whitespace_after=end))
    comma = cst.Comma(whitespace_after=between)
    return [*others, last.with_changes(comma=comma, whitespace_after_arg=_NO_SPACE), new]


def add_element(sequence: cst.List | cst.Tuple, code: str) -> Change:
    new = cst.Element(cst.parse_expression(code))
    return Change(sequence, lambda updated: updated.with_changes(elements=_appended(updated.elements, new)))


def add_parameter(function: Function, name: str) -> Change:
    new = cst.Param(cst.Name(name))
    return Change(function.params, lambda given: given.with_changes(params=_appended(given.params, new)))


def _appended(items: Sequence[Any], new: Any) -> list[Any]:
    """The new item takes over the comma of the last one, and the line break that may follow it."""
    *others, last = items
    comma = cst.Comma(whitespace_after=_SPACE)
    return [*others, last.with_changes(comma=comma), new.with_changes(comma=last.comma)]


# Lines


def lines_before(module: Module, statement: Any, *lines: str, blank: int = 0) -> Changes:
    """New lines above a statement, under its comments, with blank lines below."""
    require(isinstance(module.parent[statement], Block))

    def make(updated: Any) -> Any:
        first, *others = _nodes(updated)
        new, *more = _statements(lines)
        new = new.with_changes(leading_lines=first.leading_lines)
        first = first.with_changes(leading_lines=[_BLANK] * blank)
        return cst.FlattenSentinel([new, *more, first, *others])

    return (Change(statement, make),)


def at_the_top(module: Module, owner: cst.FunctionDef | cst.ClassDef, *lines: str) -> Changes:
    """New first lines in the body of a function or class, behind its docstring; with a blank line before a method."""
    body = owner.body.body
    first = body[1] if owner.get_docstring() is not None and len(body) > 1 else body[0]
    return lines_before(module, first, *lines, blank=int(isinstance(first, cst.FunctionDef)))


def lines_after(
    module: Module, statement: Any, *lines: str, above: bool = False, below: bool = False
) -> Changes:
    """New lines below a statement, with a blank line above or below them."""
    return put_after(module, statement, _statements(lines), above=above, below=below)


def put_after(module: Module, statement: Any, new: Sequence[Any], *, above: bool, below: bool) -> Changes:
    """Statements below another one, as `lines_after`."""
    require(isinstance(module.parent[statement], Block))
    if above:
        new = [new[0].with_changes(leading_lines=[_BLANK, *new[0].leading_lines]), *new[1:]]
    added = Change(statement, lambda updated: cst.FlattenSentinel([*_nodes(updated), *new]))
    follower = _following(module, statement)
    needs_blank = below and follower is not None and not _starts_blank(follower)
    return (added, _lines_above(follower, [_BLANK])) if needs_blank else (added,)


def taken_out(
    module: Module, block: Sequence[cst.SimpleStatementLine], comments: Sequence[cst.EmptyLine] = ()
) -> Changes:
    """Statements that stand together go, `comments` of them stay. Blank lines above go where there are some below."""
    gone = tuple(Change(each, lambda _: cst.RemovalSentinel.REMOVE) for each in block)
    follower = _following(module, block[-1])
    blank = [line for line in block[0].leading_lines if line.comment is None]
    kept = [*(() if follower is None or _starts_blank(follower) else blank), *comments]
    if follower is not None:
        return (*gone, _lines_above(follower, kept))
    outer = module.parent[block[0]]
    return (*gone, Change(outer, lambda updated: updated.with_changes(footer=[*kept, *updated.footer])))


def _lines_above(statement: Any, lines: Sequence[cst.EmptyLine]) -> Change:
    def make(updated: Any) -> Any:
        first, *others = _nodes(updated)
        first = first.with_changes(leading_lines=[*lines, *first.leading_lines])
        return cst.FlattenSentinel([first, *others])

    return Change(statement, make)


def _following(module: Module, statement: Any) -> Any | None:
    """The next statement of the same block."""
    block: Any = module.parent[statement]
    body = list(block.body)
    return next(iter(body[body.index(statement) + 1 :]), None)


def _statements(lines: Sequence[str]) -> list[Any]:
    return list(cst.parse_module("".join(f"{line}\n" for line in lines)).body)


def _nodes(updated: Any) -> list[Any]:
    return list(updated) if isinstance(updated, cst.FlattenSentinel) else [updated]


def _starts_blank(statement: Any) -> bool:
    return bool(statement.leading_lines) and statement.leading_lines[0].comment is None
