"""The session: everything that Twinrun does in this process. There is one, as there is one global seed of each kind.
A process that is only pinned from inside has a session without a recorder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from twinrun.errors import MissingPoint
from twinrun.protocol.facts import DatasetsAudit, Inputs
from twinrun.protocol.point import Point
from twinrun.protocol.spec import Spec
from twinrun.twin.event_log import EventLog
from twinrun.twin.patch_table import PatchTable
from twinrun.twin.pins import Pins

if TYPE_CHECKING:
    from twinrun.twin.recorder import Recorder


DEVICE = "device"  # among the settings of a twin: the device that it was given


class InputsReport(Protocol):
    """What a source of input files knows at the end."""

    def record_read(self, path: Any, who: Any) -> None: ...
    def record_listing(self, path: Any, names: Iterable[str]) -> None: ...
    def report(self) -> Inputs: ...


class Session:
    def __init__(self, spec: Spec | None = None) -> None:
        self.spec = spec
        self.recorder: Recorder | None = None
        self.log = EventLog(spec.freezes, recording=spec.events) if spec else EventLog(recording=False)
        self.pins = Pins()
        self.patches = PatchTable(self)
        self.inputs: InputsReport | None = None
        self.audited: Callable[[], DatasetsAudit] | None = None  # audits the datasets of the program
        self.notes: list[str] = []

    @property
    def varied(self) -> Mapping[str, str]:
        """The settings of this twin, by variation."""
        return self.spec.varied if self.spec is not None else {}

    @property
    def device(self) -> str:
        """That this twin was given, to be compared with one on another; empty where it runs where the program puts it."""
        return self.varied.get(DEVICE, "")

    @property
    def stressed(self) -> bool:
        return self.spec is not None and self.spec.stressed

    def point_missing(self, point: Point, problem: MissingPoint) -> None:
        """Nothing is skipped silently: what is lost depends on what the point is needed for."""
        if "verdict" in point.needed_for and self.recorder is not None:
            self.recorder.trouble(problem)
        if "cause" in point.needed_for:
            self.notes.append(f"the cause may be missed: {problem.message} ({point.reason})")
        if "audit" in point.needed_for:
            self.notes.append(f"the audit may miss something: {problem.message} ({point.reason})")


_current: list[Session] = []


def current() -> Session:
    """The session of this process, made when it is first asked for."""
    if not _current:
        _current.append(Session())
    return _current[0]


def begin(spec: Spec) -> Session:
    """The session of a twin."""
    _current[:] = [Session(spec)]
    return _current[0]
