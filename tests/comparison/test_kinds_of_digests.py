"""Recordings of which one was digested on a GPU and the other was not: by value where values were kept, and otherwise not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from twinrun.comparison.contract import parse_contract
from twinrun.errors import BadRecording
from twinrun.launch.offline import compare_recordings
from twinrun.recording.digest import digest_array
from twinrun.recording.dump import write_dump
from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.manifest import Manifest
from twinrun.recording.store import Writer
from twinrun.recording.sum_digest import sum_digest
from twinrun.recording.values import values_file
from twinrun.result import CheckResult

BITWISE = parse_contract("bitwise")
STEPS = 4


def recorded(folder: Path, kinds: str, *, kept: bool = True, changed: int | None = None) -> Path:
    """A run of which the weights were digested in these ways. Those of step `changed` are others than usual."""
    folder.mkdir()
    keys = [("batch", "x"), ("weights", "w"), ("weights", "v")]
    layout = Layout(tuple(phase for phase, _ in keys), tuple(name for _, name in keys), kinds)
    writer = Writer(folder)
    for step in range(1, STEPS + 1):
        arrays = [np.arange(5, dtype="f") * step + number for number in range(3)]
        if step == changed:
            arrays[1] = np.nextafter(arrays[1], np.float32(99))
        taken = [sum_digest if layout.kind(entry) == "d" else digest_array for entry in range(3)]
        digests = [digest(array) for digest, array in zip(taken, arrays, strict=True)]
        writer.write(Frame(step, 1, layout, pack(digests)))
        if kept:
            write_dump(values_file(folder, step - 1), dict(zip(keys, arrays, strict=True)))
    Manifest("train.py", status="ended", exit_code=0, seal=writer.close()).write(folder)
    return folder


def compared(a: Path, b: Path) -> CheckResult:
    return compare_recordings(a, b, BITWISE)


@pytest.mark.parametrize("kinds", [("", "hdd"), ("hdd", ""), ("hdh", "hhd")])
def test_where_values_were_kept_they_are_compared(tmp_path: Path, kinds: tuple[str, str]) -> None:
    a, b = recorded(tmp_path / "a", kinds[0]), recorded(tmp_path / "b", kinds[1])
    assert compared(a, b).verdict == "repeats"
    found = compared(a, recorded(tmp_path / "c", kinds[1], changed=3))
    first = found.first_difference
    assert (found.verdict, first and (first.step, first.tensor)) == ("diverges", (3, "w"))


def test_without_values_nothing_is_known(tmp_path: Path) -> None:
    a, b = recorded(tmp_path / "a", "", kept=False), recorded(tmp_path / "b", "hdd", kept=False)
    found = compared(a, b)
    assert (found.verdict, found.reason_kind) == ("undecided", "not-comparable")
    assert "on a GPU in one run and on the host in the other at step 1" in str(found.reason)
    assert not any("batches were fed" in note for note in found.notes), found.notes


def test_two_runs_of_one_kind_need_no_values(tmp_path: Path) -> None:
    a, b = (recorded(tmp_path / name, "hdd", kept=False) for name in "ab")
    assert compared(a, b).verdict == "repeats"
    changed = compared(a, recorded(tmp_path / "c", "hdd", kept=False, changed=2))
    assert changed.verdict == "diverges" and changed.first_difference is not None


@pytest.mark.parametrize("kind", ["float32", "longdouble", "object"])
def test_values_that_are_not_those_digested_on_a_gpu_are_damage(tmp_path: Path, kind: str) -> None:
    """Also where they are of a type that is never digested there."""
    a, b = recorded(tmp_path / "a", ""), recorded(tmp_path / "b", "hdd")
    other = np.array(["a", "b"], object) if kind == "object" else np.ones(5, kind)
    write_dump(values_file(b, 1), {("weights", "w"): other, ("weights", "v"): other})
    with pytest.raises(BadRecording, match="is damaged"):
        compared(a, b)
