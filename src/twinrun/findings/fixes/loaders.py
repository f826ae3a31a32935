"""Global randomness in the `__getitem__` of a Keras PyDataset (TW205): a generator per batch."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.functions import at_the_top, parameters
from twinrun.findings.fixes.host_draws import own_generators
from twinrun.findings.fixes.module import Module
from twinrun.findings.fixes.seeding import SEED

LOADERS = {"keras.utils.PyDataset", "keras.utils.Sequence"}


def generator_per_batch(module: Module, line: int) -> Draft | None:
    """Make the generator from (seed, epoch, index): then it does not matter which worker serves the batch."""
    loader = _loader(module, line)
    methods = {node.name: node for node in loader.body if isinstance(node, ast.FunctionDef)} if loader else {}
    getter = methods.get("__getitem__")
    index = parameters(module, getter) if getter is not None else None
    if loader is None or getter is None or index is None or len(index) != 1:
        return None
    epoch = _free_attribute(loader)
    drawn = _drawn(module, getter, epoch, index[0].arg)
    counted = _counted(module, loader, methods.get("on_epoch_end"), epoch)
    if drawn is None or counted is None:
        return None
    note = "make a generator for each batch from a seed, the epoch and the index"
    return Draft((*counted, *drawn), note, safe=True)


def _loader(module: Module, line: int) -> ast.ClassDef | None:
    """The loader class around the line, or the one that is made there, or the only one."""
    loaders = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and any(module.names.dotted(base) in LOADERS for base in node.bases)
    ]
    for loader in loaders:
        if loader.lineno <= line <= (loader.end_lineno or loader.lineno):
            return loader
    made = {call.func.id for call in module.calls_at(line) if isinstance(call.func, ast.Name)}
    named = [loader for loader in loaders if loader.name in made] or loaders
    return named[0] if len(named) == 1 else None


def _drawn(module: Module, getter: ast.FunctionDef, epoch: str, index: str) -> list[Edit] | None:
    # random.Random takes no tuple as its seed, and takes text.
    as_text = f'f"{SEED} {{self.{epoch}}} {{{index}}}"'
    own = own_generators(module, getter, f"({SEED}, self.{epoch}, {index})", as_text)
    tops = [at_the_top(module, getter, line) for line in own.lines] if own else []
    if own is None or any(top is None for top in tops):
        return None
    return [*(top for top in tops if top is not None), *own.edits]


def _counted(
    module: Module, loader: ast.ClassDef, at_end: ast.FunctionDef | None, epoch: str
) -> list[Edit] | None:
    """Count the epochs. Keras calls on_epoch_end when the workers have stopped, so nobody reads meanwhile."""
    if loader.body[0].lineno == loader.lineno or any(_is_slots(node) for node in loader.body):
        return None
    first = loader.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    indent = module.indent(first)
    if indent is None or (is_docstring and len(loader.body) == 1):
        return None
    attribute = _class_attribute(module, loader.body[1] if is_docstring else first, f"{epoch} = 0")
    if at_end is not None:
        count = at_the_top(module, at_end, f"self.{epoch} += 1")
    else:
        step = indent if loader.col_offset == 0 else indent[: len(indent) - loader.col_offset]
        lines = ["def on_epoch_end(self):", f"{indent}{step}self.{epoch} += 1"]
        count = module.insert_line_after(loader.body[-1], module.newline.join(lines), indent)
        if count is not None:  # with a blank line between the methods
            count = Edit(count.start, count.end, f"{module.newline}{count.text}")
    return None if attribute is None or count is None else [attribute, count]


def _class_attribute(module: Module, before: ast.stmt, text: str) -> Edit | None:
    edit = module.insert_line_before(before, text)
    if edit is None or not isinstance(before, ast.FunctionDef):
        return edit
    return Edit(edit.start, edit.end, f"{edit.text}{module.newline}")  # a blank line before a method


def _is_slots(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Name) and t.id == "__slots__" for t in node.targets
    )


def _free_attribute(loader: ast.ClassDef) -> str:
    """A name for the epoch counter that the class does not use."""
    used = {node.attr for node in ast.walk(loader) if isinstance(node, ast.Attribute)}
    used |= {node.name for node in ast.walk(loader) if isinstance(node, ast.FunctionDef)}
    used |= {node.id for node in ast.walk(loader) if isinstance(node, ast.Name)}
    return next(name for name in ("epoch", "data_epoch", "epochs_served", "twin_epoch") if name not in used)
