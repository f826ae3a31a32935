"""Which code computes an op: what is suspected, and what of a program's is noticed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from twinrun.comparison.frames import Difference
from twinrun.diagnose.suspects import suspects
from twinrun.frameworks.tensorflow.sources import kernel_choice
from twinrun.frameworks.tensorflow.sources.kernel_choice import Compiler, KernelChoice
from twinrun.launch.interventions import parse_freeze, setup_for
from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Evidence, side_by_side
from twinrun.protocol.intervention import Freeze
from twinrun.protocol.suspect import Suspect
from twinrun.twin.callers import unseen
from twinrun.twin.event_log import EventLog


@pytest.fixture(autouse=True)
def no_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XLA_FLAGS", raising=False)


def event(source: str, action: str, line: int) -> Event:
    return Event(
        source=source, action=action, file="/p/train.py", line=line, function="main", call="f", order=line
    )


def evidence(*events: Event, phase: str = "weights") -> Evidence:
    return Evidence(Difference(1, phase, "w"), side_by_side(events, events))


def of_kernels(*events: Event) -> list[Suspect]:
    return [each for each in suspects(evidence(*events)) if each.code in ("TW404", "TW405")]


TIMED, COMPILED = event("kernel-choice", "time", 3), event("compiler", "compile-for-gpu", 5)


def test_a_convolution_is_suspected_beside_a_function_that_xla_compiles() -> None:
    """The function may be a small one that has nothing to do with it."""
    by_xla, by_cudnn = (each for each in of_kernels(TIMED, COMPILED) if each.code == "TW404")
    assert (by_xla.line, by_cudnn.line) == (5, 3) and by_xla.rank > by_cudnn.rank
    assert by_xla.family != by_cudnn.family
    assert setup_for(0, by_cudnn.freeze).environment == {"TF_CUDNN_USE_AUTOTUNE": "0"}
    assert setup_for(0, by_xla.freeze).environment == {"XLA_FLAGS": "--xla_gpu_autotune_level=0"}
    both = setup_for(0, (*by_xla.freeze, *by_cudnn.freeze)).environment
    assert both == setup_for(0, (Freeze("kernel-choice"),)).environment and len(both) == 2


@pytest.mark.parametrize(
    ("seen", "setting"),
    [(TIMED, "TF_CUDNN_USE_AUTOTUNE=0"), (COMPILED, "XLA_FLAGS=--xla_gpu_autotune_level=0")],
)
def test_the_setting_that_was_tried_is_what_is_advised(seen: Event, setting: str) -> None:
    (suspect,) = (each for each in of_kernels(seen) if each.code == "TW404")
    assert suspect.line == seen.line
    assert suspect.experiment == f"with {setting}"
    assert suspect.in_words == f"start the program with {setting}"


def test_compiling_is_a_last_resort_on_a_gpu_and_no_suspect_on_a_cpu() -> None:
    (suspect,) = (each for each in of_kernels(COMPILED) if each.code == "TW405")
    assert suspect.last_resort and suspect.line == 5
    assert of_kernels(event("compiler", "compile", 5)) == []


def test_every_line_that_xla_may_be_taken_from_can_be_frozen_by_hand() -> None:
    lines = [event("compiler", "compile", 5), event("compiler", "compile-for-gpu", 7)]
    reached = list(Compiler().reached_by("xla", evidence(*lines)))
    assert [each.line for each in reached] == [5, 7]
    for (freeze,) in (each.freeze for each in reached):
        assert parse_freeze(str(freeze)) == freeze


# inside the program


class Made:
    """What a `tf.function` was made with in the end."""

    def __init__(self, session: Any) -> None:
        self._make = kernel_choice._function(session, self._keep)

    def _keep(self, made: Any, **given: Any) -> None:
        self.given = given

    def __call__(self, **given: Any) -> dict[str, Any]:
        self._make(object(), **given)
        return self.given


def session(*freezes: Freeze, **varied: str) -> Any:
    return SimpleNamespace(log=EventLog(freezes), varied=varied)


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The GPUs that TensorFlow shows."""
    shown = ["GPU:0"]
    config = SimpleNamespace(get_visible_devices=lambda kind: shown)
    monkeypatch.setattr(kernel_choice, "tf", SimpleNamespace(config=config))
    return shown


def test_a_function_of_twinruns_own_is_neither_noticed_nor_changed(gpus: list[str]) -> None:
    for freezes, varied in [((), {}), ((), {"xla": "off"}), ((Freeze("compiler"),), {})]:
        here = session(*freezes, **varied)
        with unseen():
            assert Made(here)(jit_compile=True) == {"jit_compile": True}
        assert here.log.events() == []


def test_xla_is_taken_from_the_programs_functions(gpus: list[str]) -> None:
    assert Made(session())(jit_compile=True) == {"jit_compile": True}
    assert Made(session(xla="off"))(jit_compile=True) == {"jit_compile": None}
    assert Made(session(Freeze("compiler")))(jit_compile=True) == {"jit_compile": None}
    assert Made(session(xla="off"))(jit_compile=False) == {"jit_compile": False}


def test_a_program_that_hides_its_gpus_later_runs_on_none(gpus: list[str]) -> None:
    here = session()
    make = Made(here)
    make(jit_compile=True)
    gpus.clear()
    make(jit_compile=True)
    assert [each.action for each in here.log.events()] == ["compile-for-gpu", "compile"]
    convolution = kernel_choice._convolution(here, lambda: None)
    convolution()
    assert len(here.log.events()) == 2
    gpus.append("GPU:0")
    convolution()
    assert here.log.events()[-1].source == KernelChoice.name
