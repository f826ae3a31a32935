"""A dataset in random order without a seed (TW201): pass `seed=`."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.arguments import argument, is_none, set_argument, unpacks
from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.generators import MAKERS
from twinrun.findings.fixes.module import Module
from twinrun.findings.fixes.seeding import SEED

# Methods of a dataset: the position of seed, and which arguments the method knows.
METHODS = {
    "shuffle": (1, {"buffer_size", "seed", "reshuffle_each_iteration", "name"}),
    "rejection_resample": (3, {"class_func", "target_dist", "initial_dist", "seed", "name"}),
}
# Functions: the position of seed, the name and position of a switch, and whether it shuffles by default.
FUNCTIONS: dict[str, tuple[int | None, tuple[str, int | None, bool] | None]] = {
    "tensorflow.data.Dataset.list_files": (2, ("shuffle", 1, True)),
    "tensorflow.data.Dataset.sample_from_datasets": (2, None),
    "tensorflow.data.Dataset.random": (0, None),
    "tensorflow.data.experimental.shuffle_and_repeat": (2, None),
    "keras.utils.image_dataset_from_directory": (None, ("shuffle", None, True)),
    "keras.utils.text_dataset_from_directory": (None, ("shuffle", None, True)),
    "keras.utils.audio_dataset_from_directory": (None, ("shuffle", None, True)),
    "keras.utils.timeseries_dataset_from_array": (None, ("shuffle", None, False)),
    "keras.utils.split_dataset": (None, ("shuffle", 3, False)),
}
_GENERATORS = {*MAKERS, "numpy.random.Generator", "tensorflow.random.Generator.from_seed"}
_NOT_DATASETS = ("random", "numpy.random", "tensorflow.random", "keras.random", "sklearn")


def seeded(module: Module, line: int) -> Draft | None:
    """Give every unseeded shuffle of this line a seed."""
    found = [(call, edits) for call in module.calls_at(line) if (edits := _edits(module, call))]
    on_line = [pair for pair in found if module.name_line(pair[0]) == line]
    edits = tuple(edit for _, its_edits in on_line or found for edit in its_edits)
    return Draft(edits, "give the shuffle a seed", safe=True) if edits else None


def _edits(module: Module, call: ast.Call) -> tuple[Edit, ...]:
    position = _seed_position(module, call)
    if position is False or unpacks(call):
        return ()
    given = argument(call, "seed", position)
    if given is not None and not is_none(given):
        return ()
    return set_argument(module, call, "seed", position, str(SEED)) or ()


def _seed_position(module: Module, call: ast.Call) -> int | bool | None:
    """Where the seed goes (None: by keyword only), or False when this call shuffles no dataset."""
    name = module.names.called(call)
    if name in FUNCTIONS:
        position, switch = FUNCTIONS[name]
        return position if switch is None or _switched_on(call, *switch) else False
    if name is not None or not isinstance(call.func, ast.Attribute) or call.func.attr not in METHODS:
        return False
    position, known = METHODS[call.func.attr]
    takes = bool(call.args or call.keywords) and all(keyword.arg in known for keyword in call.keywords)
    return position if takes and not _is_generator(module, call.func.value) else False


def _switched_on(call: ast.Call, name: str, position: int | None, default: bool) -> bool:
    given = argument(call, name, position)
    if given is None or is_none(given):
        return default
    return isinstance(given, ast.Constant) and given.value is True


def _is_generator(module: Module, receiver: ast.expr) -> bool:
    """Whether `x.shuffle(…)` is the method of a random generator or of a library, not of a dataset."""
    if (module.names.dotted(receiver) or "").startswith(_NOT_DATASETS):
        return True
    if isinstance(receiver, ast.Call):
        return module.names.called(receiver) in _GENERATORS
    return any(
        module.names.called(node.value) in _GENERATORS
        for node in module.assignments
        if any(module.same(target, receiver) for target in node.targets)
    )
