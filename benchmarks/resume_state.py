"""What `twinrun.ResumeState` costs: a step that is saved over one that is not, side by side in one run, for a small and a
larger model; beside it what Keras' own BackupAndRestore costs when it saves as often. Medians of rounds taken in turns, and
their quartiles.

    python benchmarks/resume_state.py [--rounds 10] [--steps 40]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

import twinrun

MODELS = {"MLP, 0.1 M weights (1.2 MB saved)": (128, 1), "MLP, 1.2 M weights (14 MB saved)": (512, 4)}


def build(width: int, depth: int) -> Any:
    layers = [
        keras.Input((784,)),
        *(keras.layers.Dense(width, "relu") for _ in range(depth)),
        keras.layers.Dense(10),
    ]
    model = keras.Sequential(layers)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def measured(model: Any, fit: Callable[[], Any], steps: int) -> float:
    """Seconds a step."""
    model._initial_epoch = None
    start = time.perf_counter()
    fit()
    return (time.perf_counter() - start) / steps


def arms(model: Any, ds: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    def with_state(every: int) -> Callable[[], Any]:
        state = twinrun.ResumeState(folder / "state.npz", ds, every=every)
        return lambda: model.fit(state.data, verbose=0, callbacks=[state])

    def backup() -> Any:
        return model.fit(
            ds, verbose=0, callbacks=[keras.callbacks.BackupAndRestore(folder / "backup", save_freq=10)]
        )

    plain = lambda: model.fit(ds, verbose=0)  # noqa: E731
    return {
        "plain": plain,
        "ResumeState, every step": with_state(1),
        "ResumeState, every 10": with_state(10),
        "ResumeState, never but at the end": with_state(10**9),
        "BackupAndRestore, every 10": backup,
    }


def report(rounds: int, steps: int) -> str:
    x = np.random.default_rng(0).normal(size=(steps * 32, 784)).astype("float32")
    ds = twinrun.repeatable(tf.data.Dataset.from_tensor_slices((x, np.zeros(len(x), "int32"))).batch(32))
    lines = ["| model | plain step |" + "".join(f" {name} |" for name in list(arms(None, ds, Path()))[1:])]
    lines.append("|---|---|" + "---|" * (len(lines[0].split("|")) - 4))
    for name, (width, depth) in MODELS.items():
        model, folder = build(width, depth), Path(tempfile.mkdtemp())
        found = arms(model, ds, folder)
        times: dict[str, list[float]] = {arm: [] for arm in found}
        for fit in found.values():  # warm up
            measured(model, fit, steps)
        for _ in range(rounds):
            for arm, fit in found.items():
                times[arm].append(measured(model, fit, steps))
        plain = [seconds * 1e3 for seconds in times["plain"]]
        ratios = [[a / b for a, b in zip(times[arm], times["plain"], strict=True)] for arm in list(found)[1:]]
        cells = [shown(plain, 1, " ms"), *(shown(each, 2) for each in ratios)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        shutil.rmtree(folder)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return "\n".join(
        [*lines, "", f"{rounds} rounds of {steps} steps: median (quartiles); load of the machine {load}"]
    )


def shown(values: list[float], digits: int, unit: str = "") -> str:
    """The median, and between the brackets the quartiles."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.{digits}f}{unit} ({low:.{digits}f}–{high:.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=40)
    given = parser.parse_args()
    if given.rounds < 2:
        parser.error("one round has no quartiles: --rounds must be at least 2")
    print(report(given.rounds, given.steps))


if __name__ == "__main__":
    main()
