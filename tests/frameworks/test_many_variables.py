"""Very many small variables are read by one call: each is digested and named as if it had been read alone."""

from __future__ import annotations

from pathlib import Path

from support import BY_HAND, FIRST, check, outputs, write

MANY = (
    FIRST
    + BY_HAND
    + """
import numpy as np
from twinrun.frameworks.tensorflow.observer import observer_for
from twinrun.recording.digest import digest_array
from twinrun.twin.recorder import active

kinds = [("float32", (4, 3)), ("float32", ()), ("float16", (5,)), ("bfloat16", (2, 2)), ("int64", (3,)), ("bool", (2,)),
         ("complex64", (2,)), ("uint8", (1, 1, 7)), ("float64", (3000,))]
many = [tf.Variable(tf.cast(tf.fill(shape, n % 2), kind), name=f"many{n}") for n in range(60) for kind, shape in kinds]
odd = first()
variables = observer_for(active()).variables

def each(step):
    for number, variable in enumerate(many):
        if variable.dtype != tf.bool:
            variable.assign(variable + tf.ones_like(variable))
    if step == 9:
        packed = variables._plan._packed
        own = [one for one in variables.reported() if one.ref() is not None]
        same = all(one.look() == digest_array(one.ref().numpy()) for one in own)
        tracked = variables._plan.tracked
        read = variables._plan.digests() == [one.look() for one in tracked]
        print(packed is not None, len(packed.order), len(tracked) - len(packed.order), same, read, flush=True)
    if odd and step == 10:
        many[205].assign(many[205] + tf.ones_like(many[205]))

train(11, each)
"""
)


def test_a_difference_in_one_of_very_many_is_named(tmp_path: Path) -> None:
    document = check(write(tmp_path, MANY), arguments=[tmp_path / "marker"]).document
    assert (
        outputs(document) == ["True 481 60 True True\n"] * 2
    )  # those of 3,000 elements are too large to be copied
    first = document["first_difference"]
    assert (first["step"], first["phase"], first["tensor"]) == (10, "weights", "many22#8")
    assert first["others"] == 0 and first["differing_count"] == first["size"] == 7
