"""The program with some changes made, as the twins see it: what a set of changes makes of it, and the checks of that."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from twinrun.diagnose.diagnosis import BUDGET, check_and_diagnose
from twinrun.findings.fixes import Patch, Place, together
from twinrun.fix.user_files import UserFiles
from twinrun.launch.check import run_check
from twinrun.launch.options import CheckOptions, Screen
from twinrun.protocol import Stress
from twinrun.result import REPEATS, CheckResult
from twinrun.source_audit.program_files import find_script

_AGAIN = 2  # further checks of twins that may agree by luck, the last of them in a stress run
_LEAST = 1.0  # seconds for a diagnosis whose time is over


@dataclass(frozen=True)
class Argument:
    """A change of the command line instead of the source: an option of the program's own, and its value."""

    words: tuple[str, ...]


Unit: TypeAlias = Place | Argument


class StaysOpen(Screen):
    """A screen for several checks, each of which would close it."""

    def __init__(self, screen: Screen) -> None:
        self.twins, self.tick, self.say = screen.twins, screen.tick, screen.say  # type: ignore[method-assign]


class Trials:
    """Checks of the program with changes. `races` is set once anything is known to race: from then on agreement must
    be seen several times."""

    def __init__(
        self, options: CheckOptions, screen: Screen, *, seconds: float, seed: int | None = None
    ) -> None:
        self.options = replace(options, follow=0)  # no report is made of them
        self.screen = StaysOpen(screen)
        self.deadline = time.monotonic() + seconds
        self.seed = seed
        self.files = UserFiles()
        self.races = False
        self.checks = 0
        script = find_script(options.program.target, module=options.program.module)
        started = self.files.file(str(script)) if script is not None else None
        self.program = started.path if started is not None else None
        self._patches: dict[tuple[tuple[Place, ...], int], Patch] = {}
        self._judged: dict[frozenset[Unit], CheckResult] = {}

    @property
    def time_left(self) -> float:
        return self.deadline - time.monotonic()

    def patch(self, units: Iterable[Unit]) -> Patch:
        places = tuple(unit for unit in units if isinstance(unit, Place))
        texts = self.files.texts
        if (places, len(texts)) not in self._patches:
            made = together(places, texts, program=self.program, seed=self.seed)
            self._patches[places, len(texts)] = replace(made, texts=self.files.tidied(made.texts))
        return self._patches[places, len(texts)]

    def arguments(self, units: Iterable[Unit]) -> tuple[str, ...]:
        return tuple(word for unit in units if isinstance(unit, Argument) for word in unit.words)

    def diagnose(self, units: Sequence[Unit] = ()) -> CheckResult:
        """Check the program with these changes and look for the causes where it still diverges."""
        result = self.diagnosed(self._next(units))
        if result.conditions.stress:
            self.races = True
        return self._confirmed(units, result)

    def check(self, units: Sequence[Unit]) -> CheckResult:
        """The same without the causes. What was judged before is not run again."""
        known = self._judged.get(frozenset(units))
        if known is not None:
            return known
        return self._confirmed(units, self.checked(self._next(units)))

    def diagnosed(self, options: CheckOptions) -> CheckResult:
        return check_and_diagnose(options, self.screen, min(max(self.time_left, _LEAST), BUDGET))

    def checked(self, options: CheckOptions) -> CheckResult:
        return run_check(options, self.screen)

    def _confirmed(self, units: Sequence[Unit], result: CheckResult) -> CheckResult:
        """Where something races, equal once may be luck."""
        runs = result.runs
        for number in range(_AGAIN if self.races and result.verdict == REPEATS and units else 0):
            options = self._next(units, ", again")
            if number == _AGAIN - 1 and not options.stressed:
                options = replace(options, interventions=(*options.interventions, Stress()))
            again = self.checked(options)
            runs += again.runs
            if again.verdict != REPEATS:
                result = again
                break
        result = result.replace(runs=runs)
        self._judged[frozenset(units)] = result
        return result

    def _next(self, units: Sequence[Unit], again: str = "") -> CheckOptions:
        """The next check: of the program with these changes."""
        self.checks += 1
        changes = f"with {len(units)} change{'s' * (len(units) > 1)}" if units else "the program as it is"
        self.screen.say(f"check {self.checks}: {changes}{again}", self.deadline)
        program = self.options.program
        words = (*program.arguments, *self.arguments(units))
        folder = self.options.folder and str(Path(self.options.folder) / f"check-{self.checks}")
        return replace(
            self.options,
            program=replace(program, arguments=words),
            patched=self.files.as_utf8(self.patch(units).texts),
            folder=folder,
        )
