"""What two runs delivered: equal by content, different in results, or different only in what shows the run itself."""

from __future__ import annotations

import contextlib
import gzip
import json
import sqlite3
import struct
import time
import zipfile
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from twinrun.comparison.delivered import STDOUT, Delivery, Ignored, Mismatch, compare, still_there
from twinrun.comparison.shown import AHEAD, TICK, Run, only_shows, visible_lines
from twinrun.comparison.wall_clock import Varied
from twinrun.errors import UsageError
from twinrun.frameworks.keras import Keras
from twinrun.recording.printed import FILE, Printed

NOW = time.mktime((2026, 3, 14, 15, 9, 26, 0, 0, -1))
A, B = (
    Run(4711, NOW, NOW + 8, frozenset({5500, 5700, 7})),
    Run(4712, NOW + 1, NOW + 9, frozenset({5600, 5800, 8})),
)


def delivery(folder: Path, run: Run, output: str = "", **files: bytes | str) -> Delivery:
    folder.mkdir(parents=True)
    (folder / "stdout.txt").write_text(output)
    left: dict[str, Path | None] = {}
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        left[path.name] = path
    return Delivery(run, folder / "stdout.txt", left, Keras().is_progress)


def mismatches(tmp_path: Path, a: str, b: str) -> list[Mismatch]:
    return compare(delivery(tmp_path / "a", A, a), delivery(tmp_path / "b", B, b)).mismatches


SAME_BUT_FOR_THE_RUN = [
    ("[15:09:27] epoch 1", "[15:09:28] epoch 1"),
    ("2026-03-14 15:09:27,123 INFO done", "2026-03-14 15:09:29,007 INFO done"),
    ("2026-03-14 15:09:27,123.123 INFO done", "2026-03-14 15:09:29,007.007 INFO done"),
    ("run-20260314-150930", "run-20260314-150931"),
    (f"saved at {NOW + 2:.3f}", f"saved at {NOW + 3:.3f}"),
    (f"stamp {int(NOW + 2) * 1000}", f"stamp {int(NOW + 4) * 1000}"),
    ("process 4711 trains", "process 4712 trains"),
    ("process 4711 of 5500", "process 4712 of 5600"),
    ("from processes [5500, 5700]", "from processes [5800]"),
    ("pid 7 of 5500", "pid 8 of 5600"),
    ("<Model object at 0x7f3a5c0011d0>", "<Model object at 0x7f11aa0011d0>"),
    ("  140356105617488: TensorSpec", "  140356105999999: TensorSpec"),
    ("listening on 127.0.0.1:40321", "listening on 127.0.0.1:39999"),
    ("4/4 ━━━━━━━━ 0s 12ms/step - loss: 0.3", "4/4 ━━━━━━━━ 1s 17ms/step - loss: 0.3"),
    ("4/4 [=====>....] - 0s 12ms/step", "4/4 [=====>....] - 0s 13ms/step"),
    ("4/4 - 0s - loss: 0.3 - 98ms/epoch", "4/4 - 1s - loss: 0.3 - 90ms/epoch"),
    ("1/4 [=====>....] - ETA: 0s - loss: 0.3", "1/4 [=====>....] - ETA: 1s - loss: 0.3"),
    (" 40%|████      | 4/10 [00:01<00:02,  3.9it/s]", " 40%|████      | 4/10 [00:01<00:02,  4.9it/s]"),
    ("\x1b[1mloss 0.5\x1b[0m", "loss 0.5"),
    ("10%\r50%\rdone", "20%\r60%\rdone"),
]


@pytest.mark.parametrize(("a", "b"), SAME_BUT_FOR_THE_RUN)
def test_what_is_known_of_a_run_is_no_difference(tmp_path: Path, a: str, b: str) -> None:
    assert mismatches(tmp_path, f"start\n{a}\nend\n", f"start\n{b}\nend\n") == []


RESULTS = [
    ("loss 0.51", "loss 0.52"),
    ("accuracy 15:09", "accuracy 15:10:99"),
    ("weights 1773500000.5", "weights 1773590000.5"),  # a moment of another day
    ("best seed 4711", "best seed 4713"),
    ("folds: 7", "folds: 8"),  # small enough to be a result, whatever process has that number
    ("labels: cat dog", "labels: dog cat"),
    ("checksum 9f8e7d6c", "checksum 9f8e7d6d"),
    ("crc 0x9f8e7d6c", "crc 0x9f8e7d6d"),  # no object has this address
    ("3/5 - fold accuracy 0.91 in 3s", "3/5 - fold accuracy 0.92 in 3s"),
    ("0.5", "0.5\n0.6"),
    ("2026-03-14 15:09:27,0.51", "2026-03-14 15:09:28,0.52"),  # the next column
    ("15:09:27,512", "15:09:27,498"),
    ("15:09:27,512.25", "15:09:27,498.5"),
    ("2026-03-14T15:09:27.120,3,0.51", "2026-03-14T15:09:28.500,3,0.52"),
]


def test_a_small_process_number_is_one_only_where_the_line_says_so() -> None:
    run = Run(12, NOW, NOW + 8)
    assert run.hide("best epoch 12") == "best epoch 12" and run.hide("process 12") == "process <process>"


@pytest.mark.parametrize(
    "form",
    ["%H:%M:%S", "%Y-%m-%d@%H:%M", "%d.%m.%Y", "run-%Y%m%d", "%Y-%m-%dT%H:%M:%S.25", "%a %b %e %H:%M:%S %Y"],
)
def test_what_a_varied_clock_shows_is_a_time_or_a_date(form: str) -> None:
    """In the twin whose clock is another, and in the one that is compared with it."""
    tokyo = ZoneInfo("Asia/Tokyo")
    moment = datetime.fromtimestamp(NOW + 3 + AHEAD, tokyo)
    plain = datetime.fromtimestamp(NOW + 4, timezone.utc)
    one = replace(A, varied=Varied("UTC"))
    other = replace(B, varied=Varied("Asia/Tokyo", AHEAD))
    assert one.hide(plain.strftime(form)) == other.hide(moment.strftime(form))
    assert A.hide(moment.strftime(form)) == moment.strftime(form)
    # Another day is a result, and so is a number that is no day of the run.
    assert other.hide("2027-03-14 loss 0.5 at 20260101") == "2027-03-14 loss 0.5 at 20260101"


@pytest.mark.parametrize(("a", "b"), RESULTS)
def test_a_result_is_a_difference(tmp_path: Path, a: str, b: str) -> None:
    found = mismatches(tmp_path, f"start\n{a}\n", f"start\n{b}\n")
    assert found and found[0].where == STDOUT and found[0].line >= 2


ONLY_SHOWN = [
    ("took 3.21 s", "took 3.44 s", "took 1.37 s"),
    ("training time: 3.2", "training time: 3.4", "training time: 1.4"),
    ("412 samples/s", "398 samples/s", "23 samples/s"),
    ("0.0132", "0.0127", f"{3 * TICK:.4f}"),
    ("run 1f0c9a3e", "run 77ab01c2", "run 0011aabb"),
    ("/tmp/tmpa8s7d6f5/x", "/tmp/tmpq1w2e3r4/x", "/tmp/tmpfrozen_0012ab34/x"),
    ("peak memory 812 MB", "peak memory 815 MB", "peak memory 812 MB"),
    (
        "saved to /tmp/tmpa8s_d6f5/run-1f0c9a3e-<time> in 1.39318370",
        "saved to /tmp/tmpq1w2_3r4/run-77123456-<time> in 1.40183329",
        f"saved to /tmp/tmpfrozen_0012ab34/run-0011aabb-<time> in {3 * TICK:.8f}",
    ),
]


@pytest.mark.parametrize(("a", "b", "frozen"), ONLY_SHOWN)
def test_what_a_frozen_clock_and_its_looks_explain(a: str, b: str, frozen: str) -> None:
    assert only_shows(a, b, (frozen, frozen))


# What the same line shows in one run with the clock and generated names frozen, and whether that is enough.
IN_ONE_RUN = [
    ("seconds 3.2101", "seconds 3.4402", f"seconds {2 * TICK:.4f}", True),
    ("3.21s and loss 0.5", "3.44s and loss 0.5", f"{TICK}s and loss 0.5", True),
    ("stamp 1773500000", "stamp 1773500003", "stamp <time>", True),
    ("/tmp/tmpa8s7d6f5/x", "/tmp/tmpq1w2e3r4/x", "/tmp/tmpfrozen_0012ab34/x", True),
    ("seconds 3.2101", "seconds 3.4402", "seconds 3.3333", False),  # not by the frozen clock
    ("seconds 3.2101", "seconds 3.4402", "seconds 0.0000", False),
    ("loss 3.2101", "loss 3.4402", f"loss {2 * TICK:.4f}", False),  # by chance, perhaps
    ("done in 3.21013318", "done in 3.44025524", f"done in {2 * TICK + 1e-7}", True),
    ("done in 3.21013318", "done in 3.44025524", f"done in {2 * TICK + 1e-5}", False),
    ("run 1f0c9a3e", "run 77ab01c2", "run 0011aabb", False),  # equal in two runs, perhaps
    ("seconds 3.2101", "seconds 3.4402", "seconds", False),
]


@pytest.mark.parametrize(("a", "b", "frozen", "enough"), IN_ONE_RUN)
def test_one_run_is_enough_for_what_bears_the_mark_of_a_frozen_clock(
    a: str, b: str, frozen: str, enough: bool
) -> None:
    assert only_shows(a, b, (frozen,)) is enough


NOT_ONLY_SHOWN = [
    ("accuracy 0.913", "accuracy 0.921", "accuracy 0.917"),  # equal when frozen: seeded with the time
    ("kept 812 of 1000", "kept 845 of 1000", "kept 500 of 1000"),
    ("winner: adam", "winner: sgd", "winner: sgd"),
    ("size 812 bytes", "size 815 bytes", "size 812 bytes"),
    ("loss 0.5 after 3.2 s", "loss 0.6 after 3.4 s", "loss 0.5 after 1.37 s"),
    ("one two", "one two three", "one two"),
    ("run 3 loss 0.51", "run 3 loss 0.52", "run 3 loss 0.53"),
    ("best run 3", "best run 5", "best run 4"),
    ("time series error 0.31", "time series error 0.33", "time series error 0.32"),
    ("mean speed 3.21 m/s", "mean speed 3.22 m/s", "mean speed 3.21 m/s"),
    ("turned at 0.51rad/s", "turned at 0.52rad/s", "turned at 0.51rad/s"),
    ("reward 12.3/step", "reward 12.9/step", "reward 12.5/step"),
    ("weights 1f0c9a3e", "weights 77ab01c2", "weights 0011aabb"),  # a checksum of what the clock reached
    ("/tmp/tmpa8s7d6f5/auc=0.913", "/tmp/tmpq1w2e3r4/auc=0.921", "/tmp/tmpfrozen_0012ab34/auc=0.917"),
    ("/tmp/tmpa8s7d6f5/w-1f0c9a3e", "/tmp/tmpq1w2e3r4/w-77ab01c2", "/tmp/tmpfrozen_0012ab34/w-0011aabb"),
]


@pytest.mark.parametrize(("a", "b", "frozen"), NOT_ONLY_SHOWN)
def test_a_result_that_the_clock_reaches_is_still_a_result(a: str, b: str, frozen: str) -> None:
    assert not only_shows(a, b, (frozen, frozen))


def test_a_drawn_name_is_known_by_what_stands_before_it() -> None:
    for a, b, frozen in [
        ("run calm-otter", "run bold-fox", "run shy-bee"),
        ("port 6123", "port 6301", "port 6200"),
    ]:
        assert only_shows(a, b, (frozen, frozen), drawn="names")
        assert not only_shows(a, b, (frozen, frozen), drawn="anything")
    assert not only_shows("winner adam", "winner sgd", ("winner sgd",) * 2, drawn="names")


def test_a_name_may_be_a_result_in_disguise_where_random_draws_differ() -> None:
    assert not only_shows("model 1f0c9a3e", "model 77ab01c2", ("model 0011aabb",) * 2, drawn="anything")


def test_the_frozen_runs_decide(tmp_path: Path) -> None:
    a = delivery(tmp_path / "a", A, "0.0132\nloss 0.5\n")
    b = delivery(tmp_path / "b", B, "0.0127\nloss 0.6\n")
    found = compare(a, b).mismatches
    frozen = (
        delivery(tmp_path / "c", A, f"{TICK}\nloss 0.5\n"),
        delivery(tmp_path / "d", A, f"{TICK}\nloss 0.5\n"),
    )
    assert [still_there(m, frozen, None, drawn="nothing") for m in found] == [False, True]
    racing = delivery(tmp_path / "e", B, f"{2 * TICK}\nloss 0.5\n")
    assert all(still_there(m, (frozen[0], racing), None, drawn="nothing") for m in found)
    assert all(still_there(m, None, None, drawn="nothing") for m in found)


BEYOND_DOUBT = [
    ("page 3 after 0.512 s; again in 0.0131 s", "page 3 after 0.490 s; again in 0.0127 s"),
    ("   7312 function calls in 0.084 seconds", "   7312 function calls in 0.091 seconds"),
    ("24/24 [3.21it/s] loss=0.5", "24/24 [3.17it/s] loss=0.5"),
    ("1234.5 samples/s ETA 0.12s", "1198.2 samples/s ETA 0.13s"),
    ("peak 512.3 MiB, cpu 1.21 s", "peak 512.9 MiB, cpu 1.25 s"),
]


@pytest.mark.parametrize(("a", "b"), BEYOND_DOUBT)
def test_what_no_frozen_clock_reaches_is_known_by_its_words(a: str, b: str) -> None:
    assert only_shows(a, b, None) and not only_shows(f"{a} auc 0.9", f"{b} auc 0.8", None)


@pytest.mark.parametrize(
    ("a", "b"), [("error 3.2 s", "error 3.4 s"), ("0.5", "0.6"), ("in 3 folds", "in 4 folds")]
)
def test_what_may_be_a_result_needs_the_frozen_clock(a: str, b: str) -> None:
    assert not only_shows(a, b, None)


def archive(**members: bytes) -> bytes:
    import io

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, date_time=time.localtime(NOW + len(content))[:6])
            made.writestr(info, content)
    return file.getvalue()


def event_file(*records: tuple[float, bytes]) -> bytes:
    messages = [b"\x09" + struct.pack("<d", moment) + body for moment, body in records]
    return b"".join(struct.pack("<Q", len(m)) + b"crc!" + m + b"crc!" for m in messages)


def hdf5(folder: Path, values: list[float]) -> bytes:
    h5py = pytest.importorskip("h5py")
    path = folder / f"{len(list(folder.glob('*')))}.h5"
    with h5py.File(path, "w", track_order=True) as file:
        file.create_dataset("layer/kernel", data=np.array(values), track_times=True)
    return path.read_bytes()


def test_files_are_equal_by_content(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    one = delivery(
        tmp_path / "a", A, "", m__keras=archive(config=b"{}", metadata=b'{"date": "2026-03-14@15:09:27"}'),
        g__gz=gzip.compress(b"abc\n", mtime=1), t__csv="loss,seconds\n0.5,0.1\n", w__npy=np.arange(3.0).tobytes(),
        log__txt="[15:09:27] saved\n", w__h5=hdf5(scratch, [1.0]),
    )  # fmt: skip
    two = delivery(
        tmp_path / "b", B, "", m__keras=archive(metadata=b'{"date": "2026-03-14@15:09:31"}', config=b"{}"),
        g__gz=gzip.compress(b"abc\n", mtime=2), t__csv="loss,seconds\n0.5,0.1\n", w__npy=np.arange(3.0).tobytes(),
        log__txt="[15:09:28] saved\n", w__h5=hdf5(scratch, [1.0]),
    )  # fmt: skip
    compared = compare(one, two)
    assert compared.mismatches == [] and compared.files == 6


def test_files_that_differ_are_named_with_their_part(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    one = delivery(tmp_path / "a", A, "", m__keras=archive(config=b"{}", w=b"\0\1"), t__csv="loss,seconds\n0.5,0.1\n",
                   w__h5=hdf5(scratch, [1.0]), only__txt="x")  # fmt: skip
    two = delivery(tmp_path / "b", B, "", m__keras=archive(config=b"{}", w=b"\0\2"), t__csv="loss,seconds\n0.6,0.2\n",
                   w__h5=hdf5(scratch, [2.0]))  # fmt: skip
    found = {(m.where, m.part or m.heading) for m in compare(one, two).mismatches}
    assert found == {
        ("m.keras", "w"), ("t.csv", "loss"), ("t.csv", "seconds"), ("w.h5", "layer/kernel"), ("only.txt", "")
    }  # fmt: skip


def test_a_column_of_times_is_judged_by_its_heading(tmp_path: Path) -> None:
    one = delivery(tmp_path / "a", A, "", t__csv="loss,seconds\n0.5,0.1\n")
    two = delivery(tmp_path / "b", B, "", t__csv="loss,seconds\n0.6,0.2\n")
    frozen = [delivery(tmp_path / name, A, "", t__csv="loss,seconds\n0.5,1.4\n") for name in ("c", "d")]
    left = [
        m.heading
        for m in compare(one, two).mismatches
        if still_there(m, tuple(frozen), None, drawn="nothing")
    ]
    assert left == ["loss"]


def test_an_array_that_the_clock_reaches_is_a_result(tmp_path: Path) -> None:
    one = delivery(tmp_path / "a", A, "", w__npy=np.ones(3).tobytes())
    two = delivery(tmp_path / "b", B, "", w__npy=np.zeros(3).tobytes())
    (found,) = compare(one, two).mismatches
    frozen = (delivery(tmp_path / "c", A, "", w__npy=b"\0"), delivery(tmp_path / "d", A, "", w__npy=b"\0"))
    assert still_there(found, frozen, None, drawn="nothing")


def test_databases_are_compared_by_their_rows(tmp_path: Path) -> None:
    def database(name: str, run: Run, loss: float) -> bytes:
        path = tmp_path / name
        with contextlib.closing(sqlite3.connect(path)) as made:
            made.execute("create table epochs (run text, loss real, at real)")
            made.execute("insert into epochs values (?, ?, ?)", (f"{run.process}-x", loss, run.began + 1))
            made.commit()
        return path.read_bytes()

    one = delivery(tmp_path / "a", A, "", r__db=database("1", A, 0.5))
    two = delivery(tmp_path / "b", B, "", r__db=database("2", B, 0.5))
    other = delivery(tmp_path / "c", B, "", r__db=database("3", B, 0.6))
    assert compare(one, two).mismatches == []
    assert [(m.part, m.line) for m in compare(one, other).mismatches] == [("epochs", 1)]
    garbled = [database(name, A, 0.5).replace(b"CREATE TABLE", b"CREATE TABL\x80") for name in ("4", "5")]
    assert b"\x80" in garbled[0]  # SQLite quotes it in an error that is no text then
    sides = [delivery(tmp_path / name, A, "", r__db=data) for name, data in zip("de", garbled, strict=True)]
    assert not compare(*sides).mismatches


def test_event_files_are_compared_without_their_times(tmp_path: Path) -> None:
    name = "events__out__tfevents__{}__host__{}__0__v2"
    one, two, other = (
        delivery(
            tmp_path / str(number),
            run,
            "",
            **{name.format(int(run.began), run.process): event_file((moment, body))},
        )
        for number, (run, moment, body) in enumerate(
            [(A, 1.0, b"loss"), (B, 2.0, b"loss"), (B, 1.0, b"gain")]
        )
    )
    assert compare(one, two).mismatches == [] and len(compare(one, other).mismatches) == 1


def test_a_file_named_by_the_run_is_paired(tmp_path: Path) -> None:
    one = delivery(tmp_path / "a", A, "", **{"model-20260314-150930__txt": "x", "run_1f0c9a3e__txt": "y"})
    two = delivery(tmp_path / "b", B, "", **{"model-20260314-150932__txt": "x", "run_77ab01c2__txt": "y"})
    found = compare(one, two).mismatches
    assert [(m.part, m.a) for m in found] == [("its name", "run_1f0c9a3e.txt")]
    frozen = [delivery(tmp_path / each, A, "", **{"run_0011aabb__txt": "y"}) for each in ("c", "d")]
    assert not still_there(found[0], tuple(frozen), None, drawn="nothing")
    assert still_there(found[0], tuple(frozen), None, drawn="anything")


def test_output_that_may_differ_needs_a_reason() -> None:
    ignored = Ignored.parse(r"^Run [a-z]+ # names of runs are random")
    assert ignored.covers(Mismatch(STDOUT, "", 1, "Run calm", "Run bold"))
    assert not ignored.covers(Mismatch(STDOUT, "", 1, "loss 1", "loss 2"))
    for wrong in ("^Run", " # only a reason", "( # broken"):
        with pytest.raises(UsageError):
            Ignored.parse(wrong)


def test_a_terminal_shows_the_last_of_what_is_overwritten() -> None:
    assert visible_lines("a\rb\rc\n\x1b[31mred\x1b[0m\n\n\n") == ["c", "red"]


def test_json_is_compared_line_by_line(tmp_path: Path) -> None:
    one = delivery(tmp_path / "a", A, "", h__json=json.dumps({"loss": 0.5, "seconds": 3.1}, indent=1))
    two = delivery(tmp_path / "b", B, "", h__json=json.dumps({"loss": 0.5, "seconds": 3.2}, indent=1))
    frozen = [
        delivery(tmp_path / n, A, "", h__json=json.dumps({"loss": 0.5, "seconds": 1.4}, indent=1))
        for n in "cd"
    ]
    (found,) = compare(one, two).mismatches
    assert found.line == 3 and not still_there(found, tuple(frozen), None, drawn="nothing")


def said(folder: Path, run: Run, output: str, *texts: tuple[str, str], process: str = "") -> Delivery:
    """What threads printed, each under its name; a name with a number is one of several threads of that name."""
    made = delivery(folder, run, output)
    notes = [Printed(process, name.rstrip("12"), ord(name[-1]), text) for name, text in texts]
    (folder / FILE).write_bytes(b"".join(note.line() for note in notes))
    return made


def test_lines_of_several_threads_in_another_order_are_no_difference(tmp_path: Path) -> None:
    texts = [("a", "one"), ("a", "\n"), ("b", "two"), ("b", "\n")]
    one = said(tmp_path / "a", A, "one\ntwo\n", *texts)
    other = said(tmp_path / "b", B, "onetwo\n\n", *texts[2:], *texts[:2])
    found = compare(one, other)
    assert (found.mismatches, found.reordered) == ([], True)
    again = compare(one, said(tmp_path / "c", B, "one\ntwo\n", *texts))
    assert (again.mismatches, again.reordered) == ([], False)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([("a", "1\n2\n"), ("b", "3\n")], [("b", "3\n"), ("a", "2\n1\n")]),  # its own lines in another order
        ([("a", "1\n"), ("b", "2\n")], [("a", "2\n"), ("b", "1\n")]),  # the lines of another thread
        ([("a", "1\n2\n")], [("a", "2\n1\n")]),
    ],
)
def test_lines_of_one_thread_in_another_order_are_a_difference(
    tmp_path: Path, a: list[tuple[str, str]], b: list[tuple[str, str]]
) -> None:
    one, other = (
        said(tmp_path / name, run, "".join(text for _, text in texts), *texts)
        for name, run, texts in (("a", A, a), ("b", B, b))
    )
    assert compare(one, other).mismatches


def test_nothing_is_said_of_who_printed_where_not_all_of_it_is_known(tmp_path: Path) -> None:
    texts = [("a", "1\n"), ("b", "2\n")]
    one = said(tmp_path / "a", A, "1\n2\n3\n", *texts)
    other = said(tmp_path / "b", B, "2\n1\n3\n", *texts)
    assert compare(one, other).mismatches and not one.lines_by_writer


def test_threads_of_one_name_are_told_apart_by_what_they_print(tmp_path: Path) -> None:
    one = said(tmp_path / "a", A, "1\n2\n", ("w1", "1\n"), ("w2", "2\n"), process="1")
    other = said(tmp_path / "b", B, "2\n1\n", ("w1", "2\n"), ("w2", "1\n"), process="1")
    assert compare(one, other).mismatches == []
    assert list(one.lines_by_writer) == ["process 1, thread w", "process 1, thread w #2"]


def test_a_duration_that_a_thread_prints_is_looked_up_among_its_own_lines(tmp_path: Path) -> None:
    def run(name: str, run: Run, seconds: float, first: str) -> Delivery:
        texts = {"a": f"a: training time: {seconds}\n", "b": "b: loss 0.5\nb: loss 0.4\n"}
        order = sorted(texts, key=lambda each: each != first)
        return said(tmp_path / name, run, "".join(map(texts.__getitem__, order)), *texts.items())

    (found,) = compare(run("1", A, 3.2, "a"), run("2", B, 3.4, "b")).mismatches
    assert found.place == "standard output (thread a), line 1"
    frozen = (run("3", A, 1.4, "b"), run("4", A, 1.4, "a"))
    assert still_there(found, None, None, drawn="nothing")
    assert not still_there(found, frozen, None, drawn="nothing")
