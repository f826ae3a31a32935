"""What is told of a program's variables does not depend on when Python's collector comes by.

In each of these programs one twin collects, or is collected from, otherwise than the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import FIRST, check, write

# A model is a knot of references: when nobody needs it any more, it lives on until the collector comes.
KNOTS = (
    FIRST
    + """
import gc, threading, weakref
import tensorflow as tf
mine = first()
weight = tf.Variable([[0.5], [0.25]], name="weight")
optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.05)
def train(steps):
    for step in range(1, steps + 1):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.reshape(tf.range(8.0), [4, 2]) @ weight - 1.0) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
class Knot:
    def __init__(self, value):
        self.weight = tf.Variable(tf.fill([4], float(value)), name="knotted")
        self.self = self
"""
)


def verdict(folder: Path, program: str) -> tuple[str, int, object]:
    found = check(write(folder, KNOTS + program), arguments=[folder / "marker"]).document
    return found["verdict"], found["steps_compared"], found["first_difference"] or found["reason"]


MOMENTS = {
    "collected at once in one twin, never in the other": "gc.disable()\ndrop = gc.collect if mine else int",
    # Frozen, what was there before is not looked through again, and full collections are as frequent as small ones.
    "one twin collects at every other object it makes": """
gc.disable()
if mine:
    gc.collect(); gc.freeze(); gc.collect()
    gc.set_threshold(1, 1, 1); gc.enable()
drop = int""",
    "another thread of one twin is always collecting": """
over = threading.Event()
def litter():
    while not over.is_set():
        gc.collect()
if mine:
    gc.collect(); gc.freeze()
    threading.Thread(target=litter, daemon=True).start()
else:
    gc.disable()
drop = int""",
}


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(text, id=name, marks=pytest.mark.slow if "thread" in name else ())
        for name, text in MOMENTS.items()
    ],
)
def test_the_moment_of_collection_does_not_matter(tmp_path: Path, moment: str) -> None:
    """Some die before they were ever looked at, some change after the last look at them."""
    program = """
        for trial in range(1, 5):
            unseen = Knot(-trial); unseen = None
            drop()
            knot = Knot(trial)
            train(2)
            knot.weight.assign_add(tf.ones([4])); knot = None
            drop()
            train(1)
    """
    lines = [line.removeprefix("        ") for line in program.splitlines()]
    assert verdict(tmp_path, moment + "\n" + "\n".join(lines)) == ("repeats", 12, None)


def test_a_step_inside_a_collection_sees_what_a_step_outside_sees(tmp_path: Path) -> None:
    """The collector empties all weak references of a knot before it calls the first of those who wait for them."""
    program = """
gc.disable()
empty = tf.Variable(tf.zeros([0]))  # with this one among them, all are read one by one
for trial in range(1, 5):
    knots = [Knot(trial + 10 * number) for number in range(4)]
    for number, knot in enumerate(knots):
        knot.next = knots[number - 1]
    train(2)
    if mine:
        last = weakref.ref(knots[0], lambda _: train(1))
        knots = knot = None
        gc.collect()
    else:
        knots = knot = None
        train(1)
"""
    assert verdict(tmp_path, program) == ("repeats", 12, None)


def test_an_old_variable_that_changes_once_more_is_still_seen(tmp_path: Path) -> None:
    """Nothing is told of what has been still for long while others came. It is looked at all the same."""
    program = """
old = tf.Variable([1.0, 2.0], name="old")
train(2)
others = [tf.Variable(float(number)) for number in range(100)]
train(80)
if mine:
    old.assign([1.0, 3.0])
train(3)
"""
    kind, steps, difference = verdict(tmp_path, program)
    assert (kind, steps) == ("diverges", 81), difference
    assert isinstance(difference, dict)
    assert (difference["step"], difference["tensor"]) == (82, "old")
    # The other twin does not tell of it at this step, and has it all the same.
    assert (difference["only_in"], difference["max_abs"]) == (None, 1.0)


@pytest.mark.slow
def test_variables_that_have_died_do_not_keep_their_memory(tmp_path: Path) -> None:
    """Sixty times 32 MiB: dropped with and without a look at them, with a value that nothing can reach any more."""
    program = """
import resource
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
train(1)
before = peak()
for trial in range(30):
    unseen = tf.Variable(tf.fill([8 << 20], float(trial)))
    unseen = None
    seen = tf.Variable(tf.fill([8 << 20], float(trial)))
    train(1)
grown = peak() - before
assert grown < 640, grown
"""
    assert verdict(tmp_path, program) == ("repeats", 31, None)
