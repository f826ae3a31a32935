"""TensorBoard, whose own reader says what it would show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from installed import needs, path
from tracked_programs import LOOSE, QUICK, trained

from support import python, twinrun, write

pytestmark = [needs("tensorboard"), pytest.mark.usefixtures("tinynet")]
READ = """
import json, sys
sys.modules["tensorflow"] = None  # takes seconds to import, and is not needed
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
read = EventAccumulator(sys.argv[1]).Reload()
tags = read.Tags()
scalars = {tag: [[each.step, each.value] for each in read.Scalars(tag)] for tag in tags["scalars"]}
texts = {tag: [[each.step, each.tensor_proto.string_val[0].decode()] for each in read.Tensors(tag)] for tag in tags["tensors"]}
plugins = {tag: read.SummaryMetadata(tag).plugin_data.plugin_name for tag in tags["tensors"]}
print(json.dumps([scalars, texts, plugins]))
"""


def shown(folder: Path) -> list[dict[str, Any]]:
    answer = python("-c", READ, folder, PYTHONPATH=path())
    assert answer.code == 0, answer.err
    found: list[dict[str, Any]] = json.loads(answer.out.splitlines()[-1])
    return found


def test_a_check_becomes_a_run_without_importing_tensorflow(tmp_path: Path) -> None:
    write(tmp_path, LOOSE)
    # A package of this name that cannot be imported: nothing tries to.
    write(tmp_path, "raise AssertionError('imported')", "tensorflow.py")
    env = {"PYTHONPATH": path()}
    answer = twinrun(*QUICK, "--tensorboard", "logs", "train.py", cwd=tmp_path, env=env)
    assert answer.code == 1 and "logged to TensorBoard: logs/twinrun-train.py-" in answer.err, answer.err
    (run,) = (tmp_path / "logs").iterdir()
    scalars, texts, plugins = shown(run)
    assert scalars["twinrun/exit_code"] == [[0, 1.0]]
    distances = [points for name, points in scalars.items() if name.startswith("tensors/")]
    assert distances and all(value > 0 for points in distances for _, value in points)
    assert texts["twinrun.verdict"] == [[0, "diverges"]] and plugins["twinrun.verdict"] == "text"
    assert texts["twinrun/summary"][0][1].startswith("```text\ndiverges at ")
    assert json.loads((run / "twinrun" / "result.json").read_text())["verdict"] == "diverges"


def test_two_runs_are_compared_by_the_folders_that_they_logged_to(tmp_path: Path) -> None:
    for number in (0, 1):
        answer = trained(tmp_path, number, path(), '"tensorboard", folder=sys.argv[1]')
        assert answer.code == 0 and "warning: " not in answer.err, answer.err
    answer = twinrun("diff", "0", "1", cwd=tmp_path)
    assert answer.code == 1 and answer.out.startswith("diverges after epoch 2"), answer.out + answer.err
    _, one, _ = shown(tmp_path / "0")
    _, other, _ = shown(tmp_path / "1")
    digests = [texts["twinrun.digest"] for texts in (one, other)]
    assert [step for step, _ in digests[0]] == [0, 1, 2, 3]
    assert [a == b for a, b in zip(*digests, strict=True)] == [True, True, False, False]


def test_the_callback_wants_a_folder_for_tensorboard(tmp_path: Path) -> None:
    answer = trained(tmp_path, 0, path(), '"tensorboard"')
    assert answer.code == 1 and "EpochDigests takes a folder for tensorboard" in answer.err
