"""What a twin knows of itself at its end, or when it is held."""

from __future__ import annotations

from typing import Any

import msgspec

from twinrun.findings.finding import Finding
from twinrun.protocol.control import ControlState
from twinrun.protocol.event import Event


class Inputs(msgspec.Struct, frozen=True):
    """The files that the program read or looked for."""

    paths: list[str] = []
    changed: list[str] = []  # not what they were when first read
    fresh: list[str] = []  # written since this program started, by itself or by another


class Failure(msgspec.Struct, frozen=True):
    """The exception that ended the program."""

    kinds: list[str]  # its class and the classes it derives from
    text: str


class DatasetsAudit(msgspec.Struct, frozen=True, tag="datasets"):
    """What an audit found in the inputs of a run, and what of them could not be judged."""

    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()  # stages that are not known, each in a line
    failures: tuple[str, ...] = ()  # why not all inputs were audited, each in a sentence


class Facts(msgspec.Struct, kw_only=True, tag="facts"):
    step: int = 0
    process: int = 0  # its number
    parent: int = 0  # the number of the process that started it
    events: list[Event] = []
    inputs: Inputs = msgspec.field(default_factory=Inputs)
    environment: dict[str, Any] = {}
    controls: dict[str, ControlState] = {}
    controls_error: str | None = None
    findings: list[Finding] = []  # noticed inside the process
    datasets: DatasetsAudit | None = None
    notes: list[str] = []
    failure: Failure | None = None
    roles: dict[
        str, str
    ] = {}  # of the variables of optimizers: iteration, learning-rate, or optimizer for the rest
    no_step: str | None = None  # where no step was observed: why that may be, by what the program imported
