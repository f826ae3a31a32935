"""What a program prints: however much it is, its beginning and its end are kept, and nothing else is called equal."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import PLAIN, write
from twinrun.comparison.delivered import MOST_OUTPUT, STDOUT, Delivery, compare
from twinrun.comparison.shown import Run
from twinrun.launch.output import KEPT, Output, Stream, shorten_outputs
from twinrun.launch.program import Program
from twinrun.launch.run import RunOptions, run_once

SMALL = 8


def kept(folder: Path, chunks: list[bytes], beginning: int = SMALL, end: int = SMALL) -> bytes:
    stream = Stream(folder / "out", beginning, end)
    stream.handed_over()
    for chunk in chunks:
        stream.write(chunk)
    stream.close()
    return (folder / "out").read_bytes()


pieces = st.lists(st.binary(max_size=12), max_size=8)


@given(pieces, st.integers(1, 5))
def test_the_file_depends_on_what_was_printed_and_not_on_how_it_came(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes], step: int
) -> None:
    folder = tmp_path_factory.mktemp("out")
    whole = b"".join(chunks)
    found = kept(folder, chunks)
    assert found == kept(folder, [whole[at : at + step] for at in range(0, len(whole), step)])
    if len(whole) <= 2 * SMALL:
        assert found == whole
    else:
        assert found.startswith(whole[:SMALL] + b"\n[twinrun: ") and found.endswith(b"]\n" + whole[-SMALL:])
        assert f" {len(whole) - 2 * SMALL} bytes are left out".encode() in found


@given(pieces, pieces)
def test_files_are_equal_only_where_all_that_was_printed_is(
    tmp_path_factory: pytest.TempPathFactory, one: list[bytes], other: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("out")
    middle = [*one[:1], b"x" * SMALL, *other, b"y" * SMALL]
    same = b"".join(one) == b"".join(middle)
    assert (kept(folder, one) == kept(folder, middle)) == same


def listening(folder: Path, program: str) -> tuple[Output, subprocess.Popen[bytes]]:
    output = Output(folder)
    out, err = (stream.target for stream in output.streams)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=out, stderr=err)
    output.start()
    return output, process


def test_it_can_be_read_while_the_program_runs_and_its_end_is_there_when_it_has_failed(
    tmp_path: Path,
) -> None:
    program = "import sys, time\nprint('begun', flush=True)\nsys.stdin.readline()\nsys.stderr.write('x' * 70000 + 'failed')"
    output = Output(tmp_path)
    out, err = (stream.target for stream in output.streams)
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=out, stderr=err)
    output.start()
    while (tmp_path / "stdout.txt").read_bytes() != b"begun\n":
        time.sleep(0.01)
    process.communicate(b"\n")
    assert [end.decode() for end in output.last(8)] == ["xxfailed", "begun\n"]
    output.close()
    assert output.last(6) == [b"failed", b"begun\n"]
    assert (tmp_path / "stderr.txt").stat().st_size == 70006 and output.problem is None


def test_a_process_that_lives_on_is_not_waited_for(tmp_path: Path) -> None:
    program = "import subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid)"
    output, process = listening(tmp_path, program)
    process.wait()
    output.close()
    os.kill(int((tmp_path / "stdout.txt").read_text()), 9)


def test_a_program_goes_on_where_its_output_cannot_be_kept(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        output, process = listening(tmp_path, "print('x' * 300_000)")
        assert process.wait() == 0
        output.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert output.problem == f"cannot write {tmp_path / 'stdout.txt'}: File too large"


# comparing, and cutting


def printed(folder: Path, text: bytes) -> Delivery:
    folder.mkdir()
    (folder / "steps.sqlite").touch()
    stream = Stream(folder / "stdout.txt", MOST_OUTPUT)
    stream.handed_over()
    stream.write(text)
    stream.close()
    return Delivery(Run(1, 0.0, 1.0), folder / "stdout.txt", {})


@pytest.mark.usefixtures("tinynet")
@pytest.mark.parametrize("lockstep", [False, True])
def test_a_run_whose_output_cannot_be_kept_comes_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lockstep: bool
) -> None:
    """It reports more steps than the channel holds, or waits at each of them."""

    def full(stream: Stream, _: bytes) -> None:
        stream.problem = f"cannot write {stream.path}: No space left on device"

    monkeypatch.setattr(Stream, "_save", full)
    done = tmp_path / "done.txt"
    text = f"print('begun', flush=True)\ntrain(3000)\nopen({str(done)!r}, 'w').close()\n"
    options = RunOptions(
        Program(str(write(tmp_path, PLAIN + text))), timeout=120.0, folder=str(tmp_path / "run")
    )
    result = run_once(options, on_frame=(lambda twin, frame: None) if lockstep else None)
    assert done.exists(), result.reason
    assert (result.exit_code, result.reason_kind) == (2, "cannot-write")


@pytest.mark.slow
def test_very_long_outputs_are_equal_by_the_digest_of_what_is_left_out(tmp_path: Path) -> None:
    text = b"line\n" * (MOST_OUTPUT // 4)
    differing = bytearray(text)
    differing[MOST_OUTPUT + 7] ^= 1  # in the part that is not kept
    a, b, c = (
        printed(tmp_path / name, bytes(each))
        for name, each in zip("abc", (text, text, differing), strict=True)
    )
    assert a.output.stat().st_size < MOST_OUTPUT + KEPT + 100
    assert compare(a, b).mismatches == []
    [found] = compare(a, c).mismatches
    assert found.where == STDOUT and "longer than what is compared" in found.a


@pytest.mark.parametrize("length", [10, 2 * KEPT, 2 * KEPT + 1000, MOST_OUTPUT, 2 * MOST_OUTPUT])
def test_when_all_is_over_the_first_and_the_last_two_megabytes_stay(tmp_path: Path, length: int) -> None:
    text = b"".join(b"%09d\n" % number for number in range(length // 10))
    file = printed(tmp_path / "A", text).output
    shorten_outputs(tmp_path)
    found = file.read_bytes()
    if length <= 2 * KEPT:
        assert found == text
        return
    assert found[:KEPT] == text[:KEPT] and found[-KEPT:] == text[-KEPT:]
    mark = f"\n[twinrun: {len(text) - 2 * KEPT} bytes are left out here]\n"
    assert found[KEPT:-KEPT] == mark.encode()
    shorten_outputs(tmp_path)
    assert file.read_bytes() == found


def test_an_interruption_while_it_starts_comes_when_it_can_be_closed(tmp_path: Path) -> None:
    output = Output(tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    begin = output._thread.start

    def interrupted() -> None:
        another = threading.Thread(
            target=lambda: signal.raise_signal(signal.SIGINT)
        )  # the kernel may choose any
        another.start()
        another.join()
        begin()

    output._thread.start = interrupted  # type: ignore[method-assign]
    try:
        with pytest.raises(KeyboardInterrupt):
            output.start()
    finally:
        signal.signal(signal.SIGINT, before)
    output.close()
