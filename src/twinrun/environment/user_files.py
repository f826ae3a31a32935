"""The user's own files: the commit, and digests of the source files that the program imported and of the data
files that it read. Which data files those were comes from the recorder."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import xxhash

from twinrun import git
from twinrun.environment.environment import UNREAD
from twinrun.masking import strip_url
from twinrun.notebooks import SUFFIX, is_notebook
from twinrun.notebooks.notebook import source_of

# Untracked files are left out: those that matter were imported, and have a digest of their own. So is what lies in
# submodules, whose settings are their own.
_STATUS = ["status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=dirty"]
_CONFIG = ["config", "--list", "--null", "--show-scope"]
_COMMIT = ["rev-parse", "--verify", "--quiet", "HEAD"]
_REMOTE = "remote.origin.url"
_FILTERS = f"{UNREAD}the repository defines its own filters, which git would run"
WHOLE = 32 << 20  # a data file up to this size is read whole …
BUDGET = 192 << 20  # … until this much has been read in all, about 0.1 s from the page cache
SAMPLES = 64
SAMPLE = 16 << 10
MOST_FILES = 2000


class GitState:
    """Asks git in the background, while the rest of the environment is read."""

    def __init__(self, folder: Path, patience: float = 10.0) -> None:
        self._folder = folder
        self._patience = patience
        self._settings: dict[tuple[str, str], str] = {}
        self._status: subprocess.Popen[str] | None = None
        self._unread = ""
        try:
            self._settings = _settings(git.answer(git.start(folder, *_CONFIG), patience) or "")
            self._status = None if self._has_filters else git.start(folder, *_STATUS)
        except OSError as problem:
            self._unread = f"{UNREAD}{problem.strerror or problem}"
        except subprocess.TimeoutExpired:
            self._unread = self._too_late

    def read(self) -> dict[str, Any]:
        if self._unread:
            return {"commit": self._unread}
        if self._status is None:
            state: dict[str, Any] = {
                "commit": (git.ask(self._folder, *_COMMIT) or "none").strip(),
                "dirty": _FILTERS,
            }
        else:
            try:
                status = git.answer(self._status, self._patience)
            except subprocess.TimeoutExpired:
                return {"commit": self._too_late}
            if not status:
                return {"commit": "none"}  # not a repository, which is fine
            state = _state(status.splitlines())
        if remote := next((value for (_, name), value in self._settings.items() if name == _REMOTE), ""):
            state["remote"] = strip_url(remote)
        return state

    @property
    def _has_filters(self) -> bool:
        """Whether the repository itself names commands that git would run to see what has changed. Those that the user's
        own settings name are the user's."""
        theirs = [name for scope, name in self._settings if scope in ("local", "worktree")]
        return any(name.startswith("filter.") for name in theirs)

    @property
    def _too_late(self) -> str:
        return f"{UNREAD}git did not answer within {self._patience:g} s"


def _settings(listed: str) -> dict[tuple[str, str], str]:
    """Every setting by its scope and name."""
    fields = listed.split("\0")
    pairs = ((scope, *field.partition("\n")) for scope, field in zip(fields[::2], fields[1::2], strict=False))
    return {(scope, name): value for scope, name, _, value in pairs}


def _state(lines: list[str]) -> dict[str, Any]:
    headers = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# ") and " " in line[2:])
    return {
        "commit": headers.get("branch.oid", "none").removeprefix("(initial)") or "none",
        "dirty": any(not line.startswith("#") for line in lines),
    }


def read_code(base: Path, state: GitState) -> dict[str, Any]:
    sources = read_sources(base)
    lines = "".join(f"{path}\0{digest}\n" for path, digest in sources.items())
    return {"git": state.read(), "sources": sources, "digest": xxhash.xxh3_64(lines.encode()).hexdigest()}


def read_sources(base: Path, modules: Iterable[ModuleType] | None = None) -> dict[str, str]:
    """Path and digest of the imported source files that are neither installed, nor Python's, nor Twinrun's."""
    outside = _foreign_folders()
    digests: dict[str, str] = {}
    for module in list(sys.modules.values()) if modules is None else modules:
        name = file_of(module)
        if name is None or not name.endswith((".py", ".so", ".pyd", SUFFIX)) or name.startswith(outside):
            continue
        path = Path(name).resolve()
        if not str(path).startswith(outside):
            digests[_relative(path, base)] = _code_digest(path)
    return dict(sorted(digests.items()))


def file_of(module: ModuleType | None) -> str | None:
    """A module's file. Python removes `__file__` from the program's own module before exit handlers run: its
    loader still has it."""
    name = getattr(module, "__file__", None) or getattr(getattr(module, "__loader__", None), "path", None)
    return name if isinstance(name, str) else None


def read_data(paths: Iterable[Path | str], base: Path) -> dict[str, Any]:
    """`{path: {"bytes": …, "digest": …, "sampled": bool}}`; a sampled digest covers the size and evenly
    spread pieces."""
    found: dict[str, Any] = {}
    spent = 0
    for path in sorted({Path(given) for given in paths}):
        if len(found) >= MOST_FILES:
            found["…"] = {"digest": f"{UNREAD}more than {MOST_FILES} files"}
            break
        try:
            if not path.is_file():
                continue
            size = path.stat().st_size
            whole = size <= WHOLE and spent + size <= BUDGET
            digest = _digest(path) if whole else _sampled(path, size)
            spent += size if whole else min(size, SAMPLES * SAMPLE)
            entry: dict[str, Any] = {"bytes": size, "digest": digest, "sampled": not whole}
        except OSError as problem:
            entry = {"digest": f"{UNREAD}{problem.strerror or problem}"}
        found[_relative(path.resolve(), base)] = entry
    return found


def _code_digest(path: Path) -> str:
    """The digest of a source file; of a notebook, without what its cells printed."""
    return xxhash.xxh3_64(source_of(path)).hexdigest() if is_notebook(path) else _digest(path)


def _digest(path: Path) -> str:
    digest = xxhash.xxh3_64()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _sampled(path: Path, size: int) -> str:
    digest = xxhash.xxh3_64(str(size).encode())
    with path.open("rb") as file:
        for piece in range(SAMPLES):
            file.seek((size - SAMPLE) * piece // (SAMPLES - 1) if size > SAMPLE else 0)
            digest.update(file.read(SAMPLE))
    return digest.hexdigest()


def _foreign_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {str(Path(folder).resolve()) for folder in folders}
    folders |= {entry for entry in sys.path if entry.rstrip("/").endswith(("site-packages", "dist-packages"))}
    folders.add(str(Path(__file__).resolve().parents[1]))
    return tuple(folder.rstrip("/") + "/" for folder in folders if folder)


def _relative(path: Path, base: Path) -> str:
    """Relative to where the program is, so that two checkouts of one commit agree and no home folder is
    written down."""
    try:
        return path.relative_to(base).as_posix()
    except ValueError:
        return f"…/{path.parent.name}/{path.name}"
