"""The result of a check: one value, of which every output is a view. It can be saved and rendered again."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Struct

from twinrun.comparison.frames import Difference
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
from twinrun.errors import BadResult
from twinrun.findings.finding import Finding
from twinrun.masking import Masked
from twinrun.protocol.spec import Tracing
from twinrun.protocol.suspect import Suspect
from twinrun.terminal import inline

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "DIVERGES", "EXIT", "REASON_KINDS", "REPEATS", "SCHEMA", "UNDECIDED", "CheckResult", "ChildResult", "Conditions",
    "Delivered", "Diagnosis", "Experiment", "Growth", "Judged", "OutputDifference", "Reason", "ReasonKind", "Stream", "Verdict",
    "and_children", "read_findings",
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
    only_shows: tuple[str, ...] = ()  # places that differ in what shows the clock, a duration, a made-up name
    ignored: tuple[str, ...] = ()  # places that the user has said may differ
    reordered: bool = False  # several threads or processes print, and their lines come in another order

    def first(self) -> str:
        """The first difference, as part of a sentence."""
        one = self.differences[0]
        values = f": {one.a!r} against {one.b!r}" if one.a or one.b else ""
        return f"{one.place} differs{values}"

    def summary(self) -> str:
        """What was equal, as part of a sentence."""
        files = f" and {self.files} file{'s' if self.files > 1 else ''}" if self.files else ""
        return f"output{files} equal"


class ChildResult(Struct, frozen=True):
    """A process that the program started, and what became of comparing it."""

    name: str
    verdict: Verdict
    steps: int = 0
    reason: str | None = None


class Judged(Masked, Struct, frozen=True):
    """What every verb that judges a program answers."""

    AS_IS: ClassVar[tuple[str, ...]] = ("verdict", "reason_kind")
    program: str
    verdict: Verdict
    reason: str | None = None
    reason_kind: ReasonKind | None = None

    @property
    def exit_code(self) -> int:
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
        document: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return document


class CheckResult(Judged, frozen=True, tag_field="schema", tag=SCHEMA):
    AS_IS: ClassVar[tuple[str, ...]] = (*Judged.AS_IS, "recordings", "contract")
    contract: str = "bitwise"
    runs: int = 2
    steps_compared: int = 0
    first_difference: Difference | None = None
    first_bit_difference: Difference | None = None
    growth: tuple[Growth, ...] = ()
    also_differing: tuple[str, ...] = ()
    children: tuple[ChildResult, ...] = ()
    streams: tuple[Stream, ...] = ()
    findings: tuple[Finding, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    diagnosis: Diagnosis | None = None
    conditions: Conditions = Conditions()
    controls: dict[str, Any] = {}
    varied: tuple[str, ...] = ()
    environment: dict[str, Any] = {}
    timing: dict[str, float] = {}
    recordings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    output_tail: str | None = None
    delivered: Delivered | None = None  # None: not compared

    @property
    def headline(self) -> str:
        """What follows the verdict in its line."""
        first = self.first_difference
        if self.verdict == DIVERGES and first is not None and not self.reason:
            where = f" in {first.process}," if first.process else ""
            what = "differs, everything before was equal"
            if first.only_in is not None:
                what = f"was seen in twin {first.only_in} only"
            return f"{where} at step {first.step}, phase {first.phase}: {first.tensor} {what}"
        if self.reason:
            return f": {self.reason}"
        delivered = self.delivered.summary() if self.delivered is not None else ""
        if self.contract == "output":
            return f": {self.runs} runs, {delivered}"
        also = f"; {delivered}" if delivered else ""
        return f": {self.runs} runs, {self.compared} compared, equal {self.within}{also}"

    @property
    def compared(self) -> str:
        """What was equal. A program without a step is judged by what it evaluates and probes."""
        steps = f"{self.steps_compared} steps" if self.steps_compared else "evaluations and probes"
        return steps + and_children(len(self.children))

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
        """For notebooks."""
        return f"<pre>{escape(str(self))}</pre>"

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
