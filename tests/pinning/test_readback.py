"""Reading back is real: what the program changes after it was pinned shows, whichever way it was changed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent.parent / "programs" / "pinning"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def steps(printed: Callable[..., Any]) -> dict[str, Any]:
    return dict(printed("changes.py", "--pin=42,threads=2"))


def test_pinned_from_outside_everything_used_holds_and_is_ours(steps: dict[str, Any]) -> None:
    pinned = {
        name: entry for name, entry in steps["pinned"].items() if name not in ("device", "tf-keras-seed")
    }
    assert {entry["set_by"] for entry in pinned.values()} == {"twinrun"}
    assert all(entry["ok"] for entry in pinned.values())
    assert not any(entry["changed"] for entry in pinned.values())


def test_draws_do_not_hide_whose_stream_it_is(steps: dict[str, Any]) -> None:
    assert steps["pinned"]["python-random"]["state"]["drawn"] is True
    assert steps["pinned"]["numpy-random"]["state"]["drawn"] is True


def test_the_programs_own_calls_show_with_their_line(steps: dict[str, Any]) -> None:
    now = steps["set by the usual calls"]
    line = _line("changes.py", "tf.random.set_seed(9)")
    assert now["tensorflow-seed"]["state"]["seed"] == 9
    assert now["tensorflow-seed"]["set_by"] == "program"
    assert now["tensorflow-seed"]["place"].endswith(f"changes.py:{line}")
    assert now["intra-op-threads"] | {"place": None} == {
        "state": 1,
        "set_by": "program",
        "ok": True,
        "changed": True,
        "place": None,
        "why_not": None,
    }


@pytest.mark.parametrize(
    ("control", "state", "protected"),
    [
        ("python-random", {"seed": 5, "drawn": False}, True),
        ("numpy-random", "replaced by a saved state", True),
        ("op-determinism", "off", False),
        ("xla", {"auto_clustering": True}, False),
    ],
)
def test_a_change_by_an_unusual_call_shows(
    steps: dict[str, Any], control: str, state: Any, protected: bool
) -> None:
    entry = steps["changed by unusual calls"][control]
    assert entry["state"] == state
    assert (entry["set_by"], entry["ok"], entry["changed"]) == ("program", protected, True)


@pytest.mark.parametrize(
    ("control", "call"), [("python-random", "Random.seed("), ("numpy-random", "get_bit_generator().state")]
)
def test_a_stream_that_an_unusual_call_replaces_shows_its_line(
    steps: dict[str, Any], control: str, call: str
) -> None:
    entry = steps["changed by unusual calls"][control]
    assert entry["place"].endswith(f"changes.py:{_line('changes.py', call)}")


def test_tensor_float_32_switched_on_again_shows(steps: dict[str, Any]) -> None:
    entry = steps["changed by unusual calls"]["tensor-float-32"]
    assert entry["state"].startswith("on")
    assert entry["changed"]


def test_a_variable_written_too_late_is_not_taken_for_an_effect(steps: dict[str, Any]) -> None:
    now, before = steps["changed by unusual calls"], steps["pinned"]
    assert now["onednn"]["state"] == before["onednn"]["state"] == "on"
    assert "after TensorFlow had been imported" in now["onednn"]["why_not"]
    assert now["openmp-threads"]["state"]["openblas"] == 2
    assert "after NumPy had been imported" in now["openmp-threads"]["why_not"]
    assert now["hash-seed"]["state"] == before["hash-seed"]["state"]


def test_seeding_from_fresh_entropy_is_no_seeding(steps: dict[str, Any]) -> None:
    entry = steps["seeded from fresh entropy"]["python-random"]
    assert (entry["set_by"], entry["ok"]) == ("program", False)
    assert entry["place"].endswith(f"changes.py:{_line('changes.py', 'random.seed()')}")


def test_doctor_shows_that_the_programs_own_later_seed_takes_precedence(twinrun: Run) -> None:
    done = twinrun("doctor", "--pin=3", "--output-format", "json", str(PROGRAMS / "own_seed.py"))
    found = json.loads(done.stdout)
    assert found["schema"] == "twinrun/doctor/1"
    assert "after its first training step" in found["subject"]
    line = _line("own_seed.py", "set_random_seed(7)")
    for control in ("python-random", "numpy-random", "tensorflow-seed", "keras-seed"):
        entry = found["controls"][control]
        assert entry["state"]["seed"] == 7, control
        assert (entry["set_by"], entry["changed"], entry["ok"]) == ("program", True, True), control
        assert entry["place"].endswith(f"own_seed.py:{line}"), control
    assert found["controls"]["op-determinism"]["set_by"] == "twinrun"
    assert found["missing"] == []


def test_doctor_without_a_program_reports_what_is_missing_and_how_to_set_it(twinrun: Run) -> None:
    done = twinrun("doctor", "-v")
    assert done.returncode == 0
    subject, summary = done.stdout.splitlines()[:2]
    assert f"tensorflow {version('tensorflow')}" in subject
    assert "controls in use here hold; missing: " in summary
    text = " ".join(done.stdout.split())
    assert "-- op-determinism off set by nobody" in text
    assert "set it tf.config.experimental.enable_op_determinism()" in text
    assert "PYTHONHASHSEED=0" in text
    assert "missing: numpy-random, python-random, hash-seed" in text


def test_doctor_reports_the_environment_only_where_it_has_an_effect(twinrun: Run) -> None:
    done = twinrun("doctor", "--output-format", "json", PYTHONHASHSEED="11", TF_ENABLE_ONEDNN_OPTS="0")
    controls = json.loads(done.stdout)["controls"]
    assert (controls["hash-seed"]["state"], controls["hash-seed"]["set_by"]) == (11, "environment")
    assert (controls["onednn"]["state"], controls["onednn"]["set_by"]) == ("off", "environment")


def _line(program: str, part: str) -> int:
    lines = (PROGRAMS / program).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if part in line)
