"""A seed set after something was drawn or built (TW106): move the seed call up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from twinrun.findings.fixes.changes import Draft, put_after, taken_out
from twinrun.findings.fixes.imports import last_leading_import
from twinrun.findings.fixes.module import Module, Unsure, only_statement, require
from twinrun.knowledge.functions import Kind, is_kind


def moved_up(module: Module, line: int) -> Draft:
    """Move the seed call, with those right beside it, to just after the imports.

    The finding may stand at the early draw or at the late seed call. The seed call moves as far up as what it
    needs allows: the import of what it calls, and the last assignment of a name it uses.
    """
    # Only bodies that run once from top to bottom: functions, the innermost first, and the module.
    functions = [node.body for node in module.find(cst.FunctionDef) if module.spans(node, line)]
    owners: list[cst.BaseSuite | cst.Module] = [*reversed(functions), module.tree]
    for owner in owners:
        body: list[Any] = list(owner.body)
        block = _late_block(module, body, line)
        if block:
            return _moved(module, body, block, line)
    raise Unsure


def _late_block(module: Module, body: list[Any], line: int) -> list[cst.SimpleStatementLine]:
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


def _moved(module: Module, body: list[Any], block: list[cst.SimpleStatementLine], line: int) -> Draft:
    first = body.index(block[0])
    anchor_at = _position(module, body, first, block)
    anchor = body[anchor_at]
    # With nothing in between, the seed call is as far up as it can be.
    require(first - anchor_at > 1 and module.last_line(anchor) < line)
    comments = [each for each in block[0].leading_lines if each.comment is not None]
    gap = isinstance(only_statement(anchor), cst.Import | cst.ImportFrom) and module.function(anchor) is None
    moved = [block[0].with_changes(leading_lines=comments), *block[1:]]
    inserted = put_after(module, anchor, moved, above=gap, below=gap)
    return Draft((*inserted, *taken_out(module, block)), "seed before anything else", safe=True)


def _position(module: Module, body: list[Any], first: int, block: Sequence[cst.CSTNode]) -> int:
    """The position in the body behind which the block can stand: its imports and what its arguments need."""
    positions: list[int] = []
    small = only_statement(body[0])
    if any(isinstance(only_statement(node), cst.Import | cst.ImportFrom) for node in body[:first]):
        positions.append(body.index(last_leading_import(module, body, None)))
    elif isinstance(small, cst.Expr) and isinstance(small.value, cst.BaseString):
        positions.append(0)  # behind the docstring
    for name in {name.value for node in block for name in module.find(cst.Name, node)}:
        for assignment in module.scope(block[0])[name]:
            node = getattr(assignment, "node", module.tree)
            positions += [at for at in range(first) if module.inside(node, body[at])]
    require(positions)
    return max(positions)
