"""Folders as bytes, to be sent to another machine and back."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from twinrun.errors import BadRecording, CannotCopy
from twinrun.launch.copy_view import LARGE, LEFT_OUT
from twinrun.sizes import size_in_words

MOST_BYTES = 256 << 20  # of a program's folders
_ENVIRONMENT = "pyvenv.cfg"  # in the folder of a virtual environment


def pack_program(folders: Sequence[Path]) -> bytes:
    """The folders of a program, without what every node has of its own or makes for itself."""
    return _pack(folders, _of_program, MOST_BYTES)


def pack_recording(folder: Path) -> bytes:
    return _pack([folder], lambda _: True, None)


def unpack_program(data: bytes, folder: Path) -> None:
    """Each of the folders as a folder named by its number."""
    _unpack(data, folder, links=True)


def unpack_recording(data: bytes, folder: Path) -> None:
    """It comes from another machine: refused where it holds anything but plain files, or would be written elsewhere."""
    partial = folder.with_name(f".{folder.name}")
    _unpack(data, partial, links=False)
    (partial / "0").rename(folder)
    partial.rmdir()


def _of_program(folder: Path) -> bool:
    return folder.name not in (*LARGE, *LEFT_OUT) and not (folder / _ENVIRONMENT).exists()


def _pack(folders: Sequence[Path], wanted: Callable[[Path], bool], most: int | None) -> bytes:
    packed = io.BytesIO()
    size = 0
    with (
        gzip.GzipFile(
            fileobj=packed, mode="wb", compresslevel=1, mtime=0
        ) as compressed,  # the same files: the same bytes
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for number, folder in enumerate(folders):
            for path in _below(folder, wanted):
                size += path.lstat().st_size if path.is_file() and not path.is_symlink() else 0
                if most is not None and size > most:
                    raise CannotCopy(
                        f"{folder} is too large to be sent to a cluster: more than {size_in_words(most)}",
                        hint="keep data elsewhere, at a path that every node has, and run it from the program's folder",
                    )
                name = PurePosixPath(str(number), path.relative_to(folder))
                archive.add(path, str(name), recursive=False, filter=_nobodys)
    return packed.getvalue()


def _below(root: Path, wanted: Callable[[Path], bool]) -> Iterator[Path]:
    """The folder itself, and everything in it that can be sent: sockets and pipes cannot."""
    yield root
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if wanted(Path(folder, name)))
        for path in (Path(folder, name) for name in (*folders, *sorted(names))):
            if path.is_symlink() or path.is_dir() or (path.is_file() and os.access(path, os.R_OK)):
                yield path


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The users of one machine are not those of another."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _unpack(data: bytes, folder: Path, *, links: bool) -> None:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        # What Python's own filter would refuse is refused below; a link of the program may point anywhere.
        archive.extraction_filter = lambda member, _: member
        for member in archive:
            name = PurePosixPath(member.name)
            plain = member.isfile() or member.isdir() or (links and member.issym())
            if not plain or name.is_absolute() or ".." in name.parts:
                raise BadRecording(
                    f"the cluster sent something that is not a recording: it holds {member.name!r}"
                )
            archive.extract(member, folder)
