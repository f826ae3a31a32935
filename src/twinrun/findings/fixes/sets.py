"""The order of a set, and values of `hash()` (TW301): sort the set where its order is used."""

# mypy: disable-error-code="type-abstract"
from __future__ import annotations

import ast
import re

import libcst as cst

from twinrun.findings.fixes.changes import Draft, replace, sort, wrap
from twinrun.findings.fixes.imports import imported
from twinrun.findings.fixes.module import Module, only_statement, require


def sorted_iteration(module: Module, line: int) -> Draft:
    """Sort the set whose order is used at this line, or the one that is made here and used later."""
    sets = _sets_in_order(module)
    statement = module.statement_at(line)
    small = only_statement(statement)
    made = [each.target for each in small.targets] if isinstance(small, cst.Assign) else []
    here = (
        [node for node in sets if module.spans(node, line)]
        or [node for node in sets if module.statement(node) is statement]
        or [node for node in sets if any(target.deep_equals(node) for target in made)]
    )
    if not here:
        return _stable_hash(module, line)
    sortable = all(sets[node] for node in here)
    note = "iterate over the set in sorted order"
    if not sortable:
        note += " (its elements must be comparable; otherwise give sorted() a key)"
    return Draft(tuple(sort(module, node) for node in here), note, safe=sortable)


def _sets_in_order(module: Module) -> dict[cst.BaseExpression, bool]:
    """The sets whose elements are taken in their order, and whether those are known to be strings."""
    from twinrun.knowledge.set_order import Sets

    source = module.tree.code
    lines = [line.encode() for line in re.split(r"\r\n|\r|\n", source)]
    nodes = {module.place(node): node for node in module.find(cst.BaseExpression)}
    sets = Sets(ast.parse(source), certain=True)
    found: dict[cst.BaseExpression, bool] = {}
    for use in sets.order_uses():
        call = use.shown if isinstance(use.shown, ast.Call) else None
        takes_one = call is not None and use.expression not in (call, *call.args)  # names.pop()
        node = None if use.is_hash or takes_one else nodes.get(_place(lines, use.expression))
        if node is not None:
            found[node] = sets.holds_text(use.expression)
    return found


def _place(lines: list[bytes], node: ast.expr) -> tuple[int, int, int, int]:
    """The place of an expression, as `Module.place`: `ast` counts the bytes of a line, libcst its characters."""
    first, last = node.lineno, node.end_lineno or node.lineno
    start = len(lines[first - 1][: node.col_offset].decode())
    end = len(lines[last - 1][: node.end_col_offset].decode())
    return first, start, last, end


def _stable_hash(module: Module, line: int) -> Draft:
    """`hash(name)` becomes a checksum that is the same in every process. Its values differ, and lie
    between 0 and 2**32, so it is not applied automatically."""
    calls = [each for each in module.calls_at(line) if module.name(each) == "builtins.hash"]
    require(len(calls) == 1 and len(calls[0].args) == 1)
    name, changes = imported(module, "zlib")
    hashed = wrap(calls[0].args[0].value, "str({it}).encode()")
    checksum = replace(calls[0].func, f"{name}.crc32")
    return Draft((*changes, hashed, checksum), "use a checksum that is the same in every process", safe=False)
