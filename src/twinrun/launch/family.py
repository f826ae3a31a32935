"""The children of two runs, compared by their recordings when both have ended: of twins, of recordings, or of a run and
a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic

from msgspec.structs import replace

from twinrun.comparison.frames import STEP_COUNT, Difference
from twinrun.launch.children import Child, Recording
from twinrun.launch.twin_process import not_instrumented
from twinrun.protocol.child import worker_name
from twinrun.recording.frame import PHASES
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, ChildResult, Reason


@dataclass(frozen=True)
class Family:
    """What is known of the children of two runs."""

    results: tuple[ChildResult, ...] = ()
    decisive: CheckResult | None = None  # of the first child that does not repeat

    @property
    def observed(self) -> bool:
        return bool(self.results)

    def unseen(self, workers: int) -> list[str]:
        """Those of so many workers of which nothing is known in either run."""
        known = {child.name for child in self.results if child.worker}
        return [name for name in map(worker_name, range(workers)) if name not in known]

    def judge(self, result: CheckResult) -> CheckResult:
        """The result of the programs themselves, with that of their children."""
        if not self.results:
            return result
        both = result.replace(children=(*result.children, *self.results))
        found = self.decisive
        if result.verdict == DIVERGES and found is not None and found.verdict == DIVERGES:
            return both.replace(notes=(*both.notes, f"{_headline(found)}; which came first is not known"))
        if result.verdict != REPEATS:
            return both
        if not result.steps_compared:
            workers = [child.steps for child in self.results if child.worker]
            both = both.replace(
                steps_compared=max(workers, default=0) or sum(child.steps for child in self.results)
            )
        if found is None:
            return both
        return both.replace(
            verdict=found.verdict, reason=found.reason, reason_kind=found.reason_kind, growth=found.growth,
            first_difference=found.first_difference, first_bit_difference=found.first_bit_difference,
            also_differing=found.also_differing, timeline=found.timeline,
        )  # fmt: skip


@dataclass
class Comparison(Generic[Recording]):
    """Compares the children of two runs. `stopped`: a run was stopped at the step asked for, and its children with it."""

    children: tuple[list[Child[Recording]], list[Child[Recording]]]
    compare: Callable[[Recording, Recording], CheckResult]
    stopped: bool = False
    names: tuple[str, str] = ("A", "B")
    title: str = "twin {}"  # of a run, by its name
    _results: dict[str, CheckResult] = field(default_factory=dict)  # by name

    def run(self) -> Family:
        titles = {id(child): title for children in self.children for child, title in _titled(children)}
        for child in (child for children in self.children for child in children):
            name = titles[id(child)]
            if child.about.unwatched:
                why = f"{name} cannot be watched: {child.about.unwatched}, and it imports a framework"
                self._results[name] = _undecided(Reason("not-instrumented", why))
            elif child.trouble is not None:
                self._results[name] = _undecided(not_instrumented(child.trouble, name))
        a, b = ([child for child in children if child.content] for children in self.children)
        for one, other in _pairs(a, b):
            shown = one or other
            assert shown is not None and shown.content is not None
            name = titles[id(shown)]
            if name in self._results:
                continue
            if equal(one, other):
                found = CheckResult("", REPEATS, steps_compared=shown.content.steps)
            elif _shared_work(a, b, shown):
                found = _undecided(Reason("not-comparable", _SHARED))
            elif one is None or other is None:
                found = self._alone(name, shown, self.names[0 if other is None else 1])
            else:
                found = self._judged(name, one, other)
            self._results[name] = _placed(found, name, shown.about.worker)
        workers = {
            titles[id(child)] for run in self.children for child in run if child.about.worker is not None
        }
        gravest = min(self._results, key=lambda name: _rank(self._results[name], name in workers), default="")
        worst = self._results.get(gravest)
        decisive = worst if worst is not None and worst.verdict != REPEATS else None
        results = [
            ChildResult(name, one.verdict, one.steps_compared, one.reason, worker=name in workers)
            for name, one in self._results.items()
        ]
        return Family(tuple(results), decisive)

    def _judged(self, name: str, one: Child[Recording], other: Child[Recording]) -> CheckResult:
        if not (_frames(one) and _frames(other)):
            return self._unknown(name, one, other, 0)
        result = self.compare(one.recording, other.recording)
        first = result.first_difference
        if (first is not None and not first.uneven) or (one.whole and other.whole):
            return result.replace(reason=f"{name}: {result.reason}" if result.reason else None)
        if self.stopped and not _failed(one, other):
            return result.replace(verdict=REPEATS, reason=None, reason_kind=None, first_difference=None)
        return self._unknown(name, one, other, result.steps_compared)

    def _unknown(self, name: str, one: Child[Recording], other: Child[Recording], steps: int) -> CheckResult:
        known = f"equal up to step {steps}, what came after is not known"
        if _failed(one, other):
            return _undecided(Reason("crashed", f"{name} failed: {known}"), steps)
        how = "was cut off while it ran" if one.cut_off or other.cut_off else CRASHED
        return _undecided(Reason("abrupt-exit", f"{name} {how}: {known}"), steps)

    def _alone(self, name: str, child: Child[Recording], run: str) -> CheckResult:
        """Trained in one of the runs."""
        if self.stopped and child.about.worker is None:
            return CheckResult("", REPEATS)
        message = f"{name} trained in {self.title.format(run)} only"
        if child.status in ("cut off", "lost"):
            return _undecided(Reason("abrupt-exit", f"{message}, where it was cut off"))
        assert child.content is not None
        first = Difference(min(1, child.content.steps), "weights", STEP_COUNT, only_in=run)
        return CheckResult.of("", DIVERGES, Reason("uneven", message), first_difference=first)


def _placed(result: CheckResult, name: str, worker: int | None) -> CheckResult:
    """The result with the child that its first difference was seen in."""
    first, bits = (
        found and replace(found, process=name, worker=worker or 0)
        for found in (result.first_difference, result.first_bit_difference)
    )
    return result.replace(first_difference=first, first_bit_difference=bits)


_GRAVEST = (DIVERGES, UNDECIDED, REPEATS)


def _rank(result: CheckResult, worker: bool) -> tuple[int, int, bool, int]:
    """The gravest first. Workers take their steps together, so of these the first to differ, and at one step the one
    that differs in what is its own, not only in what it got from the others."""
    gravity, first = _GRAVEST.index(result.verdict), result.first_difference
    if not worker or first is None:
        return (gravity, 0, False, 0)
    phase = PHASES.index(first.phase)
    differing = (f"{first.phase}: {first.tensor}", *result.also_differing)
    own = phase < PHASES.index("loss") or any(each.startswith("gradient: local/") for each in differing)
    return (gravity, first.step, not own, phase)


def _titled(children: list[Child[Any]]) -> Iterator[tuple[Child[Any], str]]:
    others = count(1)
    for child in children:
        about = child.about
        yield child, about.label if about.worker is not None else f"child {next(others)} ({about.label})"


CRASHED = "did not end properly (os._exit in a thread, a signal or a crash)"
_SHARED = (
    "several workers of a pool trained, and which of them gets which task differs from run to run: "
    "what they trained cannot be compared (with one worker it can)"
)


def _frames(child: Child[Any]) -> int:
    return child.content.frames if child.content is not None else 0


def _failed(one: Child[Any], other: Child[Any]) -> bool:
    return "failed" in (one.status, other.status)


def _pairs(
    a: list[Child[Recording]], b: list[Child[Recording]]
) -> list[tuple[Child[Recording] | None, Child[Recording] | None]]:
    """Each child of one run with its counterpart in the other: the one with the same content, wherever processes were
    started in no certain order; then the one with the same number in its cluster; of the same name; then the next."""
    left = list(b)
    found: dict[int, Child[Recording]] = {}
    alike: tuple[Callable[[Child[Any], Child[Any]], bool], ...] = (
        lambda one, other: one.about.worker is not None and one.about.worker == other.about.worker,
        lambda one, other: one.about.identity == other.about.identity and equal(one, other),
        equal,
        lambda one, other: one.member is not None and one.member == other.member,
        lambda one, other: (one.about.label, one.about.identity) == (other.about.label, other.about.identity),
        lambda one, other: one.about.label == other.about.label,
        lambda one, other: True,
    )
    for test in alike:
        for number, one in enumerate(a):
            if number not in found:
                match = next((other for other in left if test(one, other)), None)
                if match is not None:
                    found[number] = match
                    left.remove(match)
    return [*((one, found.get(number)) for number, one in enumerate(a)), *((None, other) for other in left)]


def equal(one: Child[Any] | None, other: Child[Any] | None) -> bool:
    """Both came to the same end, by the same steps."""
    if one is None or other is None or not (one.content and other.content and one.content.frames):
        return False
    if {one.status, other.status} == {"ended", "cut off"}:
        # A pool ends its workers as they end themselves: either may be first.
        return one.content.going_on == other.content.going_on
    return one.status == other.status and (one.whole or one.cut_off) and one.content == other.content


def _shared_work(a: list[Child[Any]], b: list[Child[Any]], child: Child[Any]) -> bool:
    return child.about.pool and any(sum(each.about.pool for each in run) > 1 for run in (a, b))


def _undecided(reason: Reason, steps: int = 0) -> CheckResult:
    return CheckResult.of("", UNDECIDED, reason, steps_compared=steps)


def _headline(found: CheckResult) -> str:
    first = found.first_difference
    if first is None or found.reason:
        return str(found.reason)
    return f"{first.process} differs too, at its step {first.step}, phase {first.phase}"
