"""What is written to a file is there whole, or what was there before is."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from twinrun import render
from twinrun.errors import CannotWrite
from twinrun.whole_file import replace_file, write_whole


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "spread.json"
    file.write_text("all runs so far")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="No space left"):
        render.write("more runs", str(file))
    with pytest.raises(CannotWrite, match="No space left"):
        write_whole(file, "more runs")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [(file.name, "all runs so far")]


def test_a_link_stays_one_and_a_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    file, link = tmp_path / "below" / "file", tmp_path / "link"
    link.symlink_to("below/file")
    replace_file(link, b"new")
    assert link.is_symlink() and file.read_bytes() == b"new"
    file.chmod(0o640)
    replace_file(link, b"newer")
    assert (link.read_bytes(), file.stat().st_mode & 0o777) == (b"newer", 0o640)
    assert [each.name for each in file.parent.iterdir()] == ["file"]


def test_a_pipe_and_an_open_file_are_written_to_as_they_are(tmp_path: Path) -> None:
    pipe, told = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: told.append(pipe.read_bytes()))
    reader.start()
    replace_file(pipe, b"through it")
    reader.join()
    assert told == [b"through it"] and pipe.is_fifo()
    replace_file(Path(os.devnull), b"nowhere")
    assert Path(os.devnull).is_char_device()
    with (tmp_path / "redirected").open("wb") as out:
        before = os.fstat(out.fileno()).st_ino
        replace_file(Path(f"/dev/fd/{out.fileno()}"), b"what a shell redirects")
    assert (tmp_path / "redirected").stat().st_ino == before
    assert (tmp_path / "redirected").read_bytes() == b"what a shell redirects"


def test_a_file_that_cannot_be_replaced_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that is mounted into a container by itself."""
    file = tmp_path / "file"
    file.write_text("old")

    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(Path, "replace", busy)
    replace_file(file, b"new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "new")]
