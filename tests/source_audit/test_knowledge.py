"""The table of what is known about functions of other libraries, and the one spelling of their names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinrun.knowledge.functions import TABLE, Kind, canonical, is_kind, known, known_method


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("tensorflow.keras.layers.Dense", "keras.layers.Dense"),
        ("tensorflow.compat.v2.keras.layers.Dense", "keras.layers.Dense"),
        ("tf_keras.layers.Dense", "keras.layers.Dense"),
        ("tf_keras", "keras"),
        ("tensorflow.keras", "keras"),
        ("tensorflow.keras.models.Sequential", "keras.Sequential"),
        ("tensorflow.keras.layers.experimental.preprocessing.RandomFlip", "keras.layers.RandomFlip"),
        ("tensorflow.compat.v1.set_random_seed", "tensorflow.random.set_seed"),
        ("tensorflow.random.experimental.Generator", "tensorflow.random.Generator"),
        ("tensorflow.keras.utils.Sequence", "keras.utils.PyDataset"),
        ("numpy.random.rand", "numpy.random.rand"),
        ("kerastuner.Tuner", "kerastuner.Tuner"),
    ],
)
def test_names_with_several_spellings_have_one_meaning(written: str, meant: str) -> None:
    assert canonical(written) == meant


@given(
    st.lists(
        st.sampled_from(["a", "b", "keras", "tensorflow", "compat", "v2", "random", "layers"]),
        min_size=1,
        max_size=6,
    )
)
def test_one_spelling_stays_as_it_is(parts: list[str]) -> None:
    once = canonical(".".join(parts))
    assert canonical(once) == once


def test_every_name_in_the_table_is_the_canonical_one() -> None:
    old = {"keras.utils.Sequence"}  # kept for programs that were parsed with another spelling
    assert [name for name in TABLE if canonical(name) != name and name not in old] == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("numpy.random.rand", Kind.DRAW),
        ("numpy.random.some_new_distribution", Kind.DRAW),
        ("numpy.random.default_rng", Kind.GENERATOR),
        ("tensorflow.image.random_flip_left_right", Kind.DRAW),
        ("scipy.stats.norm.rvs", Kind.DRAW),
        ("secrets.token_bytes", Kind.ENTROPY),
        ("keras.layers.RandomSomethingNew", Kind.LAYER),
        ("keras.random.SeedGenerator", Kind.GENERATOR),
    ],
)
def test_a_function_is_known_by_its_name_or_by_a_rule(name: str, kind: Kind) -> None:
    assert is_kind(name, kind)


@pytest.mark.parametrize(
    "name",
    [
        "numpy.random.Generator",
        "numpy.random.get_state",
        "tensorflow.random.stateless_uniform",
        "tensorflow.random.set_global_generator",
        "tensorflow.image.resize",
        "my.random.rand",
        None,
    ],
)
def test_what_does_not_draw_is_not_taken_to(name: str | None) -> None:
    assert known(name) is None


def test_a_method_is_known_by_its_class_its_package_or_its_name_alone() -> None:
    shuffle = known_method("shuffle", "tensorflow.data.Dataset")
    assert shuffle is not None and shuffle.seed is not None and shuffle.seed.position == 1
    sample = known_method("sample", "pandas.DataFrame")
    assert sample is not None and sample.seed is not None and sample.seed.name == "random_state"
    fit = known_method("fit")
    assert fit is not None and fit.kind is Kind.TRAIN
    assert known_method("sample", "xarray.Dataset") is None
