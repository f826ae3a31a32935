"""`python -m twinrun.publish.log_results TRACKER RESULT [FOLDER]`: logs saved results, and prints for each where it is, or
why it is nowhere. Started by send.py."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

from twinrun import untrusted
from twinrun.errors import TwinrunError
from twinrun.publish.entry import Entry
from twinrun.render.several import results_in
from twinrun.trackers import Tracker, tracker


def main(name: str, file: str, folder: str = "") -> None:
    try:
        chosen = tracker(name)
    except Exception as problem:  # a package can be there and not work
        _answer(problem=_told(problem))
        return
    for program, result in results_in(untrusted.read_json(Path(file))):
        try:
            _answer(place=_log(chosen, Entry.of(result, program), folder))
        except Exception as problem:
            _answer(problem=_told(problem), hint=chosen.hint())
            return


def _log(chosen: Tracker, entry: Entry, folder: str) -> str:
    run = chosen.new_run(f"twinrun {entry.title}", folder or None)
    try:
        entry.log(run)
    except Exception:
        with suppress(Exception):
            run.end(complete=False)
        raise
    return run.end(complete=True)


def _told(problem: Exception) -> str:
    """The first line: those of servers are followed by pages."""
    text = problem.message if isinstance(problem, TwinrunError) else str(problem)
    return (text.strip().splitlines() or [type(problem).__name__])[0]


def _answer(**answer: str) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
