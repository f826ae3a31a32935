"""Sends results to trackers, each from a process of its own: what a tracker imports, prints, waits for or breaks is not
the command's, whose verdict stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twinrun.environment.child import run_module
from twinrun.errors import TwinrunError
from twinrun.masking import mask
from twinrun.terminal import inline, say
from twinrun.trackers import TITLES, must_be_installed

_LONGEST = 180.0  # seconds that a tracker may take


def asked_for(given: Mapping[str, Any]) -> dict[str, str]:
    """The trackers among the options of a verb, each with its folder. Refuses those that are not installed, which is better
    known before anything is run."""
    asked = {name: given[name] if isinstance(given[name], str) else "" for name in TITLES if given[name]}
    for name in asked:
        must_be_installed(name)
    return asked


def send(document: dict[str, Any], trackers: Mapping[str, str]) -> None:
    """A document of results. Never fails: what could not be logged is reported."""
    for name, folder in trackers.items():
        try:
            answers = _logged(document, name, folder)
        except (TwinrunError, OSError, ValueError) as problem:
            answers = [{"problem": str(problem)}]
        for answer in answers:
            if "place" in answer:
                _say(f"logged to {TITLES[name]}: {answer['place']}")
                continue
            _say(f"warning: not logged to {TITLES[name]}: {answer['problem']}")
            if answer.get("hint"):
                _say(f"hint: {answer['hint']}")


def _logged(document: dict[str, Any], name: str, folder: str) -> list[dict[str, str]]:
    with TemporaryDirectory(prefix="twinrun-") as place:
        file = Path(place) / "result.json"
        file.write_text(json.dumps(document, default=str))
        answers, end = run_module(
            "twinrun.publish.log_results", name, str(file), folder, timeout=_LONGEST, what="it"
        )
    return answers or [{"problem": end}]


def _say(text: str) -> None:
    say(inline(mask(text)))
