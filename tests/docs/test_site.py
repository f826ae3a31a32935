"""The site of `make docs` takes its order from the index, so every page must be there. Pages that are generated are current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import python

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MKDOCS = Path(sys.prefix) / "docs" / "site-packages"


def test_the_index_lists_every_page_once() -> None:
    listed = re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8"))
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.name != "index.md"]
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize(
    ("tool", "written"),
    [("write_api", "python-api.md"), ("write_cli", "cli.md"), ("write_json", "check.schema.json")],
)
def test_a_page_that_is_written_by_a_tool_is_current(tool: str, written: str) -> None:
    """In a process of its own: click keeps what a verb that was run by itself has for --help."""
    print_it = "import runpy, sys; sys.stdout.write(runpy.run_path(sys.argv[1])['page']())"
    answer = python("-c", print_it, ROOT / "tools" / f"{tool}.py")
    assert answer.code == 0, answer.err
    assert (DOCS / "reference" / written).read_text(encoding="utf-8") == answer.out


@pytest.mark.slow
@pytest.mark.skipif(not MKDOCS.is_dir(), reason="mkdocs is not there (make docs installs it)")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """mkdocs.yml is strict: a link to nowhere ends it."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    env = {**os.environ, "PYTHONPATH": str(MKDOCS), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "reference" / "codes" / "TW105" / "index.html").is_file()
