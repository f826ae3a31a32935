"""An op without a deterministic kernel: named with its layer and line; where that is allowed, the run goes on without op
determinism."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent.parent / "programs" / "pinning" / "no_kernel.py"
LINE = next(n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1) if "# the line to blame" in text)
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def refused(twinrun: Run) -> subprocess.CompletedProcess[str]:
    return twinrun("check", "--pin=42", "--no-diagnose", "--output-format", "json", str(PROGRAM))


@pytest.fixture(scope="module")
def allowed(twinrun: Run) -> subprocess.CompletedProcess[str]:
    words = ("check", "--pin=42,allow=TW406", "--no-diagnose", "--output-format", "json", str(PROGRAM))
    return twinrun(*words)


def test_it_is_named_with_op_layer_and_line(refused: subprocess.CompletedProcess[str]) -> None:
    result = json.loads(refused.stdout)
    assert result["verdict"] == "undecided"
    (finding,) = result["findings"]
    assert (finding["code"], finding["name"]) == ("TW406", "no-deterministic-kernel")
    assert (finding["file"], finding["line"]) == (os.path.relpath(PROGRAM), LINE)
    assert finding["message"].startswith("MaxPoolGrad in layer shrink")
    assert finding["fix"].startswith("turn XLA off (jit_compile=False)")
    assert "allow=TW406" in finding["fix"]
    assert "UnimplementedError" in finding["evidence"][0]


def test_nothing_is_judged_when_it_stops_the_program(refused: subprocess.CompletedProcess[str]) -> None:
    assert refused.returncode == 2


def test_allowed_the_check_goes_on_without_op_determinism_and_reports_it(
    allowed: subprocess.CompletedProcess[str],
) -> None:
    result = json.loads(allowed.stdout)
    assert (allowed.returncode, result["verdict"]) == (0, "repeats")
    assert result["steps_compared"] == 3
    assert any(note.startswith("continued without op-determinism: MaxPoolGrad") for note in result["notes"])
    assert result["controls"]["op-determinism"]["state"] == "off"
    assert result["controls"]["op-determinism"]["requested"] is None
    assert result["controls"]["tensorflow-seed"]["set_by"] == "twinrun"


def test_where_the_program_itself_turns_it_on_that_is_named_too(twinrun: Run, tmp_path: Path) -> None:
    program = tmp_path / "own.py"
    turned_on = "tf.config.experimental.enable_op_determinism(); keras.utils.set_random_seed(1)"
    program.write_text(PROGRAM.read_text().replace("\n\nmodel =", f"\n{turned_on}\nmodel ="))
    refused = twinrun("check", "--no-diagnose", "--output-format", "json", str(program))
    result = json.loads(refused.stdout)
    assert (refused.returncode, result["verdict"]) == (2, "undecided")
    (finding,) = result["findings"]
    assert (finding["code"], finding["line"]) == ("TW406", LINE)
    assert "--pin" not in finding["fix"] and "leave op determinism off" in finding["fix"]
    assert result["output_tail"].count("File ") > 1 and "/twinrun/" not in result["output_tail"]
