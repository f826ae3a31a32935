"""Which runs a spread is made of, and what each is pinned to."""

from __future__ import annotations

import pytest

from twinrun.errors import UsageError
from twinrun.launch.program import Program
from twinrun.protocol import PinRequest
from twinrun.protocol.registry import controls, parse_pin
from twinrun.spread.plan import (
    ALL,
    DATA,
    IMPLEMENTATION,
    REPEAT,
    RunKey,
    SpreadOptions,
    first_looks,
    parse_sources,
    the_rest,
)

OPTIONS = SpreadOptions(Program("train.py"), 4, ("weights", DATA), request=PinRequest(seed=7))


def pin(source: str, number: int) -> PinRequest:
    request = OPTIONS.pin_of(RunKey(source, number)).request
    assert parse_pin(str(request)) == request  # it can be written down, and asked for again
    return request


def test_every_stream_follows_the_seed_of_the_run() -> None:
    assert [pin(ALL, number).seed for number in range(3)] == [7, 8, 9]
    assert pin(ALL, 2).seed_of("weights") == pin(ALL, 2).seed_of("pipeline") == 9


def test_a_source_that_is_varied_alone_leaves_all_others_as_they_are() -> None:
    varied = pin("weights", 2)
    assert (varied.seed, varied.seed_of("weights"), varied.seed_of("dropout")) == (7, 9, 7)
    data = pin(DATA, 1)
    assert {data.seed_of(name) for name in ("pipeline", "numpy-random", "python-random")} == {8}
    assert data.seed_of("weights") == data.seed_of("tensorflow-seed") == 7


def test_seeds_that_the_program_sets_are_replaced_in_every_run() -> None:
    assert all(pin(source, 0).reseed for source in (ALL, "weights", IMPLEMENTATION, REPEAT))


def test_for_the_implementation_the_seeds_are_pinned_and_nothing_else() -> None:
    request = pin(IMPLEMENTATION, 3)
    seeded = {control.name for control in controls() if control.streams}
    assert {control.name for control in controls() if request.wants(control.name)} == seeded
    assert "op-determinism" not in seeded and {"numpy-random", "keras-seed", "tensorflow-seed"} <= seeded
    assert request.seed == 7


def test_no_run_is_made_twice() -> None:
    keys = {OPTIONS.same_as(key) for key in (*first_looks(OPTIONS), *the_rest(OPTIONS, ()))}
    assert len(keys) == 1 + 1 + 3 * 3  # the first, the first again, and three more of each group
    assert OPTIONS.same_as(RunKey(IMPLEMENTATION, 0)) == RunKey(IMPLEMENTATION, 0)


def test_a_source_that_is_not_used_has_no_more_runs() -> None:
    assert {key.source for key in the_rest(OPTIONS, ["weights"])} == {ALL, DATA}


def test_an_option_of_the_program_gets_the_seed_of_the_run() -> None:
    options = SpreadOptions(Program("train.py", ("--epochs", "1")), seed_option="--seed")
    assert options.program_of(RunKey(ALL, 3)).arguments == ("--epochs", "1", "--seed", "45")
    assert options.program_of(RunKey("weights", 3)).arguments == ("--epochs", "1", "--seed", "42")
    joined = SpreadOptions(Program("train.py"), seed_option="seed=")
    assert joined.program_of(RunKey(ALL, 1)).arguments == ("seed=43",)


def test_an_unknown_source_is_an_error_that_names_those_there_are() -> None:
    assert parse_sources(" weights,data , weights") == ("weights", "data")
    with pytest.raises(UsageError) as error:
        parse_sources("luck")
    assert error.value.hint and "dropout" in error.value.hint


@pytest.mark.parametrize("text", ["streams=luck:1", "streams=weights", "streams=weights:x"])
def test_an_invalid_stream_in_a_pin_is_an_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_pin(text)
