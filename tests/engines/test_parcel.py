"""Folders that travel to a node and back."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from twinrun.engines import parcel
from twinrun.errors import BadRecording, CannotCopy


def test_a_program_arrives_as_it_is(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "package" / "empty").mkdir(parents=True)
    (here / "package" / "train.py").write_text("print()\n")
    script = here / "prepare.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    (here / "data").symlink_to("/mnt/data")
    os.mkfifo(here / "pipe")
    parcel.unpack_program(parcel.pack_program([here, here / "package"]), there)
    assert (there / "0/package/train.py").read_text() == (there / "1/train.py").read_text() == "print()\n"
    assert (there / "0/package/empty").is_dir()
    assert os.access(there / "0/prepare.sh", os.X_OK)
    assert str((there / "0/data").readlink()) == "/mnt/data"
    assert not (there / "0/pipe").exists()


def test_what_a_node_has_of_its_own_stays_here(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for name in (".git", "__pycache__", "my-environment", "src"):
        (here / name).mkdir(parents=True)
    (here / "my-environment" / "pyvenv.cfg").touch()
    parcel.unpack_program(parcel.pack_program([here]), there)
    assert [path.name for path in (there / "0").iterdir()] == ["src"]


def test_a_folder_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcel, "MOST_BYTES", 1000)
    (tmp_path / "data.bin").write_bytes(bytes(1001))
    with pytest.raises(CannotCopy, match="too large to be sent to a cluster: more than 1 KB") as refused:
        parcel.pack_program([tmp_path])
    assert "a path that every node has" in str(refused.value.hint)


@pytest.mark.parametrize("name", ["../outside", "/outside", "0/link"])
def test_a_recording_that_would_be_written_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        if name == "0/link":
            member.type, member.linkname = tarfile.SYMTYPE, "/"
        archive.addfile(member)
    with pytest.raises(BadRecording, match="not a recording"):
        parcel.unpack_recording(packed.getvalue(), tmp_path / "inside" / "A")
    assert not (tmp_path / "outside").exists()
