"""The children of two twins, compared by their recordings when the twins have ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from twinrun.comparison.frames import STEP_COUNT, Difference
from twinrun.launch.children import Child, children_of
from twinrun.launch.twin_process import not_instrumented
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, ChildResult, Reason

Compare = Callable[[Path, Path], CheckResult]


@dataclass(frozen=True)
class Family:
    """What is known of the children of two twins."""

    results: tuple[ChildResult, ...] = ()
    decisive: CheckResult | None = None  # of the first child that does not repeat

    @property
    def observed(self) -> bool:
        return bool(self.results)

    def judge(self, result: CheckResult) -> CheckResult:
        """The result of the twins themselves, with that of their children."""
        if not self.results:
            return result
        both = result.replace(children=(*result.children, *self.results))
        found = self.decisive
        if result.verdict == DIVERGES and found is not None and found.verdict == DIVERGES:
            return both.replace(notes=(*both.notes, f"{_headline(found)}; which came first is not known"))
        if result.verdict != REPEATS:
            return both
        if not result.steps_compared:
            both = both.replace(steps_compared=sum(child.steps for child in self.results))
        if found is None:
            return both
        return both.replace(
            verdict=found.verdict, reason=found.reason, reason_kind=found.reason_kind, growth=found.growth,
            first_difference=found.first_difference, first_bit_difference=found.first_bit_difference,
            also_differing=found.also_differing,
        )  # fmt: skip


@dataclass
class Comparison:
    """Of the children of two twins. `stopped`: the twins were, at the step asked for, and their children with them."""

    twins: tuple[Path, Path]
    compare: Compare
    stopped: bool = False
    names: tuple[str, str] = ("A", "B")
    _results: dict[str, CheckResult] = field(default_factory=dict)  # by name

    def run(self) -> Family:
        known = [children_of(twin) for twin in self.twins]
        titles = {
            child.folder: f"child {number} ({child.about.label})"
            for children in known
            for number, child in enumerate((c for c in children if _counts(c)), start=1)
        }

        def name(child: Child) -> str:
            return titles[child.folder]

        for child in (child for children in known for child in children):
            if child.about.unwatched:
                why = f"{name(child)} cannot be watched: {child.about.unwatched}, and it imports a framework"
                self._results[name(child)] = _undecided(Reason("not-instrumented", why))
            elif child.trouble is not None:
                self._results[name(child)] = _undecided(not_instrumented(child.trouble, name(child)))
        a, b = ([child for child in children if child.trained] for children in known)
        for one, other in _pairs(a, b):
            shown = one or other
            assert shown is not None
            if name(shown) in self._results:
                continue
            if _equal(one, other):
                found = CheckResult("", REPEATS, steps_compared=shown.content.steps)
            elif _shared_work(a, b, shown):
                found = _undecided(Reason("not-comparable", _SHARED))
            else:
                found = self._judged(name(shown), one, other)
            self._results[name(shown)] = found
        gravest = min(self._results.values(), key=lambda each: _GRAVEST.index(each.verdict), default=None)
        decisive = gravest if gravest is not None and gravest.verdict != REPEATS else None
        results = self._results.items()
        return Family(
            tuple(ChildResult(name, r.verdict, r.steps_compared, r.reason) for name, r in results), decisive
        )

    def _judged(self, name: str, one: Child | None, other: Child | None) -> CheckResult:
        if one is None or other is None:
            return self._alone(name, one or other)
        if not (one.content.frames and other.content.frames):
            return self._unknown(name, one, other, 0)
        result = self.compare(one.folder, other.folder)
        first = result.first_difference
        if result.verdict == DIVERGES and first is not None and not first.uneven:
            firsts = [d and replace(d, process=name) for d in (first, result.first_bit_difference)]
            return result.replace(first_difference=firsts[0], first_bit_difference=firsts[1])
        if one.end is not None and other.end is not None:
            reason = f"{name}: {result.reason}" if result.reason else None
            first = first and replace(first, process=name)
            return result.replace(reason=reason, first_difference=first)
        if self.stopped:
            return result.replace(verdict=REPEATS, reason=None, reason_kind=None, first_difference=None)
        return self._unknown(name, one, other, result.steps_compared)

    def _unknown(self, name: str, one: Child, other: Child, steps: int) -> CheckResult:
        how = "was cut off while it ran" if one.cut_off or other.cut_off else _CRASHED
        known = f"equal up to step {steps}, nothing is known of what came after"
        return _undecided(Reason("abrupt-exit", f"{name} {how}: {known}"), steps)

    def _alone(self, name: str, child: Child | None) -> CheckResult:
        """Trained in one of the twins."""
        assert child is not None
        if self.stopped:
            return CheckResult("", REPEATS)
        twin = self.names[0] if self.twins[0] in child.folder.parents else self.names[1]
        message = f"{name} trained in twin {twin} only"
        if child.end is None:
            return _undecided(Reason("abrupt-exit", f"{message}, where it was cut off"))
        first = Difference(min(1, child.content.steps), "weights", STEP_COUNT, only_in=twin, process=name)
        return CheckResult("", DIVERGES, message, "uneven", first_difference=first)


_GRAVEST = (DIVERGES, UNDECIDED, REPEATS)
_CRASHED = "did not end properly (os._exit in a thread, a signal or a crash)"
_SHARED = (
    "several workers of a pool trained, and which of them gets which task differs from run to run: "
    "what they trained cannot be compared (with one worker it can)"
)


def _counts(child: Child) -> bool:
    return child.trained or bool(child.about.unwatched) or child.trouble is not None


def _pairs(a: list[Child], b: list[Child]) -> list[tuple[Child | None, Child | None]]:
    """Each child of one twin with its counterpart in the other: the one with the same content, wherever processes were
    started in no certain order; then the one of the same name; then the next."""
    left = list(b)
    found: dict[int, Child] = {}
    alike: tuple[Callable[[Child, Child], bool], ...] = (
        lambda one, other: one.about.identity == other.about.identity and _equal(one, other),
        _equal,
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


def _equal(one: Child | None, other: Child | None) -> bool:
    """Both came to the same end, by the same steps."""
    if one is None or other is None or not one.content.frames:
        return False
    return one.status == other.status in ("ended", "stopped", "cut off") and one.content == other.content


def _shared_work(a: list[Child], b: list[Child], child: Child) -> bool:
    return child.about.pool and any(sum(each.about.pool for each in twin) > 1 for twin in (a, b))


def _undecided(reason: Reason, steps: int = 0) -> CheckResult:
    return CheckResult("", UNDECIDED, reason.message, reason.kind, steps_compared=steps)


def _headline(found: CheckResult) -> str:
    first = found.first_difference
    if first is None or found.reason:
        return str(found.reason)
    return f"{first.process} differs too, at its step {first.step}, phase {first.phase}"
