"""Several rounds at a time, as many as the machine has room for."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from twinrun.comparison.judge import Judge
from twinrun.launch.options import Screen
from twinrun.launch.twin_process import Twin

Found = TypeVar("Found")


class _Cancelled(Exception):
    """What is under way is not needed any more."""


class _Beside(Screen):
    """The screen of rounds that run side by side: shows the twins of all of them, and ends them when all is broken off."""

    def __init__(self, screen: Screen | None) -> None:
        self._screen = screen or Screen()
        self._twins: dict[int, list[Twin]] = {}  # of the round that each thread is in
        self.cancelled = threading.Event()

    def twins(self, twins: list[Twin]) -> None:
        self._twins[threading.get_ident()] = twins
        self._screen.twins([twin for each in list(self._twins.values()) for twin in each])

    def say(self, text: str, deadline: float | None = None) -> None:
        self._screen.say(text, deadline)

    def tick(self, judge: Judge) -> None:
        if self.cancelled.is_set():
            raise _Cancelled


def side_by_side(
    work: Sequence[Callable[[Screen], Found]], at_once: int, screen: Screen | None = None
) -> list[Found]:
    """What each piece of work gives, in their order. Each is given a screen, shown on `screen` where there is one."""
    shared = _Beside(screen)
    with ThreadPoolExecutor(max(1, at_once)) as pool:
        running = [pool.submit(each, shared) for each in work]
        try:
            return [each.result() for each in running]
        except BaseException:
            shared.cancelled.set()
            pool.shutdown(cancel_futures=True)
            raise


def twins_at_once() -> int:
    """How many twins have room here: a core each, and memory like that of the largest so far. Two always have."""
    import psutil

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    largest = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    by_memory = psutil.virtual_memory().available // largest if largest else cores
    return max(2, min(cores, int(by_memory)))
