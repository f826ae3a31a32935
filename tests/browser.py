"""A headless Chromium, for tests and tools that look at a page as its readers do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTHS = (400, 900, 1600)
THEMES = ("light", "dark")
_COMMANDS = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
)  # fmt: skip


def to_be_skipped() -> str | None:
    """Why tests that need a browser are skipped; none are where TWINRUN_REQUIRE_CHROMIUM=1: they fail without one."""
    return None if os.environ.get("TWINRUN_REQUIRE_CHROMIUM") == "1" else missing()


def missing() -> str | None:
    """What is needed and not there."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "the package playwright is not installed"
    return None if _command() else "there is no Chromium (apt-get install chromium)"


def _command() -> str | None:
    return next((path for name in _COMMANDS if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    if (problem := missing()) is not None:
        raise RuntimeError(problem)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_command(), args=list(_OPTIONS))
        try:
            yield browser
        finally:
            browser.close()
