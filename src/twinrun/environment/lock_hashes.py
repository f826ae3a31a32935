"""Adds the hashes of the packages' archives to a lock. Only an index knows them, so this interpreter's pip asks
for them; nothing is installed, and no index's address is kept."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from twinrun.environment.lock import Lock, word
from twinrun.environment.packages import normalised
from twinrun.masking import mask

_DRY_RUN = "install --dry-run --ignore-installed --no-deps --quiet --disable-pip-version-check"


def with_hashes(lock: Lock, timeout: float = 600.0, *, ours: bool = True) -> Lock:
    """The lock with hashes, or with the reason why there are none. To look at an archive of source pip runs what is in it:
    of packages that somebody else has named, only wheels are asked for."""
    found, problem = _from_pip(lock, timeout, () if ours else ("--only-binary=:all:",))
    if not found:
        return replace(lock, hashes=f"unavailable: pip could not name the archives ({problem})")
    packages = tuple(replace(package, hashes=found.get(package.name, ())) for package in lock.packages)
    missing = [package.name for package in packages if package.origin is None and not package.hashes]
    hashes = f"sha256 of the archives for {sys.platform} {lock.platform.get('machine')}, Python {lock.python}"
    if missing:
        hashes += f"; none for {', '.join(missing)}"
    return replace(lock, packages=packages, hashes=hashes)


def _from_pip(lock: Lock, timeout: float, limits: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], str]:
    """(hashes by package, what pip complained of)."""
    wanted = [package for package in lock.packages if package.origin is None]
    with tempfile.TemporaryDirectory() as folder:
        listed, report = Path(folder) / "requirements.txt", Path(folder) / "report.json"
        listed.write_text("".join(f"{word(package.name)}=={word(package.version)}\n" for package in wanted))
        command = [
            sys.executable,
            "-m",
            "pip",
            *_DRY_RUN.split(),
            *limits,
            "--report",
            str(report),
            "-r",
            str(listed),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
            found = _hashes_of(json.loads(report.read_text())) if done.returncode == 0 else {}
            return found, _without_addresses((done.stderr.strip().splitlines() or ["pip failed"])[-1])
        except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
            return {}, _without_addresses(str(problem))


def _without_addresses(text: str) -> str:
    """Where packages come from is the user's affair."""
    return mask(re.sub(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+", "[address]", text))


def _hashes_of(report: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for item in report.get("install", ()):
        archive = item.get("download_info", {}).get("archive_info", {})
        digests = archive.get("hashes") or dict([archive["hash"].split("=", 1)] if "hash" in archive else [])
        if "sha256" in digests:
            found[normalised(item["metadata"]["name"])] = (f"sha256:{digests['sha256']}",)
    return found
