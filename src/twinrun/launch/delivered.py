"""After a check whose twins agreed in everything that was watched: what the program delivered is compared too. Output that
only shows the clock or a generated name is set apart by one more round, with those frozen."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from twinrun.comparison.delivered import STDOUT, Compared, Delivery, Mismatch, compare, still_there
from twinrun.comparison.shown import Drawn, Run
from twinrun.launch.children import numbers_of_children
from twinrun.launch.options import Screen
from twinrun.launch.reading import read_by_frameworks
from twinrun.launch.round import Round
from twinrun.launch.twin_process import not_instrumented
from twinrun.launch.views import Changes
from twinrun.masking import Secrets
from twinrun.protocol import Event, Facts, Freeze, differs, one
from twinrun.protocol.evidence import Pair, in_library, is_direct, side_by_side
from twinrun.protocol.registry import frameworks, source
from twinrun.recording.manifest import read_manifest
from twinrun.recording.printed import OUTPUT
from twinrun.result import (
    DIVERGES,
    REPEATS,
    UNDECIDED,
    CheckResult,
    Delivered,
    OutputDifference,
    Reason,
    Verdict,
)
from twinrun.sources.clock import varied_clock

_SHOWN = 20  # differences that the result holds
_LONGEST = 200
_NAMED = 5  # lines that got different values
_NAME_BYTES, _NAME_DRAWS = 48, 3


class DeliveryJudge:
    """Judges what the twins of a round delivered. That is compared once, when it is asked for."""

    def __init__(self, last: Round) -> None:
        self.last = last
        self.frozen: Round | None = None  # of one more twin, which did as the first, with these freezes
        self._found: Delivered | None = None

    def judge(self, result: CheckResult) -> CheckResult:
        """The result with what was delivered in it, and the verdict that follows from that."""
        last, by_output = self.last, self.last.options.contract.output
        if not self.counts(result):
            return result
        if last.trouble is not None:  # of the last lines: they are not there to be compared
            reason = not_instrumented(last.trouble, "the program")
            return result.replace(verdict=UNDECIDED, reason=reason.message, reason_kind=reason.kind)
        found = self.compare(last.screen)
        if found.differences:
            result = result.replace(notes=(*result.notes, *_not_watched(last)))
        return _verdict(result.replace(delivered=found), found, by_output=by_output)

    def counts(self, result: CheckResult) -> bool:
        """Whether it is part of this result."""
        last, by_output = self.last, self.last.options.contract.output
        asked = result.verdict == REPEATS or result.reason_kind == "no-step" or by_output
        if not asked or last.options.experiment or not _all_ran_to_the_end(last):
            return False
        return by_output or result.first_bit_difference is None  # or else the contract lets numbers differ

    def compare(self, screen: Screen) -> Delivered:
        if self._found is None:
            self._found = self._compare(screen)
        return self._found

    @property
    def freezes(self) -> tuple[Freeze, ...]:
        """What to freeze, to see whether differing output only shows it. Empty where nothing is in doubt."""
        return tuple(_shown_sources(self.last)[0]) if self._doubtful else ()

    @cached_property
    def _compared(self) -> Compared:
        """All twins with the first."""
        first, *others = _deliveries(self.last)
        found = [compare(first, other, read_by_frameworks) for other in others]
        mismatches = dict.fromkeys(mismatch for each in found for mismatch in each.mismatches)
        return Compared(
            list(mismatches), max(each.files for each in found), any(each.reordered for each in found)
        )

    @cached_property
    def _ignored(self) -> list[Mismatch]:
        rules = self.last.options.ignored_output
        return [m for m in self._compared.mismatches if any(each.covers(m) for each in rules)]

    @cached_property
    def _doubtful(self) -> list[Mismatch]:
        """Mismatches that are not ignored, and do not look like a show at first sight."""
        left = [m for m in self._compared.mismatches if m not in self._ignored]
        return [m for m in left if still_there(m, None, read_by_frameworks, drawn="nothing")]

    def _compare(self, screen: Screen) -> Delivered:
        compared, ignored = self._compared, self._ignored
        left = self._not_only_shown(screen) if self._doubtful else []
        shows = [m for m in compared.mismatches if m not in ignored and m not in left]
        return Delivered(
            output="different" if any(m.where == STDOUT for m in left) else "equal",
            files=compared.files - len({m.where for m in left if m.where != STDOUT}),
            views=self.last.views.how,
            differences=tuple(_reported(each, self.last.options.program.secrets) for each in left[:_SHOWN]),
            only_shows=tuple(m.place for m in shows[:_SHOWN]),
            ignored=tuple(m.place for m in ignored[:_SHOWN]),
            reordered=compared.reordered,
        )

    def _not_only_shown(self, screen: Screen) -> list[Mismatch]:
        """The mismatches that are still there with the clock and generated names frozen, or that do not look like those."""
        last, doubtful = self.last, self._doubtful
        freezes, drawn = _shown_sources(last)
        if not freezes:
            return doubtful
        if self.frozen is not None and _ran_to_the_end(self.frozen.folder / last.names[1]):
            name = last.names[1]
            one = [_delivery(self.frozen, name, self.frozen.facts[-1])]
            if not any(still_there(m, one, read_by_frameworks, drawn=drawn) for m in doubtful):
                return []
        screen.say("trying: the output with the clock and generated names frozen")
        again = last.again(
            "frozen-output", experiment=True, timeout=last.patience,
            interventions=(*last.options.interventions, *freezes), sequential=last.options.sequential or _in_turn(last),
        )  # fmt: skip
        again.screen = screen
        if again.run().verdict == DIVERGES or not _all_ran_to_the_end(again):
            return doubtful
        first, *others = _deliveries(again)
        pairs = [(first, other) for other in others]
        return [
            m
            for m in doubtful
            if any(still_there(m, pair, read_by_frameworks, drawn=drawn) for pair in pairs)
        ]


def _not_watched(last: Round) -> list[str]:
    """Where the difference may come from: lines that got different values, and reached nothing that was watched."""
    found = [
        event
        for pair in _differing(last)
        if (event := one(pair)) and not source(event.source).is_shown(event)
    ]
    return [f"{event.call} at {event.place} gave different values" for event in found[:_NAMED]]


def _all_ran_to_the_end(last: Round) -> bool:
    return all(_ran_to_the_end(last.folder / name) for name in last.names)


def _ran_to_the_end(folder: Path) -> bool:
    return (folder / "manifest.json").is_file() and read_manifest(folder).status == "ended"


def _shown_sources(last: Round) -> tuple[list[Freeze], Drawn]:
    """What to freeze: uses whose values a program mostly shows. And what else differed between the twins, as a random
    draw does."""
    freezes: dict[Freeze, None] = {}
    events = [event for facts in last.facts for event in facts.events]
    for name in dict.fromkeys(event.source for event in events):
        own = [event for event in events if event.source == name]
        shown = [event for event in own if _is_shown(event)]
        if shown and all(source(name).is_shown(event) for event in own):
            freezes[Freeze(name)] = None
        else:
            freezes |= dict.fromkeys(Freeze.at(event) for event in shown)
    drawn = [e for pair in _differing(last) if not source((e := one(pair)).source).is_shown(e)]
    if not drawn:
        return list(freezes), "nothing"
    return list(freezes), "names" if all(map(_is_shown, drawn)) else "anything"


def _is_shown(event: Event) -> bool:
    """Programs draw the names of their runs too: a scalar or two."""
    is_name = is_direct(event) and 0 < event.size <= _NAME_BYTES and event.count <= _NAME_DRAWS
    return source(event.source).is_shown(event) or is_name


def _differing(last: Round) -> list[Pair]:
    """What the program did, itself or through a library, that gave different values."""
    pairs = side_by_side(last.facts[0].events, last.facts[-1].events)
    return [pair for pair in pairs if differs(pair) and (is_direct(one(pair)) or in_library(one(pair)))]


def _in_turn(last: Round) -> bool:
    return any(source(event.source).is_sequential(event) for facts in last.facts for event in facts.events)


def _deliveries(last: Round) -> list[Delivery]:
    return [_delivery(last, name, facts) for name, facts in zip(last.names, last.facts, strict=True)]


def _delivery(last: Round, name: str, facts: Facts) -> Delivery:
    return delivery(last.folder / name, facts, last.views.changes(last.view_of(name)))


def delivery(recording: Path, facts: Facts, files: Changes) -> Delivery:
    """What a run delivered that has ended."""
    known = frameworks()

    def is_progress(line: str) -> bool:
        return any(framework.is_progress(line) for framework in known)

    manifest = read_manifest(recording)
    relatives = frozenset({facts.parent, *facts.children, *numbers_of_children(recording)})
    run = Run(
        facts.process,
        manifest.started,
        manifest.ended or manifest.started,
        relatives,
        varied_clock(manifest.varied),
    )
    return Delivery(run, recording / OUTPUT, files, is_progress)


def _reported(found: Mismatch, secrets: Secrets) -> OutputDifference:
    # Half a token does not look like one.
    a, b = (secrets.mask(text)[:_LONGEST] for text in (found.a, found.b))
    if found.heading:
        a, b = f"{found.heading}={a}", f"{found.heading}={b}"
    return OutputDifference(found.place, a, b)


def _verdict(result: CheckResult, found: Delivered, *, by_output: bool) -> CheckResult:
    verdict: Verdict
    if by_output:
        verdict = DIVERGES if found.differences else REPEATS
        reason = Reason("different-output", found.first()) if found.differences else None
    elif result.verdict == REPEATS and found.differences:
        verdict = UNDECIDED
        reason = Reason("unwatched-output", f"everything that was watched is equal, but {found.first()}")
    elif result.reason_kind == "no-step":
        how = (
            f"but {found.first()}"
            if found.differences
            else f"{found.summary()}; --contract output judges by that"
        )
        verdict, reason = UNDECIDED, Reason("no-step", f"{result.reason}; {how}")
    else:
        return result
    return result.replace(
        verdict=verdict, reason=reason and reason.message, reason_kind=reason and reason.kind
    )
