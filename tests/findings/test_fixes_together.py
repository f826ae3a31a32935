"""Several fixes in one patch: one seed for what it covers, one constant where there are several."""

from __future__ import annotations

from proposing import line_of, program

from twinrun.findings.fixes import Patch, Place, together

SCRIPT = "train.py"


def patched(texts: dict[str, str], *places: tuple[str, str, str], seed: int | None = None) -> Patch:
    """The patch of files for places: a code, a file, and what the line of the finding holds."""
    sources = {name: program(text) for name, text in texts.items()}
    found = [
        Place(code, file, line_of(sources[file], part), sources[file], sources[SCRIPT])
        for code, file, part in places
    ]
    return together(found, sources, program=SCRIPT, seed=seed)


def test_a_seed_of_everything_covers_what_would_need_a_seed_of_its_own() -> None:
    source = """
        import keras
        import numpy as np
        import tensorflow as tf

        x = np.random.rand(9)
        ds = tf.data.Dataset.from_tensor_slices(x).shuffle(9)
        model = keras.Sequential([keras.layers.Dense(1)])
        model.fit(ds)
    """
    places = [("TW201", SCRIPT, "shuffle"), ("TW102", SCRIPT, "rand"), ("TW105", SCRIPT, "Dense")]
    patch = patched({SCRIPT: source}, *places)
    assert patch.texts == {
        SCRIPT: program(source).replace("as tf\n", "as tf\n\nkeras.utils.set_random_seed(42)\n")
    }
    assert len(patch.made) == 1


def test_what_is_found_again_with_the_seed_set_gets_a_seed_of_its_own() -> None:
    source = "import keras\n\nkeras.utils.set_random_seed(42)\nds = ds.shuffle(9)\nfit(ds)\n"
    patch = patched({SCRIPT: source}, ("TW201", SCRIPT, "shuffle"))
    assert "ds.shuffle(9, seed=42)" in patch.texts[SCRIPT]


def test_a_constant_of_the_programs_own_is_used() -> None:
    source = """
        import numpy as np

        RANDOM_SEED = 7

        x = np.random.rand(3)
        rng = np.random.default_rng()
        train(x, rng)
    """
    patch = patched({SCRIPT: source}, ("TW102", SCRIPT, "rand("), ("TW103", SCRIPT, "rng ="), seed=1)
    assert patch.texts[SCRIPT] == program(source).replace(
        "RANDOM_SEED = 7\n", "RANDOM_SEED = 7\nnp.random.seed(RANDOM_SEED)\n"
    ).replace("default_rng()", "default_rng(RANDOM_SEED)")


def test_a_name_that_means_something_else_in_a_function_is_not_used_there() -> None:
    source = """
        import numpy as np

        seed = 7

        class Data:
            def __init__(self, seed=None):
                self.rng = np.random.default_rng()

        Data()
    """
    patch = patched({SCRIPT: source}, ("TW103", SCRIPT, "self.rng"))
    assert "default_rng(7)" in patch.texts[SCRIPT]


def test_seeds_in_two_files_are_a_constant_in_each() -> None:
    texts = {
        SCRIPT: "import numpy as np\n\nimport data\n\nx = np.random.rand(3)\nprint(x, data.RNG)\n",
        "data.py": "import numpy as np\n\nRNG = np.random.default_rng()\n",
    }
    patch = patched(texts, ("TW102", SCRIPT, "rand"), ("TW103", "data.py", "RNG"))
    assert patch.texts == {
        SCRIPT: texts[SCRIPT].replace("import data\n", "import data\n\nSEED = 42\nnp.random.seed(SEED)\n"),
        "data.py": "import numpy as np\n\nSEED = 42\n\nRNG = np.random.default_rng(SEED)\n",
    }


def test_what_a_module_draws_when_it_is_imported_is_seeded_before() -> None:
    texts = {
        SCRIPT: "import numpy as np\n\nimport data\n\nprint(data.X, np.ones(1))\n",
        "data.py": "import numpy as np\n\nX = np.random.rand(3)\n",
    }
    patch = patched(texts, ("TW102", "data.py", "rand"))
    assert patch.texts == {SCRIPT: texts[SCRIPT].replace("as np\n", "as np\n\nnp.random.seed(42)\n", 1)}


def test_a_program_that_leaves_the_work_to_its_modules_gets_the_import_too() -> None:
    texts = {
        SCRIPT: "import sys\n\nfrom . import data\n\nprint(data.draw(), sys.argv)\n",
        "data.py": "import numpy as np\n\n\ndef draw():\n    return np.random.rand(3)\n",
    }
    patch = patched(texts, ("TW102", "data.py", "rand"))
    assert patch.texts[SCRIPT] == (
        "import sys\n\nimport numpy as np\n\nfrom . import data\n\nnp.random.seed(42)\n\nprint(data.draw(), sys.argv)\n"
    )


def test_a_graph_of_tensorflow_1_is_seeded_beside_the_streams() -> None:
    source = """
        import numpy as np
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
        x = np.random.rand(3)
        w = tf.Variable(tf.random_normal([3]))
        train(x, w)
    """
    patch = patched({SCRIPT: source}, ("TW102", SCRIPT, "rand("), ("TW104", SCRIPT, "random_normal"))
    assert patch.texts[SCRIPT] == program(source).replace(
        "as tf\n\ntf.disable_v2_behavior()\n",
        "as tf\n\nSEED = 42\nnp.random.seed(SEED)\n\ntf.disable_v2_behavior()\ntf.set_random_seed(SEED)\n",
    )


def test_draws_in_a_generator_of_another_file_are_seeded_in_the_program() -> None:
    texts = {
        SCRIPT: "import numpy as np\n\nfrom data import stream\n\ntrain(stream, np.ones(1))\n",
        "data.py": "import numpy as np\n\n\ndef stream():\n    yield np.random.rand(3)\n",
    }
    patch = patched(texts, ("TW204", "data.py", "rand"))
    assert "np.random.seed(42)" in patch.texts[SCRIPT] and "data.py" not in patch.texts


def test_where_nothing_stands_above_the_import_the_module_seeds_itself() -> None:
    texts = {
        SCRIPT: "from . import data\n\nprint(data.X)\n",
        "data.py": "import numpy as np\n\nX = np.random.rand(3)\n",
    }
    patch = patched(texts, ("TW102", "data.py", "rand"))
    assert patch.texts == {"data.py": "import numpy as np\n\nnp.random.seed(42)\n\nX = np.random.rand(3)\n"}
