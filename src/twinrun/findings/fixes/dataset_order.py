"""The order in which a dataset gives its elements: a seed for a shuffle (TW201), `deterministic=True` (TW202)."""

from __future__ import annotations

import libcst as cst

from twinrun.findings.fixes.changes import Change, Changes, Draft, argument, is_name, replace, seed_argument
from twinrun.findings.fixes.module import Module, called_name
from twinrun.findings.fixes.seeding import SEED
from twinrun.knowledge import Argument, Kind, Switch, is_kind, known, known_method

_DATASET = "tensorflow.data.Dataset"
_NOT_DATASETS = ("random", "numpy.random", "tensorflow.random", "keras.random", "sklearn")
_OPTIONS = {"deterministic", "experimental_deterministic"}


def seeded(module: Module, line: int) -> Draft | None:
    """Give every unseeded shuffle of this line a seed."""
    found = {call: changes for call in module.calls_at(line) if (changes := _seeded(module, call))}
    on_line = [call for call in found if module.name_line(call) == line] or list(found)
    changes = tuple(change for call in on_line for change in found[call])
    return Draft(changes, "give the shuffle a seed", safe=True) if changes else None


def deterministic(module: Module, line: int) -> Draft | None:
    """Set the flag at this line to True; or the one place of the file's Options where it is False."""
    changes = [change for call in module.calls_at(line) if (change := _flag(call))]
    if not changes:
        options = {node: change for node in module.find(cst.Assign) if (change := _option(node))}
        here = module.statement_at(line)
        changes = [change for node, change in options.items() if module.statement(node) is here]
        if not changes and len(options) == 1:
            changes = list(options.values())
    note = "keep the elements in order; the calls still run in parallel"
    return Draft(tuple(changes), note, safe=True) if changes else None


def _seeded(module: Module, call: cst.Call) -> Changes:
    seed = _seed(module, call)
    return () if seed is None else seed_argument(call, seed, str(SEED))


def _seed(module: Module, call: cst.Call) -> Argument | None:
    """Where the seed goes; None when this call shuffles nothing."""
    name = module.name(call)
    if name is not None:
        shuffle = known(name)
        shuffles = shuffle is not None and (shuffle.switch is None or _is_on(call, shuffle.switch))
    elif isinstance(call.func, cst.Attribute):
        shuffle = known_method(call.func.attr.value, _DATASET)
        keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        takes = shuffle is not None and bool(call.args) and keywords <= {*shuffle.arguments}
        shuffles = takes and not _is_generator(module, call.func.value)
    else:
        return None
    return shuffle.seed if shuffle is not None and shuffle.kind is Kind.SHUFFLE and shuffles else None


def _is_on(call: cst.Call, switch: Switch) -> bool:
    given = argument(call, switch.name, switch.position)
    return switch.default if given is None or is_name(given, "None") else is_name(given, "True")


def _is_generator(module: Module, receiver: cst.BaseExpression) -> bool:
    """Whether `x.shuffle(…)` is the method of a random generator or of a library, not of a dataset."""
    if (module.name(receiver) or "").startswith(_NOT_DATASETS):
        return True
    made = [receiver, *module.assigned_to(receiver)]
    names = [module.name(each) for each in made if isinstance(each, cst.Call)]
    return any(name == "numpy.random.Generator" or is_kind(name, Kind.GENERATOR) for name in names)


def _flag(call: cst.Call) -> Change | None:
    method = known_method(called_name(call), _DATASET) if isinstance(call.func, cst.Attribute) else None
    if method is None or method.kind is not Kind.DATASET:
        return None
    given = argument(call, "deterministic", method.deterministic)
    return replace(given, "True") if given is not None and is_name(given, "False") else None


def _option(node: cst.Assign) -> Change | None:
    """`options.deterministic = False`."""
    targets = [each.target for each in node.targets]
    named = any(isinstance(each, cst.Attribute) and each.attr.value in _OPTIONS for each in targets)
    return replace(node.value, "True") if named and is_name(node.value, "False") else None
