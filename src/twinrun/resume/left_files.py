"""The files that a resumed program leaves, against those of the uninterrupted run: what it keeps of its best model, say, no
step shows."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

from twinrun.comparison.delivered import Delivery, Mismatch, compare_files, lines_survive, same_arrays
from twinrun.launch.delivered import delivery
from twinrun.launch.reading import read_by_frameworks
from twinrun.launch.round import Round
from twinrun.protocol import Facts
from twinrun.recording.manifest import read_manifest
from twinrun.resume.outcome import Files


class LeftFiles:
    """Only files that two uninterrupted runs leave alike are compared."""

    def __init__(self, alone: Round) -> None:
        self._views = alone.views
        self._alone = [
            delivery(alone.folder / name, facts, alone.views.changes(name))
            for name, facts in zip(alone.names, alone.facts, strict=True)
        ]

    @cached_property
    def unsteady(self) -> frozenset[str]:
        """The files that differ from run to run."""
        one, other = self._alone
        return frozenset(each.where for each in compare_files(one, other, read_by_frameworks)[0])

    def against(self, stopped: Path, restarted: Path, facts: Facts) -> Files:
        """What the program left that was stopped and started again in one view."""
        left = delivery(restarted, facts, self._views.changes(stopped.name))
        left = replace(left, run=replace(left.run, began=read_manifest(stopped).started))
        return self._compared(left)

    def _compared(self, left: Delivery) -> Files:
        wanted = self._alone[0]
        steady = {name for name in wanted.files if name not in self.unsteady}
        found = [each for each in compare_files(wanted, left, read_by_frameworks)[0] if each.where in steady]
        differing = {each.where for each in found}
        harmless = {name for name in differing if self._only_adds(name, left, found)}
        return Files(len(steady - differing), tuple(sorted(differing - harmless)), tuple(sorted(harmless)))

    def _only_adds(self, name: str, left: Delivery, found: list[Mismatch]) -> bool:
        """Lines, as a log that goes on after a restart does; or names: legacy Keras writes the optimizer of a model that was
        loaded under other ones."""
        if all(each.line for each in found if each.where == name):
            return lines_survive(name, self._alone[0], left, read_by_frameworks)
        one, other = (each.files.get(name) for each in (self._alone[0], left))
        return one is not None and other is not None and same_arrays(name, one, other, read_by_frameworks)
