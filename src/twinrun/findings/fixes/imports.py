"""Where the imports of a module end, and how to put a line right after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Changes
from twinrun.findings.fixes.module import Module, Statement, require, sure

IMPORTS = (cst.Import, cst.ImportFrom)
# Calls that a program makes between its imports without drawing or building anything.
_HARMLESS = ("os.", "sys.", "warnings.", "logging.", "pathlib.", "argparse.", "gc.", "faulthandler.")


def after_imports(
    module: Module, needed: Statement, new_import: str | None, line: str, *, before_line: int
) -> Changes:
    """Put a line after the imports, below `needed` and above `before_line`.

    `new_import` is an import that the line needs and the module does not have.
    """
    anchor = last_leading_import(module, module.tree.body, needed)
    if module.last_line(anchor) >= before_line:
        anchor = needed  # something is drawn between the imports
    require(module.last_line(anchor) < before_line and module.parent[anchor] is module.tree)
    require(_imports(anchor) or isinstance(anchor, cst.BaseCompoundStatement))  # not import keras; x = f()
    added = [line] if new_import is None else [new_import, "", line]
    return edit.lines_after(module, anchor, *added, above=new_import is None, below=True)


def imported(module: Module, name: str) -> tuple[str, Changes]:
    """What a module of the standard library is called here, and the change that imports it if nothing does."""
    for each in module.given_by(name):
        return each.local, ()
    require(module.is_free(name))
    first = sure(next((node for node in module.tree.body if _imports(node)), None))
    return name, edit.lines_before(module, first, f"import {name}")


def last_leading_import(module: Module, body: Sequence[Any], needed: Statement | None) -> Any:
    """The last import of the leading block, or the statement around `needed` when that comes later."""
    anchor = body[0]
    for node in body:
        if _imports(node):
            anchor = node
        elif not _inert(module, node):
            break
    around = [node for node in body if needed is not None and module.inside(needed, node)]
    return max([anchor, *around], key=module.first_line)


def _imports(node: cst.CSTNode) -> bool:
    """A line of imports, or a block (`try:`, `if TYPE_CHECKING:`) of which every part imports or gives up."""
    if not isinstance(node, cst.Try | cst.If):
        return _holds_only(node, *IMPORTS)
    parts = (node, node.orelse, *getattr(node, "handlers", ()), getattr(node, "finalbody", None))
    inner = [each for part in parts if part is not None for each in part.body.body]
    quiet = (cst.Pass, cst.Raise, cst.Assign)
    return any(map(_imports, inner)) and all(_imports(each) or _holds_only(each, *quiet) for each in inner)


def _holds_only(node: cst.CSTNode, *kinds: type[cst.CSTNode]) -> bool:
    statements = node.body if isinstance(node, cst.SimpleStatementLine) else (node,)
    return all(isinstance(each, kinds) for each in statements)


def _inert(module: Module, node: cst.CSTNode) -> bool:
    """A statement that neither draws nor builds: constants, the docstring, settings of the process."""
    if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.For | cst.While | cst.With):
        return False
    return all((module.name(call) or "").startswith(_HARMLESS) for call in module.find(cst.Call, node))
