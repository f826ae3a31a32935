"""What watching adds to a step of a program with very many small variables, from inside one process that `twinrun run`
starts: steps with the recorder on and off take turns.

    python benchmarks/many_variables.py [VARIABLES]
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import TWINRUN, run

GOAL = 10.0  # milliseconds that a watched step of 5,000 variables may take beyond a plain one
COUNT, ROUNDS, STEPS = 5000, 12, 6


def report(count: int = COUNT) -> str:
    with tempfile.TemporaryDirectory() as place:
        output = Path(place) / "times.json"
        words = ["run", "--no-progress", "--dir", f"{place}/run", __file__, str(count), str(output)]
        run([*TWINRUN, *words])
        times: dict[str, list[list[float]]] = json.loads(output.read_text())
    plain, watched = times["plain"], times["watched"]
    wall, cpu = ([a[kind] - b[kind] for a, b in zip(watched, plain, strict=True)] for kind in (0, 1))
    step = statistics.median(each[0] for each in plain)
    return (
        f"{count} variables: a plain step takes {step:.1f} ms, a watched one {statistics.median(wall):.1f} ms more "
        f"(processor time: {statistics.median(cpu):.1f} ms; best round {min(wall):.1f} ms; goal {GOAL:g} ms)"
    )


def train(count: int, output: Path) -> None:
    import keras
    import tensorflow as tf

    from twinrun.twin.recorder import active

    recorder = active()
    assert recorder is not None, "start this with `twinrun run`"
    shapes = [(4, 3), (8,), ()]
    variables = [tf.Variable(tf.fill(shapes[n % 3], float(n)), name=f"v{n}") for n in range(count - 3)]
    optimizer = keras.optimizers.SGD(0.01)  # it has two variables of its own
    trained = tf.Variable(1.0, name="trained")

    @tf.function
    def step(x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = x * trained
        optimizer.apply_gradients([(tape.gradient(loss, trained), trained)])
        for variable in variables:  # every variable changes at every step
            tf.raw_ops.AssignAddVariableOp(resource=variable.handle, value=tf.ones(variable.shape))

    def block(on: bool) -> list[float]:
        """Milliseconds of a step, by the clock and of the processor. A step is recorded when the next one begins."""
        recorder.alive = on
        step(tf.constant(1.0))
        start = (time.perf_counter(), time.process_time())
        for _ in range(STEPS):
            step(tf.constant(1.0))
        end = (time.perf_counter(), time.process_time())
        return [1000 * (b - a) / STEPS for a, b in zip(start, end, strict=True)]

    times: dict[str, list[list[float]]] = {"plain": [], "watched": []}
    for number in range(ROUNDS + 2):
        found = {"watched": block(True), "plain": block(False)}
        if number > 1:  # the first ones warm up
            for name, each in found.items():
                times[name].append(each)
    recorder.alive = True
    output.write_text(json.dumps(times))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        train(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        print(report(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT))
