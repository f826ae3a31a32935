"""The program left alone, in two twins: whether it repeats at all, how many steps it takes, and when it writes files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from twinrun.comparison.judge import Judge
from twinrun.launch.lockstep import Look, Outcome
from twinrun.launch.round import Round
from twinrun.launch.twin_process import Twin
from twinrun.recording.folder import open_recording
from twinrun.recording.frame import Frame
from twinrun.recording.reader import Reader
from twinrun.resume.left_files import LeftFiles
from twinrun.resume.stopping import stand


class Uninterrupted(Round):
    """A round that also looks, at each step of its first twin, at which files have been written since the one before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._written: dict[str, list[int]] = {}  # file: the steps after which it was written

    def _advance(self, twins: list[Twin], judge: Judge, look: Look) -> Outcome:
        first = twins[0]
        known = self.views.written(first.name)

        def look_at_files(frames: list[Frame]) -> bool:
            nonlocal known
            if not frames[0].is_end:
                stand(first)
                now = self.views.written(first.name)
                for file in now:
                    if now[file] != known.get(file):
                        self._note(file, frames[0].step)
                known = now
            return look(frames)

        return super()._advance(twins, judge, look_at_files)

    def _note(self, file: str, step: int) -> None:
        steps = self._written.setdefault(file, [])
        if step and (not steps or steps[-1] != step):
            steps.append(step)

    # what it was, once it has ended

    @cached_property
    def reader(self) -> Reader:
        return open_recording(self.recording(self.names[0]))[1]

    @cached_property
    def steps(self) -> int:
        """Of the program itself."""
        return self.reader.last_step()

    @cached_property
    def checkpoints(self) -> tuple[int, ...]:
        """The steps after which the program wrote files and went on training. A file that is written after most steps is
        taken for a log, unless there is no other."""
        rare = [found for found in self._written.values() if 2 * len(found) <= self.steps]
        return tuple(
            sorted({step for found in rare or self._written.values() for step in found if step < self.steps})
        )

    @cached_property
    def left_files(self) -> LeftFiles:
        return LeftFiles(self)

    def shared_files(self) -> list[str]:
        """Outside of its views: what both twins read, or looked for, and then wrote, as a program does with its checkpoint."""
        kept = [{*facts.inputs.changed, *facts.inputs.fresh} for facts in self.facts]
        return sorted(path for path in set.intersection(*kept) if not self.views.holds(path)) if kept else []


def spread(steps: Iterable[int], most: int) -> tuple[int, ...]:
    """At most so many of these, the first and the last among them."""
    known = sorted(set(steps))
    if len(known) <= most:
        return tuple(known)
    if most == 1:
        return (known[-1],)
    return tuple(known[round(place * (len(known) - 1) / (most - 1))] for place in range(most))
