"""Observing changes nothing: a program ends with the same weights, observed or not, whatever its shape."""

from __future__ import annotations

import json

import pytest

from support import PROGRAMS, check, outputs, python

SHAPES = PROGRAMS / "shapes.py"
FRAGMENTS = PROGRAMS.parent / "findings" / "fragments.py"
slow = pytest.mark.slow

# Shape of program and the number of steps that it trains for: every one of them must have been compared.
STEPS = {
    "fit_custom_train_step": 12,
    "fit_everything": 24,
    "tf_keras_fit": 12,
    "gan_in_one_function": 6,
    "mixed_float16": 10,  # the first two gradients overflow: no update is made, and the loss scale changes
    "strings_and_ragged": 4,
    "manual_update": 6,
    "mirrored": 12,
}
SLOW_STEPS = {
    "fit_accumulating": 12,  # every batch is a step, though only every other one moves the weights
    "train_on_batch": 6,
    "fit_default": 12,  # fit_everything does the same and more
    "fit_dataset": 12,
    "fit_pydataset": 12,
    "fit_generator": 12,
    "fit_eager": 12,
    "fit_jit": 12,
    "loop_eager": 6,
    "loop_function": 6,
    "loop_inside_function": 6,
    "accumulation": 3,
    "iterator_inside_function": 6,
    "loop_over_dataset_inside_function": 6,
    "fit_steps_per_execution": 12,
    "fit_jit_steps_per_execution": 12,
    "tf_keras_steps_per_execution": 12,
    "tf_keras_legacy_optimizer": 12,
    "gan_eager": 6,
    "mixed_bfloat16": 12,
    "manual_update_in_function": 6,
    "only_probe": 0,
}


@pytest.fixture(scope="module")
def unobserved(request: pytest.FixtureRequest) -> dict[str, tuple[int, str]]:
    """Exit code and output of every shape that is asked for, without Twinrun, each in a process of its own."""
    items = (item for item in request.session.items if item.getparent(pytest.Module) is request.node)
    shapes = [item.callspec.params["shape"] for item in items if hasattr(item, "callspec")]
    programs = [
        f"import runpy, sys\nsys.argv[1:] = [{shape!r}]\nrunpy.run_path({str(SHAPES)!r}, run_name='__main__')"
        for shape in shapes
    ]
    found = json.loads(python(FRAGMENTS, stdin=json.dumps(programs), timeout=600).out)
    return {shape: (code, out) for shape, (code, out) in zip(shapes, found, strict=True)}


UNSEEN = ("only_dataset", "only_build", "only_random")  # nothing is trained, evaluated or probed


@slow
@pytest.mark.parametrize("shape", UNSEEN)
def test_a_program_that_trains_nothing_is_not_judged(
    unobserved: dict[str, tuple[int, str]], shape: str
) -> None:
    code, printed = unobserved[shape]
    answer = check(SHAPES, arguments=[shape])
    assert (code, answer.code, answer.document["reason_kind"]) == (0, 2, "no-step")
    assert outputs(answer.document) == [printed] * 2


@pytest.mark.parametrize(
    ("shape", "steps"), [*STEPS.items(), *(pytest.param(*item, marks=slow) for item in SLOW_STEPS.items())]
)
def test_a_program_ends_with_the_same_weights_and_every_step_of_it_is_compared(
    unobserved: dict[str, tuple[int, str]], shape: str, steps: int
) -> None:
    code, printed = unobserved[shape]
    assert code == 0 and "final" in printed, printed
    answer = check(SHAPES, arguments=[shape])
    assert answer.document["verdict"] == "repeats", answer.document["reason"]
    assert answer.document["steps_compared"] == steps
    assert outputs(answer.document) == [printed] * 2


def test_every_shape_there_is_is_checked_here() -> None:
    text = SHAPES.read_text()
    helpers = {
        "data",
        "net",
        "compiled",
        "fit",
        "loss_of",
        "step_of",
        "dataset",
        "gan_parts",
        "mixed",
        "nothing",
    }
    shapes = {line[4 : line.index("(")] for line in text.splitlines() if line.startswith("def ")} - helpers
    assert shapes == {*STEPS, *SLOW_STEPS, *UNSEEN}
