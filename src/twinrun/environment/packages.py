"""Installed distributions, read from the names of their folders; metadata files are opened only where that is not
enough."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from twinrun.masking import strip_url

_FOLDER = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*)(?:-py\d[\d.]*)?\.(?:dist-info|egg-info)$")


def read_packages(paths: Iterable[str] | None = None) -> dict[str, Any]:
    """All installed distributions, those that the program has imported, and the origins of those that did not
    come from an index."""
    found: dict[str, dict[str, str]] = {"installed": {}, "loaded": {}, "origins": {}}
    roots = {name.partition(".")[0] for name in sys.modules}
    for folder in _metadata_folders(sys.path if paths is None else paths):
        named = _FOLDER.match(folder.name)
        # The first on the path is the one that is imported.
        if not named or (name := normalised(named["name"])) in found["installed"]:
            continue
        found["installed"][name] = named["version"]
        if _is_loaded(folder, named["name"], roots):
            found["loaded"][name] = named["version"]
        if origin := read_origin(folder):
            found["origins"][name] = origin
    return {kind: dict(sorted(packages.items())) for kind, packages in found.items()}


def normalised(name: str) -> str:
    """The name as package indexes spell it: lower case, one dash between words."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _metadata_folders(paths: Iterable[str]) -> Iterable[Path]:
    for entry in dict.fromkeys(paths):
        folder = Path(entry or ".")
        try:
            inside = sorted(folder.iterdir()) if folder.is_dir() else []
        except OSError:
            continue
        yield from (each for each in inside if each.name.endswith((".dist-info", ".egg-info")))


def _is_loaded(folder: Path, name: str, roots: set[str]) -> bool:
    """Whether one of the distribution's top-level modules has been imported."""
    if name in roots or name.replace("-", "_").lower() in roots:
        return True
    try:
        top_level = folder / "top_level.txt"
        if top_level.exists():
            names = set(top_level.read_text().split())
        else:
            lines = (folder / "RECORD").read_text().splitlines()
            names = {line.partition("/")[0].partition(",")[0].removesuffix(".py") for line in lines}
    except (OSError, UnicodeDecodeError):
        return False
    return any(each in roots for each in names if each and not each.endswith("-info"))


def read_origin(folder: Path) -> str | None:
    """Where a distribution came from when not from an index: `editable`, `local`, or a repository and its
    commit."""
    try:
        document = json.loads((folder / "direct_url.json").read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict):
        return None
    url = str(document.get("url", ""))
    if commit := document.get("vcs_info", {}).get("commit_id"):
        return f"{strip_url(url)}@{commit}"
    if url.startswith("file:"):
        return "editable" if document.get("dir_info", {}).get("editable") else "local"
    return strip_url(url)
