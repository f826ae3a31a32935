"""Where the imports of a module end, and how to put a line right after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Changes
from twinrun.findings.fixes.module import Module, Statement, only_statement, require, sure

IMPORTS = (cst.Import, cst.ImportFrom)
# Calls that a program makes between its imports without drawing or building anything.
_HARMLESS = ("os.", "sys.", "warnings.", "logging.", "pathlib.", "argparse.", "gc.", "faulthandler.")


def after_imports(
    module: Module, needed: Statement | None, new_import: str | None, line: str, *, before_line: int
) -> Changes:
    """Put a line after the imports, below `needed` and above `before_line`. `{seed}` in it stands for the seed.

    `new_import` is an import that the line needs and the module does not have.
    """
    body = module.tree.body
    anchor = last_leading_import(module, body, needed)
    if module.last_line(anchor) >= before_line:  # something is drawn between the imports
        anchor = needed or sure(_import_above(module, before_line))
    require(module.last_line(anchor) < before_line and module.parent[anchor] is module.tree)
    require(_imports(anchor) or isinstance(anchor, cst.BaseCompoundStatement))  # not import keras; x = f()
    if "{seed}" in line:
        module.seeds_written += 1
        constant = _constant_below(module, anchor, before_line)
        if constant is not None:
            imported = () if new_import is None else _with_import(module, anchor, new_import)
            text = line.replace("{seed}", constant[0])
            return (*imported, *edit.lines_after(module, constant[1], text))
    line = line.replace("{seed}", str(module.seed_number))
    if new_import is not None and _is_relative(anchor):
        below = edit.lines_after(module, anchor, line, above=True, below=True)
        return (*_with_import(module, anchor, new_import), *below)
    added = [line] if new_import is None else [new_import, "", line]
    return edit.lines_after(module, anchor, *added, above=new_import is None, below=True)


def _with_import(module: Module, anchor: Any, new_import: str) -> Changes:
    """A new import among those that there are: above the package's own, which are relative."""
    if not _is_relative(anchor):
        return edit.lines_after(module, anchor, new_import)
    body: list[Any] = list(module.tree.body)
    first = next(node for node in body if _is_relative(node))
    return edit.lines_before(module, first, new_import, blank=1)


def _is_relative(node: cst.CSTNode) -> bool:
    small = only_statement(node)
    return isinstance(small, cst.ImportFrom) and bool(small.relative)


def _import_above(module: Module, line: int) -> Any | None:
    found = [node for node in module.tree.body if _imports(node) and module.last_line(node) < line]
    return found[-1] if found else None


def _constant_below(module: Module, anchor: Any, before_line: int) -> tuple[str, Any] | None:
    """The module's constant for a seed, where nothing is drawn or built between the anchor and it."""
    if module.seed_constant is None or module.last_line(module.seed_constant[1]) >= before_line:
        return None
    body: list[Any] = list(module.tree.body)
    first, last = body.index(anchor), body.index(module.seed_constant[1])
    return module.seed_constant if all(_inert(module, node) for node in body[first:last]) else None


def with_seed_constant(module: Module) -> Changes:
    """`SEED = 42` after the imports."""
    name = module.free("SEED", "RANDOM_SEED")
    anchor = last_leading_import(module, module.tree.body, None)
    require(_imports(anchor))
    return edit.lines_after(module, anchor, f"{name} = {module.seed_number}", above=True, below=True)


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
