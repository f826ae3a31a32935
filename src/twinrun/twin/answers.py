"""Answers to the questions of a parent that holds a twin at a frame."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from twinrun.errors import TwinrunError
from twinrun.protocol.messages import (
    Answer,
    AskDatasets,
    AskDump,
    AskFacts,
    AskOutlines,
    AskValues,
    Dumped,
    NoAnswer,
    Outlines,
    Question,
    Values,
)
from twinrun.twin.callers import unseen

if TYPE_CHECKING:
    from twinrun.twin.recorder import Recorder


def answer(question: Question, recorder: Recorder) -> Answer:
    """Whatever goes wrong is an answer too: the parent waits for one."""
    try:
        return _answer(question, recorder)
    except TwinrunError as problem:
        return NoAnswer(problem.message)
    except Exception as problem:
        return NoAnswer(f"{type(problem).__name__}: {problem}", traceback.format_exc())


def _answer(question: Question, recorder: Recorder) -> Answer:
    if isinstance(question, AskOutlines):
        return Outlines(recorder.held.outlines(question.entries))
    if isinstance(question, AskValues):
        return Values(recorder.held.values(question.parts))
    if isinstance(question, AskDump):
        recorder.held.dump(Path(question.file), question.parts)
        return Dumped()
    if isinstance(question, AskFacts):
        return recorder.facts()
    if isinstance(question, AskDatasets):
        return _datasets(recorder)
    return recorder.trace() if recorder.trace else NoAnswer("this twin does not trace ops")


def _datasets(recorder: Recorder) -> Answer:
    audited = recorder.session.audited
    with unseen():
        return audited() if audited is not None else NoAnswer("no framework with datasets was imported")
