"""What a check keeps of every step, for its report: as far as the twins were compared, and no further."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import FIRST, PLAIN, check, write

pytestmark = pytest.mark.usefixtures("tinynet")

# From step 3 on the weights of one of the twins are a little off.
NUDGED = (
    FIRST
    + PLAIN
    + """
odd = sys.argv[1] == "first" and first()
def each(step):
    if odd and step == 3:
        model.weight = model.weight + np.array([1e-6, 0], "f")
train(8, each)
"""
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("nudged"), NUDGED)


def checked(program: Path, marker: Path, *options: str) -> dict[str, Any]:
    document: dict[str, Any] = check(program, *options, arguments=["first", marker]).document
    return document


def states(document: dict[str, Any], kind: str = "phases") -> dict[str, str]:
    return {row["name"] or row["phase"]: row["states"] for row in document["timeline"][kind]["rows"]}


def test_twins_go_on_for_a_while_after_their_first_difference(program: Path, tmp_path: Path) -> None:
    found = checked(program, tmp_path / "marker", "--follow", "4")
    seen = found["timeline"]
    assert (found["first_difference"]["step"], found["steps_compared"], seen["followed"]) == (3, 2, 4)
    assert states(found)["batch"] == ".=======" and states(found)["weights"] == ".==xxxxx"
    assert seen["layers"]["start"] == 3 and states(found, "layers")["model 0"] == "=xxxxx"
    weight = next(each for each in seen["tensors"] if each["tensor"] == "model 0")
    assert weight["steps"] == [3, 4, 5, 6, 7] and weight["max_abs"][0] == pytest.approx(1e-6, rel=0.1)
    (loss,) = seen["curves"]
    assert loss["steps"] == list(range(1, 8)) and loss["values"][0][:3] == loss["values"][1][:3]
    assert found["first_difference"]["elements"] == {
        "shape": [2],
        "split": 0,
        "rows": ["90"],
        "between": [[0, 0]],
    }
    assert found["environment_differences"] == []


def test_they_need_not(program: Path, tmp_path: Path) -> None:
    found = checked(program, tmp_path / "marker", "--follow", "0", "--vary", "timezone")
    assert found["timeline"]["followed"] == 0 and states(found)["weights"] == ".==x"
    assert [each["steps"] for each in found["timeline"]["tensors"]] == [[3]]
    # What was varied shows in the environment.
    (zone,) = (each for each in found["environment_differences"] if each["field"] == "platform.time_zone")
    assert zone["group"] == "can change metrics" and zone["a"] != zone["b"]


def test_what_ends_while_it_is_followed_changes_no_verdict(tmp_path: Path) -> None:
    text = NUDGED.replace("train(8, each)", "train(5, each)\nif odd:\n    raise SystemExit(3)")
    found = checked(write(tmp_path, text), tmp_path / "marker")
    assert (found["verdict"], found["first_difference"]["step"]) == ("diverges", 3)
    assert found["timeline"]["followed"] == 2
