"""A stateful random op in a parallel map (TW203): the stateless op, with a seed per element."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.arguments import add_argument, unpacks
from twinrun.findings.fixes.element_seeds import (
    Mapped,
    mapped_functions,
    seed_name,
    seeds_passed_in,
    tensorflow_name,
)
from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.module import Function, Module

# Stateful op: the stateless one, the parameters of the stateful one, how many of them keep their position.
_UNIFORM = ("shape", "minval", "maxval", "dtype", "seed", "name")
_NORMAL = ("shape", "mean", "stddev", "dtype", "seed", "name")
STATELESS: dict[str, tuple[str, tuple[str, ...], int]] = {
    "tensorflow.random.uniform": ("random.stateless_uniform", _UNIFORM, 1),
    "tensorflow.random.normal": ("random.stateless_normal", _NORMAL, 1),
    "tensorflow.random.truncated_normal": ("random.stateless_truncated_normal", _NORMAL, 1),
    "tensorflow.random.categorical": (
        "random.stateless_categorical",
        ("logits", "num_samples", "dtype", "seed", "name"),
        2,
    ),
    "tensorflow.random.shuffle": ("random.experimental.stateless_shuffle", ("value", "seed", "name"), 1),
    **{
        f"tensorflow.image.random_{name}": (
            f"image.stateless_random_{name}",
            (*parameters, "seed", "name"),
            len(parameters),
        )
        for name, parameters in {
            "brightness": ("image", "max_delta"),
            "contrast": ("image", "lower", "upper"),
            "crop": ("value", "size"),
            "flip_left_right": ("image",),
            "flip_up_down": ("image",),
            "hue": ("image", "max_delta"),
            "jpeg_quality": ("image", "min_jpeg_quality", "max_jpeg_quality"),
            "saturation": ("image", "lower", "upper"),
        }.items()
    },
}
# Methods of tf.random.Generator: they have no seed.
_GENERATOR = {
    "uniform": ("random.stateless_uniform", tuple(p for p in _UNIFORM if p != "seed"), 1),
    "normal": ("random.stateless_normal", tuple(p for p in _NORMAL if p != "seed"), 1),
    "truncated_normal": ("random.stateless_truncated_normal", tuple(p for p in _NORMAL if p != "seed"), 1),
}
_RANDOM = ("tensorflow.random.", "tensorflow.image.random_", "keras.random.", "numpy.random.", "random.")
_LOOPS = ast.For | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def stateless(module: Module, line: int) -> Draft | None:
    """Rewrite the map at this line, or the one whose function holds this line."""
    seed = seed_name(module)
    maps, here = mapped_functions(module), module.statement_at(line)
    rewritten: list[list[Edit]] = []
    for nearest in (
        [mapped for mapped in maps if module.name_line(mapped.call) == line],
        [mapped for mapped in maps if here is not None and module.statement(mapped.call) is here],
        [mapped for mapped in maps if mapped.function.lineno <= line <= (mapped.function.end_lineno or 0)],
    ):
        rewritten = rewritten or [edits for mapped in nearest if (edits := _rewritten(module, mapped, seed))]
    if len(rewritten) != 1:
        return None
    note = "draw with stateless ops, from a seed per element; the map stays parallel"
    return Draft(tuple(rewritten[0]), note, safe=True)


def _rewritten(module: Module, mapped: Mapped, seed: str) -> list[Edit] | None:
    draws = _draw_edits(module, mapped.function, seed)
    passed = seeds_passed_in(module, mapped, seed) if draws else None
    return [*passed, *draws] if passed and draws else None


def _draw_edits(module: Module, function: Function | ast.Lambda, seed: str) -> list[Edit] | None:
    """Edits that make every draw of a function stateless; None when there is one that cannot be."""
    edits: list[Edit] = []
    number = 0
    for call in module.calls(function):
        op = _op(module, call)
        if op is None:
            if _draws_otherwise(module, call, function):
                return None
            continue
        once = module.function(call) is function and not _in_loop_of(module, call, function)
        own = _stateless_call(module, call, op, f"({seed}, {number})") if once else None
        if own is None:
            return None
        edits += own
        number += 1
    return edits


def _op(module: Module, call: ast.Call) -> tuple[str, tuple[str, ...], int] | None:
    name = module.names.called(call)
    if name in STATELESS:
        return STATELESS[name]
    if name is None and isinstance(call.func, ast.Attribute) and _is_generator(module, call.func.value):
        return _GENERATOR.get(call.func.attr)
    return None


def _is_generator(module: Module, receiver: ast.expr) -> bool:
    """Whether a name or attribute was made by `tf.random.Generator.from_…` somewhere in this module."""
    makers = ("tensorflow.random.Generator.", "tensorflow.random.get_global_generator")
    return any(
        (module.names.called(node.value) or "").startswith(makers)
        and any(module.same(target, receiver) for target in node.targets)
        for node in module.assignments
    )


def _draws_otherwise(module: Module, call: ast.Call, function: Function | ast.Lambda) -> bool:
    """Randomness that is not rewritten here: another random op, or a function of the module that draws."""
    name = module.names.called(call) or ""
    if name.startswith(_RANDOM):
        return ".stateless_" not in name
    if isinstance(call.func, ast.Attribute) and not name and _is_generator(module, call.func.value):
        return True
    if isinstance(call.func, ast.Name | ast.Attribute):
        called = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
        for node in module.named.get(called, []):
            if isinstance(node, ast.FunctionDef) and node is not function:
                return any(
                    (module.names.called(inner) or "").startswith(_RANDOM) for inner in module.calls(node)
                )
    return False


def _in_loop_of(module: Module, call: ast.Call, function: Function | ast.Lambda) -> bool:
    for each in module.ancestors(call):
        if each is function:
            return False
        if isinstance(each, _LOOPS):
            return True
    return True


def _stateless_call(
    module: Module, call: ast.Call, op: tuple[str, tuple[str, ...], int], seed: str
) -> list[Edit] | None:
    path, names, kept = op
    tensorflow = tensorflow_name(module, call)
    if tensorflow is None or unpacks(call) or len(call.args) > len(names):
        return None
    edits = [module.replace(call.func, f"{tensorflow}.{path}")]
    seeded = False
    for name, given in list(zip(names, call.args, strict=False))[kept:]:
        if name == "seed":
            edits.append(module.replace(given, f"seed={seed}"))
            seeded = True
        else:
            edits.append(Edit(module.start(given), module.start(given), f"{name}="))
    for keyword in call.keywords:
        if keyword.arg == "seed":
            edits.append(module.replace(keyword.value, seed))
            seeded = True
    if not seeded:
        added = add_argument(module, call, f"seed={seed}")
        if added is None:
            return None
        edits += added
    return edits
