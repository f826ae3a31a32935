"""The SQLite file of a recording: what goes in comes out, in little room, also while it is written and after a kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import plain, record

from twinrun.comparison.contract import BITWISE, parse_contract
from twinrun.comparison.frames import differences, first_to_blame
from twinrun.launch.offline import compare_recordings
from twinrun.protocol.channel import FRAME, Channel, pair
from twinrun.recording.frame import MOST_LAYOUTS, PHASES, Frame, Layout, pack
from twinrun.recording.reader import Reader
from twinrun.recording.store import WHOLE_FRAMES, Writer

digests = st.integers(0, 2**64 - 1)
names = st.text(min_size=1, max_size=6)


@st.composite
def frames(draw: st.DrawFn) -> list[Frame]:
    keys = st.lists(st.tuples(st.sampled_from(PHASES), names), min_size=1, max_size=4, unique=True)
    layouts = [
        Layout(tuple(p for p, _ in k), tuple(n for _, n in k))
        for k in draw(st.lists(keys, min_size=1, max_size=3))
    ]
    made = []
    for step in range(draw(st.integers(0, 8))):
        layout = draw(st.sampled_from(layouts))
        blob = pack(draw(st.lists(digests, min_size=len(layout), max_size=len(layout))))
        values = draw(
            st.lists(st.tuples(st.integers(0, len(layout) - 1), st.floats(allow_nan=False)), max_size=3)
        )
        made.append(Frame(step, draw(st.integers(0, 3)), layout, blob, tuple(values), float(step)))
    return made


@given(frames())
def test_frames_come_out_as_they_went_in(tmp_path_factory: pytest.TempPathFactory, made: list[Frame]) -> None:
    reader = Reader(record(tmp_path_factory.mktemp("r") / "a", made))
    assert list(reader.frames()) == made
    assert len(reader) == len(made)
    assert [reader.frame(seq) for seq in range(len(made))] == made
    assert [reader.rollup(seq) for seq in range(len(made))] == [dict(frame.rollup()) for frame in made]
    assert reader.last_step() == (made[-1].step if made else 0)


def test_names_that_are_no_proper_text_survive(tmp_path: Path) -> None:
    layout = Layout(("weights",) * 3, ("\ud800", 'a"\0\n', "[red]\x1b[31m"))
    made = [Frame(1, 1, layout, pack([1, 2, 3]))]
    assert list(Reader(record(tmp_path / "a", made)).frames()) == made


@pytest.mark.parametrize("detail", [False, True])
def test_single_tensors_are_kept_for_a_thousand_frames_and_with_detail_for_ever(
    tmp_path: Path, detail: bool
) -> None:
    made = plain(WHOLE_FRAMES + 5)
    back = list(Reader(record(tmp_path / "a", made, detail=detail)).frames())
    assert WHOLE_FRAMES == 1000
    assert back[:WHOLE_FRAMES] == made[:WHOLE_FRAMES]
    assert [frame.digests for frame in back[WHOLE_FRAMES:]] == [
        frame.digests if detail else b"" for frame in made[WHOLE_FRAMES:]
    ]
    assert [frame.step for frame in back] == [frame.step for frame in made]


def test_a_step_beyond_the_first_thousand_takes_at_most_200_bytes(tmp_path: Path) -> None:
    """Twenty tensors and three scalars a step, all of them different at each."""
    layout = Layout(
        ("batch",) * 2 + ("loss",) + ("weights",) * 15 + ("metric",) * 2,
        ("x", "y", "loss", *(f"dense_{n}/kernel" for n in range(15)), "accuracy", "auc"),
    )
    assert len(layout) == 20

    def made(count: int) -> list[Frame]:
        values = ((2, 0.25), (18, 0.5), (19, 0.75))
        blobs = (pack([hash((step, n)) & (2**64 - 1) for n in range(20)]) for step in range(count))
        return [Frame(step, 1, layout, blob, values, 0.001 * step) for step, blob in enumerate(blobs)]

    sizes = [
        sum(file.stat().st_size for file in record(tmp_path / str(count), made(count)).iterdir())
        for count in (1000, 21_000)
    ]
    assert (sizes[1] - sizes[0]) / 20_000 <= 200


@given(st.integers(1, 40), st.integers(1, 40), st.none() | st.integers(0, 39))
@settings(max_examples=40)
def test_bisection_finds_what_a_linear_scan_finds(
    tmp_path_factory: pytest.TempPathFactory, a: int, b: int, changed: int | None
) -> None:
    folder = tmp_path_factory.mktemp("r")
    one, other = plain(a), plain(b, changed)
    record(folder / "a", one)
    record(folder / "b", other)
    result = compare_recordings(folder / "a", folder / "b", BITWISE)
    found = [differences(x, y) for x, y in zip(one, other, strict=False)]
    first = next((first_to_blame(each) for each in found if each), None)
    if first is not None:
        assert result.verdict == "diverges" and result.first_difference is not None
        assert (result.first_difference.step, result.first_difference.tensor) == (first.step, first.tensor)
    elif a != b:
        assert result.verdict == "diverges" and "went on" in str(result.reason)
    else:
        assert result.verdict == "repeats" and result.steps_compared == a - 1


@pytest.mark.parametrize("changed", [999, 1000, 1500, 2999])
def test_a_difference_is_found_at_its_step_however_late(tmp_path: Path, changed: int) -> None:
    record(tmp_path / "a", plain(3000))
    record(tmp_path / "b", plain(3000, changed))
    found = compare_recordings(tmp_path / "a", tmp_path / "b", BITWISE).first_difference
    assert found is not None and (found.step, found.phase) == (changed, "weights")
    assert (found.tensor == "w0") == (changed < WHOLE_FRAMES)


def test_another_order_of_the_tensors_is_equal_however_late(tmp_path: Path) -> None:
    turned = [
        Frame(f.step, f.span, Layout(f.layout.phases, f.layout.names[::-1]), f.digest(1) + f.digest(0))
        for f in plain(1200)
    ]
    record(tmp_path / "a", plain(1200))
    record(tmp_path / "b", turned)
    assert compare_recordings(tmp_path / "a", tmp_path / "b", BITWISE).verdict == "repeats"


def test_bands_are_judged_by_values_that_are_kept_of_every_step(tmp_path: Path) -> None:
    layout = Layout(("loss",), ("loss",))
    for name, end in (("a", 1.0), ("b", 1.0), ("c", 1.5)):
        made = [Frame(n, 1, layout, pack([n]), ((0, 0.5),)) for n in range(1500)]
        made.append(Frame(1500, 1, layout, pack([hash(end) % 2**64]), ((0, end),)))
        record(tmp_path / name, made)
    for other, band, verdict in (
        ("b", "band=loss:0", "repeats"),
        ("c", "band=loss:1", "repeats"),
        ("c", "band=loss:0.1", "diverges"),
        ("b", "band=accuracy:1", "undecided"),
    ):
        result = compare_recordings(tmp_path / "a", tmp_path / other, parse_contract(band))
        assert (result.verdict, result.steps_compared) == (verdict, 1500)
        assert (result.first_bit_difference is None) == (other == "b")


def test_a_recording_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    made = plain(30)
    reader = None
    for count, frame in enumerate(made, start=1):
        writer.write(frame)
        reader = reader or Reader(tmp_path)
        assert len(reader) == count and reader.frame(count - 1) == frame
    another = Layout(("loss",), ("new",))
    writer.write(Frame(31, 1, another, pack([5])))
    assert reader is not None and reader.frame(30).layout == another


_WRITE_FOR_EVER = """
import sys
from pathlib import Path
from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.store import Writer
writer = Writer(Path(sys.argv[1]))
layout = Layout(("weights",) * 2, ("w0", "w1"))
step = 0
while True:
    writer.write(Frame(step, 1, layout, pack([step * 7, step * 7 + 1])))
    step += 1
    if step == 2000:
        print("many", flush=True)
"""


def test_after_a_kill_everything_up_to_the_last_whole_step_is_there(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", _WRITE_FOR_EVER, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    copied = shutil.copytree(tmp_path, tmp_path / "copied")
    for folder in (tmp_path, copied):
        reader = Reader(folder)
        assert len(reader) >= 2000
        back = list(reader.frames())
        assert [frame.step for frame in back] == list(range(len(reader)))
        assert back[:1000] == plain(1000)


def test_more_layouts_than_are_kept_at_hand_come_back_as_they_were(tmp_path: Path) -> None:
    """As of a program that makes a variable at every step."""
    layouts = [Layout(("weights",), (f"w{number}",)) for number in range(MOST_LAYOUTS + 10)]
    made = [Frame(step, 1, layout, pack([step])) for step, layout in enumerate([*layouts, layouts[0]])]
    ours, theirs = pair()
    twin = Channel(theirs)
    writer = Writer(tmp_path, detail=True)
    received = []
    for frame in made:
        writer.write(frame)
        twin.send_frame(frame)
        received.append(ours.receive())
    writer.close()
    assert list(Reader(tmp_path).frames()) == made
    assert received == [(FRAME, frame) for frame in made]
