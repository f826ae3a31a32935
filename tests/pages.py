"""Pages of docs/how-to whose code blocks are run: each block begins with a comment that names its file."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PAGES = Path(__file__).parent.parent / "docs" / "how-to"
_BLOCK = re.compile(r"^```(?:python|toml)\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> dict[str, str]:
    """The files on a page, by name. Lines are numbered as on the page, from the comment on."""
    return {name: f"# {name}\n{text}" for name, text in _BLOCK.findall((_PAGES / page).read_text())}


def install(files: dict[str, str], folder: Path) -> Path:
    """What an installer would do with the files of a page. Returns the folder for PYTHONPATH."""
    packages = folder / "site-packages"
    for name, text in files.items():
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project = tomllib.loads(files["pyproject.toml"])["project"]
    info = packages / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))
    return packages
