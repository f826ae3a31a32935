"""What can be wrong with a request for a cluster, before anything is run, and runs that are lost. None of it needs Ray."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support import twinrun, write
from twinrun.engines.check import check_on_ray
from twinrun.engines.node import Order
from twinrun.engines.ray_cluster import ATTEMPTS, Lost, RayCluster, RayRequest, connected
from twinrun.errors import ClusterError, UsageError
from twinrun.launch.program import Program
from twinrun.launch.run import RunOptions
from twinrun.settings import check_options


class Nodes:
    """As much of Ray as is asked about what there is."""

    def __init__(self, *resources: dict[str, float]) -> None:
        self._nodes = [{"Alive": True, "Resources": each} for each in resources]

    def nodes(self) -> list[dict[str, Any]]:
        return [*self._nodes, {"Alive": False, "Resources": {"CPU": 64.0, "GPU": 8.0}}]


def test_ray_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match="which is not installed") as refused, connected(RayRequest()):
        pass
    assert refused.value.hint == "pip install 'twinrun[ray]'"


def test_an_address_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twinrun.engines.ray_cluster._ray", object)
    with socket.socket() as held:  # nobody else gets the port, and nobody listens there
        held.bind(("127.0.0.1", 0))
        free = f"127.0.0.1:{held.getsockname()[1]}"
        for address, message in ((free, f"no Ray cluster at {free}"), ("head", "'head' is not the address")):
            with pytest.raises(ClusterError, match=message), connected(RayRequest(address)):
                pass


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class NodeDiedError(RayError):
    pass


class RuntimeEnvSetupError(RayError):
    pass


class Tasks(Nodes):
    """Ray as far as runs are made by it: `outcomes` are what becomes of each task, as they are submitted."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
    util = SimpleNamespace(
        scheduling_strategies=SimpleNamespace(
            NodeAffinitySchedulingStrategy=lambda node, soft: ("only on", node, soft)
        )
    )

    def __init__(self, *outcomes: Any) -> None:
        super().__init__({"CPU": 1.0})
        self._outcomes = list(outcomes)
        self.placed: list[Any] = []  # of each task

    def put(self, parcel: bytes) -> bytes:
        return parcel

    def remote(self, _: Any) -> Any:
        def options(*, scheduling_strategy: Any, **_: Any) -> Any:
            return SimpleNamespace(remote=lambda *_: self._start(scheduling_strategy))

        return SimpleNamespace(options=options)

    def _start(self, where: Any) -> int:
        self.placed.append(where)
        return len(self.placed) - 1

    def wait(self, tasks: list[int], **_: Any) -> tuple[list[int], list[int]]:
        return tasks[:1], tasks[1:]

    def get(self, task: int) -> Any:
        if isinstance(self._outcomes[task], Exception):
            raise self._outcomes[task]
        return self._outcomes[task]


@pytest.fixture
def order(tmp_path: Path) -> Order:
    return Order(RunOptions(Program("train.py")), (tmp_path,), tmp_path, "digest")


def test_a_run_that_is_lost_is_made_again(order: Order) -> None:
    tasks = Tasks(NodeDiedError(), ("node 1", "second"), RuntimeEnvSetupError(), ("node 2", "first"))
    cluster = RayCluster(tasks, RayRequest())
    for number in range(2):
        cluster.submit(number, order)
    found = [(done.number, done.node_id, done.made, done.lost) for done in cluster.done()]
    assert found == [
        (1, "node 1", "second", ()),
        (0, "node 2", "first", ("its node was lost", "Ray reported RuntimeEnvSetupError")),
    ]
    assert (tasks.placed, cluster.unfinished, cluster.given_up) == (["SPREAD"] * 4, 0, {})


def test_a_run_that_is_lost_again_and_again_is_given_up(order: Order) -> None:
    tasks = Tasks(*[NodeDiedError()] * ATTEMPTS)
    cluster = RayCluster(tasks, RayRequest())
    cluster.submit(4, order)
    with pytest.raises(Lost, match=f"^run 5 was lost {ATTEMPTS} times: its node was lost$"):
        list(cluster.done())
    assert len(tasks.placed) == ATTEMPTS


def test_a_run_that_no_node_is_left_for_is_given_up(order: Order) -> None:
    cluster = RayCluster(Tasks(NodeDiedError()), RayRequest(cpus=2))
    cluster.submit(0, order)
    with pytest.raises(Lost, match="no node is left that has 2 CPUs: its node was lost"):
        list(cluster.done())


def test_a_run_that_one_node_alone_can_make_is_made_there_or_not_at_all(order: Order) -> None:
    tasks = Tasks(NodeDiedError())
    cluster = RayCluster(tasks, RayRequest())
    cluster.submit(2, order, "node 7")
    assert list(cluster.done()) == []
    assert tasks.placed == [("only on", "node 7", False)]
    assert cluster.given_up == {2: "its node was lost"}


def test_nodes_that_have_too_little() -> None:
    nodes = Nodes({"CPU": 4.0}, {"CPU": 1.0, "GPU": 2.0})
    RayCluster(nodes, RayRequest(cpus=4)).must_fit()
    RayCluster(nodes, RayRequest(gpus=2)).must_fit()
    with pytest.raises(ClusterError, match="no node of the cluster has 4 CPUs and 1 GPU") as refused:
        RayCluster(nodes, RayRequest(cpus=4, gpus=1)).must_fit()
    assert "nodes with 1 CPU and 2 GPUs; 4 CPUs" in str(refused.value.hint)


@pytest.mark.parametrize(
    "options",
    [{"workers": 2}, {"vary": "all"}, {"freeze": ("clock",)}, {"contract": "output"}, {"sequential": True}],
)
def test_what_needs_twins_beside_each_other_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    asked = check_options(Program(str(tmp_path / "train.py")), **options)
    with pytest.raises(UsageError, match="does not work with --engine ray"):
        check_on_ray(asked, RayRequest())


def test_options_of_a_cluster_need_the_engine(tmp_path: Path) -> None:
    program = write(tmp_path, "")
    for words, message in (
        (("--gpus-per-run", "1"), "error: --gpus-per-run requires --engine ray\nhint: add --engine ray\n"),
        (("--engine", "slurm"), "'slurm'"),
    ):
        answer = twinrun("check", *words, program)
        assert answer.code == 2 and message in answer.message
