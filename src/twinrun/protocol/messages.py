"""The messages between a twin and its parent, one definition for both ends."""

from __future__ import annotations

import msgspec

from twinrun.protocol.evidence import Trace
from twinrun.protocol.facts import DatasetsAudit, Facts

Entry = tuple[str, str]  # phase and name of a tensor


class LayoutMessage(msgspec.Struct, frozen=True):
    """The phases and names of the frames that follow under this number."""

    number: int
    phases: tuple[str, ...]
    names: tuple[str, ...]


class Trouble(msgspec.Struct, frozen=True):
    """Recording failed. `missing_point` names the point of the patch table that was not there, if that is why."""

    message: str
    hint: str | None = None
    traceback: str | None = None
    missing_point: str | None = None


class End(msgspec.Struct, frozen=True):
    """The last message of a twin. `status`: ended, stopped (at the step asked for) or failed."""

    status: str
    facts: Facts


# Questions to a twin that is held, and their answers.


class AskDump(msgspec.Struct, frozen=True, tag="dump"):
    """Write these tensors of the frame at which the twin stands to a file."""

    entries: list[Entry]
    file: str


class AskFacts(msgspec.Struct, frozen=True, tag="facts"):
    pass


class AskTrace(msgspec.Struct, frozen=True, tag="trace"):
    pass


class AskDatasets(msgspec.Struct, frozen=True, tag="datasets"):
    """Audit what the twin is iterating."""


Question = AskDump | AskFacts | AskTrace | AskDatasets


class Dumped(msgspec.Struct, frozen=True, tag="dumped"):
    """`file` is where the values are, of those tensors that have not changed since they were digested."""

    file: str


class NoAnswer(msgspec.Struct, frozen=True, tag="none"):
    error: str
    traceback: str | None = None


Answer = Dumped | Facts | Trace | DatasetsAudit | NoAnswer
