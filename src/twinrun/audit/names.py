"""Dotted names: one spelling for what has several (`tf.keras.layers.Dense` is `keras.layers.Dense`)."""

from __future__ import annotations

from functools import lru_cache

# Longest first. The right-hand side is the spelling that the finding families use.
_SAME = (
    ("tensorflow.keras.layers.experimental.preprocessing.", "keras.layers."),
    ("keras.layers.experimental.preprocessing.", "keras.layers."),
    ("keras.layers.experimental.", "keras.layers."),
    ("tensorflow.python.keras.", "keras."),
    ("tensorflow.compat.v2.", "tensorflow."),
    ("tensorflow._api.v2.", "tensorflow."),
    ("tensorflow.compat.v1.keras.", "keras."),
    ("tensorflow.keras.", "keras."),
    ("tf_keras.", "keras."),
    ("keras.api.", "keras."),
    ("keras._tf_keras.keras.", "keras."),
    ("keras.preprocessing.image.image_dataset_from_directory", "keras.utils.image_dataset_from_directory"),
    ("keras.preprocessing.image_dataset_from_directory", "keras.utils.image_dataset_from_directory"),
    ("keras.preprocessing.text_dataset_from_directory", "keras.utils.text_dataset_from_directory"),
    (
        "keras.preprocessing.timeseries_dataset_from_array",
        "keras.utils.timeseries_dataset_from_array",
    ),
    ("keras.src.legacy.preprocessing.image.", "keras.preprocessing.image."),
    ("keras.engine.", "keras."),
    ("keras.models.Sequential", "keras.Sequential"),
    ("keras.models.Model", "keras.Model"),
    ("keras.layers.Layer", "keras.Layer"),
    ("keras.layers.Input", "keras.Input"),
    ("keras.utils.Sequence", "keras.utils.PyDataset"),
    ("keras.experimental.", "keras."),
    ("tensorflow.initializers.", "keras.initializers."),
    ("tensorflow.optimizers.", "keras.optimizers."),
    ("tensorflow.data.experimental.AUTOTUNE", "tensorflow.data.AUTOTUNE"),
    ("tensorflow.data.experimental.sample_from_datasets", "tensorflow.data.Dataset.sample_from_datasets"),
    ("tensorflow.data.experimental.choose_from_datasets", "tensorflow.data.Dataset.choose_from_datasets"),
    ("tensorflow.data.experimental.RandomDataset", "tensorflow.data.Dataset.random"),
    ("tensorflow.distribute.experimental.", "tensorflow.distribute."),
    ("tensorflow.compat.v1.data.", "tensorflow.data."),
    ("tensorflow.compat.v1.set_random_seed", "tensorflow.random.set_seed"),
    ("tensorflow.compat.v1.random.set_random_seed", "tensorflow.random.set_seed"),
    ("tensorflow.set_random_seed", "tensorflow.random.set_seed"),
    ("tensorflow.random.set_random_seed", "tensorflow.random.set_seed"),
    ("tensorflow.compat.v1.random_shuffle", "tensorflow.random.shuffle"),
    ("tensorflow.compat.v1.random_uniform", "tensorflow.random.uniform"),
    ("tensorflow.compat.v1.random_normal", "tensorflow.random.normal"),
    ("tensorflow.compat.v1.truncated_normal", "tensorflow.random.truncated_normal"),
    ("tensorflow.compat.v1.random.", "tensorflow.random."),
    ("tensorflow.random.experimental.", "tensorflow.random."),
    ("tensorflow.gfile.", "tensorflow.io.gfile."),
    ("tensorflow.compat.v1.gfile.", "tensorflow.io.gfile."),
    ("numpy.random.mtrand.", "numpy.random."),
)


@lru_cache(maxsize=20_000)
def canonical(path: str) -> str:
    """The one spelling of a dotted name."""
    for _ in range(4):  # a spelling may need several steps: compat.v2, then keras
        for old, new in _SAME:
            if path.startswith(old):
                path = new + path[len(old) :]
                break
            if path + "." == old:
                path = new.rstrip(".")
                break
        else:
            return path
    return path


def root(path: str) -> str:
    """The top package of a dotted name."""
    return path.partition(".")[0]


def last(path: str) -> str:
    return path.rpartition(".")[2]


def absolute(package: str, module: str | None, level: int) -> str:
    """The dotted name that `from ..module import x` in `package` means."""
    if level == 0:
        return module or ""
    base = package.split(".") if package else []
    base = base[: len(base) - (level - 1)] if level > 1 else base
    return ".".join([*base, *([module] if module else [])])
