"""Global randomness in the `__getitem__` of a Keras PyDataset (TW205): a generator per batch."""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import SEED, Draft, at_the_top, lines_after
from twinrun.findings.fixes.functions import parameters
from twinrun.findings.fixes.host_draws import own_generators
from twinrun.findings.fixes.module import Module, called_name, require, sure
from twinrun.knowledge.functions import NUMPY, PYTHON, Kind, is_kind


def generator_per_batch(module: Module, line: int) -> Draft:
    """Make the generator from (seed, epoch, index): then it does not matter which worker serves the batch."""
    loader = _loader(module, line)
    methods = {node.name.value: node for node in loader.body.body if isinstance(node, cst.FunctionDef)}
    getter = sure(methods.get("__getitem__"))
    index, *more = parameters(module, getter)
    epoch = _free_attribute(module, loader)
    # random.Random takes no tuple as its seed, and takes text.
    as_text = f'f"{SEED} {{self.{epoch}}} {{{index}}}"'
    seeds = {NUMPY: f"({SEED}, self.{epoch}, {index})", PYTHON: as_text}
    lines, draws = own_generators(module, getter, seeds)
    require(not more and not any(name.value == "__slots__" for name in module.find(cst.Name, loader)))
    changes = at_the_top(module, loader, f"{epoch} = 0") + at_the_top(module, getter, *lines) + draws
    # Keras calls on_epoch_end when the workers have stopped, so nobody reads the epoch meanwhile.
    at_end = methods.get("on_epoch_end")
    if at_end is not None:
        changes += at_the_top(module, at_end, f"self.{epoch} += 1")
    else:
        method = ("def on_epoch_end(self):", f"    self.{epoch} += 1")
        changes += lines_after(module, list(methods.values())[-1], *method, above=True)
    note = "make a generator for each batch from a seed, the epoch and the index"
    return Draft(changes, note, safe=True)


def _loader(module: Module, line: int) -> cst.ClassDef:
    """The loader class around the line, or the one that is made there, or the only one."""
    loaders = [
        node
        for node in module.find(cst.ClassDef)
        if any(is_kind(module.name(base.value), Kind.LOADER) for base in node.bases)
    ]
    around = [loader for loader in loaders if module.spans(loader, line)]
    made = {called_name(call) for call in module.calls_at(line)}
    named = around or [loader for loader in loaders if loader.name.value in made] or loaders
    require(around or len(named) == 1)
    return named[0]


def _free_attribute(module: Module, loader: cst.ClassDef) -> str:
    """A name for the epoch counter that the class does not use."""
    used = {node.value for node in module.find(cst.Name, loader)}
    return next(name for name in ("epoch", "data_epoch", "epochs_served", "twin_epoch") if name not in used)
