"""Fixed programs run: under TensorFlow they repeat from run to run, and draw anew in every epoch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from proposing import fixed, program

from twinrun.findings.fixes import Place, together
from twinrun.findings.fixes.parallel_map import STATELESS

EPOCHS = """
for epoch in range(2):
    print([[float(tf.reduce_sum(tf.cast(part, tf.float64))) for part in tf.nest.flatten(x)] for x in ds])
"""
# name: (code, the line of the finding, the program); each leaves a dataset `ds`.
PIPELINES = {
    "lambda": (
        "TW203",
        "ds.map",
        """
        import tensorflow as tf
        ds = tf.data.Dataset.range(200)
        ds = ds.map(lambda v: tf.cast(v, tf.float32) + tf.random.uniform([]), num_parallel_calls=4)
        """,
    ),
    "lambda over tuples": (
        "TW203",
        "ds.map",
        """
        import tensorflow as tf
        ds = tf.data.Dataset.from_tensor_slices((tf.zeros([100, 3]), tf.range(100)))
        ds = ds.map(lambda x, y: (x + tf.random.normal(x.shape), y), num_parallel_calls=4)
        """,
    ),
    "function with several draws": (
        "TW203",
        "ds.map",
        """
        import tensorflow as tf


        def augment(image, label):
            image = tf.image.random_flip_left_right(image)
            if tf.random.uniform([]) > 0.5:
                image = tf.image.random_brightness(image, 0.2)
            return image + tf.random.normal(tf.shape(image), 0.0, 0.1), label


        ds = tf.data.Dataset.from_tensor_slices((tf.ones([100, 4, 4, 3]), tf.range(100)))
        ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
        """,
    ),
    "method with a shared generator in a chain": (
        "TW203",
        ".map(self.jitter",
        """
        import tensorflow as tf


        class Pipeline:
            def __init__(self):
                self.generator = tf.random.Generator.from_seed(1)

            def jitter(self, features):
                return features["x"] + self.generator.normal([])

            def build(self):
                return (
                    tf.data.Dataset.from_tensor_slices({"x": tf.zeros([200])})
                    .shuffle(200, seed=1)
                    .map(self.jitter, num_parallel_calls=4)
                    .batch(10)
                )


        ds = Pipeline().build()
        """,
    ),
    "numpy_function": (
        "TW204",
        "np.random.rand",
        """
        import numpy as np
        import tensorflow as tf


        def jitter(x):
            return x * np.random.rand() + np.random.randn(*x.shape)


        ds = tf.data.Dataset.from_tensor_slices(tf.ones([200, 3], tf.float64))
        ds = ds.map(lambda x: tf.numpy_function(jitter, [x], tf.float64), num_parallel_calls=4)
        """,
    ),
    "py_function": (
        "TW204",
        "random.uniform",
        """
        import random
        import tensorflow as tf


        def scale(x):
            return x * random.uniform(1.0, 2.0)


        def load(x, y):
            return tf.py_function(func=scale, inp=[x], Tout=tf.float32), y


        ds = tf.data.Dataset.from_tensor_slices((tf.ones([200]), tf.range(200)))
        ds = ds.map(load, num_parallel_calls=4)
        """,
    ),
    "host lambda": (
        "TW204",
        "numpy_function",
        """
        import numpy as np
        import tensorflow as tf

        ds = tf.data.Dataset.range(200)
        ds = ds.map(lambda i: tf.numpy_function(lambda _: np.random.rand(), [i], tf.float64), 4)
        """,
    ),
    "generator": (
        "TW204",
        "np.random",
        """
        import numpy as np
        import tensorflow as tf


        def samples():
            for _ in range(100):
                yield np.random.normal(size=3)


        ds = tf.data.Dataset.from_generator(samples, output_signature=tf.TensorSpec([3], tf.float64))
        """,
    ),
    "shuffled files": (
        "TW201",
        "list_files",
        """
        import tensorflow as tf

        for number in range(20):
            tf.io.write_file(f"{number}.txt", str(number))
        ds = tf.data.Dataset.list_files("*.txt")
        ds = ds.map(lambda name: tf.strings.to_number(tf.io.read_file(name)))
        """,
    ),
}
LOADER = """
import keras
import numpy as np

keras.utils.set_random_seed(1)


class Noisy(keras.utils.PyDataset):
    def __len__(self):
        return 50

    def __getitem__(self, idx):
        x = np.random.normal(size=(4, 3))
        seen.append((idx, float(x.sum())))
        return x, np.random.rand(4, 1)


seen = []
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Noisy(workers=3), epochs=2, verbose=0)
print(model.get_weights())
print(len(set(seen)))
"""
# The layers whose seed is where the fixes believe it to be.
POSITIONS = """
import inspect
import keras
from twinrun.knowledge.functions import Kind, known, names_of

for name in names_of(Kind.LAYER, Kind.INITIALIZER):
    _, package, cls = name.split(".")
    seed = known(name).seed
    if seed is None or seed.position is None or not hasattr(getattr(keras, package), cls):
        continue
    names = list(inspect.signature(getattr(getattr(keras, package), cls).__init__).parameters)
    if names.index("seed") - 1 != seed.position:
        print(name, names.index("seed") - 1)
"""
ARGUMENTS = {
    "uniform": "[2], 0, 10, tf.int32",
    "normal": "[2], 1.0, dtype=tf.float64",
    "truncated_normal": "shape=[2]",
    "categorical": "[[0.5, 0.5]], 4, tf.int32, 7",
    "shuffle": "tf.range(5)",
    "random_brightness": "image, 0.5",
    "random_contrast": "image, 0.1, 0.9",
    "random_crop": "image, [2, 2, 3], 3",
    "random_hue": "image, max_delta=0.3",
    "random_jpeg_quality": "image, 30, 80",
    "random_saturation": "image, 0.2, upper=0.9, seed=3",
}


def every_op() -> str:
    """A program that maps every op that can be made stateless, all of them fixed."""
    lines = ["import tensorflow as tf", "image = tf.reshape(tf.linspace(0.0, 1.0, 48), [4, 4, 3])"]
    for name in STATELESS:
        arguments = ARGUMENTS.get(name.rpartition(".")[2], "image")
        op = name.replace("tensorflow.", "tf.")
        lines.append(f"ds = tf.data.Dataset.range(20).map(lambda i: {op}({arguments}), num_parallel_calls=4)")
        lines.append("first, second = ([x.numpy().tolist() for x in ds] for _ in range(2))")
        lines.append(f"print('{name}', ds.element_spec, first, first != second)")
    source = "\n".join(lines) + "\n"
    places = [
        Place("TW203", "train.py", number, source) for number, line in enumerate(lines, 1) if ".map" in line
    ]
    patch = together(places, {"train.py": source})
    assert len(patch.made) == len(STATELESS)
    return patch.texts["train.py"]


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[str]]:
    """What every fixed program printed in each of its two runs."""
    programs = {
        name: fixed(code, source, at, safe=True) + EPOCHS for name, (code, at, source) in PIPELINES.items()
    }
    programs["loader"] = fixed("TW205", program(LOADER), "np.random.normal", safe=True)
    programs["every op"] = every_op()
    programs["positions"] = POSITIONS
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("fragments.py"))],
        input=json.dumps([source for source in programs.values() for _ in range(2)]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    results = json.loads(done.stdout)
    for name, pair in zip(programs, zip(results[::2], results[1::2], strict=True), strict=True):
        assert [code for code, _ in pair] == [0, 0], f"{name}: {pair[0][1][-2000:]}"
    pairs = zip(results[::2], results[1::2], strict=True)
    return {name: [output for _, output in pair] for name, pair in zip(programs, pairs, strict=True)}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_fixed_pipeline_repeats_and_its_epochs_differ(name: str, outputs: dict[str, list[str]]) -> None:
    one, other = outputs[name]
    assert one == other
    first, second = one.splitlines()
    assert json.loads(first) != json.loads(second)
    assert len(json.loads(first)) == len(json.loads(second)) >= 20


def test_a_fixed_loader_repeats_and_every_batch_of_every_epoch_is_another(
    outputs: dict[str, list[str]],
) -> None:
    one, other = outputs["loader"]
    assert one == other
    assert int(one.splitlines()[-1]) == 2 + 2 * 50  # before the first epoch, Keras looks at two batches


def test_every_stateless_op_takes_the_arguments_of_the_stateful_one(outputs: dict[str, list[str]]) -> None:
    one, other = outputs["every op"]
    assert one == other
    assert len(one.splitlines()) == len(STATELESS)
    assert all(line.endswith("True") for line in one.splitlines())


def test_the_seed_of_every_layer_is_at_the_position_the_fixes_believe(outputs: dict[str, list[str]]) -> None:
    assert outputs["positions"][0] == ""
