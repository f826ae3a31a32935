"""A missing seed in a graph of TensorFlow 1 (TW104): the graph has a seed of its own, and no other reaches its ops."""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import Draft, lines_after, lines_before
from twinrun.findings.fixes.module import Module, called_name, require, sure

_V1 = "tensorflow.compat.v1"
_SWITCHES = ("disable_eager_execution", "disable_v2_behavior")  # from there on, all is built into graphs


def builds_graphs(module: Module, line: int) -> bool:
    """Whether what stands on this line is built into a graph, as far as the source tells."""
    return _switch(module, line) is not None or _block(module, line) is not None


def seeded(module: Module, line: int, seed: int) -> Draft:
    """Seed the graph: where it is opened, or where eager execution is switched off."""
    require(not any(_seeds_graph(module, call) for call in module.find(cst.Call)))
    block, switch = _block(module, line), _switch(module, line)
    if block is not None:
        function = sure(module.spelled(f"{_V1}.set_random_seed")).text
        changes = lines_before(module, block.body.body[0], f"{function}({seed})")
    else:
        func = cst.ensure_type(sure(switch).func, cst.Attribute)
        text = f"{module.code(func.value)}.set_random_seed({seed})"
        changes = lines_after(module, sure(module.statement(func)), text)
    note = "seed the graph before anything is built into it; no other seed reaches its ops"
    return Draft(changes, note, safe=True)


def _switch(module: Module, line: int) -> cst.Call | None:
    calls = [each for each in module.find(cst.Call) if isinstance(each.func, cst.Attribute)]
    above = (each for each in calls if module.name_line(each) < line)
    return next((call for call in above if called_name(call) in _SWITCHES), None)


def _block(module: Module, line: int) -> cst.With | None:
    """The `with graph.as_default():` around the line; of a function, the only one that there is."""
    blocks = [node for node in module.find(cst.With) if any(map(_opens_graph, node.items))]
    statement = module.statement_at(line)
    in_function = statement is not None and module.function(statement) is not None
    around = [node for node in blocks if module.spans(node, line)]
    return next(iter(around or (blocks if in_function and len(blocks) == 1 else [])), None)


def _opens_graph(item: cst.WithItem) -> bool:
    return isinstance(item.item, cst.Call) and called_name(item.item) == "as_default"


def _seeds_graph(module: Module, call: cst.Call) -> bool:
    return called_name(call) == "set_random_seed" and not (module.name(call) or _V1).startswith("keras.")
