"""The whole of `twinrun resume`: the program left alone, then stopped and started again, as often as asked."""

from __future__ import annotations

import random
import time
from functools import partial
from math import ceil

from twinrun.errors import CannotCopy, UsageError
from twinrun.interrupt import Interrupted
from twinrun.launch.another_day import on_gpu
from twinrun.launch.children import children_of
from twinrun.launch.folders import Place, recordings
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.second_looks import resource_failure
from twinrun.launch.side_by_side import side_by_side, twins_at_once
from twinrun.launch.view_store import ViewStore
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, Reason, Verdict
from twinrun.resume.one_stop import OneStop
from twinrun.resume.options import ResumeOptions
from twinrun.resume.outcome import ResumeResult, Stop
from twinrun.resume.uninterrupted import Uninterrupted, spread
from twinrun.resume.wording import findings_of
from twinrun.terminal import duration


def run_resume(options: ResumeOptions, screen: Screen | None = None) -> ResumeResult:
    options.program.must_exist()
    screen = screen or Screen()
    secrets = options.program.secrets
    try:
        with recordings("resume", options.folder, keep=options.keep, secrets=secrets) as place:
            search = Search(options, place, screen)
            try:
                with ViewStore(place.folder) as store:
                    return options.program.shown(search.run(store))
            except KeyboardInterrupt as broken:
                why = Interrupted.of(broken)
                result = search.result(UNDECIDED, why.reason(search.steps))
                raise why.leaving(("", options.program.shown(result))) from None
    finally:
        screen.close()


class Search:
    def __init__(self, options: ResumeOptions, place: Place, screen: Screen) -> None:
        self.options = options
        self.folder = place.folder
        self.screen = screen
        self.steps = 0
        self._notes = list(place.notes)
        self._children = 0
        self._checkpoints: tuple[int, ...] = ()
        # By their number, and why one could not be judged.
        self._judged_stops: dict[int, tuple[Stop, Reason | None]] = {}
        self._started = time.monotonic()

    def run(self, store: ViewStore) -> ResumeResult:
        options = self.options
        self.screen.say("left alone, in two twins")
        alone = Uninterrupted(
            CheckOptions(
                options.program, interventions=options.interventions, timeout=options.timeout, detail=True,
                views=("overlay", "copy"),
            ),
            self.folder, self.screen, store,
        )  # fmt: skip
        if alone.views.how == "shared":
            why = "; ".join(alone.views.notes)
            raise CannotCopy(
                f"the program cannot be run in views of its folder, apart from one another: {why}"
            )
        began = time.monotonic()
        whole = alone.run()
        # As long as each stop will take: stopped and started again, the program runs once in all.
        taken = time.monotonic() - began
        self._notes += [note for note in whole.notes if note not in self._notes]
        if shared := alone.shared_files():
            self._notes.append(
                f"outside of its folder, and shared by all runs: {', '.join(shared)}; to have them judged, let the program "
                "save below its folder, or start twinrun in a folder above both"
            )
        if whole.verdict != REPEATS:
            self.steps = whole.steps_compared
            return self._without_reference(whole, alone)
        if there := alone.written_over:
            self._notes.append(
                f"there before, and written over: {', '.join(there)}; if the program goes on from what an earlier run left, only "
                "the rest of its training is judged: move that away to have all of it judged"
            )
        self.steps, self._checkpoints = alone.steps, alone.checkpoints
        self._children = len(children_of(alone.recording("A")))
        if self.steps < 2:
            return self.result(UNDECIDED, Reason("no-step", self._too_few()))
        stops = self._chosen()
        if not stops:
            return self.result(UNDECIDED, Reason("no-checkpoint", self._nothing_saved(alone)))
        self.stop_at(stops, alone, taken)
        if any(each.files for each in self.stops) and (unsteady := sorted(alone.left_files.unsteady)):
            self._notes.append(f"not compared, as they differ from run to run: {', '.join(unsteady)}")
        return self._judged()

    def stop_at(self, stops: tuple[int, ...], alone: Uninterrupted, taken: float) -> None:
        """All of them, side by side where there is room. Each takes so many seconds."""
        at_once = self._at_once(alone)

        def judge(number: int, at: int, screen: Screen) -> None:
            left = duration(taken * ceil((len(stops) - number) / at_once))
            which = f"stop {number + 1} of {len(stops)}, about {left} left"
            one = OneStop(self.options, alone, screen, Stop(at, self.options.at == "save"), which)
            self._judged_stops[number] = one.run()

        side_by_side([partial(judge, *each) for each in enumerate(stops)], at_once, self.screen)

    def _at_once(self, alone: Uninterrupted) -> int:
        """How many stops: each has one process at a time. One alone where they would meet in a file that all runs share, or
        race with the watching of a save."""
        if self.options.at == "save" or alone.shared_files():
            return 1
        return 2 if on_gpu(alone.facts) else twins_at_once()

    @property
    def stops(self) -> list[Stop]:
        """Those that have been judged, in their order."""
        return [found for _, (found, _) in sorted(self._judged_stops.items())]

    @property
    def unknown(self) -> Reason | None:
        """Why a stop could not be judged, the first of them."""
        return next((why for _, (_, why) in sorted(self._judged_stops.items()) if why is not None), None)

    def _too_few(self) -> str:
        if self._children:
            which = "a process" if self._children == 1 else f"{self._children} processes"
            return f"the training is done by {which} that the program starts, and only the program itself can be stopped at a step"
        return f"the program took {self.steps} steps: too few to be stopped"

    def _nothing_saved(self, alone: Uninterrupted) -> str:
        elsewhere = "" if alone.shared_files() else "; what is saved elsewhere is not seen"
        return f"the program saved nothing below {_listed(alone)} before its last step{elsewhere}"

    def _chosen(self) -> tuple[int, ...]:
        at, last = self.options.at, self.steps - 1
        if at == "random":
            # Before the first checkpoint there is nothing to resume from.
            found = random.SystemRandom().randint(min(self._checkpoints, default=1), last)
            self._notes.append(f"stopped at random; --at {found} does it again")
            return (found,)
        if isinstance(at, tuple):
            if max(at) > last:
                raise UsageError(
                    f"--at {max(at)}: the program takes {self.steps} steps",
                    hint=f"stop it after one of 1 to {last}",
                )
            return at
        chosen = spread(self._checkpoints, self.options.most)
        if len(chosen) < len(self._checkpoints):
            self._notes.append(f"stopped at {len(chosen)} of {len(self._checkpoints)} checkpoints (--most)")
        return chosen

    # the answer

    def _without_reference(self, whole: CheckResult, alone: Uninterrupted) -> ResumeResult:
        tail = whole.output_tail
        if whole.verdict == UNDECIDED:
            if alone.failed and (failure := resource_failure(alone.facts)):
                self._notes.append(
                    f"a twin failed on something that the other may hold ({failure}): "
                    f"what the program saves outside of {_listed(alone)} is shared by all runs"
                )
            kind, message = whole.reason_kind or "no-step", whole.reason or "it could not be judged"
            if kind == "no-step":
                self._notes.append(
                    "if an earlier run left the checkpoint of a finished training, the program finds it and has nothing left "
                    "to train: move it away"
                )
            return self.result(UNDECIDED, Reason(kind, message), tail)
        first = whole.first_difference
        at = f" (step {first.step}, {first.phase}: {first.tensor})" if first is not None else ""
        message = f"the program does not repeat when it is left alone{at}: a restart cannot be blamed for a difference"
        self._notes.append("twinrun check names the cause; twinrun resume --pin makes many programs repeat")
        return self.result(UNDECIDED, Reason("not-repeating", message), tail)

    def _judged(self) -> ResumeResult:
        if any(each.outcome not in ("equal", "undecided") for each in self.stops):
            return self.result(DIVERGES)
        if self.unknown is not None:
            return self.result(UNDECIDED, self.unknown)
        if not any(each.resumed_after for each in self.stops):
            message = "nothing was resumed: when the program was stopped it had saved no checkpoint yet, and it started over"
            return self.result(UNDECIDED, Reason("no-checkpoint", message))
        left = dict.fromkeys(file for each in self.stops if each.files for file in each.files.different)
        if left:
            message = (
                f"every step after the restart was equal, but not what the program left: {', '.join(left)}"
            )
            return self.result(UNDECIDED, Reason("unwatched-output", message))
        return self.result(REPEATS)

    def result(self, verdict: Verdict, reason: Reason | None = None, tail: str | None = None) -> ResumeResult:
        stops = tuple(self.stops)
        kept = [self.folder / name for name in ("A", "B")]
        kept += [self.folder / f"{part}-{each.at}" for each in stops for part in ("stopped", "restarted")]
        return ResumeResult.of(
            str(self.options.program), verdict, reason,
            signal=self.options.sent.name, steps=self.steps, children=self._children, checkpoints=self._checkpoints, stops=stops,
            findings=findings_of(stops), recordings=tuple(str(path) for path in kept if path.is_dir()),
            notes=tuple(self._notes), seconds=round(time.monotonic() - self._started, 3), output_tail=tail,
        )  # fmt: skip


def _listed(alone: Uninterrupted) -> str:
    return " and ".join(map(str, alone.views.roots))
