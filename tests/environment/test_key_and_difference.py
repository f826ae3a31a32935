"""The key holds what may change bits; differences are sorted by what they can do."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinrun.environment import difference
from twinrun.environment.difference import (
    BITS,
    METRICS,
    NOTHING,
    comparable_bitwise,
    differences,
    readable,
)
from twinrun.environment.environment import Environment, EnvironmentKey
from twinrun.environment.key import key_of
from twinrun.environment.verdict import with_environments
from twinrun.findings.catalogue import all_entries
from twinrun.result import CheckResult

FACTS: dict[str, dict[str, Any]] = {
    "python": {"version": "3.11.7", "hash_seed": "0"},
    "platform": {
        "machine": "x86_64",
        "libc": "glibc 2.36",
        "kernel": "6.1",
        "locale": "C.UTF-8",
        "time_zone": "UTC",
    },
    "cpu": {"model": "A CPU", "vector": "avx512_bf16", "vector_in_effect": "avx512_bf16", "usable": 2},
    "gpu": {"count": 0},
    "framework": {
        "name": "tensorflow",
        "version": "2.21.0",
        "build": "v2.21.0",
        "devices": {"kind": "cpu", "count": 1},
        "intra_op_threads": 2,
        "inter_op_threads": 2,
        "op_determinism": True,
        "onednn": True,
        "xla_auto_jit": "",
        "optimizer_options": {},
        "tensor_float_32": True,
        "strategy": {"name": "none", "workers": 1},
        "keras": {"keras": "3.15.1", "backend": "tensorflow", "policy": "float32"},
    },
    "packages": {
        "installed": {"numpy": "2.4.6", "pandas": "2.0", "idle": "1.0"},
        "loaded": {"numpy": "2.4.6", "pandas": "2.0"},
        "origins": {},
    },
    "variables": {},
    "data": {"d.csv": {"bytes": 3, "digest": "aa"}},
    "code": {"git": {"commit": "c" * 40, "dirty": False}, "sources": {"train.py": "11"}, "digest": "99"},
}


def environment(**changes: Any) -> Environment:
    """The facts above with `group__field=value` changed; a double underscore goes one level down."""
    facts = copy.deepcopy(FACTS)
    for path, value in changes.items():
        *groups, last = path.split("__")
        inner: Any = facts
        for group in groups:
            inner = inner[group]
        inner[last] = value
    return Environment(facts, key_of(facts))


HERE = environment()


def test_the_name_is_short_and_readable() -> None:
    assert re.fullmatch(r"tf2\.21-cpu-avx512-2t-det-[0-9a-f]{4}", HERE.name)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"framework__version": "2.20.0"}, "TW501", "tensorflow 2.21.0 against tensorflow 2.20.0"),
        ({"framework__intra_op_threads": 8}, "TW505", "2 against 8"),
        ({"cpu__vector_in_effect": "avx2"}, "TW503", "avx512 against avx2"),
        ({"framework__onednn": False}, "TW504", "on against off"),
        ({"framework__op_determinism": False}, "TW504", "on against off"),
        ({"framework__xla_auto_jit": "2"}, "TW504", "nothing against 2"),
        ({"framework__optimizer_options": {"remapping": False}}, "TW504", "remapping=off"),
        ({"platform__libc": "glibc 2.41"}, "TW501", "glibc 2.36 against glibc 2.41"),
        ({"variables__TF_XLA_FLAGS": "--tf_xla_auto_jit=2"}, "TW504", "TF_XLA_FLAGS"),
        ({"framework__strategy": {"name": "MirroredStrategy", "workers": 2}}, "TW601", "2 workers"),
        (
            {"framework__strategy": {"name": "MirroredStrategy", "workers": 1, "devices": 4}},
            "TW601",
            "4 devices",
        ),
        (
            {"framework__devices": {"kind": "gpu", "models": ["NVIDIA H200"], "count": 1}},
            "TW503",
            "NVIDIA H200",
        ),
    ],
)
def test_what_was_measured_to_change_bits_is_in_the_key(
    change: dict[str, Any], code: str, words: str
) -> None:
    other = environment(**change)
    assert other.key != HERE.key
    assert other.name != HERE.name
    first = differences(HERE, other)[0]
    assert (first.group, first.code) == (BITS, code)
    assert words in first.sentence
    assert not comparable_bitwise(HERE, other)


@pytest.mark.parametrize(
    ("change", "group", "code"),
    [
        ({"framework__inter_op_threads": 8}, NOTHING, "TW505"),
        ({"framework__keras__keras": "3.14.0"}, NOTHING, "TW501"),
        ({"packages__loaded__numpy": "2.3.5"}, METRICS, "TW501"),
        ({"packages__loaded__pandas": "2.1"}, METRICS, "TW501"),
        ({"packages__installed__idle": "1.1"}, NOTHING, "TW501"),
        ({"python__version": "3.12.1"}, METRICS, "TW501"),
        ({"python__hash_seed": "1"}, METRICS, "TW507"),
        ({"platform__time_zone": "Asia/Tokyo"}, METRICS, "TW507"),
        ({"platform__kernel": "6.2"}, NOTHING, "TW503"),
        ({"cpu__model": "Another"}, NOTHING, "TW503"),
        ({"code__sources__train.py": "22"}, METRICS, "TW506"),
        ({"code__git__commit": "d" * 40}, METRICS, "TW506"),
        ({"data__d.csv__digest": "bb"}, METRICS, "TW506"),
        ({"framework__keras__policy": "mixed_bfloat16"}, METRICS, "TW504"),
    ],
)
def test_the_rest_is_evidence_and_leaves_the_key_alone(change: dict[str, Any], group: str, code: str) -> None:
    other = environment(**change)
    assert other.key == HERE.key
    assert comparable_bitwise(HERE, other)
    found = differences(HERE, other)
    if change == {"framework__keras__keras": "3.14.0"}:
        assert found == []  # the package of that name says it, where it is imported
        return
    assert [(each.group, each.code) for each in found] == [(group, code)]


def test_the_same_environment_has_no_difference() -> None:
    assert differences(HERE, environment()) == []


def test_a_fact_that_could_not_be_read_never_matches() -> None:
    blind = environment(framework__onednn="could not read: no symbol")
    assert blind.key["onednn"] == "unread"
    assert blind.key != HERE.key
    assert not comparable_bitwise(blind, blind)
    assert "could not be read" in differences(HERE, blind)[0].sentence


def test_every_code_is_in_the_catalogue() -> None:
    of_key = {code for code, _, _ in difference._KEY.values()}
    of_others = {rule[1] for _, rule in difference._OTHERS if rule is not None}
    assert of_key | of_others <= {entry.code for entry in all_entries()}
    assert len(of_key | of_others) == 8


def test_a_difference_becomes_a_finding_with_both_sides_as_evidence() -> None:
    finding = differences(HERE, environment(framework__intra_op_threads=8))[0].as_finding()
    assert finding.code == "TW505"
    assert finding.name == "thread-settings"
    assert "2 against 8" in finding.evidence[0]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=12), json_values, max_size=8))
def test_the_name_of_any_key_is_fit_for_a_folder(facts: dict[str, Any]) -> None:
    name = EnvironmentKey(facts).name
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name) and ".." not in name and len(name) < 200


@given(st.dictionaries(st.text(max_size=12), json_values, max_size=8))
def test_the_digest_survives_json_and_does_not_depend_on_order(facts: dict[str, Any]) -> None:
    turned = dict(reversed(list(json.loads(json.dumps(facts)).items())))
    assert EnvironmentKey(turned).digest == EnvironmentKey(facts).digest


@given(
    st.dictionaries(st.sampled_from(["framework", "vector", "libc", "new"]), json_values, max_size=4),
    st.dictionaries(st.sampled_from(["framework", "vector", "libc", "new"]), json_values, max_size=4),
)
def test_something_can_change_bits_exactly_when_the_keys_differ(a: dict[str, Any], b: dict[str, Any]) -> None:
    left, right = (EnvironmentKey({k: v for k, v in side.items() if v is not None}) for side in (a, b))
    found = differences(Environment({}, left), Environment({}, right))
    assert any(each.group == BITS for each in found) == (left != right)


@given(json_values)
def test_nothing_from_a_recording_reaches_a_terminal_as_a_control_character(value: Any) -> None:
    assert readable(value).isprintable() or readable(value) == ""


def _compared(verdict: str, contract: str = "bitwise", **change: Any) -> CheckResult:
    result = CheckResult("train.py", verdict, contract=contract)
    return with_environments(result, HERE.as_json(), environment(**change).as_json())


def test_bits_that_differ_between_environments_are_incomparable_with_the_difference_first() -> None:
    found = _compared("diverges", framework__intra_op_threads=8, **{"code__sources__train.py": "22"})
    assert found.verdict == "undecided"
    assert found.reason is not None and found.reason.startswith(
        "incomparable bitwise: the intra-op thread count"
    )
    assert [finding.code for finding in found.findings] == ["TW505"]


def test_a_tolerance_is_judged_all_the_same_and_equal_bits_are_equal() -> None:
    assert _compared("diverges", "rtol=1e-3", framework__intra_op_threads=8).verdict == "diverges"
    equal = _compared("repeats", framework__intra_op_threads=8)
    assert equal.verdict == "repeats"
    assert "equal although the environments differ" in equal.notes[0]


def test_in_one_environment_changed_code_and_data_are_suspected() -> None:
    found = _compared("diverges", **{"code__sources__train.py": "22", "data__d.csv__digest": "bb"})
    assert found.verdict == "diverges"
    assert [(finding.code, finding.file) for finding in found.findings] == [
        ("TW506", "train.py"),
        ("TW506", None),
    ]


def test_recordings_without_an_environment_are_compared_as_they_are() -> None:
    assert with_environments(CheckResult("p", "diverges"), {}, {}).verdict == "diverges"
