"""Fixes of randomness inside input pipelines: random ops and host randomness in maps, loaders."""

from __future__ import annotations

import pytest
from proposing import fixed, program, proposed

from twinrun.findings.fixes import propose

SEEDS = "seeds = tf.data.Dataset.random(seed=42, rerandomize_each_iteration=True)"
STATELESS = "lambda v, seed: v + tf.random.stateless_uniform([], seed=(seed, 0))"
ZIPPED = "tf.data.Dataset.zip((ds, seeds)).map"


def test_a_lambda_with_one_element_gets_a_seed_and_draws_statelessly() -> None:
    source = """
        import tensorflow as tf

        ds = tf.data.Dataset.range(8)
        ds = ds.map(lambda v: v + tf.random.uniform([]), num_parallel_calls=4)
    """
    assert fixed("TW203", source, "ds.map", safe=True) == program(
        f"""
        import tensorflow as tf

        ds = tf.data.Dataset.range(8)
        {SEEDS}
        ds = {ZIPPED}({STATELESS}, num_parallel_calls=4)
        """
    )


AUGMENT = """
    import tensorflow as tf


    def augment(image, label):
        '''Turn and shift it.'''
        image = tf.image.random_flip_left_right(image)  # half of them
        image = tf.image.random_brightness(image, 0.2, seed=1)
        noise = tf.random.normal(tf.shape(image), 0.0, 0.1)
        return image + noise, label


    ds = load()
    ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
"""


@pytest.mark.parametrize("at", ["ds.map", "random_brightness"])
def test_a_function_with_several_draws_gets_another_seed_for_each(at: str) -> None:
    assert fixed("TW203", AUGMENT, at, safe=True) == program(
        f"""
        import tensorflow as tf


        def augment(image, label, seed):
            '''Turn and shift it.'''
            image = tf.image.stateless_random_flip_left_right(image, seed=(seed, 0))  # half of them
            image = tf.image.stateless_random_brightness(image, 0.2, seed=(seed, 1))
            noise = tf.random.stateless_normal(tf.shape(image), mean=0.0, stddev=0.1, seed=(seed, 2))
            return image + noise, label


        ds = load()
        {SEEDS}
        ds = {ZIPPED}(lambda element, seed: augment(*element, seed), num_parallel_calls=tf.data.AUTOTUNE)
        """
    )


def test_before_and_after_show_the_touched_lines() -> None:
    fix = proposed("TW203", AUGMENT, "ds.map")
    assert fix is not None
    assert fix.before.splitlines()[0] == "def augment(image, label):"
    assert fix.before.splitlines()[-1] == "ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)"
    assert fix.after.count("...") == fix.before.count("...") == 2
    assert "\n- def augment(image, label):\n+ def augment(image, label, seed):\n...\n" in f"\n{fix.changes()}"
    assert fix.describe().startswith(
        f"{fix.note}\n- def augment(image, label):\n+ def augment(image, label, seed):"
    )


def test_a_lambda_with_a_tuple_element_takes_it_apart() -> None:
    source = """
        import tensorflow as tf

        ds = ds.map(lambda x, y: (x + tf.random.normal(x.shape), y), num_parallel_calls=4)
    """
    after = (
        "tf.data.Dataset.zip((ds, seeds)).map(lambda element, seed: (element[0]"
        " + tf.random.stateless_normal(element[0].shape, seed=(seed, 0)), element[1]), num_parallel_calls=4)"
    )
    assert fixed("TW203", source, "ds.map", safe=True).splitlines()[-1] == f"ds = {after}"


def test_a_chain_over_several_lines_gets_one_more_link() -> None:
    source = """
        import tensorflow as tf

        def build(files):
            return (
                tf.data.TFRecordDataset(files)
                .shuffle(100, seed=1)  # mixed first
                .map(parse)
                .map(jitter, num_parallel_calls=4)
                .batch(32)
            )

        def jitter(x):
            return x * tf.random.uniform([], 0.9, 1.1)
    """
    assert fixed("TW203", source, ".map(jitter", safe=True) == program(
        f"""
        import tensorflow as tf

        def build(files):
            {SEEDS}
            return (
                tf.data.TFRecordDataset(files)
                .shuffle(100, seed=1)  # mixed first
                .map(parse)
                .apply(lambda ds: tf.data.Dataset.zip((ds, seeds)))
                .map(jitter, num_parallel_calls=4)
                .batch(32)
            )

        def jitter(x, seed):
            return x * tf.random.stateless_uniform([], minval=0.9, maxval=1.1, seed=(seed, 0))
        """
    )


def test_a_method_and_a_shared_generator_are_rewritten_too() -> None:
    source = """
        import tensorflow as tf

        class Pipeline:
            def __init__(self):
                self.generator = tf.random.Generator.from_seed(1)

            @tf.function
            def jitter(self, x):
                return x + self.generator.normal(tf.shape(x))

            def build(self, ds):
                return ds.map(self.jitter, num_parallel_calls=4)
    """
    after = fixed("TW203", source, "ds.map", safe=True)
    assert "def jitter(self, x, seed):" in after
    assert "return x + tf.random.stateless_normal(tf.shape(x), seed=(seed, 0))" in after
    assert f"        {SEEDS}\n        return tf.data.Dataset.zip((ds, seeds)).map(self.jitter," in after


def test_names_that_are_taken_are_not_used_again() -> None:
    source = """
        import tensorflow as tf

        seed, seeds = 7, [1, 2]
        ds = ds.map(lambda x: x + tf.random.uniform([], seed=seed), num_parallel_calls=4)
    """
    after = fixed("TW203", source, "ds.map")
    assert "element_seeds = tf.data.Dataset.random(" in after
    assert "lambda x, element_seed: x + tf.random.stateless_uniform([], seed=(element_seed, 0))" in after


def test_every_map_of_a_file_gets_seeds_of_its_own() -> None:
    source = """
        import tensorflow as tf

        a = a.map(lambda x: x + tf.random.uniform([]), num_parallel_calls=4)
        b = b.map(lambda x: x - tf.random.uniform([]), num_parallel_calls=4)
    """
    assert "random(seed=42," in fixed("TW203", source, "a.map")
    assert "random(seed=43," in fixed("TW203", source, "b.map")


@pytest.mark.parametrize(
    "body",
    [
        # used elsewhere with its present parameters
        "def f(x):\n    return x + tf.random.uniform([])\n\nf(1)\nds = ds.map(f, num_parallel_calls=4)\n",
        # several draws from one place
        "def f(x):\n    for _ in x:\n        x += tf.random.uniform([])\n    return x\n\nds = ds.map(f)\n",
        # a draw that has no stateless twin with the same arguments
        "def f(x):\n    return x + tf.random.gamma([], 1.0)\n\nds = ds.map(f)\n",
        # the draw is in another function
        "def g(x):\n    return tf.random.uniform([])\n\ndef f(x):\n    return g(x)\n\nds = ds.map(f)\n",
        "def g(x):\n    return tf.random.normal([])\n\n"
        "def f(x):\n    return g(x) + tf.random.normal([])\n\nds = ds.map(f)\n",
        # functions that cannot be seen, or take more than plain parameters
        "ds = ds.map(imported, num_parallel_calls=4)\n",
        "def f(*xs):\n    return tf.random.uniform([])\n\nds = ds.map(f)\n",
        "def f(x, k=1):\n    return tf.random.uniform([])\n\nds = ds.map(f)\n",
        "@register('f')\ndef f(x):\n    return tf.random.uniform([])\n\nds = ds.map(f)\n",
        "def f(x):\n    return tf.random.uniform(*x)\n\nds = ds.map(f)\n",
        # the one-tuple that map takes apart
        "def f(x):\n    return tf.random.uniform([])\n\n"
        "ds = tf.data.Dataset.from_tensor_slices((x,)).map(f)\n",
        # no line can be put before it
        "if x:\n    pass\nelif ds.map(lambda v: v + tf.random.uniform([])):\n    pass\n",
        "if x: ds = ds.map(lambda v: v + tf.random.uniform([]))\n",
        # seeded per element already
        "def f(x, s):\n    return x + tf.random.stateless_uniform([], s)\n\nds = ds.map(f)\n",
    ],
)
def test_a_map_that_cannot_be_rewritten_with_certainty_is_left_alone(body: str) -> None:
    source = f"import tensorflow as tf\n\n{body}"
    line = next(
        number for number, text in enumerate(source.splitlines(), 1) if "ds.map" in text or ").map" in text
    )
    fix = propose("TW203", "train.py", line, source)
    if "num_parallel_calls=4" not in source:
        assert fix is None
        return
    # Of a map that runs in parallel, the calls can still be made one at a time.
    assert fix is not None and not fix.safe
    assert fix.fixed == source.replace(", num_parallel_calls=4", "")


HOST = """
    import numpy as np
    import tensorflow as tf


    def jitter(x):
        scale = np.random.rand()
        return x * scale + np.random.randn(*x.shape) + np.random.randint(3)


    ds = ds.map(
        lambda x: tf.numpy_function(jitter, [x], tf.float64),
        num_parallel_calls=4,
    )
"""


@pytest.mark.parametrize("at", ["ds = ds.map", "numpy_function", "scale = "])
def test_a_host_function_gets_a_seed_and_a_generator_of_its_own(at: str) -> None:
    assert fixed("TW204", HOST, at, safe=True) == program(
        f"""
        import numpy as np
        import tensorflow as tf


        def jitter(x, seed):
            rng = np.random.default_rng(seed)
            scale = rng.random()
            return x * scale + rng.standard_normal(x.shape) + rng.integers(3)


        {SEEDS}
        ds = tf.data.Dataset.zip((ds, seeds)).map(
            lambda x, seed: tf.numpy_function(jitter, [x, seed], tf.float64),
            num_parallel_calls=4,
        )
        """
    )


def test_a_py_function_inside_a_mapped_function_gets_its_seed_passed_through() -> None:
    source = """
        import random
        import tensorflow as tf

        def pick(x):
            return x * random.choice([1.0, 2.0])

        def load(x, y):
            return tf.py_function(func=pick, inp=(x,), Tout=tf.float32), y

        ds = ds.map(load, num_parallel_calls=4)
    """
    assert fixed("TW204", source, "random.choice", safe=True) == program(
        f"""
        import random
        import tensorflow as tf

        def pick(x, seed):
            rng = random.Random(int(seed))
            return x * rng.choice([1.0, 2.0])

        def load(x, y, seed):
            return tf.py_function(func=pick, inp=(x, seed,), Tout=tf.float32), y

        {SEEDS}
        ds = {ZIPPED}(lambda element, seed: load(*element, seed), num_parallel_calls=4)
        """
    )


def test_a_host_lambda_makes_its_generator_on_the_spot() -> None:
    source = """
        import numpy as np
        import tensorflow as tf

        ds = ds.map(lambda i: tf.numpy_function(lambda _: np.random.rand(), [i], tf.float64))
    """
    assert (
        fixed("TW204", source, "ds.map")
        .splitlines()[-1]
        .endswith(
            "tf.numpy_function(lambda _, seed: np.random.default_rng(seed).random(), [i, seed], tf.float64))"
        )
    )


def test_the_generator_of_from_generator_draws_from_its_own_stream() -> None:
    source = """
        import numpy as np
        import tensorflow as tf


        def samples():
            for _ in range(100):
                yield np.random.normal(size=3)


        ds = tf.data.Dataset.from_generator(samples, output_signature=spec)
    """
    assert fixed("TW204", source, "np.random", safe=True) == program(
        """
        import numpy as np
        import tensorflow as tf


        rng = np.random.default_rng(42)


        def samples():
            for _ in range(100):
                yield rng.normal(size=3)


        ds = tf.data.Dataset.from_generator(samples, output_signature=spec)
        """
    )


@pytest.mark.parametrize(
    "host",
    [
        "def f(x):\n    np.random.seed(1)\n    return x + np.random.rand()\n",
        "def f(x):\n    return x\n",
        "def f(x): return x + np.random.rand()\n",
    ],
)
def test_a_host_function_that_cannot_be_rewritten_is_left_alone(host: str) -> None:
    head = "import numpy as np\nimport tensorflow as tf\n"
    line = "ds = ds.map(lambda x: tf.numpy_function(f, [x], tf.float64))\n"
    assert propose("TW204", "train.py", (head + host).count("\n") + 1, head + host + line) is None


LOADER = """
    import keras
    import numpy as np


    class Noisy(keras.utils.PyDataset):
        def __init__(self, x, **kwargs):
            super().__init__(**kwargs)
            self.x = x

        def __len__(self):
            return 10

        def __getitem__(self, idx):
            '''One batch.'''
            x = self.x[idx] + np.random.normal(size=4)
            return x, np.random.rand(4, 1)


    model.fit(Noisy(x, workers=2))
"""


@pytest.mark.parametrize("at", ["np.random.normal", "model.fit", "def __getitem__"])
def test_a_loader_makes_a_generator_for_each_batch_and_counts_the_epochs(at: str) -> None:
    assert fixed("TW205", LOADER, at, safe=True) == program(
        """
        import keras
        import numpy as np


        class Noisy(keras.utils.PyDataset):
            epoch = 0

            def __init__(self, x, **kwargs):
                super().__init__(**kwargs)
                self.x = x

            def __len__(self):
                return 10

            def __getitem__(self, idx):
                '''One batch.'''
                rng = np.random.default_rng((42, self.epoch, idx))
                x = self.x[idx] + rng.normal(size=4)
                return x, rng.random((4, 1))

            def on_epoch_end(self):
                self.epoch += 1


        model.fit(Noisy(x, workers=2))
        """
    )


def test_a_loader_that_has_an_on_epoch_end_and_an_epoch_keeps_both() -> None:
    source = """
        import random
        from tensorflow.keras.utils import Sequence

        class Noisy(Sequence):
            '''Noise.'''
            size = 3

            def __getitem__(self, index):
                return random.random() * self.epoch

            def on_epoch_end(self):
                print("done")
    """
    assert fixed("TW205", source, "random.random", safe=True) == program(
        """
        import random
        from tensorflow.keras.utils import Sequence

        class Noisy(Sequence):
            '''Noise.'''
            data_epoch = 0
            size = 3

            def __getitem__(self, index):
                rng = random.Random(f"42 {self.data_epoch} {index}")
                return rng.random() * self.epoch

            def on_epoch_end(self):
                self.data_epoch += 1
                print("done")
        """
    )


@pytest.mark.parametrize("base", ["object", "Base"])
def test_a_class_that_is_no_loader_is_left_alone(base: str) -> None:
    getter = "    def __getitem__(self, i):\n        return np.random.rand()\n"
    source = f"import numpy as np\n\nclass C({base}):\n{getter}"
    assert propose("TW205", "train.py", 5, source) is None
