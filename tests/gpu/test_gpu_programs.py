"""Programs on a GPU: the verdict, the code and the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu import GPU
from support import twinrun

pytestmark = pytest.mark.gpu
PROGRAMS = Path(__file__).parents[1] / "programs" / "gpu"


def line_of(program: Path) -> int:
    lines = program.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("# guilty"))


@pytest.mark.parametrize("name", ["segment", "scatter", "bilinear", "embedding", "depthwise"])
def test_an_op_that_varies_is_named_with_a_remedy_that_was_tried(name: str) -> None:
    program = PROGRAMS / f"{name}.py"
    answer = twinrun("check", "--output-format", "json", program, env=GPU, timeout=400)
    assert answer.document["verdict"] == "diverges", answer.out
    first = answer.document["findings"][0]
    assert (first["code"], first["line"], first["confirmed"]) == ("TW401", line_of(program), True)
    assert "enable_op_determinism" in first["fix"]
    assert any(
        each.startswith("tried: with op-determinism on, the twins repeat") for each in first["evidence"]
    )


@pytest.mark.parametrize(
    ("name", "instead"), [("crop", "tf.device"), ("sparse", "unsorted_segment_sum"), ("nearest", "tf.repeat")]
)
def test_where_op_determinism_refuses_another_way_is_advised(name: str, instead: str) -> None:
    program = PROGRAMS / f"{name}.py"
    answer = twinrun("check", "--output-format", "json", program, env=GPU, timeout=400)
    assert answer.document["verdict"] == "diverges", answer.out
    found = {each["code"]: each for each in answer.document["findings"]}
    assert {each["line"] for each in found.values()} == {line_of(program)}
    assert found.keys() == {"TW401", "TW406"}
    # What is written instead races itself while op determinism is off, as it is in these programs.
    assert instead in found["TW401"]["fix"] and "enable_op_determinism" in found["TW401"]["fix"]


@pytest.mark.parametrize("name", ["clean", "lstm"])
def test_a_program_of_ops_that_repeat_repeats(name: str) -> None:
    answer = twinrun("check", "--output-format", "json", PROGRAMS / f"{name}.py", env=GPU, timeout=400)
    assert answer.document["verdict"] == "repeats", answer.out


def test_where_xla_chooses_a_kernel_anew_in_every_run_that_is_the_cause() -> None:
    program = PROGRAMS / "attention.py"
    answer = twinrun("check", "--output-format", "json", program, env=GPU, timeout=400)
    assert answer.document["verdict"] == "diverges", answer.out
    (finding,) = answer.document["findings"]
    assert (finding["code"], finding["line"], finding["confirmed"]) == ("TW404", line_of(program), True)


def test_a_program_that_op_determinism_refuses_is_undecided_and_shows_nothing_of_ours() -> None:
    program = PROGRAMS / "refused.py"
    answer = twinrun("check", "--output-format", "json", program, env=GPU, timeout=400)
    assert (answer.code, answer.document["verdict"]) == (2, "undecided"), answer.out
    (finding,) = answer.document["findings"]
    assert (finding["code"], finding["line"]) == ("TW406", line_of(program))
    assert "tf.repeat" in finding["fix"]
    assert "/twinrun/" not in answer.document["output_tail"]
