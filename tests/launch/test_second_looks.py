"""When a check looks a second time: decided by what the twins report of themselves."""

from __future__ import annotations

import tempfile
from typing import Any

import msgspec
import pytest

from twinrun.findings.finding import Finding
from twinrun.launch.second_looks import changed_inputs, resource_failure, shared_inputs
from twinrun.protocol.event import Event, Use
from twinrun.protocol.facts import Facts, Failure, Inputs
from twinrun.protocol.intervention import Stress, Vary
from twinrun.protocol.registry import sources


def twin(paths: list[str] | None = None, fresh: list[str] | None = None) -> Facts:
    return Facts(inputs=Inputs(paths=paths or [], fresh=fresh or []))


def event(source: str, action: str, call: str, detail: msgspec.Struct | None = None) -> Event:
    kept = None if detail is None else msgspec.to_builtins(detail)
    return Event(
        source=source, action=action, file="/home/u/train.py", line=7, function="f", call=call, detail=kept
    )


def asked_for(found: Event) -> list[tuple[str, Any]]:
    looks = [look for source in sources() if (look := source.second_look([found])) is not None]
    return [(look.why, look.intervention) for look in looks]


def test_a_file_that_was_there_before_the_twins_is_not_shared() -> None:
    assert shared_inputs([twin(["/data/x.csv"])] * 2) == []


def test_a_file_written_while_a_twin_ran_and_read_by_it_is_shared_though_the_other_has_not_come_to_it() -> (
    None
):
    read = twin(["/home/u/best.h5"], ["/home/u/best.h5"])
    assert shared_inputs([read, twin()]) == ["/home/u/best.h5"]


def test_a_file_in_a_temporary_folder_is_shared_only_where_both_know_it() -> None:
    mine, ours = f"{tempfile.gettempdir()}/tmp1/x", f"{tempfile.gettempdir()}/cache/x"
    assert shared_inputs([twin([mine, ours], [mine, ours]), twin([ours])]) == [ours]


def test_a_temporary_folder_that_each_twin_names_anew_is_no_input_of_a_later_run() -> None:
    here, there, ours = (
        f"{tempfile.gettempdir()}/{name}" for name in ("tmp1/assets", "tmp2/assets", "cache")
    )
    twins = [Facts(inputs=Inputs(changed=[each, ours, "/home/u/state"])) for each in (here, there)]
    assert changed_inputs(twins) == ["/home/u/state", ours]
    read, untouched = Facts(inputs=Inputs(paths=[ours], changed=[ours])), Facts(inputs=Inputs(paths=[ours]))
    assert changed_inputs([read, untouched]) == [ours]


def test_twins_that_reported_nothing_share_nothing() -> None:
    assert (shared_inputs([]), shared_inputs([Facts(), Facts()]), changed_inputs([Facts()])) == ([], [], [])


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (event("clock", "read", "time.time"), "time.time is read at train.py:7"),
        (event("clock", "date", "date.today"), "date.today is read at train.py:7"),
        (event("clock", "read", "time.perf_counter"), None),  # measures, and tells no time of day
        (event("numpy-random", "draw", "np.random.rand"), None),
    ],
)
def test_only_a_program_that_reads_the_time_of_day_gets_another(found: Event, why: str | None) -> None:
    assert asked_for(found) == ([] if why is None else [(why, Vary("clock"))])


def stage(deterministic: bool | None, *uses: Use) -> Event:
    from twinrun.frameworks.tensorflow.sources.parallel_map import Stage

    return event(
        "parallel-map", "stage", "Dataset.map(f)", Stage(deterministic=deterministic, uses=list(uses))
    )


@pytest.mark.parametrize(
    ("found", "races"),
    [
        (stage(False), True),
        (stage(None, Use("tf-random", "draw", "f", 1, "uniform")), True),
        (stage(None), False),
        (event("loaders", "start", "Rows"), True),
        (event("threads", "start", "work"), True),
        (event("completion-order", "take", "as_completed"), True),
        (event("shuffle", "stage", "Dataset.shuffle"), False),
    ],
)
def test_only_what_may_race_is_put_under_stress(found: Event, races: bool) -> None:
    assert [intervention for _, intervention in asked_for(found)] == ([Stress()] if races else [])


@pytest.mark.parametrize(
    ("kinds", "text", "shared"),
    [
        (["FileExistsError", "OSError", "Exception"], "[Errno 17] File exists: 'out'", True),
        (["ResourceExhaustedError", "OpError", "Exception"], "OOM when allocating tensor", True),
        (["InvalidArgumentError", "OpError", "Exception"], "part-0 did not exist. NOT_FOUND: c/part", True),
        (["ValueError", "Exception"], "shapes (3,) and (4,) not aligned", False),
        (["KeyError", "LookupError", "Exception"], "'loss'", False),
        (["ValueError", "Exception"], "File not found: filepath=best.keras", True),
        (["KeyError", "LookupError", "Exception"], "column 'price' not found", False),
    ],
)
def test_a_failure_on_what_twins_share_is_told_from_the_programs_own(
    kinds: list[str], text: str, shared: bool
) -> None:
    assert bool(resource_failure([Facts(), Facts(failure=Failure(kinds, text))])) is shared


def test_an_op_that_is_refused_is_no_resource_of_the_other_twin() -> None:
    failure = Failure(["FailedPreconditionError"], "Timestamp cannot be called when determinism is enabled")
    refused = Finding("TW406", "no-deterministic-kernel", "it refuses")
    assert resource_failure([Facts(failure=failure)]) == "FailedPreconditionError"
    assert resource_failure([Facts(failure=failure, findings=[refused])] * 2) is None
