"""A stateful random op in a parallel map (TW203): the stateless op, with a seed per element."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Changes, Draft, unpacks
from twinrun.findings.fixes.element_seeds import Mapped, mapped_functions, seed_name, seeds_passed_in
from twinrun.findings.fixes.module import LOOPS, Function, Module, Unsure, called_name, require, sure
from twinrun.knowledge.functions import Kind


@dataclass(frozen=True)
class Stateless:
    """A stateless op, the parameters of the stateful one, and how many of them keep their position."""

    path: str
    parameters: tuple[str, ...]
    kept: int = 1


_RANDOM = (Kind.DRAW, Kind.GENERATOR, Kind.SEED)
_UNIFORM = ("shape", "minval", "maxval", "dtype", "seed", "name")
_NORMAL = ("shape", "mean", "stddev", "dtype", "seed", "name")
_IMAGE_OPS = {
    "brightness": ("image", "max_delta"),
    "contrast": ("image", "lower", "upper"),
    "crop": ("value", "size"),
    "flip_left_right": ("image",),
    "flip_up_down": ("image",),
    "hue": ("image", "max_delta"),
    "jpeg_quality": ("image", "min_jpeg_quality", "max_jpeg_quality"),
    "saturation": ("image", "lower", "upper"),
}
_SHUFFLE = ("value", "seed", "name")
_CATEGORICAL = ("logits", "num_samples", "dtype", "seed", "name")
STATELESS: dict[str, Stateless] = {
    "tensorflow.random.uniform": Stateless("random.stateless_uniform", _UNIFORM),
    "tensorflow.random.normal": Stateless("random.stateless_normal", _NORMAL),
    "tensorflow.random.truncated_normal": Stateless("random.stateless_truncated_normal", _NORMAL),
    "tensorflow.random.categorical": Stateless("random.stateless_categorical", _CATEGORICAL, 2),
    "tensorflow.random.shuffle": Stateless("random.experimental.stateless_shuffle", _SHUFFLE),
    **{
        f"tensorflow.image.random_{name}": Stateless(
            f"image.stateless_random_{name}", (*parameters, "seed", "name"), len(parameters)
        )
        for name, parameters in _IMAGE_OPS.items()
    },
}


def stateless(module: Module, line: int) -> Draft:
    """Rewrite the map at this line, or the one whose function holds this line."""
    maps, here = mapped_functions(module), module.statement_at(line)
    note = "draw with stateless ops, from a seed per element; the map stays parallel"
    for nearest in (
        [mapped for mapped in maps if module.name_line(mapped.call) == line],
        [mapped for mapped in maps if module.statement(mapped.call) is here],
        [mapped for mapped in maps if module.spans(mapped.function, line)],
    ):
        with suppress(Unsure):
            return Draft(edit.the_only(partial(_rewritten, module), nearest), note, safe=True)
    raise Unsure


def one_at_a_time(module: Module, line: int) -> Draft:
    """Where no rewrite of the function is certain: the map runs its calls one after the other, and draws in order."""
    calls = [each for each in module.find(cst.Call) if isinstance(each.func, cst.Attribute)]
    maps = [call for call in calls if called_name(call) == "map" and _parallel(call)]
    around = [each for each in mapped_functions(module) if module.spans(each.function, line)]
    here = (
        [call for call in maps if call in module.calls_at(line)]
        or [call for call in maps if any(each.call is call for each in around)]
        or maps
    )
    require(len(here) == 1)
    note = "draw in order: the map runs one call at a time, which is slower"
    return Draft((edit.remove_argument(here[0], sure(_parallel(here[0]))),), note, safe=False)


def _parallel(call: cst.Call) -> cst.Arg | None:
    by_position = [arg for arg in call.args if arg.keyword is None and not arg.star]
    named = (
        arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "num_parallel_calls"
    )
    return next(named, by_position[1] if len(by_position) == 2 else None)


def _rewritten(module: Module, mapped: Mapped) -> Changes:
    seed = seed_name(module)
    draws: list[Changes] = []
    for call in module.find(cst.Call, mapped.function):
        op = _op(module, call)
        if op is None:
            require(not _draws_otherwise(module, call, mapped.function))
            continue
        # In a loop, one seed would serve several draws.
        require(module.outer(call, *LOOPS, cst.FunctionDef, cst.Lambda) is mapped.function)
        draws.append(_stateless_call(module, call, op, f"({seed}, {len(draws)})"))
    require(draws)
    return sum(draws, seeds_passed_in(module, mapped, seed))


def _op(module: Module, call: cst.Call) -> Stateless | None:
    if _is_generator_method(module, call):  # its parameters are those of the function, without the seed
        op = STATELESS.get(f"tensorflow.random.{called_name(call)}")
        return op and Stateless(op.path, tuple(name for name in op.parameters if name != "seed"), op.kept)
    return STATELESS.get(module.name(call) or "")


def _is_generator_method(module: Module, call: cst.Call) -> bool:
    """Whether a method is called of what `tf.random.Generator.from_…` made somewhere in this module."""
    if module.name(call) is not None or not isinstance(call.func, cst.Attribute):
        return False
    makers = ("tensorflow.random.Generator.", "tensorflow.random.get_global_generator")
    values = module.assigned_to(call.func.value)
    return any((module.name(each) or "").startswith(makers) for each in values if isinstance(each, cst.Call))


def _draws_otherwise(module: Module, call: cst.Call, function: Function) -> bool:
    """Randomness that is not rewritten here: another random op, or a function of the module that draws."""
    if module.is_kind(call, *_RANDOM) or _is_generator_method(module, call):
        return True
    named = [each for each in module.find(cst.FunctionDef) if each.name.value == called_name(call)]
    return any(module.calls(*_RANDOM, within=other) for other in named if other is not function)


def _stateless_call(module: Module, call: cst.Call, op: Stateless, seed: str) -> Changes:
    by_position = [arg for arg in call.args if arg.keyword is None]
    require(not unpacks(call) and len(by_position) <= len(op.parameters))
    names = dict(zip(by_position, op.parameters, strict=False))
    named = [edit.name_argument(arg, names[arg]) for arg in by_position[op.kept :]]
    names |= {arg: arg.keyword.value for arg in call.args if arg.keyword is not None}
    seeds = [arg.value for arg, name in names.items() if name == "seed"]
    seeded = edit.replace(seeds[0], seed) if seeds else edit.add_argument(call, f"seed={seed}")
    function = sure(module.spelled(f"tensorflow.{op.path}", call)).text
    return (edit.replace(call.func, function), *named, seeded)
