"""Fixes of the order in which a dataset gives its elements: shuffles and completion order."""

from __future__ import annotations

import pytest
from proposing import fixed, program

from twinrun.findings.fixes import propose


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ds = ds.shuffle(1000)", "ds = ds.shuffle(1000, seed=42)"),
        ("ds = ds.shuffle(1000, None)", "ds = ds.shuffle(1000, 42)"),
        ("ds = ds.shuffle(1000, seed=None)", "ds = ds.shuffle(1000, seed=42)"),
        ("ds = ds.shuffle(buffer_size=len(xs))", "ds = ds.shuffle(buffer_size=len(xs), seed=42)"),
        ("ds = self.ds.shuffle(10).batch(2)", "ds = self.ds.shuffle(10, seed=42).batch(2)"),
        ("ds = load().cache().shuffle(10, )", "ds = load().cache().shuffle(10, seed=42)"),
        ("f = tf.data.Dataset.list_files('a*')", "f = tf.data.Dataset.list_files('a*', seed=42)"),
        ("f = tf.data.Dataset.list_files('a*', True)", "f = tf.data.Dataset.list_files('a*', True, seed=42)"),
        (
            "ds = tf.data.Dataset.sample_from_datasets([a, b], [0.5, 0.5])",
            "ds = tf.data.Dataset.sample_from_datasets([a, b], [0.5, 0.5], seed=42)",
        ),
        ("ds = tf.data.Dataset.random()", "ds = tf.data.Dataset.random(seed=42)"),
        (
            "ds = tf.keras.utils.image_dataset_from_directory('d')",
            "ds = tf.keras.utils.image_dataset_from_directory('d', seed=42)",
        ),
    ],
)
def test_an_unseeded_shuffle_gets_a_seed(before: str, after: str) -> None:
    fix = propose("TW201", "train.py", 2, f"import tensorflow as tf\n{before}  # mixed\n")
    assert fix is not None and fix.safe
    assert fix.after == f"{after}  # mixed"


@pytest.mark.parametrize(
    "line",
    [
        "ds = ds.shuffle(1000, seed=seed)",
        "ds = ds.shuffle(1000, 7)",
        "ds = ds.shuffle(*arguments)",
        "ds = ds.shuffle(1000, **options)",
        "random.shuffle(xs)",
        "np.random.shuffle(xs)",
        "rng.shuffle(xs)",
        "self.rng.shuffle(xs)",
        "np.random.default_rng(1).shuffle(xs)",
        "tf.random.shuffle(xs)",
        "f = tf.data.Dataset.list_files('a*', shuffle=False)",
        "f = tf.data.Dataset.list_files('a*', shuffle=mixed)",
        "keras.utils.timeseries_dataset_from_array(x, y, 3)",
    ],
)
def test_what_is_seeded_or_no_shuffle_of_a_dataset_is_left_alone(line: str) -> None:
    head = "import random, keras\nimport numpy as np\nimport tensorflow as tf\n"
    head += "rng = self.rng = np.random.Generator(bits)\n"
    assert propose("TW201", "train.py", 5, f"{head}{line}\n") is None


FIT = """
    import random

    import keras

    random.seed(3)
    model.fit(x, y, epochs=2)
"""


def test_a_fit_that_shuffles_is_seeded_with_the_program() -> None:
    seeded = "keras.utils.set_random_seed(3)"
    lines = fixed("TW201", FIT, "model.fit", safe=True)
    assert lines == program(FIT).replace("import keras\n", f"import keras\n\n{seeded}\n")
    # In a module that is imported nothing is known of the program's seeds.
    assert propose("TW201", "loop.py", 2, "def train(model, x):\n    model.fit(x)\n") is None


CHAIN = """
    import tensorflow as tf

    ds = (
        tf.data.Dataset.from_tensor_slices((x, y))
        .shuffle(
            1000,  # all of them
            reshuffle_each_iteration=True  # again in each epoch
        )
        .batch(32)
    )
"""


@pytest.mark.parametrize("at", [".shuffle(", "ds = (", "1000,"])
def test_a_call_over_several_lines_keeps_its_layout_and_comments(at: str) -> None:
    assert fixed("TW201", CHAIN, at, safe=True) == program(CHAIN).replace(
        "True  # again in each epoch\n", "True,  # again in each epoch\n        seed=42\n"
    )


def test_each_of_two_shuffles_in_one_chain_is_fixed_by_its_own_line() -> None:
    source = """
        ds = (
            ds.shuffle(10)
            .batch(2)
            .shuffle(20)
        )
    """
    assert fixed("TW201", source, "10") == program(source).replace("(10)", "(10, seed=42)")
    assert fixed("TW201", source, "20") == program(source).replace("(20)", "(20, seed=42)")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "ds = ds.map(f, num_parallel_calls=4, deterministic=False)",
            "ds = ds.map(f, num_parallel_calls=4, deterministic=True)",
        ),
        ("ds = ds.map(f, 4, False)", "ds = ds.map(f, 4, True)"),
        (
            "ds = files.interleave(read, num_parallel_calls=2, deterministic=False).batch(4)",
            "ds = files.interleave(read, num_parallel_calls=2, deterministic=True).batch(4)",
        ),
        ("options.deterministic = False", "options.deterministic = True"),
        ("options.experimental_deterministic = False", "options.experimental_deterministic = True"),
    ],
)
def test_completion_order_becomes_the_elements_order(before: str, after: str) -> None:
    fix = propose("TW202", "train.py", 1, f"{before}\n")
    assert fix is not None and fix.safe
    assert fix.fixed == f"{after}\n"


def test_the_options_are_found_from_the_map_that_they_act_on() -> None:
    source = """
        options = tf.data.Options()
        options.deterministic = False
        ds = ds.with_options(options)
        ds = ds.map(slow, num_parallel_calls=4)
    """
    assert fixed("TW202", source, "slow") == program(source).replace("False", "True")


@pytest.mark.parametrize("line", ["ds = ds.map(f, deterministic=flag)", "ds = ds.map(f)", "x.done = False"])
def test_a_flag_that_is_not_plainly_false_is_left_alone(line: str) -> None:
    assert propose("TW202", "train.py", 1, f"{line}\n") is None


def test_a_shuffle_that_takes_no_seed_gets_that_of_the_program() -> None:
    source = "import keras\n\nmodel.fit(x, y)\n"
    fix = propose("TW201", "train.py", 3, source, program=("train.py", source))
    assert (
        fix is not None
        and fix.fixed == "import keras\n\nkeras.utils.set_random_seed(42)\n\nmodel.fit(x, y)\n"
    )
    seeded = source.replace("\n\n", "\n\nkeras.utils.set_random_seed(1)\n", 1)
    assert propose("TW201", "train.py", 4, seeded, program=("train.py", seeded)) is None
