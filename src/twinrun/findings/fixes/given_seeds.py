"""Calls that take a seed and get none: generators (TW103), Keras layers (TW105) and shuffles of data (TW201)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Change, Changes, Draft, argument, is_name, unpacks
from twinrun.findings.fixes.module import Module, called_name, require, sure
from twinrun.findings.fixes.seeding import KERAS
from twinrun.knowledge.functions import Argument, Kind, Switch, known_method

_UNSEEDED = "tensorflow.random.Generator.from_non_deterministic_state"
_OVER = "numpy.random.Generator"  # made of a bit generator, and takes no seed
# What libraries make with a generator of its own, and the argument that seeds it.
_LIBRARY_SEEDS = {
    "albumentations.Compose": "seed",
    "albumentations.ReplayCompose": "seed",
    "scipy.stats.qmc.": "rng",
}
_NOT_DATASETS = ("random", "numpy.random", "tensorflow.random", "keras.random", "sklearn")


def generator(module: Module, line: int) -> Draft:
    """Give every unseeded generator that is made at this line a seed."""
    return _made_with_seed(module, _found(module, line, _seeded_generator), "give the generator a seed")


def _made_with_seed(module: Module, found: dict[cst.Call, Changes], note: str) -> Draft:
    again = next((reason for call in found if (reason := _made_again(module, call))), None)
    if again:
        note += f"; {again}, so it would start over each time: better create it once, outside"
    return Draft(sum(found.values(), ()), note, safe=again is None)


def layer(module: Module, line: int) -> Draft:
    """Give the unseeded layers and initialisers of this line a seed, each another one."""
    require(not module.calls(KERAS))
    calls = [(call, seed) for call in module.find(cst.Call) if (seed := _layer_seed(module, call))]
    changes: Changes = ()
    for number, (call, seed) in enumerate(calls):
        if module.name_line(call) == line:
            changes += edit.seed_argument(module, call, seed, number)
    note = "give the layer a seed; or call keras.utils.set_random_seed in the program before it is built"
    return Draft(changes, note, safe=False)


def shuffle(module: Module, line: int) -> Draft:
    """Give every unseeded shuffle of this line a seed."""
    found = _found(module, line, _seeded_shuffle)
    return Draft(sum(found.values(), ()), "give the shuffle a seed", safe=True)


def library(module: Module, line: int) -> Draft:
    """Give calls of scikit-learn, pandas and SciPy their `random_state`, where the object is made that draws."""
    found = _found(module, line, _with_state)
    if not found:  # model.fit(x): the state is given to the model
        owners = [call.func.value for call in module.calls_at(line) if isinstance(call.func, cst.Attribute)]
        makers = [
            made for owner in owners for made in module.assigned_to(owner) if isinstance(made, cst.Call)
        ]
        found = {call: changes for call in makers if (changes := _with_state(module, call))}
    once = not any(_made_again(module, call) for call in found)
    note = (
        "give the call a random_state"
        if once
        else "give the call a random_state; it then draws the same each time"
    )
    return Draft(sum(found.values(), ()), note, safe=once)


def _with_state(module: Module, call: cst.Call) -> Changes:
    name = module.name(call) or ""
    known = module.known(call)
    state = Argument(None, "random_state")
    if known is not None and known.seed == state:
        return edit.seed_argument(module, call, state)
    is_class = name.startswith("sklearn.") and name.rpartition(".")[2][:1].isupper()
    is_draw = not name and isinstance(call.func, cst.Attribute) and called_name(call) in ("sample", "rvs")
    return edit.seed_argument(module, call, state) if is_class or is_draw else ()


def made_with_seed(module: Module, line: int) -> Draft:
    """Give what a library makes at this line its seed: albumentations and SciPy's samplers."""
    return _made_with_seed(module, _found(module, line, _library_seed), "give it a seed")


def seeded_transform(module: Module, line: int) -> Draft:
    """Seed a transform of albumentations that is in no composition, where it is made."""
    here = module.calls_at(line)
    made = [node for node in module.find(cst.Assign) if node.value in here and len(node.targets) == 1]
    require(len(made) == 1)
    maker = module.name(made[0].value) or ""
    require(maker.startswith("albumentations.") and maker not in _LIBRARY_SEEDS)
    statement = sure(module.statement(made[0]))
    text = f"{module.code(made[0].targets[0].target)}.set_random_seed({module.seed(statement)})"
    again = _made_again(module, cst.ensure_type(made[0].value, cst.Call))
    return Draft(edit.lines_after(module, statement, text), "give the transform a seed", safe=again is None)


def _library_seed(module: Module, call: cst.Call) -> Changes:
    name = module.name(call) or ""
    argument_name = next((arg for prefix, arg in _LIBRARY_SEEDS.items() if name.startswith(prefix)), None)
    return () if argument_name is None else edit.seed_argument(module, call, Argument(None, argument_name))


def _found(
    module: Module, line: int, seeded: Callable[[Module, cst.Call], Changes]
) -> dict[cst.Call, Changes]:
    """The calls that a finding at this line is about, each with what seeds it."""
    found = {call: changes for call in module.calls_at(line) if (changes := seeded(module, call))}
    return {call: each for call, each in found.items() if module.name_line(call) == line} or found


def _seeded_generator(module: Module, call: cst.Call) -> Changes:
    maker = module.known(call)
    if maker is None or maker.kind is not Kind.GENERATOR or unpacks(call):
        return ()
    if module.name(call) == _UNSEEDED:
        return (Change(call, partial(_from_seed, module.seed(call))),)
    if maker.seed is None:
        return ()
    if call.args:
        return edit.seed_argument(module, call, maker.seed)
    return (edit.add_argument(call, module.seed(call)),)


def _from_seed(seed: str, call: cst.Call) -> cst.Call:
    func = cst.ensure_type(call.func, cst.Attribute).with_changes(attr=cst.Name("from_seed"))
    return call.with_changes(func=func, args=[cst.Arg(cst.parse_expression(seed)), *call.args])


def _made_again(module: Module, call: cst.Call) -> str | None:
    """Why a call may be made more than once in a run; None when it is made once."""
    if module.in_loop(call):
        return "it is made in a loop"
    function = module.function(call)
    if isinstance(function, cst.Lambda):
        return "it is made in a lambda"
    if function is not None and not module.runs_once(function):
        return f"it is made at every call of {function.name.value}()"
    return None


def _layer_seed(module: Module, call: cst.Call) -> Argument | None:
    found = module.known(call)
    return found.seed if found is not None and found.kind in (Kind.LAYER, Kind.INITIALIZER) else None


def _seeded_shuffle(module: Module, call: cst.Call) -> Changes:
    found = module.known(call)
    shuffles = found is not None and (found.switch is None or _is_on(call, found.switch))
    if module.name(call) is None and isinstance(call.func, cst.Attribute):
        found = known_method(call.func.attr.value, "tensorflow.data.Dataset")
        keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        takes = found is not None and bool(call.args) and keywords <= {*found.arguments}
        shuffles = takes and not _is_generator(module, call.func.value)
    if found is None or found.kind is not Kind.SHUFFLE or found.seed is None or not shuffles:
        return ()
    return edit.seed_argument(module, call, found.seed)


def _is_on(call: cst.Call, switch: Switch) -> bool:
    given = argument(call, switch.name, switch.position)
    return switch.default if given is None or is_name(given, "None") else is_name(given, "True")


def _is_generator(module: Module, receiver: cst.BaseExpression) -> bool:
    """Whether `x.shuffle(…)` is the method of a random generator or of a library, not of a dataset."""
    if (module.name(receiver) or "").startswith(_NOT_DATASETS):
        return True
    made = [receiver, *module.assigned_to(receiver)]
    makers = (each for each in made if isinstance(each, cst.Call))
    return any(module.name(each) == _OVER or module.is_kind(each, Kind.GENERATOR) for each in makers)
