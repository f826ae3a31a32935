"""When does one step end and the next begin? Framework-neutral: adapters say who updates weights, this file counts.

A step is one optimizer update. Where several optimizers take turns (a GAN), one round of them is one step: a new
step begins when an optimizer that has already updated in this step is about to update again. A step is closed
lazily, just before the next update, so that it is seen with everything the program did to its weights meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from twinrun.twin.recorder import Watch


class Steps:
    def __init__(self, watch: Watch, state: Callable[[], None], newborn: Callable[[], None]) -> None:
        """`state` adds the blocks of the weights as they are; `newborn` those of weights never seen before."""
        self._watch = watch
        self._state = state
        self._newborn = newborn
        self._updated: dict[Hashable, int] = {}

    def about_to_update(self, who: Iterable[Hashable]) -> None:
        if any(one in self._updated for one in who):
            self.close()
        self._watch.settle()
        if not self._updated:
            self._newborn()

    def updated(self, who: Hashable, times: int = 1) -> None:
        self._updated[who] = self._updated.get(who, 0) + times

    @property
    def open(self) -> bool:
        return bool(self._updated)

    def close(self) -> None:
        """Nothing to do when no update has been made since the last close."""
        if not self._updated:
            return
        span = max(self._updated.values())
        self._updated.clear()
        self._watch.step += span
        self._state()
        self._watch.emit(span)
