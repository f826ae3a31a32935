"""Sorting: sets where their order is used (TW301, also values of `hash()`), and directory listings (TW302)."""

# mypy: disable-error-code="type-abstract"
from __future__ import annotations

import ast
import re

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Changes, Draft
from twinrun.findings.fixes.imports import imported
from twinrun.findings.fixes.module import Module, called_name, only_statement, require
from twinrun.knowledge.functions import Kind, Known, is_kind, known_method
from twinrun.knowledge.set_order import Sets

_TAKE_ONE = ("builtins.enumerate", "builtins.iter", "builtins.list", "builtins.tuple")
_BY_NAME = ", key=lambda entry: entry.name"

# -- sets ---------------------------------------------------------------------------------------------


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
    sortable = bool(here) and all(sets[node] for node in here)
    if not here and not (here := _iterated(module, line)):
        return _stable_hash(module, line)
    note = "iterate over the set in sorted order"
    if not sortable:
        note += " (its elements must be comparable; otherwise give sorted() a key)"
    return Draft(tuple(edit.sort(module, node) for node in here), note, safe=sortable)


def _iterated(module: Module, line: int) -> list[cst.BaseExpression]:
    """What the only loop at this line runs through, where that is a name: the set was made elsewhere, and given to a
    function."""
    loops = [each.iter for each in module.find(cst.For)] + [each.iter for each in module.find(cst.CompFor)]
    at_line = [each for each in loops if module.spans(each, line) and not _hashes_at(module, line)]
    found = [_within(module, each) for each in at_line]
    return found if len(found) == 1 and isinstance(found[0], cst.Name | cst.Attribute) else []


def _within(module: Module, iterated: cst.BaseExpression) -> cst.BaseExpression:
    """What `enumerate` and its like take their elements from."""
    takes_one = isinstance(iterated, cst.Call) and module.name(iterated) in _TAKE_ONE and iterated.args
    return iterated.args[0].value if takes_one and isinstance(iterated, cst.Call) else iterated


def _sets_in_order(module: Module) -> dict[cst.BaseExpression, bool]:
    """The sets whose elements are taken in their order, and whether those are known to be strings."""
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


def _hashes_at(module: Module, line: int) -> list[cst.Call]:
    return [each for each in module.calls_at(line) if module.name(each) == "builtins.hash"]


def _stable_hash(module: Module, line: int) -> Draft:
    """`hash(name)` becomes a checksum that is the same in every process. Its values differ, and lie
    between 0 and 2**32, so it is not applied automatically."""
    calls = _hashes_at(module, line)
    require(len(calls) == 1 and len(calls[0].args) == 1)
    name, changes = imported(module, "zlib")
    hashed = edit.wrap(calls[0].args[0].value, "str({it}).encode()")
    checksum = edit.replace(calls[0].func, f"{name}.crc32")
    return Draft((*changes, hashed, checksum), "use a checksum that is the same in every process", safe=False)


# -- listings -----------------------------------------------------------------------------------------


def sorted_listing(module: Module, line: int) -> Draft:
    """Sort the listing made at this line."""
    changes: Changes = ()
    safe = True
    for call in module.calls_at(line):
        if changes and module.name_line(call) != line:
            break
        added, keeps_type = _walk(module, call) or _listing(module, call) or ((), True)
        changes += added
        safe = safe and keeps_type
    return Draft(changes, "sort the listing", safe=safe)


def _listing(module: Module, call: cst.Call) -> tuple[Changes, bool] | None:
    """The changes, and whether what comes out of them can be used like the listing."""
    listing = _known_listing(module, call)
    outer = module.parent[call]
    consumer = module.name(module.parent[outer]) if isinstance(outer, cst.Arg) else None
    if listing is None or consumer == "builtins.sorted":
        return None
    key = _BY_NAME if module.name(call) == "os.scandir" else ""
    if isinstance(outer, cst.WithItem):  # with os.scandir(d) as entries: they are sorted where they are used
        return _entries_of_with(module, outer)
    if consumer == "builtins.next":
        return (edit.wrap(call, "iter(sorted({it}" + key + "))"),), True
    # Where an iterator is only run through from beginning to end, a list does as well.
    loops = isinstance(outer, cst.For | cst.CompFor | cst.StarredElement)
    runs_through = loops or is_kind(consumer, Kind.ITERATE, Kind.REDUCE)
    return (edit.sort(module, call, key),), listing.returns_list or runs_through


def _known_listing(module: Module, call: cst.Call) -> Known | None:
    found = module.known(call)
    if module.name(call) is None and isinstance(call.func, cst.Attribute):
        found = known_method(call.func.attr.value)
        if len(call.args) != (0 if called_name(call) == "iterdir" else 1):
            return None
    return found if found is not None and found.kind is Kind.LISTING else None


def _entries_of_with(module: Module, item: cst.WithItem) -> tuple[Changes, bool] | None:
    block = module.parent[item]
    if item.asname is None or not isinstance(item.asname.name, cst.Name) or not isinstance(block, cst.With):
        return None
    name = item.asname.name
    uses = [each for each in module.find(cst.Name, block.body) if each.value == name.value]
    if len(uses) != 1 or not isinstance(module.parent[uses[0]], cst.For | cst.CompFor):
        return None
    return (edit.sort(module, uses[0], _BY_NAME),), True


def _walk(module: Module, call: cst.Call) -> tuple[Changes, bool] | None:
    """`for root, dirs, files in os.walk(d):` sorts both lists at the top of the loop; sorting `dirs` in place
    also fixes the path the walk takes."""
    loop = module.parent[call]
    if not module.is_kind(call, Kind.WALK) or not isinstance(loop, cst.For):
        return None
    elements = loop.target.elements if isinstance(loop.target, cst.Tuple) else ()
    names = [each.value.value for each in elements[1:] if isinstance(each.value, cst.Name)]
    if len(elements) != 3 or len({*names}) != 2:
        return None
    wanted = [name for name in names if name == names[0] or name != "_"]
    return edit.lines_before(module, loop.body.body[0], *(f"{name}.sort()" for name in wanted)), True
