"""The forms of a lock: pinned requirements, an env file, a Dockerfile and a conda file, all from the one
source."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from twinrun.environment.lock import Lock
from twinrun.errors import CannotWrite, UsageError

# The suffix each form has beside the lock it was rendered from.
SUFFIXES = {
    "lock": "",
    "requirements": ".requirements.txt",
    "env": ".env",
    "dockerfile": ".Dockerfile",
    "conda": ".conda.yml",
}
FORMATS = (*SUFFIXES, "all")
# Official Python images by the C library they are built on: another one would be another key.
_IMAGES = {"2.31": "slim-bullseye", "2.36": "slim-bookworm", "2.41": "slim-trixie"}


def render(lock: Lock, form: str, lock_name: str = "twinrun.lock") -> str:
    if form == "lock":
        return lock.text()
    if form == "requirements":
        return _requirements(lock)
    if form == "env":
        return "".join(f"{name}={value}\n" for name, value in lock.variables.items())
    if form == "dockerfile":
        return _dockerfile(lock, lock_name)
    if form == "conda":
        return _conda(lock)
    raise UsageError(f"unknown form {form!r}", hint=f"one of {', '.join(FORMATS)}")


def write(lock: Lock, form: str, target: Path) -> list[Path]:
    """Writes one form to `target`, or, for `all`, every form beside it. Returns what was written."""
    forms = list(SUFFIXES) if form == "all" else [form]
    written = []
    for each in forms:
        path = target.with_name(target.name + SUFFIXES[each]) if form == "all" else target
        partial = path.with_name(f".{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(render(lock, each, target.name), encoding="utf-8")
            partial.replace(path)
        except OSError as problem:
            raise CannotWrite(f"cannot write {path}: {problem.strerror or problem}") from None
        written.append(path)
    return written


def _head(lock: Lock) -> str:
    lines = [
        f"environment key {lock.key.name}",
        f"Python {lock.python}",
        f"hashes: {lock.hashes}",
        *lock.notes,
    ]
    return "".join(f"# {_one_line(line)}\n" for line in lines)


def _requirements(lock: Lock) -> str:
    lines = [_head(lock)]
    for package in lock.packages:
        if package.origin is not None:
            lines.append(f"# {package.name}=={package.version}: {_one_line(package.origin)}\n")
            continue
        hashes = "".join(f" \\\n    --hash={each}" for each in package.hashes)
        lines.append(f"{_word(package.name)}=={_word(package.version)}{hashes}\n")
    return "".join(lines)


def _dockerfile(lock: Lock, lock_name: str) -> str:
    libc = str(lock.platform.get("libc", "")).removeprefix("glibc ")
    image = _IMAGES.get(libc)
    base = f"python:{_word(lock.python)}-{image or 'slim'}"
    requirements = lock_name + SUFFIXES["requirements"]
    hashes = " --require-hashes" if lock.complete and lock.packages else ""
    lines = [_head(lock)]
    if image is None:
        libc_here = _one_line(str(lock.platform.get("libc")))
        lines.append(f"# no official Python image is known to have {libc_here}: expect another key\n")
    lines.append(f"FROM {base}\n")
    lines += [
        f"ENV {_word(name)}={shlex.quote(_one_line(value))}\n" for name, value in lock.variables.items()
    ]
    lines.append(f"COPY {json.dumps([requirements, '/tmp/requirements.txt'])}\n")
    lines.append(f"RUN python -m pip install --no-cache-dir --no-deps{hashes} -r /tmp/requirements.txt\n")
    return "".join(lines)


def _conda(lock: Lock) -> str:
    lines = [
        _head(lock),
        f"name: {json.dumps(lock.key.name)}\n",
        "channels:\n  - conda-forge\n",
        "dependencies:\n",
    ]
    lines += [f"  - python={_word(lock.python)}\n", "  - pip\n", "  - pip:\n"]
    pinned = [package for package in lock.packages if package.origin is None]
    lines += [f"      - {_word(package.name)}=={_word(package.version)}\n" for package in pinned]
    lines.append("variables:\n")
    lines += [f"  {_word(name)}: {json.dumps(value)}\n" for name, value in lock.variables.items()]
    return "".join(lines)


def _one_line(text: str) -> str:
    """A lock is a file that someone may have edited: nothing in it may start a new line of what is
    rendered."""
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)


def _word(text: str) -> str:
    """A name or version: anything else in its place is refused rather than rendered."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+!-]*", text):
        raise UsageError(
            f"the lock holds {text!r} where a name or version should be",
            hint="write it anew with `twinrun env lock`",
        )
    return text
