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


class WorkerEnd(msgspec.Struct, frozen=True):
    """A worker that did not end well: by its exit code, or, without one, because it stood still after another had
    ended, or after it had failed, or with all others."""

    number: int
    code: int | None
    waited_for: int | None = None  # the number of the worker that had ended
    failed: bool = False  # without an exit code: an exception ended its program, and the process goes on


class Drift(msgspec.Struct, frozen=True):
    """The first difference between copies of a variable that must be equal."""

    step: int
    variable: str
    replica: int  # of this process; the other is the first one


class Replicated(msgspec.Struct, frozen=True):
    """Training that is spread over replicas: `variables` are those that every replica has, with the same value."""

    cluster: str = ""  # names those that train together, where they are several processes
    variables: list[str] = []
    drift: Drift | None = None  # between the replicas of this process
    number: int | None = None  # of this process in the cluster
    # The last step, where no other and no end of an epoch closed it: what the program did to its weights until it ended is
    # in them.
    open_step: int | None = None


class Share(msgspec.Struct, frozen=True):
    """The elements that a worker trained on in its first pass over the data, as digests of 8 bytes each. `unknown`: why they
    are not known."""

    elements: bytes = b""
    unknown: str = ""


class DatasetsAudit(msgspec.Struct, frozen=True, tag="datasets"):
    """What an audit found in the inputs of a run, and what of them could not be judged."""

    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()  # stages that are not known, each in a line
    failures: tuple[str, ...] = ()  # why not all inputs were audited, each in a sentence


class Facts(msgspec.Struct, kw_only=True, tag="facts"):
    step: int = 0
    process: int = 0  # its number
    parent: int = 0  # the number of the process that started it
    children: list[int] = []  # the numbers of those that it started
    events: list[Event] = []
    inputs: Inputs = msgspec.field(default_factory=Inputs)
    environment: dict[str, Any] = {}
    controls: dict[str, ControlState] = {}
    controls_error: str | None = None
    findings: list[Finding] = []  # noticed inside the process
    datasets: DatasetsAudit | None = None
    notes: list[str] = []
    failure: Failure | None = None
    worker_end: WorkerEnd | None = None  # of a cluster
    # Of the variables of optimizers: iteration, learning-rate, or optimizer for the rest.
    roles: dict[str, str] = {}
    placed: dict[str, int] = {}  # how many variables lay on each device: {"GPU:0": 12}
    replicated: Replicated | None = None
    share: Share | None = None  # of a worker
    # Why no run of the program can repeat another, whatever a comparison finds.
    unrepeatable: str | None = None
    no_step: str | None = None  # where no step was observed: why that may be, by what the program imported
