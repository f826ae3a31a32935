"""Runs of several machines, judged: one verdict for each environment key, and how the keys compare."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nodes import gathered, made

from support import PLAIN, write
from twinrun.engines.check import _Runs
from twinrun.engines.gathered import NodeRun, judge_runs
from twinrun.engines.node import MadeRun, Order
from twinrun.engines.ray_cluster import Done
from twinrun.errors import ClusterError
from twinrun.launch.check import check_folder
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.program import Program
from twinrun.render.text import as_text
from twinrun.result import CheckResult, Reason

pytestmark = pytest.mark.usefixtures("tinynet")
PROGRAM = Program("train.py", ("1",))


@pytest.fixture(scope="module")
def recorded(tinynet: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, MadeRun]:
    """By the number that the program trains with; one that fails; and one of another environment."""
    work, tmp = tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("tmp")
    write(
        work, PLAIN + "number = int(sys.argv[1])\ntrain(3, batch=lambda step, x: x * number)\n" + "1 / number"
    )
    (work / "train.py").write_text("import sys\n" + (work / "train.py").read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp))
        patch.chdir(work)
        found = {number: made(Program("train.py", (number,))) for number in ("1", "2", "0")}
        patch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")  # part of the environment key
        return {**found, "1 elsewhere": made(Program("train.py", ("1",)))}


class Cluster:
    """Nodes of which some make a run, and then one cannot."""

    nodes, unfinished = 2, 1

    def __init__(self, *runs: MadeRun) -> None:
        self._runs = runs
        self.given_up: dict[int, str] = {}

    def send(self, parcel: bytes) -> None: ...

    def submit(self, *_: object) -> None: ...

    def done(self, *_: object) -> Iterator[Done]:
        for number, run in enumerate(self._runs):
            yield Done(number, f"id {number}", run)
        raise ClusterError("a node of the cluster has no Twinrun", hint="pip install it there")


@pytest.mark.parametrize(
    ("numbers", "verdict"), [(("1", "1"), "undecided"), (("1", "2"), "diverges"), ((), None)]
)
def test_a_node_that_cannot_make_a_run_leaves_what_others_made(
    recorded: dict[str, MadeRun], tmp_path: Path, numbers: tuple[str, ...], verdict: str | None
) -> None:
    program = Program(str(write(tmp_path, "")))
    cluster: Any = Cluster(*(recorded[number] for number in numbers))
    with check_folder(CheckOptions(program, runs=4, folder=tmp_path / "kept")) as place:
        runs = _Runs(CheckOptions(program, runs=4), place, cluster, Screen())
        if verdict is None:  # as the first run, so all
            with pytest.raises(ClusterError, match="has no Twinrun"):
                runs.check()
            return
        result = runs.check()
    assert (result.verdict, result.runs) == (verdict, 2)
    if verdict == "undecided":
        assert result.reason == (
            "a node of the cluster has no Twinrun (pip install it there); 2 of 4 runs had ended"
        )


class Nodes(Cluster):
    """Every run is made at once, by the node that must make it or one of its own; those from `lost` on are lost."""

    unfinished = 0

    def __init__(self, *runs: MadeRun, lost: int) -> None:
        super().__init__(*runs)
        self._lost = lost
        self._new: list[tuple[int, str | None]] = []
        self.submitted: list[tuple[int, str | None]] = []

    def submit(self, number: int, order: Order, node_id: str | None = None) -> None:
        self._new.append((number, node_id))
        self.submitted.append((number, node_id))

    def done(self, *_: object) -> Iterator[Done]:
        while self._new:
            number, node_id = self._new.pop(0)
            if number < self._lost:
                yield Done(number, node_id or f"node {number}", self._runs[number])
            else:
                self.given_up[number] = "its node was lost"


@pytest.mark.parametrize(
    ("lost", "note"),
    [
        (4, "run D was added on "),
        (3, "run D, added where one was alone in its environment, was lost (its node was lost)"),
    ],
)
def test_one_more_run_is_made_where_one_is_alone_in_its_environment(
    recorded: dict[str, MadeRun], tmp_path: Path, lost: int, note: str
) -> None:
    made_runs = [recorded[each] for each in ("1", "1", "1 elsewhere", "1 elsewhere")]
    cluster: Any = Nodes(*made_runs, lost=lost)
    options = CheckOptions(Program(str(write(tmp_path, ""))), runs=3, folder=str(tmp_path / "kept"))
    with check_folder(options) as place:
        result = _Runs(options, place, cluster, Screen()).check()
    assert cluster.submitted == [(0, None), (1, None), (2, None), (3, "node 2")]
    assert result.verdict == ("repeats" if lost == 4 else "undecided")
    (found,) = (each for each in result.notes if "run D" in each)
    assert found.startswith(note), found


def judge(*runs: NodeRun, unfinished: Reason | None = None) -> CheckResult:
    return judge_runs(CheckOptions(PROGRAM, runs=len(runs)), runs, unfinished)


def test_equal_runs_repeat(recorded: dict[str, MadeRun], tmp_path: Path) -> None:
    result = judge(*(gathered(tmp_path, name, recorded["1"], f"node-{name}") for name in "ABC"))
    assert (result.verdict, result.runs, result.steps_compared) == ("repeats", 3, 3)
    (key,) = result.by_environment
    assert (key.verdict, key.runs, key.nodes) == ("repeats", ("A", "B", "C"), ("node-A", "node-B", "node-C"))
    assert "what the runs printed, and the files that they left, were not compared" in result.notes
    assert len(result.recordings) == 3


def test_one_run_that_differs_is_named(recorded: dict[str, MadeRun], tmp_path: Path) -> None:
    runs = [gathered(tmp_path, name, recorded["2" if name == "C" else "1"]) for name in "ABCD"]
    result = judge(*runs)
    assert (result.verdict, result.first_difference and result.first_difference.phase) == (
        "diverges",
        "batch",
    )
    assert result.by_environment[0].differing == ("C",)
    assert "4 runs on node-1, 1 of them different from A" in as_text(result)


def test_each_key_has_a_verdict_of_its_own(recorded: dict[str, MadeRun], tmp_path: Path) -> None:
    """Between keys other bits are to be expected, and no divergence."""
    old = [gathered(tmp_path, name, recorded["1"], "old", vector="avx2") for name in "ABC"]
    new = [gathered(tmp_path, name, recorded["2"], "new", vector="avx512") for name in "DE"]
    result = judge(*old, *new)
    assert result.verdict == "repeats"
    assert result.headline.startswith(
        ": 5 runs in 2 environments, 3 steps compared, equal bit for bit in each"
    )
    first, second = result.by_environment
    assert [(key.verdict, key.runs) for key in (first, second)] == [
        ("repeats", ("A", "B", "C")),
        ("repeats", ("D", "E")),
    ]
    assert first.against_first == "" and second.against_first.startswith("different from step 1 on: ")
    assert "avx2 against avx512" in second.against_first
    assert f"against {first.environment}: different from step 1 on" in as_text(result)


def test_a_key_that_diverges_decides(recorded: dict[str, MadeRun], tmp_path: Path) -> None:
    old = [gathered(tmp_path, name, recorded["1"], "old", vector="avx2") for name in "ABC"]
    new = [
        gathered(tmp_path, name, recorded[number], "new", vector="avx512")
        for name, number in (("D", "1"), ("E", "2"))
    ]
    result = judge(*old, *new)
    assert result.verdict == "diverges"
    assert [key.verdict for key in result.by_environment] == ["repeats", "diverges"]
    assert result.by_environment[1].against_first == "equal bit for bit"


def test_a_single_run_of_a_key_is_not_said_to_repeat(recorded: dict[str, MadeRun], tmp_path: Path) -> None:
    old = [gathered(tmp_path, name, recorded["1"], "old", vector="avx2") for name in "AB"]
    result = judge(*old, gathered(tmp_path, "C", recorded["1"], "new", vector="avx512"))
    assert (result.verdict, result.reason_kind) == ("undecided", "not-comparable")
    assert [key.verdict for key in result.by_environment] == ["repeats", "undecided"]


def test_nodes_whose_key_is_not_known_are_not_taken_for_alike(
    recorded: dict[str, MadeRun], tmp_path: Path
) -> None:
    runs = [
        gathered(tmp_path, name, recorded[number], node, vector="unread")
        for name, number, node in (("A", "1", "one"), ("B", "1", "one"), ("C", "2", "two"), ("D", "2", "two"))
    ]
    assert [key.verdict for key in judge(*runs).by_environment] == ["repeats", "repeats"]


def test_a_run_that_failed_leaves_it_undecided(recorded: dict[str, MadeRun], tmp_path: Path) -> None:
    runs = [gathered(tmp_path, name, recorded["0" if name == "B" else "1"], f"node-{name}") for name in "ABC"]
    result = judge(*runs)
    assert (result.verdict, result.reason_kind) == ("undecided", "crashed")
    assert result.reason == "run B on node-B: the program ended with exit code 1"
    assert "ZeroDivisionError" in str(result.output_tail)


def test_a_run_that_failed_beside_others_that_differ_is_in_a_note(
    recorded: dict[str, MadeRun], tmp_path: Path
) -> None:
    runs = [
        gathered(tmp_path, name, recorded[number], f"node-{name}")
        for name, number in zip("ABC", "102", strict=True)
    ]
    result = judge(*runs, unfinished=Reason("timeout", "not all runs ended within 5 s"))
    assert result.verdict == "diverges"
    assert "run B on node-B: the program ended with exit code 1" in result.notes
    assert "not all runs ended within 5 s" in result.notes


def test_runs_that_are_missing_leave_it_undecided_unless_others_differ(
    recorded: dict[str, MadeRun], tmp_path: Path
) -> None:
    why = Reason("timeout", "not all runs ended within 5 s")
    runs = [gathered(tmp_path, name, recorded["2" if name == "C" else "1"]) for name in "ABC"]
    assert judge(*runs[:2], unfinished=why).label == "undecided[timeout]"
    assert judge(unfinished=why).label == "undecided[timeout]"
    assert judge(*runs, unfinished=why).verdict == "diverges"
