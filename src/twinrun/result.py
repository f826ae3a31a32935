"""The result of a check: one value, of which every output is a view. It can be saved and rendered again."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Struct

from twinrun.comparison.frames import Difference
from twinrun.comparison.quantity import Quantity, WorkerCount
from twinrun.comparison.timeline import Timeline
from twinrun.comparison.verdict import (
    DIVERGES,
    EXIT,
    REASON_KINDS,
    REPEATS,
    UNDECIDED,
    Growth,
    Reason,
    ReasonKind,
    Verdict,
)
from twinrun.counted import counted
from twinrun.errors import BadResult
from twinrun.findings.finding import Finding
from twinrun.masking import Masked
from twinrun.protocol.spec import Tracing
from twinrun.protocol.suspect import Suspect
from twinrun.recording.frame import GIVEN
from twinrun.terminal import inline, printable

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "DIVERGES", "EXIT", "REASON_KINDS", "REPEATS", "SCHEMA", "UNDECIDED", "CheckResult", "ChildResult", "Conditions",
    "Delivered", "DeviceUse", "Diagnosis", "EnvironmentDifference", "EnvironmentRuns", "Experiment", "Growth", "Judged",
    "OutputDifference", "Quantity", "Reason", "ReasonKind",
    "Stream", "Timeline", "Verdict", "WorkerCount", "and_children", "read_findings",
]  # fmt: skip

SCHEMA: Final = "twinrun/check/1"


class Stream(Struct, frozen=True):
    """A random stream whose state differed from this step on. That alone is no divergence."""

    step: int
    stream: str


class Experiment(Struct, frozen=True):
    """What the diagnosis tried, what the twins did then, and the command that does it again."""

    AS_IS: ClassVar[tuple[str, ...]] = ("command",)  # its arguments are masked one by one
    what: str
    outcome: str
    verdict: Verdict
    steps: int = 0
    seconds: float | None = None
    command: str = ""
    interventions: tuple[str, ...] = ()  # the options that ask for them
    tracing: Tracing = ""
    first_difference: Difference | None = None


class Diagnosis(Struct, frozen=True):
    """What a diagnosis that ran out of time needs to go on, beside its experiments."""

    AS_IS: ClassVar[tuple[str, ...]] = ("command",)
    complete: bool
    command: str  # the check itself, as a user would type it
    suspects: tuple[Suspect, ...] = ()
    may_race: bool = False
    op: Finding | None = None  # blamed by a trace of what every op did
    datasets: tuple[Finding, ...] = ()  # what an audit found in those that the twins iterated
    noticed: tuple[Finding, ...] = ()  # by the twins themselves, before the diagnosis
    notes: tuple[str, ...] = ()  # of the check, before the diagnosis
    compared: tuple[str, ...] = ()  # phases that were, at the step where the twins part


class Conditions(Struct, frozen=True):
    """What the twins needed to diverge, beside the options of the check."""

    sequential: bool = False
    stress: bool = False
    varied: tuple[str, ...] = ()
    carried: bool = False  # the second twin started from the files that the first left


class OutputDifference(Struct, frozen=True):
    """One place where two twins delivered something different."""

    place: str
    a: str = ""
    b: str = ""


class Delivered(Struct, frozen=True):
    """What the twins delivered, compared: standard output, and the files that they left in their views of the folder."""

    output: Literal["equal", "different"]
    files: int = 0  # that are equal by content
    views: str = "overlay"  # "shared": the twins wrote to one folder, and no file was compared
    differences: tuple[OutputDifference, ...] = ()
    only_shows: tuple[
        str, ...
    ] = ()  # places that differ in what shows the clock, a duration, a generated name
    ignored: tuple[str, ...] = ()  # places that the user has said may differ
    reordered: bool = False  # several threads or processes print, and their lines come in another order

    def first(self) -> str:
        """The first difference, as part of a sentence."""
        one = self.differences[0]
        values = f": {one.a!r} against {one.b!r}" if one.a or one.b else ""
        return f"{one.place} differs{values}"

    def summary(self) -> str:
        """What was equal, as part of a sentence."""
        files = f" and {counted(self.files, 'file')}" if self.files else ""
        return f"output{files} equal"


class EnvironmentDifference(Struct, frozen=True):
    """A fact that is not the same on both sides: what it can change, and a sentence about it."""

    field: str
    group: str
    sentence: str
    a: str
    b: str


class DeviceUse(Struct, frozen=True):
    """The device that a twin was given, and how many of its variables lay on which."""

    device: str
    variables: dict[str, int] = {}

    def __str__(self) -> str:
        lay = ", ".join(f"{count} on {name}" for name, count in sorted(self.variables.items()))
        return f"{self.device} (variables: {lay or 'none seen'})"


class EnvironmentRuns(Struct, frozen=True):
    """The runs of a check that were made in one environment key on a cluster, and the verdict on them."""

    environment: str
    verdict: Verdict
    runs: tuple[str, ...]
    nodes: tuple[str, ...]
    steps: int = 0
    reason: str | None = None
    differing: tuple[str, ...] = ()  # the runs that differ from the first of these
    against_first: str = ""  # how these compare with the runs of the first key, in words; empty for those


class ChildResult(Struct, frozen=True):
    """A process that the program started, and what became of comparing it."""

    name: str
    verdict: Verdict
    steps: int = 0
    reason: str | None = None
    worker: bool = False  # of a cluster


class Judged(Masked, Struct, frozen=True):
    """What every verb that judges a program answers."""

    AS_IS: ClassVar[tuple[str, ...]] = ("verdict", "reason_kind")
    program: str
    verdict: Verdict
    reason: str | None = None
    reason_kind: ReasonKind | None = None

    @property
    def exit_code(self) -> int:
        """0 repeats, 1 diverges, 2 undecided."""
        return EXIT[self.verdict]

    @property
    def label(self) -> str:
        """The verdict with the kind of its reason: `undecided[timeout]`."""
        return f"{self.verdict}[{self.reason_kind}]" if self.reason_kind else self.verdict

    @classmethod
    def of(cls, program: str, verdict: Verdict, reason: Reason | None = None, **known: Any) -> Self:
        message, kind = (reason.message, reason.kind) if reason is not None else (None, None)
        return cls(program, verdict, message, kind, **known)

    def replace(self, **changes: Any) -> Self:
        return msgspec.structs.replace(self, **changes)

    def as_json(self) -> dict[str, Any]:
        """The document that --output-format json writes."""
        document: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return document


class CheckResult(Judged, frozen=True, tag_field="schema", tag=SCHEMA):
    """The result of a check or of a comparison: the verdict, where the runs diverge, and why. Its fields are those of the JSON."""

    AS_IS: ClassVar[tuple[str, ...]] = (*Judged.AS_IS, "recordings", "contract")
    contract: str = "bitwise"
    runs: int = 2
    steps_compared: int = 0
    first_difference: Difference | None = None  # what broke the contract
    first_bit_difference: Difference | None = None  # whether the contract allows it or not
    growth: tuple[Growth, ...] = ()  # how far apart they are at each step, under a contract by value
    also_differing: tuple[str, ...] = ()  # further tensors that differ at that step
    children: tuple[ChildResult, ...] = ()  # processes that the program started and that trained
    by_environment: tuple[EnvironmentRuns, ...] = ()  # of runs on a cluster
    worker_counts: tuple[WorkerCount, ...] = ()  # one run with each, in place of twins
    streams: tuple[Stream, ...] = ()  # random streams whose state differed
    findings: tuple[Finding, ...] = ()
    experiments: tuple[Experiment, ...] = ()  # what the diagnosis tried
    diagnosis: Diagnosis | None = None  # what it needs to go on
    conditions: Conditions = Conditions()  # that the twins needed to diverge
    controls: dict[str, Any] = {}  # as read back, by name
    varied: tuple[str, ...] = ()
    devices: tuple[DeviceUse, ...] = ()  # of each twin, where they were given devices
    environment: dict[str, Any] = {}
    timing: dict[str, float] = {}
    recordings: tuple[str, ...] = ()  # folders
    notes: tuple[str, ...] = ()
    output_tail: str | None = None  # the last lines that the program printed, where it failed
    delivered: Delivered | None = None  # None: not compared
    environment_differences: tuple[EnvironmentDifference, ...] | None = None  # None: not compared
    timeline: Timeline | None = None

    @property
    def headline(self) -> str:
        """What follows the verdict in its line."""
        first = self.first_difference
        if self.verdict == DIVERGES and first is not None and not self.reason:
            where = f" in {first.process}," if first.process else ""
            what = "differs, everything before was equal"
            if self.contract != "bitwise":
                what = f"is outside {self.contract}, everything before was within"
            if self.devices and first.phase in GIVEN:
                what = "differs, and must be equal on every device"
            if first.only_in is not None:
                what = f"was seen in twin {first.only_in} only"
            return f"{where} at step {first.step}, phase {first.phase}: {first.tensor} {what}"
        if self.reason:
            return f": {self.reason}"
        if self.worker_counts:
            return self._kept_by_all_counts()
        delivered = self.delivered.summary() if self.delivered is not None else ""
        if self.contract == "output":
            return f": {counted(self.runs, 'run')}, {delivered}"
        also = f"; {delivered}" if delivered else ""
        several = len(self.by_environment)
        runs = f"{self.runs} runs in {several} environments" if several > 1 else counted(self.runs, "run")
        each = " in each" if several > 1 else ""
        return f": {runs}, {self.compared} compared, equal {self.within}{each}{also}"

    def _kept_by_all_counts(self) -> str:
        """What was judged, as far as it was observed in every run."""
        known = [
            [q.name for q in each.quantities if q.judged and q.outcome not in ("kept", "unknown")]
            for each in self.worker_counts[1:]
        ]
        names = [name for name in known[0] if all(name in each for each in known)] if known else []
        *some, last = (str(each.workers) for each in self.worker_counts)
        counts = f"with {', '.join(some)} and {last} workers, one run of each"
        what = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
        return f": {counts}, {counted(self.steps_compared, 'step')}: {what} equal {self.within}"

    @property
    def compared(self) -> str:
        """What was equal. A program without a step is judged by what it evaluates and probes."""
        steps = counted(self.steps_compared, "step") if self.steps_compared else "evaluations and probes"
        workers = sum(child.worker for child in self.children)
        of = f" of {counted(workers, 'worker')}" if workers else ""
        return steps + of + and_children(len(self.children) - workers)

    @property
    def within(self) -> str:
        return "bit for bit" if self.contract == "bitwise" else f"within {self.contract}"

    def __str__(self) -> str:
        """The verdict, and each finding with its place."""
        lines = [f"{self.verdict}{self.headline}"]
        for each in self.findings:
            place = f"{each.place}: " if each.place else ""
            lines.append(f"{each.kind}[{each.code}]: {place}{each.message}")
        return "\n".join(map(inline, lines))

    def __repr__(self) -> str:
        return f"<CheckResult of {inline(self.program)}: {self.label}>"

    def _repr_html_(self) -> str:
        """The result as HTML for notebooks, with the line of each finding, what to do, and what the program said last where it failed."""
        lines = [f"{self.verdict}{self.headline}"]
        for each in self.findings:
            lines += [
                "",
                f"{each.kind}[{each.code}]: {each.message}",
                f"  --> {each.place or 'no line of the program'}",
            ]
            lines += [f"      {one.number} | {one.text}" for one in each.source if one.number == each.line]
            lines += [f"  fix: {each.fix}"] if each.fix else []
        lines += [f"note: {note}" for note in self.notes]
        lines += ["last lines of output:", *self.output_tail.splitlines()] if self.output_tail else []
        return f"<pre>{escape(printable(chr(10).join(lines)))}</pre>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The result in IPython on a terminal."""
        printer.text(str(self))

    @classmethod
    def from_json(cls, document: Any, where: str | None = None) -> CheckResult:
        """Reads what as_json gives. A saved result may come from anybody: every field is checked."""
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema != SCHEMA:
            raise BadResult(*_unreadable(schema), where=where)
        try:
            return msgspec.convert(document, cls)
        except ValueError as problem:  # also where a text cannot be encoded
            raise BadResult(f"this result is damaged: {problem}", where=where) from None


def and_children(count: int) -> str:
    return f" and {count} child process{'es' if count > 1 else ''}" if count else ""


def read_findings(document: dict[str, Any], where: str | None = None) -> tuple[Finding, ...]:
    """The findings of any verb's document."""
    try:
        return msgspec.convert(document.get("findings", ()), tuple[Finding, ...])
    except ValueError as problem:  # also where a text cannot be encoded
        raise BadResult(f"the findings of this result are damaged: {problem}", where=where) from None


def _unreadable(schema: object) -> tuple[str, str]:
    name, _, version = str(schema)[:80].rpartition("/")
    if name == SCHEMA.rpartition("/")[0] and version.isdigit():
        newer = f"this result was written by a newer Twinrun ({name}/{version}, this one reads {SCHEMA})"
        return newer, "upgrade twinrun to read it"
    if name.startswith("twinrun/"):
        verb = name.removeprefix("twinrun/")
        return f"this came from twinrun {verb}, it is not the result of a check", SAVE_ONE
    return "this is not the result of a check", SAVE_ONE


SAVE_ONE = "save one with twinrun check --output-format json --output-file result.json train.py"
