"""Requests, derived seeds, hash seeds and streams: the parts that need no framework."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinrun.errors import UsageError
from twinrun.frameworks.keras.sources.keras_seeds import keras_seed
from twinrun.protocol.control import Reading
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.registry import controls, parse_pin, source, streams
from twinrun.protocol.seeds import derive
from twinrun.twin.pinning import launch_environment
from twinrun.twin.pins import Seeding
from twinrun.twin.session import current

NAMES = [control.name for control in controls()]
seeds = st.integers(0, 2**64 - 1)
requests = st.builds(
    PinRequest,
    seed=seeds,
    strict=st.booleans(),
    device=st.sampled_from([None, "cpu", "gpu", "gpu:3"]),
    allow=st.sampled_from([(), ("TW406",)]),
    only=st.one_of(st.none(), st.lists(st.sampled_from(NAMES), min_size=1, unique=True).map(tuple)),
    leave_out=st.lists(st.sampled_from(NAMES), unique=True).map(tuple),
    threads=st.one_of(st.none(), st.integers(1, 128)),
    streams=st.dictionaries(st.sampled_from(list(streams())), seeds).map(lambda found: tuple(found.items())),
    reseed=st.booleans(),
)


@given(requests)
def test_a_request_survives_being_written_on_the_command_line_and_as_json(request: PinRequest) -> None:
    assert PinRequest.parse(str(request)) == request
    assert msgspec.json.decode(msgspec.json.encode(request), type=PinRequest) == request


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("", PinRequest()),
        ("7", PinRequest(seed=7)),
        ("strict", PinRequest(strict=True)),
        ("device=cpu", PinRequest(device="cpu")),
        ("allow=TW406", PinRequest(allow=("TW406",))),
        ("7, strict ,threads=1", PinRequest(seed=7, strict=True, threads=1)),
        ("only=op-determinism+tensorflow-seed", PinRequest(only=("op-determinism", "tensorflow-seed"))),
    ],
)
def test_what_a_user_writes_is_understood(text: str, request_: PinRequest) -> None:
    assert PinRequest.parse(text) == request_


@pytest.mark.parametrize(
    "text", ["seven", "-1", "allow=TW101", "device=tpu", "threads=0", "only=luck", "seed=", "²"]
)
def test_an_invalid_value_is_an_error_that_says_what_to_write(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_pin(text)
    assert error.value.hint


def test_leaving_one_control_out_keeps_all_the_others() -> None:
    request = PinRequest().without("op-determinism")
    assert [name for name in NAMES if not request.wants(name)] == ["op-determinism"]
    only_two = PinRequest(only=("op-determinism", "xla")).without("op-determinism")
    assert [name for name in NAMES if only_two.wants(name)] == ["xla"]


@given(seeds, st.text(), st.text())
def test_seeds_for_different_purposes_differ_and_the_same_one_is_always_the_same(
    seed: int, one: str, other: str
) -> None:
    assert derive(seed, one, below=2**63) == derive(seed, one, below=2**63)
    if one != other:
        assert derive(seed, one, below=2**63) != derive(seed, other, below=2**63)


@given(seeds, st.integers(2, 2**32))
def test_a_derived_seed_is_never_zero_and_stays_in_range(seed: int, below: int) -> None:
    assert 1 <= derive(seed, "something", below=below) < below


@given(seeds, st.integers(0, 5))
def test_layers_by_name_get_seeds_that_keras_could_have_drawn(seed: int, turn: int) -> None:
    found = {keras_seed(seed, "weights", name, turn) for name in ("dense", "dense_1", "dense_2")}
    assert len(found) == 3
    assert all(1 <= each < 10**9 for each in found)


def test_the_launch_environment_follows_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_XLA_FLAGS"):
        monkeypatch.delenv(name, raising=False)
    seven, eight = launch_environment(PinRequest(7)), launch_environment(PinRequest(8))
    assert seven["PYTHONHASHSEED"] != eight["PYTHONHASHSEED"]
    assert launch_environment(PinRequest(threads=3))["TF_NUM_INTRAOP_THREADS"] == "3"
    assert launch_environment(PinRequest(threads=3))["OMP_NUM_THREADS"] == "3"
    assert launch_environment(PinRequest(device="cpu"))["CUDA_VISIBLE_DEVICES"] == "-1"
    assert "CUDA_VISIBLE_DEVICES" not in seven
    assert set(launch_environment(PinRequest(only=("hash-seed",)))) == {"PYTHONHASHSEED"}


def test_threads_that_somebody_chose_for_this_machine_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert launch_environment(PinRequest())["OMP_NUM_THREADS"] == "5"
    assert launch_environment(PinRequest(threads=2))["OMP_NUM_THREADS"] == "2"


def test_auto_clustering_is_taken_out_of_the_flags_and_the_rest_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit")
    assert launch_environment(PinRequest())["TF_XLA_FLAGS"] == "--tf_xla_cpu_global_jit"


@pytest.mark.parametrize("seed", [0, 1, 42, 2**32 - 1])
@pytest.mark.parametrize("then", ["", "os.environ['PYTHONHASHSEED'] = '7'"])
def test_the_hash_seed_is_the_one_that_the_interpreter_was_started_with(seed: int, then: str) -> None:
    code = f"import os\n{then}\nfrom twinrun.sources.hash_order import effective_hash_seed as f\nprint(f(({seed},)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(seed)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.one_of(st.integers(0, 5000), st.sampled_from([0, 623, 624, 625, 1248])))
def test_a_stream_shows_whether_it_was_drawn_from_since_its_seed(seed: int, draws: int) -> None:
    before = random.getstate(), np.random.get_state(), dict(current().pins.seedings)
    try:
        random.seed(seed)
        np.random.seed(seed)
        for _ in range(draws):
            random.getrandbits(32)
        if draws:  # NumPy draws a word even for no bytes
            np.random.bytes(4 * draws)
        for stream in ("python-random", "numpy-random"):
            assert read(stream, seed).state == {"seed": seed, "drawn": draws > 0}
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        current().pins.seedings = before[2]


def read(stream: str, seed: int) -> Reading:
    current().pins.seedings[stream] = Seeding(seed, "program")
    (control,) = source(stream).controls
    return control.read(None)
