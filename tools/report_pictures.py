"""Takes pictures of the report of a check that is really run: wide and narrow, in light and dark. Needs Chromium.

python tools/report_pictures.py zoo/programs/patch_reconstruction.py docs/images
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser import THEMES, chromium, missing  # noqa: E402

# Name: the width, and the first and the last part of the page that is seen.
_VIEWS = {
    "report": (1600, "header", "#where"),
    "report-plots": (900, "#steps", "#curves"),
    "report-layers": (900, "#layers", "#layers"),
    "report-narrow": (400, "#where", "#steps"),
}


def main() -> None:
    program, target = Path(sys.argv[1]), Path(sys.argv[2])
    if (problem := missing()) is not None:
        sys.exit(f"no pictures: {problem}")
    with tempfile.TemporaryDirectory() as place:
        report = _checked(program, Path(place))
        with chromium() as browser:
            for name, (width, *parts) in _VIEWS.items():
                for theme in THEMES:
                    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
                    page.goto(report.as_uri())
                    first, last = (page.locator(part).bounding_box() for part in parts)
                    assert first is not None and last is not None
                    height = last["y"] + last["height"] - first["y"]
                    clip = {"x": 0, "y": first["y"], "width": width, "height": height}
                    page.screenshot(path=target / f"{name}-{theme}.png", full_page=True, clip=clip)
                    page.close()


def _checked(program: Path, folder: Path) -> Path:
    """The report of this program, under the name that most programs have."""
    shutil.copy(program, folder / "train.py")
    twinrun = Path(sys.executable).parent / "twinrun"
    command = [twinrun, "check", "--dir", "recordings", "--html", "report.html", "train.py"]
    subprocess.run(command, cwd=folder, check=False)
    return folder / "report.html"


if __name__ == "__main__":
    main()
