"""When does one step end and the next begin? Framework-neutral: frameworks report who updates
weights, this file counts.

A step is one optimizer update. Where several optimizers take turns (a GAN), one round of them is one step: a new
step begins when an optimizer that has already updated in this step is about to update again. A step is closed
lazily, just before the next update, so that it is seen with everything the program did to its weights meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from twinrun.twin.recorder import Recorder


class Steps:
    def __init__(self, recorder: Recorder, state: Callable[[], None], created: Callable[[], None]) -> None:
        """`state` adds the blocks of the weights as they are; `created` those of weights that are new."""
        self._recorder = recorder
        self._state = state
        self._created = created
        self._updated: dict[Hashable, int] = {}

    def about_to_update(self, who: Iterable[Hashable]) -> None:
        if any(one in self._updated for one in who):
            self.close()
        self._recorder.wait_for_parent()
        if not self._updated:
            self._created()

    def updated(self, who: Hashable, times: int = 1) -> None:
        self._updated[who] = self._updated.get(who, 0) + times

    def forget(self) -> None:
        self._updated.clear()

    @property
    def open(self) -> bool:
        return bool(self._updated)

    def close(self) -> None:
        """Nothing to do when no update has been made since the last close."""
        if not self._updated:
            return
        span = max(self._updated.values())
        self._updated.clear()
        self._recorder.step += span
        self._state()
        self._recorder.emit(span)
