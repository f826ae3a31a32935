"""What can be wrong with a request for a cluster, before anything is run. None of it needs Ray."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from support import twinrun, write
from twinrun.engines.check import check_on_ray
from twinrun.engines.ray_cluster import RayCluster, RayRequest, connected
from twinrun.errors import ClusterError, UsageError
from twinrun.launch.program import Program
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
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = f"127.0.0.1:{server.getsockname()[1]}"
    for address, message in ((free, f"no Ray cluster at {free}"), ("head", "'head' is not the address")):
        with pytest.raises(ClusterError, match=message), connected(RayRequest(address)):
            pass


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
