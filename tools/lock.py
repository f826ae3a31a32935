"""Writes constraints.txt: every package that `make setup` installs, with its version and the sha256 of its
wheels, for each Python that the project supports on Linux x86-64. Run by `make lock`; needs nothing but pip.
With --oldest, constraints-oldest.txt: the same for the oldest TensorFlow that `make test-oldest` tests.

Names, versions and hashes only: which registry they come from is the business of whoever installs them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pip._vendor.packaging.markers import default_environment
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.10", "3.11", "3.12")
EXTRAS = ("tensorflow", "tf-keras", "fsspec", "spread", "notebook")
OLDEST = ("tensorflow==2.18.*", "keras==3.8.*", "tf-keras==2.18.*")
BUILD = ("hatchling", "editables")  # an editable install without build isolation needs both


@dataclass
class Pin:
    """One package at one version: the Pythons that get it, and the wheels it may come in."""

    name: str
    version: str
    pythons: set[str] = field(default_factory=set)
    hashes: set[str] = field(default_factory=set)

    def line(self) -> str:
        marker = ""
        if len(self.pythons) < len(PYTHONS):
            chosen = sorted(self.pythons, key=PYTHONS.index)
            marker = " ; " + " or ".join(f'python_version == "{python}"' for python in chosen)
        hashes = "".join(f" \\\n    --hash=sha256:{digest}" for digest in sorted(self.hashes))
        return f"{self.name}=={self.version}{marker}{hashes}"


def groups(*names: str) -> list[str]:
    """What these dependency groups ask for."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return [item for name in names for item in document["dependency-groups"][name]]


def wanted(*names: str) -> list[str]:
    """What the project asks for, with these dependency groups, before versions are chosen."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [item for extra in EXTRAS for item in project["optional-dependencies"][extra]]
    return [*project["dependencies"], *extras, *groups(*names), *BUILD]


def resolve(python: str, requirements: list[str]) -> list[dict[str, object]]:
    """Pip's own choice for a Python. Pip judges markers by the interpreter that runs it, so what only another
    Python needs is found here and asked for by name, until nothing is missing."""
    asked = [item for item in requirements if _applies(Requirement(item), python)]
    while True:
        chosen = _report(python, [_bare(Requirement(item)) for item in asked])
        known = {canonicalize_name(_of(item, "name")) for item in chosen}
        missing = sorted(
            {need for item in chosen for need in _needs(item, python) if _key(need) not in known}
        )
        if not missing:
            return chosen
        asked += missing


def _report(python: str, requirements: list[str]) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run",
            "--ignore-installed", "--only-binary=:all:", f"--python-version={python}", f"--target={folder}",
            f"--report={report}", *requirements,
        ]  # fmt: skip
        subprocess.run(command, check=True)
        installed: list[dict[str, object]] = json.loads(report.read_text())["install"]
        return installed


def _needs(item: dict[str, object], python: str) -> list[str]:
    """The requirements of a chosen package that hold on this Python, extras aside."""
    metadata = item["metadata"]
    assert isinstance(metadata, dict)
    found = [Requirement(text) for text in metadata.get("requires_dist", ())]
    return [_bare(need) for need in found if _applies(need, python)]


def _applies(requirement: Requirement, python: str) -> bool:
    if requirement.marker is None:
        return True
    there = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    environment = {**default_environment(), **there}
    return bool(requirement.marker.evaluate(environment))


def _bare(requirement: Requirement) -> str:
    requirement.marker = None
    return str(requirement)


def _key(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def _of(item: dict[str, object], key: str) -> str:
    metadata = item["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata[key])


def _sha256(item: dict[str, object]) -> str:
    download = item["download_info"]
    assert isinstance(download, dict)
    return str(download["archive_info"]["hashes"]["sha256"])


def pinned(asked: list[str]) -> dict[tuple[str, str], Pin]:
    pins: dict[tuple[str, str], Pin] = {}
    for python in PYTHONS:
        print(f"resolving for Python {python}", file=sys.stderr)
        for item in resolve(python, asked):
            name, version = canonicalize_name(_of(item, "name")), _of(item, "version")
            pin = pins.setdefault((name, version), Pin(name, version))
            pin.pythons.add(python)
            pin.hashes.add(_sha256(item))
    return pins


def write(file: str, purpose: str, pins: dict[tuple[str, str], Pin]) -> None:
    head = (
        f"# Written by tools/lock.py (`make lock`). What {purpose}: names, versions and the\n"
        f"# sha256 of the wheels for CPython {', '.join(PYTHONS)} on Linux x86-64 (glibc).\n"
    )
    lines = [pin.line() for _, pin in sorted(pins.items())]
    (ROOT / file).write_text(head + "\n".join(lines) + "\n")


def main(oldest: bool = False) -> None:
    if oldest:
        write("constraints-oldest.txt", "`make test-oldest` installs", pinned([*wanted("dev"), *OLDEST]))
        return
    write("constraints-dist.txt", "`make dist` installs", pinned(["hatchling"]))
    plain = pinned(wanted("dev"))
    write("constraints.txt", "`make setup` installs", plain)
    for group, purpose in (
        ("libraries", "`make setup` adds for programs of tests"),
        ("trackers", "`make test-trackers` adds"),
        ("ray", "`make test-ray` adds"),
    ):
        all_of_it = pinned(wanted("dev", group))
        added = {key: pin for key, pin in all_of_it.items() if key not in plain}
        write(f"constraints-{group}.txt", purpose, added)
    for group, target in (("hard", "hard"), ("docs", "docs"), ("release", "check-dist")):
        write(f"constraints-{group}.txt", f"`make {target}` adds", pinned(groups(group)))


if __name__ == "__main__":
    main(oldest="--oldest" in sys.argv[1:])
