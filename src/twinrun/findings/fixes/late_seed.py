"""A seed set after something was drawn or built (TW106): move the seed call up."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from libcst.metadata import Assignment

from twinrun.findings.fixes.changes import Draft, put_after, taken_out
from twinrun.findings.fixes.imports import last_leading_import
from twinrun.findings.fixes.module import Module, Statement, only_statement
from twinrun.knowledge import Kind, is_kind


def moved_up(module: Module, line: int) -> Draft | None:
    """Move the seed call, with those right beside it, to just after the imports.

    The finding may stand at the early draw or at the late seed call. The seed call moves as far up as what it
    needs allows: the import of what it calls, and the last assignment of a name it uses.
    """
    # Only bodies that run once from top to bottom: functions, the innermost first, and the module.
    functions = [node.body for node in module.find(cst.FunctionDef) if module.spans(node, line)]
    for owner in (*reversed(functions), module.tree):
        body = [node for node in owner.body if isinstance(node, Statement)]
        block = _late_block(module, body, line)
        if block:
            return _moved(module, body, block, line)
    return None


def _late_block(module: Module, body: list[Statement], line: int) -> list[cst.SimpleStatementLine]:
    """The first seed statement of a body that ends at or after the line, and those next to it."""
    block: list[cst.SimpleStatementLine] = []
    for node in body:
        if isinstance(node, cst.SimpleStatementLine) and _seeds(module, node):
            block.append(node)
        elif block and module.last_line(block[-1]) >= line:
            break
        else:
            block = []
    return block if block and module.last_line(block[-1]) >= line else []


def _seeds(module: Module, line: cst.SimpleStatementLine) -> bool:
    small = only_statement(line)
    return isinstance(small, cst.Expr) and is_kind(module.name(small.value), Kind.SEED)


def _moved(
    module: Module, body: list[Statement], block: list[cst.SimpleStatementLine], line: int
) -> Draft | None:
    first = body.index(block[0])
    anchor_at = _position(module, body, first, block)
    if anchor_at is None or first - anchor_at <= 1:
        return None  # nothing lies between: the seed call is as far up as it can be
    anchor = body[anchor_at]
    if module.last_line(anchor) >= line:
        return None
    comments = [each for each in block[0].leading_lines if each.comment is not None]
    gap = isinstance(only_statement(anchor), cst.Import | cst.ImportFrom) and module.function(anchor) is None
    moved = [block[0].with_changes(leading_lines=comments), *block[1:]]
    inserted = put_after(module, anchor, moved, above=gap, below=gap)
    if inserted is None:
        return None
    return Draft((*inserted, *taken_out(module, block)), "seed before anything else", safe=True)


def _position(module: Module, body: list[Statement], first: int, block: Sequence[cst.CSTNode]) -> int | None:
    """The position in the body behind which the block can stand: its imports and what its arguments need."""
    position = None
    small = only_statement(body[0])
    if any(isinstance(only_statement(node), cst.Import | cst.ImportFrom) for node in body[:first]):
        position = body.index(last_leading_import(module, body, None))
    elif isinstance(small, cst.Expr) and isinstance(small.value, cst.BaseString):
        position = 0  # behind the docstring
    for name in {name.value for node in block for name in module.find(cst.Name, node)}:
        for each in module.scope(block[0])[name]:
            node = each.node if isinstance(each, Assignment) else None
            at = next((i for i in range(first) if node is not None and module.inside(node, body[i])), None)
            position = position if at is None else max(at, position or 0)
    return position
