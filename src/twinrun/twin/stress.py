"""Stress: the CPU affinity of a twin's threads is shuffled while it runs, and Python switches between them more often. A
race that a quiet machine hides shows; a program without one computes the same."""

from __future__ import annotations

import contextlib
import os
import random
import sys
import threading
import time

_PAUSE = 0.002
# Seconds after which a thread that computes lets another one run: in Python 5 ms, in which a short piece of work is done.
_TURN = 0.0001


def switch_often() -> None:
    """From the start: threads may have done their work before the first step."""
    sys.setswitchinterval(_TURN)


def start_stress() -> None:
    """From now on, in the background. The number of cores that thread pools were made for stays as it was."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        threading.Thread(target=_shuffle_affinity, args=(cores,), name="twinrun-stress", daemon=True).start()


def _shuffle_affinity(cores: list[int]) -> None:
    dice = random.Random(os.getpid())
    while True:
        for task in os.listdir("/proc/self/task"):  # noqa: PTH208
            chosen = {dice.choice(cores)} if dice.random() < 0.7 else set(cores)
            with contextlib.suppress(OSError):
                os.sched_setaffinity(int(task), chosen)
        time.sleep(_PAUSE * dice.random() * 4)
