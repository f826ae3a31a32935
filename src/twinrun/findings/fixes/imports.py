"""Where the imports of a module end, and how to put a line right after them."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from twinrun.findings.fixes.changes import Changes, lines_after, lines_before
from twinrun.findings.fixes.module import Module, Statement

# Calls that a program makes between its imports without drawing or building anything.
_HARMLESS = ("os.", "sys.", "warnings.", "logging.", "pathlib.", "argparse.", "gc.", "faulthandler.")


def after_imports(
    module: Module, needed: Statement, new_import: str | None, line: str, *, before_line: int
) -> Changes | None:
    """Put a line after the imports, below `needed` and above `before_line`; None where none fits.

    `new_import` is an import that the line needs and the module does not have.
    """
    anchor = last_leading_import(module, module.tree.body, needed)
    if module.last_line(anchor) >= before_line:
        anchor = needed  # something is drawn between the imports
    if module.last_line(anchor) >= before_line or module.parent[anchor] is not module.tree:
        return None
    if isinstance(anchor, cst.SimpleStatementLine) and not _imports(anchor):
        return None  # import keras; model = build()
    added = [line] if new_import is None else [new_import, "", line]
    return lines_after(module, anchor, *added, above=new_import is None, below=True)


def imported(module: Module, name: str) -> tuple[str, Changes] | None:
    """What a module of the standard library is called here, and the change that imports it if nothing does."""
    for each in module.given_by(name):
        return each.local, ()
    first = next((node for node in module.tree.body if _imports(node)), None)
    added = lines_before(module, first, f"import {name}") if module.free(name) == name else None
    return None if added is None else (name, added)


def last_leading_import(module: Module, body: Sequence[cst.CSTNode], needed: Statement | None) -> Statement:
    """The last import of the leading block, or the statement around `needed` when that comes later."""
    anchor: cst.CSTNode | None = None
    for node in body:
        if _imports(node):
            anchor = node
        elif not _inert(module, node):
            break
    outer = next((node for node in body if needed is not None and module.inside(needed, node)), None)
    if outer is not None and (anchor is None or module.first_line(outer) > module.first_line(anchor)):
        anchor = outer
    found = anchor or body[0]
    assert isinstance(found, Statement)
    return found


def _imports(node: cst.CSTNode) -> bool:
    """A line of imports, or a block (`try:`, `if TYPE_CHECKING:`) of which every part imports or gives up."""
    if isinstance(node, cst.SimpleStatementLine):
        return all(isinstance(each, cst.Import | cst.ImportFrom) for each in node.body)
    if not isinstance(node, cst.Try | cst.If):
        return False
    parts = [node.body, node.orelse, getattr(node, "finalbody", None), *getattr(node, "handlers", ())]
    inner = [each for part in parts if part is not None for each in _body(part)]
    return any(map(_imports, inner)) and all(_imports(each) or _is_quiet(each) for each in inner)


def _body(part: cst.CSTNode) -> Sequence[cst.CSTNode]:
    block = part if isinstance(part, cst.BaseSuite) else getattr(part, "body", part)
    return block.body if isinstance(block, cst.IndentedBlock) else (part,)


def _is_quiet(node: cst.CSTNode) -> bool:
    quiet = cst.Pass | cst.Raise | cst.Assign
    return isinstance(node, cst.SimpleStatementLine) and all(isinstance(each, quiet) for each in node.body)


def _inert(module: Module, node: cst.CSTNode) -> bool:
    """A statement that neither draws nor builds: constants, the docstring, settings of the process."""
    if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.For | cst.While | cst.With):
        return False
    return all((module.name(call) or "").startswith(_HARMLESS) for call in module.find(cst.Call, node))
