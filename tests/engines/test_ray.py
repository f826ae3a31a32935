"""`--engine ray` on a real cluster: nodes of Ray's own making, all on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from nodes import left_in_tmp

from support import PLAIN, Answer, interrupt, nobody_left, start, write

# What `make test-ray` installs, in a folder of its own.
PACKAGES = Path(sys.prefix) / "ray" / "site-packages"
if PACKAGES.is_dir():
    sys.path.append(str(PACKAGES))
ray = pytest.importorskip("ray", reason="Ray is not there (make test-ray installs it)")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tinynet")]

# A run waits for a file, so that a test can do something to the cluster while it is under way.
WAITS = """
import os, sys, time
go = sys.argv[1]
while not os.path.exists(go):
    time.sleep(0.05)
"""


class Cluster:
    """Nodes of one CPU each, of which the first is the head."""

    def __init__(self, nodes: int = 3) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
        )
        for _ in range(nodes - 1):
            self.add()

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, **variables: str) -> Any:
        return self._cluster.add_node(num_cpus=1, env_vars=variables)

    def runs_on(self, node: Any, program: Path) -> bool:
        """Whether a run is under way on this node."""
        raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
        below = [process for process in raylet.children(recursive=True) if process.is_running()]
        return any(str(program.name) in word for process in below for word in process.cmdline())

    @property
    def workers(self) -> list[Any]:
        return list(self._cluster.worker_nodes)

    def kill(self, node: Any) -> None:
        self._cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        self._cluster.shutdown()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    installed = str(Path(ray.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], installed]))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    made = Cluster(getattr(request, "param", 3))
    yield made
    made.close()


def begin(cluster: Cluster, program: Path, *words: str) -> subprocess.Popen[str]:
    options = ("--engine", "ray", "--ray-address", cluster.address, "--output-format", "json")
    go = program.with_name("go")
    return start("check", *options, *words, program.name, go, cwd=program.parent)


def answer_of(process: subprocess.Popen[str]) -> Answer:
    out, err = process.communicate(timeout=180)
    return Answer(process.returncode, out, err)


def until(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def with_a_node_killed(cluster: Cluster, program: Path) -> Answer:
    process = begin(cluster, program, "--runs", "8")
    victim = cluster.workers[0]
    until(lambda: cluster.runs_on(victim, program), process)
    cluster.kill(victim)
    program.with_name("go").touch()
    return answer_of(process)


def test_runs_that_repeat_though_a_node_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    program = write(tmp_path, WAITS + PLAIN + "train(3)")
    answer = with_a_node_killed(cluster, program)
    document = answer.document
    assert (answer.code, document["verdict"]) == (0, "repeats"), answer
    assert (document["runs"], document["steps_compared"]) == (8, 3)
    (key,) = document["by_environment"]
    assert len(key["runs"]) == 8 and 1 < len(key["nodes"]) <= 3
    (retried,) = [note for note in document["notes"] if "made again" in note]
    assert retried.startswith("run ") and "was lost" in retried
    nobody_left(str(tmp_path))
    assert left_in_tmp() == []


def test_runs_that_differ_though_a_node_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    text = "train(3, batch=lambda step, x: x * int.from_bytes(os.urandom(2), 'big'))"
    answer = with_a_node_killed(cluster, write(tmp_path, WAITS + PLAIN + text))
    document = answer.document
    assert (answer.code, document["verdict"]) == (1, "diverges"), answer
    assert (document["first_difference"]["step"], document["first_difference"]["phase"]) == (1, "batch")
    assert any("made again" in note for note in document["notes"])
    (advice,) = [note for note in document["notes"] if "no cause is looked for on a cluster" in note]
    assert advice.endswith("twinrun check train.py " + str(tmp_path / "go"))


def test_a_mixed_cluster_has_one_verdict_per_key(cluster: Cluster, tmp_path: Path) -> None:
    """A variable of one node that may change bits: it is part of the key."""
    cluster.add(XLA_FLAGS="--xla_cpu_enable_fast_math=false")
    program = write(
        tmp_path, WAITS + PLAIN + "train(2, batch=lambda step, x: x + len(os.environ.get('XLA_FLAGS', '')))"
    )
    program.with_name("go").touch()
    answer = answer_of(begin(cluster, program, "--runs", "8"))
    document = answer.document
    assert (answer.code, document["verdict"]) == (0, "repeats"), answer
    plain, other = document["by_environment"]
    assert (plain["verdict"], other["verdict"], len(other["nodes"])) == ("repeats", "repeats", 1)
    assert other["against_first"].startswith("different from step 1 on")


@pytest.mark.parametrize("cluster", [2], indirect=True)
@pytest.mark.parametrize(("seed", "verdict"), [("1", "repeats"), ("os.getpid()", "diverges")])
def test_tensorflow_on_two_nodes(cluster: Cluster, tmp_path: Path, seed: str, verdict: str) -> None:
    keras = """
    import os
    import keras
    keras.utils.set_random_seed({seed})
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(keras.random.normal((16, 2)), keras.ops.ones((16, 1)), batch_size=4, epochs=1, verbose=0)
    """
    answer = answer_of(begin(cluster, write(tmp_path, keras.format(seed=seed)), "--runs", "3"))
    document = answer.document
    assert (document["verdict"], document["runs"]) == (verdict, 3), answer
    (key,) = document["by_environment"]
    assert (len(key["runs"]), len(key["nodes"])) == (3, 2), answer
    if verdict == "repeats":
        assert document["steps_compared"] == 4, answer
    else:
        assert document["first_difference"]["step"] == 0, answer
    nobody_left(str(tmp_path))


def test_an_interrupted_check_leaves_nothing_behind(cluster: Cluster, tmp_path: Path) -> None:
    program = write(tmp_path, WAITS + PLAIN + "train(3)")
    process = begin(cluster, program, "--runs", "4")
    until(lambda: all(cluster.runs_on(node, program) for node in cluster.workers), process)
    interrupt(process)
    answer = answer_of(process)
    assert (answer.code, answer.document["reason_kind"]) == (130, "interrupted"), answer
    nobody_left(str(tmp_path))
    assert left_in_tmp() == []


def test_what_a_cluster_cannot_give_is_said_at_once(cluster: Cluster, tmp_path: Path) -> None:
    program = write(tmp_path, WAITS + PLAIN + "train(3)")
    answer = answer_of(begin(cluster, program, "--gpus-per-run", "1"))
    assert answer.code == 2 and "error: no node of the cluster has 1 CPU and 1 GPU" in answer.message
