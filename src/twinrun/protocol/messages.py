"""The messages between a twin and its parent, one definition for both ends."""

from __future__ import annotations

import msgspec

from twinrun.protocol.event import Event
from twinrun.protocol.evidence import Trace
from twinrun.protocol.facts import DatasetsAudit, Facts, Failure, Replicated
from twinrun.recording.outline import Key, Outline, Part


class LayoutMessage(msgspec.Struct, frozen=True):
    """The layout of the frames that follow under this number."""

    number: int
    phases: tuple[str, ...]
    names: tuple[str, ...]
    kinds: str


class Trouble(msgspec.Struct, frozen=True):
    """Recording failed. `missing_point` names the point of the patch table that was not there, if that is why."""

    message: str
    hint: str | None = None
    traceback: str | None = None
    missing_point: str | None = None
    cannot_write: bool = False  # no room, or no permission
    no_device: bool = False  # the one that the twin was given cannot be used


class Doing(msgspec.Struct, frozen=True):
    """What keeps a twin busy that is no work of the program's, until its next frame."""

    text: str


class End(msgspec.Struct, frozen=True):
    """The last message of a twin. `status`: ended, stopped (at the step asked for) or failed."""

    status: str
    facts: Facts


class SoFar(msgspec.Struct, frozen=True):
    """What a child knows before it has ended: of its strategy while it trains, of its failure, and what it used until
    it last handed over a result; see Facts."""

    replicated: Replicated | None = None
    unrepeatable: str | None = None
    failure: Failure | None = None
    events: tuple[Event, ...] = ()


# Questions to a twin that is held, and their answers.


class AskOutlines(msgspec.Struct, frozen=True, tag="outlines"):
    """Type, shape and digests of these tensors of the frame at which the twin stands."""

    entries: list[Key]


class AskValues(msgspec.Struct, frozen=True, tag="values"):
    """These elements of tensors that were outlined."""

    parts: list[Part]


class AskDump(msgspec.Struct, frozen=True, tag="dump"):
    """Write these parts to a file."""

    parts: list[Part]
    file: str


class AskFacts(msgspec.Struct, frozen=True, tag="facts"):
    pass


class AskTrace(msgspec.Struct, frozen=True, tag="trace"):
    pass


class AskDatasets(msgspec.Struct, frozen=True, tag="datasets"):
    """Audit what the twin is iterating."""


Question = AskOutlines | AskValues | AskDump | AskFacts | AskTrace | AskDatasets


class Outlines(msgspec.Struct, frozen=True, tag="outlines"):
    """Outlines in the order asked for; None for what changed since it was digested."""

    outlines: list[Outline | None]


class Values(msgspec.Struct, frozen=True, tag="values"):
    """Values as `recording.pieces.values_of` gives them."""

    data: bytes | None


class Dumped(msgspec.Struct, frozen=True, tag="dumped"):
    pass


class NoAnswer(msgspec.Struct, frozen=True, tag="none"):
    error: str
    traceback: str | None = None


Answer = Outlines | Values | Dumped | Facts | Trace | DatasetsAudit | NoAnswer
