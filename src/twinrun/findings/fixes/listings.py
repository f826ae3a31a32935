"""Directory listings in the file system's order (TW302): sort them."""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import Changes, Draft, lines_before, sort, wrap
from twinrun.findings.fixes.module import Module, called_name
from twinrun.knowledge.functions import Kind, Known, is_kind, known, known_method

_BY_NAME = ", key=lambda entry: entry.name"


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
        return (wrap(call, "iter(sorted({it}" + key + "))"),), True
    # Where an iterator is only run through from beginning to end, a list does as well.
    loops = isinstance(outer, cst.For | cst.CompFor | cst.StarredElement)
    runs_through = loops or is_kind(consumer, Kind.ITERATE, Kind.REDUCE)
    return (sort(module, call, key),), listing.returns_list or runs_through


def _known_listing(module: Module, call: cst.Call) -> Known | None:
    name = module.name(call)
    found = known(name)
    if name is None and isinstance(call.func, cst.Attribute):
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
    return (sort(module, uses[0], _BY_NAME),), True


def _walk(module: Module, call: cst.Call) -> tuple[Changes, bool] | None:
    """`for root, dirs, files in os.walk(d):` sorts both lists at the top of the loop; sorting `dirs` in place
    also fixes the path the walk takes."""
    loop = module.parent[call]
    if not is_kind(module.name(call), Kind.WALK) or not isinstance(loop, cst.For):
        return None
    elements = loop.target.elements if isinstance(loop.target, cst.Tuple) else ()
    names = [each.value.value for each in elements[1:] if isinstance(each.value, cst.Name)]
    if len(elements) != 3 or len({*names}) != 2:
        return None
    wanted = [name for name in names if name == names[0] or name != "_"]
    return lines_before(module, loop.body.body[0], *(f"{name}.sort()" for name in wanted)), True
