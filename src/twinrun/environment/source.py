"""The user's own code: the commit it was run from, and a digest of every source file of it that the program
imported."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import xxhash

from twinrun.environment.secrets import strip_url

_QUIET: dict[str, Any] = {
    "stdout": subprocess.PIPE,
    "stderr": subprocess.DEVNULL,
    "stdin": subprocess.DEVNULL,
    "text": True,
}


class GitState:
    """Asks git in the background: it answers while the rest of the environment is read."""

    def __init__(self, folder: Path, patience: float = 2.0) -> None:
        self._patience = patience
        self._processes: dict[str, subprocess.Popen[str] | str] = {}
        # Untracked files are left out: those that matter were imported, and have a digest of their own.
        questions = {
            "status": [
                "git",
                "--no-optional-locks",
                "status",
                "--porcelain=v2",
                "--branch",
                "--untracked-files=no",
            ],
            "remote": ["git", "config", "--get", "remote.origin.url"],
        }
        for question, command in questions.items():
            try:
                self._processes[question] = subprocess.Popen(command, cwd=folder, **_QUIET)
            except OSError as problem:
                self._processes[question] = f"could not read: {problem.strerror or problem}"

    def read(self) -> dict[str, Any]:
        status, failure = self._answer("status")
        if failure:
            return {"commit": failure}
        if status is None:
            return {"commit": "none"}  # not a repository: nothing to say, and nothing wrong
        lines = status.splitlines()
        headers = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# ") and " " in line[2:])
        state: dict[str, Any] = {
            "commit": headers.get("branch.oid", "none").removeprefix("(initial)") or "none",
            "dirty": any(not line.startswith("#") for line in lines),
        }
        remote, _ = self._answer("remote")
        if remote and remote.strip():
            state["remote"] = strip_url(remote.strip())
        return state

    def _answer(self, question: str) -> tuple[str | None, str | None]:
        process = self._processes[question]
        if isinstance(process, str):
            return None, process
        try:
            output, _ = process.communicate(timeout=self._patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, f"could not read: git did not answer within {self._patience:g} s"
        return (output if process.returncode == 0 else None), None


def read_sources(base: Path, modules: Iterable[ModuleType] | None = None) -> dict[str, str]:
    """Path and digest of the imported source files that are the user's own: not installed, not Python's, not
    ours."""
    outside = _foreign_folders()
    digests: dict[str, str] = {}
    for module in list(sys.modules.values()) if modules is None else modules:
        name = file_of(module)
        if name is None or not name.endswith((".py", ".so", ".pyd")):
            continue
        if any(name.startswith(folder) for folder in outside):
            continue
        path = Path(name).resolve()
        if any(str(path).startswith(folder) for folder in outside):
            continue
        digests[_relative(path, base)] = digest_file(path)
    return dict(sorted(digests.items()))


def file_of(module: ModuleType | None) -> str | None:
    """A module's file. Python takes `__file__` from the program's own module before exit handlers run: its
    loader still knows."""
    name = getattr(module, "__file__", None) or getattr(getattr(module, "__loader__", None), "path", None)
    return name if isinstance(name, str) else None


def digest_file(path: Path) -> str:
    digest = xxhash.xxh3_64()
    with path.open("rb") as source:
        while chunk := source.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def digest_of(digests: dict[str, str]) -> str:
    """One digest over many: of the paths and what they hold, in the order of the paths."""
    return xxhash.xxh3_64(
        "".join(f"{path}\0{value}\n" for path, value in sorted(digests.items())).encode()
    ).hexdigest()


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
