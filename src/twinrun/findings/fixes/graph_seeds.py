"""A missing seed in a graph of TensorFlow 1 (TW104): the graph has a seed of its own, and no other reaches its ops."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.fix import Draft
from twinrun.findings.fixes.module import Module

_V1 = "tensorflow.compat.v1"
_SWITCHES = ("disable_eager_execution", "disable_v2_behavior")  # from there on, all is built into graphs


def builds_graphs(module: Module, line: int) -> bool:
    """Whether what stands on this line is built into a graph, as far as the source tells."""
    return _switch(module, line) is not None or _block(module, line) is not None


def seeded(module: Module, line: int, seed: int) -> Draft | None:
    """Seed the graph: where it is opened, or where eager execution is switched off."""
    if any(_named(call) == "set_random_seed" and _is_v1(module, call) for call in module.calls()):
        return None
    note = "seed the graph before anything is built into it; no other seed reaches its ops"
    block = _block(module, line)
    if block is not None:
        way = _way(module)
        edit = None if way is None else module.insert_line_before(block.body[0], f"{way}({seed})")
        return None if edit is None else Draft((edit,), note, safe=True)
    switch = _switch(module, line)
    if switch is None or not isinstance(switch.func, ast.Attribute):
        return None
    statement = module.statement(switch)
    indent = None if statement is None else module.indent(statement)
    if statement is None or indent is None:
        return None
    text = f"{module.text(switch.func.value)}.set_random_seed({seed})"
    edit = module.insert_line_after(statement, text, indent)
    return None if edit is None else Draft((edit,), note, safe=True)


def _switch(module: Module, line: int) -> ast.Call | None:
    found = [call for call in module.calls() if _named(call) in _SWITCHES and module.name_line(call) < line]
    return found[0] if found else None


def _block(module: Module, line: int) -> ast.With | None:
    """The `with graph.as_default():` around the line; of a function, the only one that there is."""
    blocks = [node for node in ast.walk(module.tree) if isinstance(node, ast.With) and _opens_graph(node)]
    for node in blocks:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            return node
    statement = module.statement_at(line)
    inside = statement is not None and module.function(statement) is not None
    return blocks[0] if inside and len(blocks) == 1 else None


def _opens_graph(block: ast.With) -> bool:
    return any(
        isinstance(item.context_expr, ast.Call) and _named(item.context_expr) == "as_default"
        for item in block.items
    )


def _named(call: ast.Call) -> str:
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def _is_v1(module: Module, call: ast.Call) -> bool:
    return not (module.names.called(call) or _V1).startswith("keras.")


def _way(module: Module) -> str | None:
    for each in module.names.given_by(_V1):
        return f"{each.local}.set_random_seed"
    for each in module.names.given_by("tensorflow"):
        return f"{each.local}.compat.v1.set_random_seed"
    return None
