"""A seed set after something was drawn or built (TW106): move the seed call up."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.imports import last_leading_import
from twinrun.findings.fixes.module import Module
from twinrun.findings.fixes.seeding import SEEDERS


def moved_up(module: Module, line: int) -> Draft | None:
    """Move the seed call, with those right beside it, to just after the imports.

    The finding may stand at the early draw or at the late seed call. The seed call moves as far up as what it
    needs allows: the import of what it calls, and the last assignment of a name it uses.
    """
    for body in _bodies_around(module, line):
        block = _late_block(module, body, line)
        if block:
            return _moved(module, body, block, line)
    return None


def _bodies_around(module: Module, line: int) -> list[list[ast.stmt]]:
    """The statement lists that hold the line, the innermost first, the module last. Only those that run
    from top to bottom once: functions and the module."""
    bodies: list[list[ast.stmt]] = [module.tree.body]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or node.lineno):
            bodies.insert(0, node.body)
    return bodies


def _late_block(module: Module, body: list[ast.stmt], line: int) -> list[ast.stmt]:
    """The first seed statement of a body that ends at or after the line, and those next to it."""
    for position, node in enumerate(body):
        if _seeds(module, node) and (node.end_lineno or node.lineno) >= line:
            first = last = position
            while first > 0 and _seeds(module, body[first - 1]):
                first -= 1
            while last + 1 < len(body) and _seeds(module, body[last + 1]):
                last += 1
            return body[first : last + 1]
    return []


def _seeds(module: Module, node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and module.names.called(node.value) in SEEDERS


def _moved(module: Module, body: list[ast.stmt], block: list[ast.stmt], line: int) -> Draft | None:
    first = body.index(block[0])
    needed = {name.id for node in block for name in ast.walk(node) if isinstance(name, ast.Name)}
    anchor_at = _position(module, body, first, needed)
    if anchor_at is None or first - anchor_at <= 1:
        return None  # nothing lies between: the seed call is as far up as it can be
    anchor = body[anchor_at]
    if (anchor.end_lineno or 0) >= line or any(not _alone_on_its_lines(module, node) for node in block):
        return None
    start, end = module.line_start(block[0].lineno), module.line_start((block[-1].end_lineno or 0) + 1)
    text = module.source[start:end].rstrip("\r\n")
    indent = module.indent(block[0])
    edit = module.insert_line_after(anchor, text[len(indent or "") :], indent or "")
    if edit is None:
        return None
    gap = module.newline if isinstance(anchor, ast.Import | ast.ImportFrom) and not indent else ""
    follows = module.line_text((anchor.end_lineno or 0) + 1).strip()
    inserted = Edit(edit.start, edit.end, f"{gap}{edit.text}{gap if follows else ''}")
    return Draft(
        (inserted, Edit(start, _without_gap(module, start, end), "")), "seed before anything else", safe=True
    )


def _position(module: Module, body: list[ast.stmt], first: int, needed: set[str]) -> int | None:
    """The position in the body behind which the block can stand: its imports and what its arguments need."""
    position = None
    if any(isinstance(node, ast.Import | ast.ImportFrom) for node in body[:first]):
        position = body.index(last_leading_import(module, body, None))
    elif isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        position = 0  # behind the docstring
    for at, node in enumerate(body[:first]):
        if needed & _binds(node):
            position = max(at, position or 0)
    return position


def _binds(node: ast.stmt) -> set[str]:
    """Every name a statement binds, in itself or in its blocks."""
    bound = {
        name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    for each in ast.walk(node):
        if isinstance(each, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in each.names}
        elif isinstance(each, ast.FunctionDef | ast.ClassDef):
            bound.add(each.name)
    return bound


def _alone_on_its_lines(module: Module, node: ast.stmt) -> bool:
    last = node.end_lineno or node.lineno
    rest = module.source[module.end(node) : module.line_start(last + 1)].strip()
    return module.indent(node) is not None and (not rest or rest.startswith("#"))


def _without_gap(module: Module, start: int, end: int) -> int:
    """When a block between blank lines goes, one of the gaps goes with it."""
    before = module.source[:start].rstrip(" \t")
    blank_before = before.endswith(module.newline * 2) or not before
    following = module.source[end:]
    if blank_before and following.startswith(module.newline):
        return end + len(module.newline)
    return end
