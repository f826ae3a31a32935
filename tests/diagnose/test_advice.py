"""What is advised against an op that varies, by what was tried of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from twinrun.diagnose.advice import Advice
from twinrun.diagnose.experiments import Trial
from twinrun.findings.finding import Finding
from twinrun.knowledge.refused_ops import INSTEAD
from twinrun.launch.options import CheckOptions
from twinrun.launch.program import Program
from twinrun.protocol import Pin, PinRequest, Suspect
from twinrun.protocol.suspect import Remedy
from twinrun.result import CheckResult


def advised(trial: Trial | None = None, *pins: Pin, instead: str = "") -> Finding:
    """The finding for an op, where this is the answer of an experiment with op determinism on."""
    lab: Any = SimpleNamespace(
        options=CheckOptions(Program("train.py"), interventions=pins), pin=lambda *given, **more: trial
    )
    remedy = Remedy("op-determinism", "enable_op_determinism", instead)
    found, _ = Advice(lab, ()).given(
        Suspect("ops", "TW401", "the op varies", experiment="by ops", remedy=remedy)
    )
    return found


def tried(verdict: Any, *findings: Finding) -> Trial:
    return Trial("", CheckResult("train.py", verdict, findings=findings, steps_compared=20), 1.0)


def test_a_remedy_that_helped_is_advised() -> None:
    found = advised(tried("repeats"), instead="write g")
    assert "enable_op_determinism" in str(found.fix)
    assert found.evidence[-1].startswith("tried: with op-determinism on, the twins repeat")


@pytest.mark.parametrize("verdict", ["diverges", "undecided"])
def test_a_remedy_that_did_not_help_is_not_advised(verdict: str) -> None:
    assert "enable_op_determinism" not in str(advised(tried(verdict)).fix)
    assert str(advised(tried(verdict), instead="write g").fix).endswith("write g")


def test_a_remedy_that_nobody_tried_is_said_to_be_so() -> None:
    found = advised()
    assert "enable_op_determinism" in str(found.fix)
    assert found.evidence[-1] == "not tried: with op-determinism on"


def test_for_an_op_that_refuses_the_remedy_another_is_advised_without_a_trial() -> None:
    found = advised(instead="write g")
    assert found.fix == "write g" and found.evidence[-1].startswith(
        "not tried: with op-determinism on, which"
    )


@pytest.mark.parametrize("op", INSTEAD)
def test_what_races_itself_is_advised_with_op_determinism_on(op: str) -> None:
    refusal = Finding("TW406", "no-deterministic-kernel", "it refuses")
    found = advised(tried("undecided", refusal), instead=INSTEAD[op])
    assert str(found.fix).startswith("op-determinism refuses to run it here (TW406); ")
    assert "with op determinism on (tf.config.experimental.enable_op_determinism())" in str(found.fix)


def test_what_the_check_had_pinned_is_not_advised_again() -> None:
    found = advised(None, Pin(PinRequest()))
    assert "enable_op_determinism" not in str(found.fix)
    assert found.evidence[-1] == "tried: with op-determinism pinned, the twins still differ"
    other = advised(None, Pin(PinRequest(only=("python-hash",))))
    assert "enable_op_determinism" in str(other.fix)
