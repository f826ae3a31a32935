"""The program left alone, in two twins: whether it repeats at all, how many steps it takes, and when it writes files."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from twinrun.comparison.judge import Judge
from twinrun.launch.lockstep import Look, Outcome
from twinrun.launch.round import Round
from twinrun.launch.twin_process import Twin
from twinrun.protocol import relative
from twinrun.protocol.registry import frameworks
from twinrun.recording.folder import open_recording
from twinrun.recording.frame import Frame
from twinrun.recording.reader import Reader
from twinrun.resume.left_files import LeftFiles
from twinrun.resume.stopping import stand

_ARRAYS = (
    "*.npy", "*.npz", "*.h5", "*.hdf5", "*.keras", "*.pkl", "*.pickle", "*.joblib", "*.pt", "*.pth", "*.ckpt", "*.msgpack",
    "*.safetensors",
)  # fmt: skip
Written = dict[str, tuple[int, int]]  # file: when it was last written, and its size


class Uninterrupted(Round):
    """A round that also looks, at each step of its first twin, at which files have been written since the one before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._written: dict[str, list[int]] = {}  # file: the steps after which it was written
        self._sizes: dict[str, list[int]] = {}  # and how large it was then

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
                        self._sizes.setdefault(file, []).append(now[file][1])
                known = now
            return look(frames)

        return super()._advance(twins, judge, look_at_files)

    def _note(self, file: str, step: int) -> None:
        steps = self._written.setdefault(file, [])
        if step and (not steps or steps[-1] != step):
            steps.append(step)

    # what it was, once it has ended

    @property
    def reader(self) -> Reader:
        """A new one each time: it can be used only where it was opened, and stops are judged side by side."""
        return open_recording(self.recording(self.names[0]))[1]

    @cached_property
    def steps(self) -> int:
        """How many steps the program itself takes."""
        return self.reader.last_step()

    @cached_property
    def checkpoints(self) -> tuple[int, ...]:
        """The steps after which the program wrote files and went on training."""
        kept = (steps for file, steps in self._kept.items() if file not in self.logs)
        return tuple(sorted({step for steps in kept for step in steps}))

    @cached_property
    def logs(self) -> frozenset[str]:
        """Files that the program writes after most steps, and so no checkpoints, unless it writes no others, or they hold
        arrays anew each time."""
        often = {file for file, steps in self._kept.items() if 2 * len(steps) > self.steps}
        often = {file for file in often if not _holds_arrays(file) or self._grows(file)}
        return frozenset(often if len(often) < len(self._kept) else ())

    def _grows(self, file: str) -> bool:
        """At every write, and by more than a count in it that has one digit more."""
        sizes = self._sizes[file]
        return all(one < other for one, other in pairwise(sizes)) and sizes[-1] > 1.01 * sizes[0]

    def written_before(self, step: int) -> list[str]:
        """Files that had been written by then, as the user would name them."""
        return sorted(relative(file) for file, steps in self._kept.items() if steps[0] < step)

    @cached_property
    def _kept(self) -> dict[str, list[int]]:
        """For each file, the steps after which it was written while training went on, where there are any."""
        found = {file: [step for step in steps if step < self.steps] for file, steps in self._written.items()}
        return {file: steps for file, steps in found.items() if steps}

    @property
    def written_over(self) -> list[str]:
        """Files that were there before the program was started, logs left out."""
        files = {str(self.views.roots[0] / path) for path in self.views.changes(self.names[0])} - self.logs
        return sorted(relative(file) for file in files if Path(file).is_file())

    def saved(self, name: str) -> Written:
        """When each file was written that a run of this name may have changed, logs left out."""
        return {file: when for file, when in self.views.written(name).items() if file not in self.logs}

    @cached_property
    def left_files(self) -> LeftFiles:
        return LeftFiles(self)

    def shared_files(self) -> list[str]:
        """Outside of its views: what both twins read, or looked for, and then wrote, as a program does with its checkpoint."""
        kept = [{*facts.inputs.changed, *facts.inputs.fresh} for facts in self.facts]
        return sorted(path for path in set.intersection(*kept) if not self.views.holds(path)) if kept else []


def _holds_arrays(file: str) -> bool:
    patterns = (pattern for framework in frameworks() for pattern in framework.file_patterns)
    return any(fnmatch(Path(file).name, each) for each in (*_ARRAYS, *patterns))


def changed(before: Written, after: Written) -> list[str]:
    """Files that are new, or were written or removed in between, as the user would name them."""
    return sorted(relative(file) for file in {*before, *after} if before.get(file) != after.get(file))


def spread(steps: Iterable[int], most: int) -> tuple[int, ...]:
    """At most this many of these, including the first and the last."""
    known = sorted(set(steps))
    if len(known) <= most:
        return tuple(known)
    if most == 1:
        return (known[-1],)
    return tuple(known[round(place * (len(known) - 1) / (most - 1))] for place in range(most))
