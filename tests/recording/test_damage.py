"""A damaged recording is refused in words, or reads exactly as the whole one: wherever it was cut, changed or thinned out."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import plain, record

from twinrun.baselines.kept_run import from_recording
from twinrun.comparison.contract import BITWISE, parse_contract
from twinrun.errors import BadRecording
from twinrun.launch.offline import compare_recordings
from twinrun.recording.digest import digest_array
from twinrun.recording.dump import read_dump, write_dump
from twinrun.recording.folder import open_recording, record_end
from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.manifest import FILE, Manifest, read_manifest
from twinrun.recording.store import WHOLE_FRAMES, Writer
from twinrun.recording.values import values_file

STEPS = "steps.sqlite"
LAYOUTS = (
    Layout(("batch", "loss", "weights", "seed"), ("x", "loss", "w", "state")),
    Layout(("metric", "weights"), ("epoch/loss", "w")),
)


def training(count: int) -> list[Frame]:
    """Steps with a loss, and at every tenth the end of an epoch."""
    made = [Frame(0, 0, Layout(("init",), ("w",)), pack([1]))]
    for step in range(1, count):
        made.append(Frame(step, 1, LAYOUTS[0], pack([step, step * 3, step * 7, step * 11]), ((1, 1 / step),)))
        if step % 10 == 0:
            made.append(Frame(step, 0, LAYOUTS[1], pack([step * 13, step * 7]), ((0, 2 / step),)))
    return made


ROWS = len(training(WHOLE_FRAMES))  # the last of them are rolled up
ROLLED = ROWS - 5
IN_SQL = [
    "DELETE FROM frames",
    "DELETE FROM frames WHERE seq=0",
    "DELETE FROM frames WHERE seq=7",
    f"DELETE FROM frames WHERE seq={ROLLED}",
    f"DELETE FROM frames WHERE seq={ROWS - 1}",
    f"DELETE FROM frames WHERE seq>={ROWS - 100}",
    "DELETE FROM frames WHERE seq>=1",
    "DELETE FROM frames WHERE span=0",
    "DELETE FROM frames WHERE seq % 2",
    # what is left is numbered anew
    "DELETE FROM frames WHERE seq=0; UPDATE frames SET seq=seq-1",
    "DELETE FROM frames WHERE seq=500; UPDATE frames SET seq=seq-1 WHERE seq>500",
    # two change places
    "UPDATE frames SET seq=-1 WHERE seq=4; UPDATE frames SET seq=4 WHERE seq=5; UPDATE frames SET seq=5 WHERE seq=-1",
    f"UPDATE frames SET seq=-1 WHERE seq=1; UPDATE frames SET seq=1 WHERE seq={ROLLED}; "
    f"UPDATE frames SET seq={ROLLED} WHERE seq=-1",
    # one is there twice
    f"INSERT INTO frames SELECT {ROWS}, step, span, layout, rollup, chain, digests, vals, seconds FROM frames WHERE seq=9",
    f"INSERT INTO frames SELECT {ROWS}, step, span, layout, rollup, chain, digests, vals, seconds FROM frames "
    f"WHERE seq={ROWS - 1}",
    "INSERT INTO frames SELECT -1, step, span, layout, rollup, chain, digests, vals, seconds FROM frames WHERE seq=0",
    "UPDATE frames SET digests=(SELECT digests FROM frames WHERE seq=9) WHERE seq=8",
    *(
        f"UPDATE frames SET {change} WHERE seq={seq}"
        for seq in (3, ROLLED, ROWS - 1)
        for change in (
            "step=step+1", "step='x'", "span=span+1", "span=0", "layout=(layout+1) % 3", "layout=77",
            "rollup=zeroblob(length(rollup))", "rollup=x''", "chain=zeroblob(8)", "chain='text'",
            "digests=x'00'", "digests=zeroblob(32)", "vals=x'00000000ffffffffffffffff'", "vals=x''", "vals='text'",
            "seconds=seconds+1",
        )
    ),
    "UPDATE frames SET digests=NULL WHERE seq=3",
    "UPDATE frames SET digests=NULL",
    "UPDATE frames SET vals=x''",
    "UPDATE meta SET value='nonsense'",
    "UPDATE meta SET value='1'",
    "DELETE FROM meta",
    "DELETE FROM layouts",
    "DELETE FROM layouts WHERE id=1",
    "DROP TABLE layouts",
    "DROP TABLE frames",
    "UPDATE layouts SET id=id+10",
    'UPDATE layouts SET phases=\'["no such phase", "weights"]\' WHERE id=2',
    'UPDATE layouts SET phases=\'["weights", "metric"]\' WHERE id=2',
    'UPDATE layouts SET names=\'["epoch/loss", "other"]\' WHERE id=2',
    "UPDATE layouts SET names='[\"only one\"]'",
    "UPDATE layouts SET names='{}'",
    "UPDATE layouts SET names='[1, 2]'",
    "UPDATE layouts SET names='null'",
]  # fmt: skip


def edit(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        document = json.loads((folder / FILE).read_text())
        change(document)
        (folder / FILE).write_text(json.dumps(document))

    return damage


def beside(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(b"\0" * 4096) and None


IN_MANIFEST: dict[str, Callable[[Path], None]] = {
    "fewer frames": edit(lambda d: d["seal"].update(frames=d["seal"]["frames"] - 1)),
    "more frames": edit(lambda d: d["seal"].update(frames=d["seal"]["frames"] + 1)),
    "another chain": edit(lambda d: d["seal"].update(chain="00" * 8)),
    "another digest": edit(lambda d: d["seal"].update(digest="00" * 16)),
    "no seal": edit(lambda d: d.pop("seal")),
    "an empty seal": edit(lambda d: d.update(seal=None)),
    "no checksum": edit(lambda d: d.pop("checksum")),
    "another status": edit(lambda d: d.update(status="stopped")),
    "an unknown status": edit(lambda d: d.update(status="fine")),
    "another exit code": edit(lambda d: d.update(exit_code=None)),
    "an older schema": edit(lambda d: d.update(schema=1)),
    "another program": edit(lambda d: d.update(program="other.py")),
    "other spaces": edit(lambda d: None),
    "a journal beside it": beside(f"{STEPS}-journal"),
    "a log beside it": beside(f"{STEPS}-wal"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("whole") / "a", training(WHOLE_FRAMES))


def content(folder: Path) -> tuple[Manifest, list[Frame], list[bytes], list[dict[str, bytes]]]:
    manifest, reader = open_recording(folder)
    numbers = range(len(reader))
    found = (
        list(reader.frames()),
        [reader.chain_at(seq) for seq in numbers],
        [reader.rollup(seq) for seq in numbers],
    )
    reader.close()
    return manifest, *found


def refused_or_harmless(whole: Path, damaged: Path) -> None:
    try:
        found = content(damaged)
    except BadRecording:
        with pytest.raises(BadRecording):
            compare_recordings(whole, damaged, BITWISE)
        with pytest.raises(BadRecording):
            from_recording(damaged)
    else:
        assert found == content(whole)


@pytest.mark.parametrize("statements", IN_SQL)
def test_rows_that_were_changed_are_noticed(whole: Path, tmp_path: Path, statements: str) -> None:
    damaged = shutil.copytree(whole, tmp_path / "b")
    with sqlite3.connect(damaged / STEPS) as db:
        db.executescript(statements)
    db.close()
    for a, b in ((whole, damaged), (damaged, whole)):
        with pytest.raises(BadRecording, match="damaged"):
            compare_recordings(a, b, BITWISE)


@pytest.mark.parametrize("damage", IN_MANIFEST.values(), ids=IN_MANIFEST)
def test_a_manifest_that_does_not_fit_is_noticed(
    whole: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damaged = shutil.copytree(whole, tmp_path / "b")
    damage(damaged)
    refused_or_harmless(whole, damaged)


def test_a_file_cut_anywhere_is_refused(whole: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(whole, tmp_path / "b")
    for name in (STEPS, FILE):
        data = (whole / name).read_bytes()
        for length in {1, 99, 100, *range(0, len(data) - 1, len(data) // 20), len(data) - 2}:
            (damaged / name).write_bytes(data[:length])
            with pytest.raises(BadRecording):
                content(damaged)
        (damaged / name).write_bytes(data)
    assert content(damaged) == content(whole)


def test_bytes_overwritten_anywhere_are_refused_or_harmless(whole: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(whole, tmp_path / "b")
    for name, far in ((STEPS, 40), (FILE, 100)):
        data = (whole / name).read_bytes()
        for start in range(0, len(data), len(data) // far):
            changed = bytes(byte ^ 0x15 for byte in data[start : start + 3])
            (damaged / name).write_bytes(data[:start] + changed + data[start + 3 :])
            refused_or_harmless(whole, damaged)
        (damaged / name).write_bytes(data)


def test_two_recordings_with_their_files_mixed_up_are_refused(whole: Path, tmp_path: Path) -> None:
    other = record(tmp_path / "b", training(500))
    shutil.copy(whole / STEPS, other / STEPS)
    with pytest.raises(BadRecording, match="is not what it was"):
        compare_recordings(whole, other, BITWISE)


# runs that did not reach their end


def left_behind(folder: Path, made: list[Frame]) -> Path:
    """As a process leaves it that is killed: nothing was closed."""
    folder.mkdir()
    writer = Writer(folder)
    for frame in made:
        writer.write(frame)
    Manifest("train.py").write(folder)
    copied = shutil.copytree(folder, folder.with_name(f"{folder.name}-left"))
    writer.close()
    return copied


@pytest.mark.parametrize("ended_by_parent", [True, False])
def test_a_run_that_was_cut_off_is_equal_only_as_far_as_it_goes(
    tmp_path: Path, ended_by_parent: bool
) -> None:
    a = record(tmp_path / "a", training(80))
    b, c = (left_behind(tmp_path / name, training(60)) for name in "bc")
    if ended_by_parent:
        for folder in (b, c):
            record_end(folder, "cut-off", -9)
            assert read_manifest(folder).status == "cut-off"
    for pair in ((a, b), (b, c)):
        for contract in ("bitwise", "ulp=2", "band=loss:1"):
            result = compare_recordings(*pair, parse_contract(contract))
            assert (result.verdict, result.reason_kind, result.steps_compared) == (
                "undecided",
                "interrupted",
                59,
            )
            assert "up to step 59, nothing is known beyond" in str(result.reason)
    with pytest.raises(BadRecording, match="was cut off"):
        from_recording(b)


@pytest.mark.parametrize(
    "statements", [s for s in IN_SQL if "seq=3" in s and "vals" not in s and "seconds" not in s]
)
def test_rows_of_a_run_that_was_never_closed_are_checked_one_by_one(tmp_path: Path, statements: str) -> None:
    damaged = left_behind(tmp_path / "b", training(50))
    with sqlite3.connect(damaged / STEPS) as db:
        db.executescript(statements)
    db.close()
    if "digests=NULL" in statements:  # that is no damage: it has become a frame that keeps only its roll-up
        assert open_recording(damaged)
        return
    with pytest.raises(BadRecording, match="damaged"):
        open_recording(damaged)


def test_held_twins_are_compared_no_further_than_they_came(tmp_path: Path) -> None:
    held = [record(tmp_path / name, plain(20), status="held") for name in "ab"]
    whole = record(tmp_path / "c", plain(30))
    for pair in ((held[0], held[1]), (held[0], whole), (whole, held[0])):
        result = compare_recordings(*pair, BITWISE)
        assert (result.verdict, result.reason_kind, result.steps_compared) == ("undecided", "interrupted", 19)
    other = record(tmp_path / "d", plain(20, changed=7), status="held")
    assert compare_recordings(held[0], other, BITWISE).verdict == "diverges"


def test_a_difference_counts_though_a_run_was_cut_off(tmp_path: Path) -> None:
    a, b = record(tmp_path / "a", plain(30)), left_behind(tmp_path / "b", plain(20, changed=7))
    result = compare_recordings(a, b, BITWISE)
    assert result.first_difference is not None
    assert (result.verdict, result.first_difference.step) == ("diverges", 7)


# what was never trained


@pytest.mark.parametrize(
    ("phases", "span", "counts"),
    [
        (("init",), 0, False),
        (("init", "batch", "loss", "draw", "seed", "final"), 0, False),
        (("weights",), 0, False),
        (("weights",), 1, True),
        (("batch", "probe"), 0, True),
        (("metric",), 0, True),
    ],
)
def test_without_a_step_a_result_or_a_probe_nothing_is_judged(
    tmp_path: Path, phases: tuple[str, ...], span: int, counts: bool
) -> None:
    made = [Frame(0, span, Layout(phases, phases), pack(list(range(len(phases)))))]
    folders = [record(tmp_path / name, made) for name in "ab"]
    result = compare_recordings(*folders, BITWISE)
    assert result.verdict == ("repeats" if counts else "undecided")
    assert result.reason_kind == (None if counts else "no-step")
    assert open_recording(folders[0])[1].first_observation() == (0 if counts else None)
    other = [replace(made[0], digests=pack([9] * len(phases)))]
    assert compare_recordings(folders[0], record(tmp_path / "c", other), BITWISE).verdict == "diverges"
    if not counts:
        with pytest.raises(BadRecording, match="no training step"):
            from_recording(folders[0])


# values


def test_a_kept_value_that_was_changed_is_noticed(tmp_path: Path) -> None:
    layout = Layout(("weights",), ("w",))
    for name, last in (("a", 1.0), ("b", 1.0000001)):
        arrays = [np.array([step, last], np.float32) for step in range(4)]
        folder = record(
            tmp_path / name, [Frame(n, 1, layout, pack([digest_array(x)])) for n, x in enumerate(arrays)]
        )
        (folder / "values").mkdir()
        for seq, array in enumerate(arrays):
            write_dump(values_file(folder, seq), {("weights", "w"): array})
    loose = parse_contract("rtol=1e-3")
    assert compare_recordings(tmp_path / "a", tmp_path / "b", loose).verdict == "repeats"
    changed = values_file(tmp_path / "b", 2)
    values = read_dump(changed)
    write_dump(changed, {key: value + np.float32(1e-6) for key, value in values.items()})
    with pytest.raises(BadRecording, match="not what was recorded"):
        compare_recordings(tmp_path / "a", tmp_path / "b", loose)
