"""What a check is asked to do, and what is shown while it does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from twinrun.comparison.contract import BITWISE, Contract
from twinrun.comparison.delivered import Ignored
from twinrun.comparison.judge import Judge
from twinrun.launch.program import Program
from twinrun.launch.twin_process import Twin
from twinrun.launch.views import WAYS, Way
from twinrun.protocol import Intervened, Interventions
from twinrun.protocol.spec import Tracing
from twinrun.result import CheckResult

FOLLOW = 24  # steps that twins are compared after their first difference


@dataclass(frozen=True)
class CheckOptions(Intervened):
    program: Program
    runs: int = 2
    steps: int | None = None
    workers: int = 0  # of the cluster that each twin is; 0: one process
    worker_counts: tuple[int, ...] = ()  # one run with each, compared; no twins
    replicas: int = 0  # devices that a machine without accelerators is to have; 0: as it is
    worker_timeout: float = 60.0  # seconds that the workers may all stand still
    contract: Contract = BITWISE
    interventions: Interventions = ()
    sequential: bool = False
    timeout: float | None = None
    detail: bool = False
    events: bool = True
    folder: str | None = None
    tracing: Tracing = ""
    ignored_output: tuple[Ignored, ...] = ()
    patched: Mapping[str, str] = field(
        default_factory=dict
    )  # absolute path: the text that the twins see there
    carried: bool = False  # one after the other, each with the files that the one before left
    views: tuple[Way, ...] = WAYS  # the ways to give each twin its own view of the folder, the best first
    keep_files: str | None = None  # where to keep what each twin left
    keep: bool = False  # never remove the recordings to make room for others
    dump_limit: int = 256_000_000  # bytes of the tensors that differ
    follow: int = FOLLOW  # steps after the first difference, for the report
    experiment: bool = False  # one question of a diagnosis: no second look with another clock


class Screen:
    """What is shown while a check runs. This one shows nothing."""

    def twins(self, twins: list[Twin]) -> None: ...
    def tick(self, judge: Judge) -> None: ...
    def say(self, text: str, deadline: float | None = None) -> None:
        """What is being tried, and until when (time.monotonic()) there is time for it."""

    def printed(self, stream: str, data: bytes) -> None:
        """What a program prints, where one runs alone."""

    def known(self, result: CheckResult) -> None:
        """The verdict, when only the cause is still to be found."""

    def close(self) -> None: ...
