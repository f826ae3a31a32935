"""What CI shows beside its log: an annotation for the verdict, and a summary of the job in Markdown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from twinrun.render.github import escaped, escaped_property
from twinrun.render.text import as_text
from twinrun.result import DIVERGES, REPEATS, CheckResult
from twinrun.terminal import inline

_MARKS = {"repeats": "✅", "diverges": "❌", "undecided": "⚠️"}


def annotation(name: str, result: CheckResult) -> str:
    """One line in GitHub's form: an error for a program that diverges, a warning for one not judged."""
    if result.verdict == REPEATS:
        return ""
    kind = "error" if result.verdict == DIVERGES else "warning"
    title = escaped_property(f"twinrun {name or result.program}")
    return f"::{kind} title={title}::{escaped(result.label + result.headline)}\n"


def as_markdown(results: Sequence[tuple[str, CheckResult]]) -> str:
    """A table of verdicts, and the whole text of those that do not repeat, folded."""
    lines = ["### Twinrun", "", "| program | verdict | contract | environment |", "|---|---|---|---|"]
    for name, result in results:
        verdict = f"{_MARKS[result.verdict]} {result.verdict}"
        environment = str(result.environment.get("name", ""))
        cells = (name or result.program, verdict, result.contract, environment)
        lines.append("| " + " | ".join(_cell(each) for each in cells) + " |")
    for name, result in results:
        if result.verdict != REPEATS:
            text = as_text(result).replace("```", "'''")
            title = _cell(name or result.program)
            lines += ["", f"<details><summary>{title}</summary>", ""]
            lines += ["```text", text.rstrip(), "```", "</details>"]
    return "\n".join(lines) + "\n"


def write_summary(results: Sequence[tuple[str, CheckResult]]) -> None:
    """Appends to the file GitHub gives a step for it. A summary that cannot be written fails no check."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    try:
        with Path(file).open("a", encoding="utf-8") as out:
            out.write(as_markdown(results))
    except OSError:
        return


def _cell(text: str) -> str:
    """Names come from programs: nothing in them may end the cell or start a tag."""
    return inline(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("`", "'")
