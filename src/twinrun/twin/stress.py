"""Stress: the CPU affinity of a twin's threads is shuffled while it runs. A race that a quiet machine hides shows; a
program without one cannot notice, because nothing that it can ask about changes."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time

_PAUSE = 0.002


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
