"""Fixes of missing seeds: the seed call goes after the imports, generators get one, late ones move up."""

from __future__ import annotations

import pytest
from proposing import fixed, program, proposed

from twinrun.findings.fixes import propose


@pytest.mark.parametrize(
    ("code", "imports", "call"),
    [
        ("TW101", "import random\nimport keras", "keras.utils.set_random_seed(42)"),
        ("TW101", "import random\nimport tensorflow as tf", "tf.keras.utils.set_random_seed(42)"),
        ("TW101", "import random\nfrom tensorflow import keras as k", "k.utils.set_random_seed(42)"),
        ("TW101", "import random\nfrom keras import utils", "utils.set_random_seed(42)"),
        ("TW101", "import random\nimport tf_keras as keras", "keras.utils.set_random_seed(42)"),
        ("TW101", "import random", "random.seed(42)"),
        ("TW101", "import random as rnd", "rnd.seed(42)"),
        ("TW102", "import numpy as np\nimport keras", "keras.utils.set_random_seed(42)"),
        ("TW102", "import numpy as np", "np.random.seed(42)"),
        ("TW102", "import numpy", "numpy.random.seed(42)"),
        ("TW102", "from numpy import random as npr", "npr.seed(42)"),
        ("TW104", "import tensorflow as tf", "tf.keras.utils.set_random_seed(42)"),
        ("TW105", "import keras", "keras.utils.set_random_seed(42)"),
    ],
)
def test_the_seed_call_goes_right_after_the_imports_by_the_name_the_program_uses(
    code: str, imports: str, call: str
) -> None:
    source = f"{imports}\n\nx = draw()\nprint(x)\n"
    fix = propose(code, "train.py", source.count("\n") - 1, source)
    assert fix is not None and fix.safe
    assert fix.fixed == f"{imports}\n\n{call}\n\nx = draw()\nprint(x)\n"
    assert (fix.before, fix.after) == ("", call)


@pytest.mark.parametrize(
    ("code", "imports", "added"),
    [
        ("TW105", "from keras import layers", "import keras\n\nkeras.utils.set_random_seed(42)"),
        ("TW105", "from tf_keras import layers", "import tf_keras\n\ntf_keras.utils.set_random_seed(42)"),
        (
            "TW105",
            "from keras import layers\nimport tensorflow as tf",
            "import keras\n\nkeras.utils.set_random_seed(42)",
        ),
        (
            "TW105",
            "from tensorflow.keras import layers",
            "from tensorflow import keras\n\nkeras.utils.set_random_seed(42)",
        ),
        ("TW101", "from random import shuffle", "import random\n\nrandom.seed(42)"),
        ("TW102", "from numpy.random import rand", "import numpy as np\n\nnp.random.seed(42)"),
    ],
)
def test_what_the_seed_call_needs_is_imported_when_the_program_has_no_name_for_it(
    code: str, imports: str, added: str
) -> None:
    source = f"{imports}\n\nprint(draw())\n"
    fix = propose(code, "train.py", 3, source)
    assert fix is not None
    assert fix.fixed == f"{imports}\n{added}\n\nprint(draw())\n"


def test_the_docstring_settings_and_guarded_imports_belong_to_the_head() -> None:
    source = """
        '''Train it.'''
        from __future__ import annotations

        import os

        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import random

        try:
            import keras
        except ImportError:
            keras = None
        import numpy as np  # the last one
        PATH = "data"

        random.shuffle(PATH)
    """
    assert fixed("TW102", source, "random.shuffle") == program(source).replace(
        "# the last one\n", "# the last one\n\nnp.random.seed(42)\n\n"
    )


def test_the_seed_of_other_streams_is_taken_over() -> None:
    source = """
        import keras
        import numpy as np
        import tensorflow as tf

        SEED = 1234
        np.random.seed(SEED)
        tf.random.set_seed(SEED)
        model = keras.Sequential([keras.layers.Dense(1)])
        print(model)
    """
    assert fixed("TW105", source, "keras.Sequential", safe=True) == program(source).replace(
        "SEED = 1234\n", "SEED = 1234\nkeras.utils.set_random_seed(SEED)\n"
    )


def test_a_library_imported_in_a_function_is_seeded_there_and_called_safe_only_in_main() -> None:
    source = """
        def main():
            '''Train.'''
            import keras
            model = keras.Sequential([keras.layers.Dense(1)])
            print(model)

        main()
    """
    after = fixed("TW105", source, "Sequential", safe=True)
    assert after == program(source).replace(
        "import keras\n", "import keras\n    keras.utils.set_random_seed(42)\n"
    )
    fixed("TW105", source.replace("main()", "fold()"), "Sequential", safe=False)


@pytest.mark.parametrize(
    "source",
    [
        "import keras\n\nkeras.utils.set_random_seed(1)\nprint(draw())\n",
        "import keras\n\ndef main(n):\n    keras.utils.set_random_seed(n)\n    print(draw())\n\nmain(1)\n",
        "import json\n\nprint(draw())\n",
        "print(draw())\n",
        "print(draw(\n",
        "keras = None\nfrom keras import layers\nprint(draw())\n",
        "import keras; x = draw()\nprint(draw())\n",
        "",
    ],
)
def test_no_seed_is_added_where_there_is_one_or_where_it_cannot_be_called(source: str) -> None:
    line = next((n for n, text in enumerate(source.splitlines(), 1) if "print" in text), 1)
    assert propose("TW105", "train.py", line, source) is None


def test_a_seed_call_without_a_number_goes_where_a_seed_was_set() -> None:
    source = """
        import keras
        import numpy as np

        keras.utils.set_random_seed(8)
        for epoch in range(3):
            np.random.seed()
            order = np.random.permutation(10)
    """
    assert fixed("TW102", source, "seed()", safe=True) == program(source).replace(
        "    np.random.seed()\n", ""
    )


def test_the_comment_above_a_seed_call_without_a_number_stays() -> None:
    source = """
        import random
        random.seed(1)
        if again:
            start()
            # another order
            random.seed()
        stop()
    """
    assert fixed("TW101", source, "seed()", safe=True) == program(source).replace("    random.seed()\n", "")


def test_a_seed_call_without_a_number_that_stands_alone_leaves_its_place_to_pass() -> None:
    source = """
        import random
        random.seed(1)
        if again:
            random.seed(None)
    """
    assert fixed("TW101", source, "None", safe=True) == program(source).replace("random.seed(None)", "pass")


def test_a_program_that_only_assigns_is_still_a_program() -> None:
    source = """
        import keras

        model = keras.Sequential([keras.layers.Dense(1)])
        history = model.fit(x, y)
    """
    assert "\nkeras.utils.set_random_seed(42)\n" in fixed("TW105", source, "Sequential", safe=True)


def test_a_missing_seed_is_set_in_the_program_and_not_in_a_module_it_imports() -> None:
    module = "import keras\n\n\ndef build():\n    return keras.layers.Dense(1)\n"
    script = "import keras\n\nfrom model import build\n\nmodel = build()\nmodel.fit()\n"
    fix = propose("TW105", "model.py", 5, module, program=("train.py", script))
    assert fix is not None
    assert fix.file == "train.py"
    assert fix.fixed == script.replace("import build\n", "import build\n\nkeras.utils.set_random_seed(42)\n")
    assert propose("TW105", "model.py", 5, module) is None


def test_in_a_module_of_its_own_a_layer_gets_its_own_seed_and_every_layer_another() -> None:
    source = """
        from keras import layers


        def build(x):
            x = layers.RandomFlip("horizontal")(x)
            x = layers.Dropout(0.5)(x)
            return layers.GaussianNoise(
                0.1,
                name="noise",
            )(x)
    """
    assert 'layers.RandomFlip("horizontal", seed=42)(x)' in fixed("TW105", source, "RandomFlip", safe=False)
    assert "layers.Dropout(0.5, seed=43)(x)" in fixed("TW105", source, "Dropout", safe=False)
    assert '    name="noise",\n        seed=44,\n    )(x)' in fixed(
        "TW105", source, "GaussianNoise", safe=False
    )


def test_layers_that_are_seeded_or_take_no_seed_are_left_alone() -> None:
    source = """
        from keras import layers


        def build(x, rate):
            x = layers.Dropout(rate, seed=7)(x)
            x = layers.Dropout(rate, None, 8)(x)
            return layers.Dense(3)(x)
    """
    for at in ("seed=7", "None, 8", "Dense"):
        assert proposed("TW105", source, at) is None


@pytest.mark.parametrize(
    ("imports", "before", "after"),
    [
        ("import numpy as np", "np.random.default_rng()", "np.random.default_rng(42)"),
        ("import numpy as np", "np.random.default_rng(None)", "np.random.default_rng(42)"),
        ("import numpy as np", "np.random.default_rng(seed=None)", "np.random.default_rng(seed=42)"),
        ("from numpy.random import default_rng", "default_rng()", "default_rng(42)"),
        ("import numpy as np", "np.random.RandomState()", "np.random.RandomState(42)"),
        (
            "import numpy as np",
            "np.random.Generator(np.random.PCG64())",
            "np.random.Generator(np.random.PCG64(42))",
        ),
        ("import random", "random.Random()", "random.Random(42)"),
        ("import keras", "keras.random.SeedGenerator()", "keras.random.SeedGenerator(42)"),
        (
            "import tensorflow as tf",
            "tf.random.Generator.from_non_deterministic_state()",
            "tf.random.Generator.from_seed(42)",
        ),
        (
            "import tensorflow as tf",
            'tf.random.Generator.from_non_deterministic_state(alg="philox")',
            'tf.random.Generator.from_seed(42, alg="philox")',
        ),
    ],
)
def test_an_unseeded_generator_gets_a_seed(imports: str, before: str, after: str) -> None:
    source = f"{imports}\n\nrng = {before}  # of our own\n"
    fix = propose("TW103", "train.py", 3, source)
    assert fix is not None and fix.safe
    assert fix.fixed == f"{imports}\n\nrng = {after}  # of our own\n"
    assert (fix.before, fix.after) == (f"rng = {before}  # of our own", f"rng = {after}  # of our own")


@pytest.mark.parametrize(
    ("source", "after"),
    [
        (
            "def augment(x):\n    return x + np.random.default_rng().normal()\n\nds.map(augment)\n",
            "rng = np.random.default_rng(42)\n\n\ndef augment(x):\n    return x + rng.normal()\n\nds.map(augment)\n",
        ),
        (
            "augment = lambda x: x + np.random.default_rng().normal()\n",
            "rng = np.random.default_rng(42)\naugment = lambda x: x + rng.normal()\n",
        ),
        (
            "xs = [np.random.default_rng().normal() for _ in range(3)]\n",
            "rng = np.random.default_rng(42)\nxs = [rng.normal() for _ in range(3)]\n",
        ),
        (
            "for epoch in range(3):\n    rng = np.random.default_rng()\n    train(rng)\n",
            "rng = np.random.default_rng(42)\nfor epoch in range(3):\n    train(rng)\n",
        ),
        (
            "class Noise:\n    def draw(self):\n        return np.random.RandomState().rand()\n",
            "rng = np.random.RandomState(42)\n\n\nclass Noise:\n    def draw(self):\n        return rng.rand()\n",
        ),
        (
            "def data():\n    rng = np.random.default_rng()\n    return rng.normal()\n\nx = data()\n",
            "def data():\n    rng = np.random.default_rng(42)\n    return rng.normal()\n\nx = data()\n",
        ),
    ],
)
def test_a_generator_that_is_made_again_and_again_is_made_once(source: str, after: str) -> None:
    source = f"import numpy as np\n\n{source}"
    line = next(
        n for n, text in enumerate(source.splitlines(), 1) if "default_rng()" in text or "State()" in text
    )
    fix = propose("TW103", "train.py", line, source)
    assert fix is not None and fix.safe
    assert fix.fixed == f"import numpy as np\n\n{after}"


def test_a_generator_with_arguments_that_is_made_again_is_seeded_but_not_safely() -> None:
    source = "import numpy as np\n\ndef draw():\n    return np.random.default_rng(None).normal()\n"
    fix = propose("TW103", "train.py", 4, source)
    assert fix is not None and not fix.safe


@pytest.mark.parametrize(
    "line",
    [
        "rng = np.random.default_rng(7)",
        "rng = np.random.default_rng(seed)",
        "rng = np.random.default_rng(*seeds)",
        "rng = other.default_rng()",
    ],
)
def test_a_generator_that_has_a_seed_or_is_not_known_is_left_alone(line: str) -> None:
    assert propose("TW103", "train.py", 2, f"import numpy as np\n{line}\n") is None


LATE = """
    import keras
    import numpy as np

    model = keras.Sequential([keras.layers.Dense(1)])
    x = np.random.rand(10)

    np.random.seed(0)  # for x
    keras.utils.set_random_seed(42)

    model.fit(x, x)
"""


@pytest.mark.parametrize("at", ["Sequential", "np.random.rand", "np.random.seed", "set_random_seed"])
def test_late_seed_calls_move_up_behind_the_imports_wherever_the_finding_stands(at: str) -> None:
    assert fixed("TW106", LATE, at, safe=True) == program(
        """
        import keras
        import numpy as np

        np.random.seed(0)  # for x
        keras.utils.set_random_seed(42)

        model = keras.Sequential([keras.layers.Dense(1)])
        x = np.random.rand(10)

        model.fit(x, x)
        """
    )


def test_a_late_seed_call_takes_its_comment_along() -> None:
    source = """
        import keras

        model = build()

        # The same in every run.
        keras.utils.set_random_seed(1)
        model.fit()
    """
    assert fixed("TW106", source, "build()", safe=True) == program(
        """
        import keras

        # The same in every run.
        keras.utils.set_random_seed(1)

        model = build()

        model.fit()
        """
    )


def test_a_late_seed_call_moves_no_further_than_what_it_needs() -> None:
    source = """
        import argparse
        import keras

        def main():
            parser = argparse.ArgumentParser()
            args = parser.parse_args()
            model = build()
            keras.utils.set_random_seed(args.seed)
            model.fit()

        main()
    """
    assert fixed("TW106", source, "model = build()", safe=True) == program(
        """
        import argparse
        import keras

        def main():
            parser = argparse.ArgumentParser()
            args = parser.parse_args()
            keras.utils.set_random_seed(args.seed)
            model = build()
            model.fit()

        main()
        """
    )


@pytest.mark.parametrize(
    "source",
    [
        "import keras\n\nkeras.utils.set_random_seed(1)\nmodel = build()\n",
        "import keras\n\nmodel = build()\nseed = model.seed\nkeras.utils.set_random_seed(seed)\n",
        "import keras\n\nmodel = build()\nif model:\n    keras.utils.set_random_seed(1)\n",
        "import keras\n\nmodel = build(); keras.utils.set_random_seed(1)\n",
    ],
)
def test_a_seed_call_that_is_early_or_cannot_move_stays(source: str) -> None:
    line = next(number for number, text in enumerate(source.splitlines(), 1) if "build" in text)
    assert propose("TW106", "train.py", line, source) is None


@pytest.mark.parametrize(
    ("code", "before", "after"),
    [
        ("TW303", "keras.utils.set_random_seed(int(time.time()))", "keras.utils.set_random_seed(42)"),
        ("TW303", "random.seed(time.time_ns())", "random.seed(42)"),
        ("TW303", "random.seed(datetime.now().timestamp())", "random.seed(42)"),
        ("TW303", "SEED = int(time.time()) % 1000", "SEED = 42"),
        ("TW303", "ds = ds.shuffle(10, seed=int(time.time()))", "ds = ds.shuffle(10, seed=42)"),
        ("TW108", "rng = np.random.default_rng(secrets.randbits(128))", "rng = np.random.default_rng(42)"),
        ("TW108", "seed = int.from_bytes(os.urandom(4), 'big')", "seed = 42"),
        ("TW303", 'config = {"seed": time.time_ns() % 2**31}', 'config = {"seed": 42}'),
        ("TW108", "rng = random.SystemRandom()", "rng = random.Random(42)"),
        ("TW108", "rng = secrets.SystemRandom()", "rng = random.Random(42)"),
    ],
)
def test_the_clock_or_entropy_as_a_seed_becomes_a_constant(code: str, before: str, after: str) -> None:
    imports = (
        "import os, random, secrets, time\nfrom datetime import datetime\nimport keras\nimport numpy as np\n"
    )
    fix = propose(code, "train.py", 5, f"{imports}{before}  # new each time\n")
    assert fix is not None and fix.safe
    assert fix.fixed == f"{imports}{after}  # new each time\n"


@pytest.mark.parametrize("line", ["started = time.time()", "x = x * time.time()", "name = str(uuid.uuid4())"])
def test_other_uses_of_the_clock_and_entropy_are_left_alone(line: str) -> None:
    assert propose("TW303", "train.py", 2, f"import time, uuid\n{line}\n") is None


GRAPH_OF_ITS_OWN = """
import tensorflow as tf

tf.random.set_seed(7)
with tf.Graph().as_default():
    build()
"""


@pytest.mark.parametrize(
    ("source", "at", "added"),
    [
        (
            "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\nw = tf.get_variable('w', [3])\n",
            "get_variable",
            "tf.disable_v2_behavior()\ntf.set_random_seed(42)\n",
        ),
        (
            GRAPH_OF_ITS_OWN.replace("build()", "w = tf.random.normal([3])"),
            "normal",
            "as_default():\n    tf.compat.v1.set_random_seed(7)\n    w =",
        ),
        (
            GRAPH_OF_ITS_OWN.replace(
                "tf.random", "def build():\n    return tf.random.normal([3])\ntf.random"
            ),
            "normal",
            "as_default():\n    tf.compat.v1.set_random_seed(7)\n    build()",
        ),
    ],
)
def test_a_graph_gets_the_seed_of_its_own(source: str, at: str, added: str) -> None:
    assert added in fixed("TW104", source, at, safe=True)


def test_what_is_drawn_beside_a_graph_gets_the_usual_seed() -> None:
    source = GRAPH_OF_ITS_OWN.replace("tf.random.set_seed(7)", "x = tf.random.normal([3])")
    assert "tf.keras.utils.set_random_seed(42)" in fixed("TW104", source, "normal")


# a seed that nobody gives


ENVIRONMENT = """
    import numpy as np

    class World:
        def __init__(self, size=5, seed=None):
            self.size, self.seed = size, seed
            self.seed = seed
            self.rng = np.random.default_rng(seed)
"""


@pytest.mark.parametrize(
    ("made", "seeded"),
    [
        ("env = World()", "env = World(seed=42)"),
        ("env = World(3)", "env = World(3, seed=42)"),
        ("env = World(seed=None)", "env = World(seed=42)"),
        ("train, test = World(), World(9)", "train, test = World(seed=42), World(9, seed=43)"),
        ("train, test = World(), World(seed=7)", "train, test = World(seed=42), World(seed=7)"),
    ],
)
def test_an_object_that_is_given_no_seed_gets_one(made: str, seeded: str) -> None:
    text = program(ENVIRONMENT) + f"\n{made}\n"
    assert fixed("TW103", text, "default_rng", safe=True) == text.replace(made, seeded)


def test_a_seed_is_followed_through_an_attribute() -> None:
    through = program(ENVIRONMENT).replace("default_rng(seed)", "default_rng(self.seed)")
    text = through.replace("self.size, self.seed = size, seed", "self.size = size") + "\nenv = World()\n"
    assert fixed("TW103", text, "default_rng") == text.replace("World()", "World(seed=42)")


def test_a_seed_of_the_command_line_is_for_whoever_runs_it_to_give() -> None:
    head = "import argparse\nimport numpy as np\n\nparser = argparse.ArgumentParser()\n"
    tail = (
        '\nparser.add_argument("--seed", type=int)\nargs = parser.parse_args()\nenv = World(seed=args.seed)\n'
    )
    text = head + program(ENVIRONMENT).replace("import numpy as np\n", "") + tail
    assert proposed("TW103", text, "default_rng") is None


def test_a_module_that_makes_no_object_itself_gets_a_default() -> None:
    text = program(ENVIRONMENT)
    assert fixed("TW103", text, "default_rng", safe=False) == text.replace("seed=None", "seed=42")


def test_objects_that_are_made_in_a_loop_would_all_draw_the_same() -> None:
    text = program(ENVIRONMENT) + "\nfor episode in range(3):\n    env = World()\n"
    fix = propose("TW103", "train.py", 7, text)
    assert fix is not None and not fix.safe and "better make it once" in fix.note


def test_a_field_of_the_settings_that_is_none_becomes_a_number() -> None:
    head = "import numpy as np\nfrom dataclasses import dataclass\n\n"
    text = f"{head}@dataclass\nclass Settings:\n    rate: float = 0.1\n    seed: int | None = None\n\n"
    text += "settings = Settings()\nrng = np.random.default_rng(settings.seed)\n"
    assert fixed("TW103", text, "default_rng", safe=True) == text.replace("= None", "= 42")


def test_a_constant_that_is_none_becomes_a_number() -> None:
    text = "import numpy as np\n\nSEED = None\nrng = np.random.default_rng(SEED)\n"
    assert fixed("TW103", text, "default_rng") == text.replace("None", "42")


@pytest.mark.parametrize(
    "source",
    [
        "def make(seed):\n    return np.random.default_rng(seed)\n\nrng = make(None)\n",
        "def make(seed=None):\n    seed = look_up() or seed\n    return np.random.default_rng(seed)\n\nrng = make()\n",
        "rng = np.random.default_rng(config.seed)\n",
        "parser.add_argument('--seed')\nrng = np.random.default_rng(parser.parse_args().seed)\n",
        "rng = np.random.default_rng(int(text))\n",
    ],
)
def test_a_seed_that_comes_from_elsewhere_is_left_alone(source: str) -> None:
    text = f"import numpy as np\n\n{source}"
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "default_rng" in each)
    assert propose("TW103", "train.py", line, text) is None
