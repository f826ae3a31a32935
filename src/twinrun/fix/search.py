"""The search for the smallest patch: take the fixes of what is found until the twins agree, then drop what is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from twinrun.counted import counted
from twinrun.findings.finding import RACING, Finding
from twinrun.findings.fixes import SEED, Fix, Place, line_in, places_of
from twinrun.fix.outcome import Change, FixResult, Proof
from twinrun.fix.seed_argument import seed_option
from twinrun.fix.trials import Argument, Trials, Unit
from twinrun.notebooks.places import line_of_text, placed
from twinrun.protocol import relative
from twinrun.quote import quoted
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult
from twinrun.source_audit.audit import audit_source

_ROUNDS = 6
_FEW = 4  # changes that are left out one at a time; of more, half of them are left out first
# Causes that a seed given on the command line may make an end of.
_SEEDED = ("TW101", "TW102", "TW103", "TW104", "TW105", "TW106", "TW108", "TW201", "TW303")
_BROKEN = ("crashed", "timeout", "no-step")  # why a program with a bad change cannot be judged
Ask = Callable[[Fix], str]  # "y", "n" or "q"


class Search:
    def __init__(self, trials: Trials) -> None:
        self.trials = trials
        self.units: list[Unit] = []
        self.confirmed: set[Unit] = set()
        self.bad: set[Unit] = set()  # what the program does not run with
        self.dropped: list[tuple[Unit, Fix | None]] = []
        self.guessed: set[Unit] = set()  # what no run has shown to be a cause
        self.left: tuple[Finding, ...] = ()
        self.notes: list[str] = []

    def run(self, ask: Ask | None = None) -> FixResult:
        first = result = self.trials.diagnose()
        if not _is_open(result):
            return self._outcome(result)
        result = self._until_they_agree(result)
        if result.verdict == REPEATS:
            self._drop_the_needless()
            result = self.trials.check(self.units)
        else:
            self.left = self._left(result)
            self.units = [unit for unit in self.units if unit not in self.guessed]
        if ask is not None and self._declined(ask):
            result = self.trials.check(self.units) if self.units else first
            self.left = ()
        return self._outcome(result)

    # until they agree

    def _until_they_agree(self, result: CheckResult) -> CheckResult:
        for _ in range(_ROUNDS):
            if not _is_open(result):
                break
            self.trials.races |= any(each.code in RACING for each in result.findings)
            new = self._more(result)
            if not new:
                break
            if self.trials.time_left <= 0:
                self.notes.append("the time ran out before all fixes were tried")
                break
            tried = self.trials.diagnose([*self.units, *new])
            if tried.verdict == UNDECIDED and tried.reason_kind in _BROKEN:
                new = self._that_run(new)
                tried = self.trials.diagnose([*self.units, *new]) if new else result
                if not new:
                    continue
            self.units += new
            result = tried
        return result

    def _more(self, result: CheckResult) -> list[Unit]:
        """What to try next: the fixes of the findings, then those that change more than randomness, then what the
        source shows without being run."""
        confirmed = [each for each in result.findings if each.confirmed]
        likely = [each for each in result.findings if not each.confirmed]
        self.confirmed |= {*self._places(confirmed)}
        option = self._seed_option(result.findings)
        if option is not None:
            return option
        safe = self._new(self._places(confirmed), lambda fix: True)
        safe += self._new(self._places(likely), lambda fix: fix.safe, safe)
        if safe or (safe := self._new(self._places(likely), lambda fix: True)):
            return safe
        guessed = self._from_source()
        self.guessed |= {*guessed}
        return guessed

    def _places(self, findings: Sequence[Finding]) -> list[Place]:
        """In the program as the twins saw it: its lines are those of the patched text."""
        for each in findings:
            if each.file is not None:
                self.trials.files.file(each.file)
        texts = {**self.trials.files.texts, **self.trials.patch(self.units).texts}

        def text(path: str) -> str | None:
            file = self.trials.files.file(path)
            return None if file is None else texts[file.path]

        return [self._absolute(place) for place in places_of(findings, text, self.trials.program)]

    def _absolute(self, place: Place) -> Place:
        file = self.trials.files.file(place.file)
        return replace(place, file=file.path) if file is not None else place

    def _new(
        self, places: Sequence[Place], accept: Callable[[Fix], bool], others: Sequence[Unit] = ()
    ) -> list[Unit]:
        """The places that add something to the patch."""
        known = [*self.units, *others]
        fresh = [place for place in places if place not in known and place not in self.bad]
        made = self.trials.patch([*known, *fresh]).made
        return [place for place in fresh if place in made and accept(made[place])]

    def _seed_option(self, findings: Sequence[Finding]) -> list[Unit] | None:
        """A program that takes its seed as an argument is given it there."""
        program = self.trials.program
        if program is None or any(isinstance(unit, Argument) for unit in (*self.units, *self.bad)):
            return None
        if not any(each.code in _SEEDED for each in findings):
            return None
        text = self.trials.files.texts[program]
        option = seed_option(text, self.trials.options.program.arguments)
        if option is None:
            return None
        seed = SEED if self.trials.seed is None else self.trials.seed
        words: list[Unit] = [Argument((option, str(seed)))]
        others = [each for each in findings if each.code not in _SEEDED]
        return words + self._new(self._places(others), lambda fix: fix.safe)

    def _from_source(self) -> list[Unit]:
        """What the audit of the source finds in the program as it was."""
        program = self.trials.program
        if program is None:
            return []
        findings = audit_source([program], self.trials.options.program.arguments).findings
        for each in findings:
            if each.file is not None:
                self.trials.files.file(each.file)
        places = places_of(findings, self._original, program)
        return self._new([self._absolute(place) for place in places], lambda fix: fix.safe)

    def _original(self, path: str) -> str | None:
        file = self.trials.files.file(path)
        return None if file is None else file.text

    def _that_run(self, new: Sequence[Unit]) -> list[Unit]:
        """Drop the changes after which the program can no longer be judged; return the others."""
        good: list[Unit] = []
        for unit in new:
            if self.trials.check([*self.units, *good, unit]).reason_kind in _BROKEN:
                self.bad.add(unit)
            else:
                good.append(unit)
        return good

    # what is not needed

    def _drop_the_needless(self) -> None:
        """Leave out what was only likely all at once, then each change; of many, half of them first."""
        likely = [unit for unit in self.units if isinstance(unit, Place) and unit not in self.confirmed]
        for group in self._groups(likely):
            self._drop(group)

    def _groups(self, likely: Sequence[Unit]) -> Iterator[list[Unit]]:
        if 1 < len(likely) < len(self.units):
            yield list(likely)
        rest = list(reversed(self.units))
        if len(rest) <= _FEW:
            yield from ([unit] for unit in rest)
        else:
            middle = len(rest) // 2
            yield rest[:middle]
            yield rest[middle:]

    def _drop(self, group: Sequence[Unit]) -> None:
        group = [unit for unit in group if unit in self.units]
        if not group:
            return
        rest = [unit for unit in self.units if unit not in group]
        if not rest:  # it diverged as it was
            if len(group) > 1:
                self._halves(group)
            return
        if self.trials.time_left <= 0:
            self.notes.append("the time ran out before every change was shown to be needed")
            return
        if self.trials.check(rest).verdict == REPEATS:
            made = self.trials.patch(self.units).made
            self.dropped += [(unit, made.get(unit) if isinstance(unit, Place) else None) for unit in group]
            self.units = rest
        elif len(group) > 1:
            self._halves(group)

    def _halves(self, group: Sequence[Unit]) -> None:
        middle = len(group) // 2
        self._drop(group[:middle])
        self._drop(group[middle:])

    # the answer

    def _declined(self, ask: Ask) -> bool:
        """Whether the user left out a change."""
        kept: list[Unit] = []
        answer = ""
        for unit, fix in self.trials.patch(self.units).made.items():
            answer = answer if answer == "q" else ask(fix)
            kept += [unit] if answer == "y" else []
        before = len(self.units)
        self.units = [unit for unit in self.units if isinstance(unit, Argument) or unit in kept]
        return len(self.units) < before

    def _outcome(self, result: CheckResult) -> FixResult:
        patch = self.trials.patch(self.units)
        proof = None
        if result.verdict == REPEATS:
            proof = Proof(result.runs, result.steps_compared, result.contract, _output(result))
        diff = self.trials.files.patch(patch.texts)
        return FixResult(
            result.program,
            result.verdict,
            result.reason,
            result.reason_kind,
            diff=diff.decode(errors="surrogateescape"),
            changes=tuple(self._change(unit, fix) for unit, fix in patch.made.items()),
            arguments=self.trials.arguments(self.units),
            proof=proof,
            not_needed=tuple(self._change(unit, fix) for unit, fix in self.dropped if fix is not None),
            left=self.left,
            notes=(*dict.fromkeys(self.notes), *result.notes, *_last_line(result)),
            checks=self.trials.checks,
        )

    def _change(self, unit: Unit, fix: Fix) -> Change:
        line = self._line(fix.file, fix.line, fix.source)
        change = Change(fix.code, relative(fix.file), line, fix.note, fix.safe, fix.changes())
        return placed([change])[0]

    def _left(self, result: CheckResult) -> tuple[Finding, ...]:
        """What is still to be done, at the lines of the user's own files."""
        texts = self.trials.patch(self.units).texts

        def placed(finding: Finding) -> Finding:
            file = self.trials.files.file(finding.file) if finding.file is not None else None
            if file is None or finding.line is None or file.path not in texts:
                return finding
            seen = line_of_text(texts[file.path], finding.cell, finding.line)
            line = self._line(file.path, seen, texts[file.path])
            return replace(finding, line=line, source=(), cell=None, file_line=None)

        return quoted(map(placed, result.findings))

    def _line(self, file: str, line: int, text: str) -> int:
        """The line of the user's own file that became this line of a patched text."""
        return line_in(self.trials.files.texts[file], line, text)


def _last_line(result: CheckResult) -> list[str]:
    """The last line that the program printed, where it failed."""
    lines = (result.output_tail or "").split("\n")
    return [f"last line of output: {line}" for line in lines if line.strip()][-1:]


def _is_open(result: CheckResult) -> bool:
    """Whether a patch may help: the twins differ, if only in what they deliver."""
    return result.verdict == DIVERGES or result.reason_kind == "unwatched-output"


def _output(result: CheckResult) -> str | None:
    """What the program delivered, where that was compared."""
    delivered = result.delivered
    if delivered is None or delivered.output != "equal":
        return None
    files = f" and {counted(delivered.files, 'file')}" if delivered.files else ""
    return f"the program's output{files}"
