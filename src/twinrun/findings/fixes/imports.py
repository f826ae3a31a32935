"""Where the imports of a module end, and how to put a line right after them."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.fix import Edit
from twinrun.findings.fixes.module import Module

# Calls that a program makes between its imports without drawing or building anything.
_HARMLESS = ("os.", "sys.", "warnings.", "logging.", "pathlib.", "argparse.", "gc.", "faulthandler.")


def after_imports(
    module: Module, needed: ast.stmt | None, new_import: str | None, text: str, *, before_line: int
) -> tuple[Edit, ...] | None:
    """Edits that put `text` after the imports, below `needed` and above `before_line`; None where none fits.

    `new_import` is an import that `text` needs and the module does not have.
    """
    anchor = last_leading_import(module, module.tree.body, needed)
    if needed is not None and (anchor.end_lineno or 0) >= before_line:
        anchor = needed  # something is drawn between the imports
    if (anchor.end_lineno or 0) >= before_line or module.indent(anchor) != "":
        return None
    if new_import is not None:
        text = f"{new_import}{module.newline * 2}{text}"
    edit = module.insert_line_after(anchor, text, "")
    if edit is None:
        return None
    follows = module.line_text((anchor.end_lineno or anchor.lineno) + 1).strip()
    gap = "" if new_import is not None else module.newline
    if edit.text.startswith(module.newline):  # the file ends without a line ending
        return (Edit(edit.start, edit.end, f"{module.newline}{gap}{edit.text[len(module.newline) :]}"),)
    return (Edit(edit.start, edit.end, f"{gap}{edit.text}{module.newline if follows else ''}"),)


def imported(module: Module, name: str) -> tuple[str, tuple[Edit, ...]] | None:
    """What a module of the standard library is called here, and the edit that imports it if nothing does."""
    for each in module.names.given_by(name):
        return each.local, ()
    first = next((node for node in module.tree.body if isinstance(node, ast.Import)), None)
    if first is None or module.names.free(name) != name:
        return None
    added = module.insert_line_before(first, f"import {name}")
    return None if added is None else (name, (added,))


def last_leading_import(module: Module, body: list[ast.stmt], needed: ast.stmt | None) -> ast.stmt:
    """The last import of the leading block, or `needed` itself when that comes later in the same body."""
    anchor: ast.stmt | None = None
    for node in body:
        if _imports(node):
            anchor = node
        elif not _inert(module, node):
            break
    outer = next((node for node in body if needed is not None and module.inside(needed, node)), None)
    if outer is not None and (anchor is None or outer.lineno > anchor.lineno):
        return outer
    return anchor or body[0]


def _imports(node: ast.stmt) -> bool:
    """An import, or a block (`try:`, `if TYPE_CHECKING:`) of which every part imports or gives up."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if not isinstance(node, ast.Try | ast.If):
        return False
    inner = [*node.body, *node.orelse, *getattr(node, "finalbody", [])]
    inner += [each for handler in getattr(node, "handlers", []) for each in handler.body]
    quiet = ast.Pass | ast.Raise | ast.Assign
    return any(_imports(each) for each in inner) and all(
        _imports(each) or isinstance(each, quiet) for each in inner
    )


def _inert(module: Module, node: ast.stmt) -> bool:
    """A statement that neither draws nor builds: constants, the docstring, settings of the process."""
    if isinstance(
        node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.While | ast.With
    ):
        return False
    return all((module.names.called(call) or "").startswith(_HARMLESS) for call in module.calls(node))
