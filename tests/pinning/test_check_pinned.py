"""`twinrun check --pin`: an unmodified program that seeds nothing repeats, and what cannot be pinned is
reported."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import support

PROGRAM = Path(__file__).parent.parent / "programs" / "pinning" / "trains.py"
Run = Callable[..., "subprocess.CompletedProcess[str]"]
JSON = ("--no-diagnose", "--output-format", "json")


def test_left_alone_it_diverges_and_pinned_it_repeats(twinrun: Run) -> None:
    plain = json.loads(twinrun("check", *JSON, str(PROGRAM)).stdout)
    pinned = json.loads(twinrun("check", "--pin=strict", *JSON, str(PROGRAM)).stdout)
    assert plain["verdict"] == "diverges"
    assert (pinned["verdict"], pinned["steps_compared"]) == ("repeats", 8)
    assert pinned["findings"] == []
    assert all(entry["ok"] for entry in pinned["controls"].values())


def test_a_graph_of_tensorflow_1_is_seeded_and_runs_under_op_determinism(twinrun: Run) -> None:
    pinned = json.loads(twinrun("check", "--pin=strict", *JSON, str(PROGRAM.with_name("graph.py"))).stdout)
    assert (pinned["verdict"], pinned["steps_compared"]) == ("repeats", 4), pinned
    assert pinned["controls"]["op-determinism"]["state"] == "on"


def test_strictly_pinned_to_a_device_that_is_not_there_nothing_is_judged(twinrun: Run) -> None:
    done = twinrun("run", "--pin=strict,device=gpu", "--output-format", "json", str(PROGRAM))
    result = json.loads(done.stdout)
    assert done.returncode == 2
    assert result["reason"].startswith(
        "strict pinning was requested, and not everything is pinned: device: no GPU"
    )


def test_tensorflows_fresh_entropy_is_not_replaced_but_named(twinrun: Run) -> None:
    result = json.loads(twinrun("check", "--pin", *JSON, str(PROGRAM), "tensorflow").stdout)
    assert result["verdict"] == "diverges"
    finding = result["findings"][0]
    assert (finding["code"], finding["line"]) == ("TW103", line("# TensorFlow's fresh entropy"))
    assert Path(finding["file"]).absolute() == PROGRAM


FRESH = """
noise = np.random.rand(4, 2).astype("f")
noise += np.random.default_rng().random(noise.shape, "f")  # NumPy's fresh entropy
train(3, batch=lambda step, x: x + noise)
"""


@pytest.mark.usefixtures("tinynet")
def test_numpys_fresh_entropy_is_not_replaced_but_named(tmp_path: Path) -> None:
    program = support.write(tmp_path, support.PLAIN + FRESH)
    result = support.twinrun("check", "--pin", "--output-format", "json", program).document
    assert result["verdict"] == "diverges"
    finding = result["findings"][0]
    assert (finding["code"], finding["confirmed"]) == ("TW103", True)
    assert Path(finding["file"]).name == "train.py"
    assert finding["line"] == line("# NumPy's fresh entropy", program)


def line(part: str, program: Path = PROGRAM) -> int:
    return next(n for n, text in enumerate(program.read_text().splitlines(), 1) if part in text)
