"""Global randomness in the `__getitem__` of a Keras PyDataset (TW205): a generator per batch."""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import Changes, Draft, at_the_top, lines_after
from twinrun.findings.fixes.functions import parameters
from twinrun.findings.fixes.host_draws import own_generators
from twinrun.findings.fixes.module import Module, Statement, called_name
from twinrun.findings.fixes.seeding import SEED
from twinrun.knowledge import NUMPY, PYTHON, Kind, is_kind


def generator_per_batch(module: Module, line: int) -> Draft | None:
    """Make the generator from (seed, epoch, index): then it does not matter which worker serves the batch."""
    loader = _loader(module, line)
    body = loader.body.body if loader is not None else ()
    methods = {node.name.value: node for node in body if isinstance(node, cst.FunctionDef)}
    getter = methods.get("__getitem__")
    index = parameters(module, getter) if getter is not None else None
    if loader is None or getter is None or index is None or len(index) != 1:
        return None
    epoch = _free_attribute(module, loader)
    # random.Random takes no tuple as its seed, and takes text.
    as_text = f'f"{SEED} {{self.{epoch}}} {{{index[0]}}}"'
    own = own_generators(module, getter, {NUMPY: f"({SEED}, self.{epoch}, {index[0]})", PYTHON: as_text})
    made = at_the_top(module, getter, *own.lines) if own else None
    counted = _counted(module, loader, methods.get("on_epoch_end"), epoch)
    if own is None or made is None or counted is None:
        return None
    note = "make a generator for each batch from a seed, the epoch and the index"
    return Draft((*counted, *made, *own.changes), note, safe=True)


def _loader(module: Module, line: int) -> cst.ClassDef | None:
    """The loader class around the line, or the one that is made there, or the only one."""
    loaders = [
        node
        for node in module.find(cst.ClassDef)
        if any(is_kind(module.name(base.value), Kind.LOADER) for base in node.bases)
    ]
    around = [loader for loader in loaders if module.spans(loader, line)]
    made = {called_name(call) for call in module.calls_at(line)}
    named = around or [loader for loader in loaders if loader.name.value in made] or loaders
    return named[0] if around or len(named) == 1 else None


def _counted(
    module: Module, loader: cst.ClassDef, at_end: cst.FunctionDef | None, epoch: str
) -> Changes | None:
    """Count the epochs. Keras calls on_epoch_end when the workers have stopped, so nobody reads meanwhile."""
    body = [node for node in loader.body.body if isinstance(node, Statement)]
    if not body or any(name.value == "__slots__" for name in module.find(cst.Name, loader)):
        return None
    first = body[1] if loader.get_docstring() is not None and len(body) > 1 else body[0]
    attribute = at_the_top(module, loader, f"{epoch} = 0", blank=int(isinstance(first, cst.FunctionDef)))
    if at_end is not None:
        count = at_the_top(module, at_end, f"self.{epoch} += 1")
    else:
        method = ("def on_epoch_end(self):", f"    self.{epoch} += 1")
        count = lines_after(module, body[-1], *method, above=True)
    return None if attribute is None or count is None else (*attribute, *count)


def _free_attribute(module: Module, loader: cst.ClassDef) -> str:
    """A name for the epoch counter that the class does not use."""
    used = {node.value for node in module.find(cst.Name, loader)}
    return next(name for name in ("epoch", "data_epoch", "epochs_served", "twin_epoch") if name not in used)
