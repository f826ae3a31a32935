"""The recipes for Slurm, Kubernetes and Ray under Slurm, run as they stand in the page by stand-ins for what a cluster
provides: `srun`, `scontrol`, and the variables of a task or a pod."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_lines import ROOT

from support import PLAIN, Answer, environment, executable, python, twinrun, write

TEXT = (ROOT / "docs" / "how-to" / "from-one-gpu-to-a-cluster.md").read_text()
SRUN = """
case "$*" in *ray*|*twinrun\\ check*) echo "srun $*"; echo "$*" >> printed; exit;; esac
for SLURM_PROCID in 0 1; do
    export SLURM_PROCID
    "$@" &
    tasks="$tasks $!"
done
for task in $tasks; do wait "$task" || exit; done
"""
TRAIN = (
    """
import json, os
cluster = json.loads(os.environ["TF_CONFIG"])
print(json.dumps(cluster))
me = cluster["task"]["index"]
"""
    + PLAIN
    + "train(2 + me, batch=lambda step, x: x + me * os.getpid())"
)


def block(kind: str, heading: str) -> str:
    """The first one of this kind under a heading."""
    found = re.search(rf"^```{kind}\n(.*?)^```$", TEXT[TEXT.index(heading) :], re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def stand_in(folder: Path, name: str, text: str) -> None:
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    executable(path, f"#!/bin/sh\n{text}\n")


@pytest.fixture(autouse=True)
def twinrun_on_the_path(tmp_path: Path) -> None:
    """The one under test."""
    stand_in(tmp_path, "twinrun", f'exec "{sys.executable}" -m twinrun "$@"')


def shell(folder: Path, *command: str, **variables: str) -> subprocess.Popen[str]:
    """In a folder whose `bin` comes first."""
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    return subprocess.Popen(
        command, cwd=folder, env=environment(PATH=path, **variables), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def slurm(folder: Path, hosts: list[str], recipe: str) -> None:
    """Submitted twice."""
    stand_in(folder, "srun", SRUN)
    answer = " ".join(f"'{host}'" for host in hosts)
    stand_in(folder, "scontrol", f'[ "$*" = "show hostnames node[1-2]" ] || exit 1; printf "%s\\n" {answer}')
    script = write(folder, recipe, "job.sh")
    for number in ("1", "2"):
        job = shell(folder, "sh", str(script), SLURM_JOB_ID=number, SLURM_JOB_NODELIST="node[1-2]")
        out, _ = job.communicate(timeout=180)
        assert job.returncode == 0, out


def kubernetes(folder: Path, recipe: str) -> None:
    """Applied twice: two pods of one job."""
    yaml: Any = pytest.importorskip("yaml")
    service, job = yaml.safe_load_all(recipe)
    assert service["metadata"]["name"] == job["spec"]["template"]["spec"]["subdomain"]
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in container["env"]] == ["RUN"]
    command = [*container["command"], *container["args"]]
    for number in ("1", "2"):
        pods = [
            shell(folder, *command, RUN=number, JOB_COMPLETION_INDEX=str(index))
            for index in range(job["spec"]["completions"])
        ]
        for pod in pods:
            out, _ = pod.communicate(timeout=180)
            assert pod.returncode == 0, out


def configuration(folder: Path, worker: int) -> Any:
    return json.loads(
        (folder / "run-1" / f"worker-{worker}" / "A" / "stdout.txt").read_text().splitlines()[0]
    )


def compared(folder: Path, worker: int) -> Answer:
    """By the command of the page."""
    command = f"twinrun diff run-1/worker-{worker} run-2/worker-{worker}"
    assert command in TEXT
    return twinrun(*command.split()[1:], cwd=folder)


@pytest.mark.usefixtures("tinynet")
@pytest.mark.parametrize("how", ["slurm", "kubernetes"])
def test_a_recipe_records_every_worker(tmp_path: Path, how: str) -> None:
    write(tmp_path, TRAIN)
    if how == "slurm":
        slurm(tmp_path, ["node1", "node2"], block("sh", "### Slurm"))
        addresses = ["node1:2222", "node2:2222"]
    else:
        kubernetes(tmp_path, block("yaml", "### Kubernetes").replace("/recordings", str(tmp_path)))
        addresses = ["train-0.train:2222", "train-1.train:2222"]
    for worker in (0, 1):
        task = {"type": "worker", "index": worker}
        assert configuration(tmp_path, worker) == {"cluster": {"worker": addresses}, "task": task}
    first, second = compared(tmp_path, 0), compared(tmp_path, 1)
    assert (first.code, first.out.split(":")[0]) == (0, "repeats"), first
    assert (second.code, second.out.split()[0]) == (1, "diverges"), second


def free(count: int) -> list[str]:
    held = [socket.create_server(("localhost", 0)) for _ in range(count)]
    addresses = [f"localhost:{one.getsockname()[1]}" for one in held]
    for one in held:
        one.close()
    return addresses


@pytest.mark.slow
@pytest.mark.parametrize("how", ["slurm", "kubernetes"])
def test_workers_of_a_recipe_train_together(tmp_path: Path, how: str) -> None:
    """The nodes of the recipe are ports of this machine."""
    program = """
    import tensorflow as tf
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert strategy.num_replicas_in_sync == 2
    with strategy.scope():
        weight = tf.Variable([[0.5], [0.25]], aggregation=tf.VariableAggregation.SUM)
    @tf.function
    def train(x):
        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x @ weight - 1.0) ** 2)
            gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weight))
            weight.assign_sub(0.025 * gradient)
        strategy.run(step)
    for number in range(1, 4):
        train(tf.reshape(tf.range(8.0), [4, 2]) / number + strategy.cluster_resolver.task_id)
    """
    write(tmp_path, program)
    hosts = free(2)
    if how == "slurm":
        slurm(tmp_path, hosts, block("sh", "### Slurm").replace(":2222", ""))
    else:
        recipe = block("yaml", "### Kubernetes").replace("/recordings", str(tmp_path))
        for number, host in enumerate(hosts):
            recipe = recipe.replace(f"train-{number}.train:2222", host)
        kubernetes(tmp_path, recipe)
    for worker in (0, 1):
        answer = compared(tmp_path, worker)
        assert answer.code == 0 and "3 steps" in answer.out, answer


@pytest.mark.slow
def test_the_resolver_of_tensorflow_finds_the_tasks_of_slurm(tmp_path: Path) -> None:
    resolver = block("python", "### Slurm").partition("strategy =")[0]
    program = write(
        tmp_path,
        f"import tensorflow as tf\n{resolver}print(resolver.cluster_spec().as_dict(), resolver.get_task_info())",
    )
    variables = {
        "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "node[1-2]",
        "SLURM_STEP_TASKS_PER_NODE": "1(x2)", "CUDA_VISIBLE_DEVICES": "0",
    }  # fmt: skip
    answer = python(program, **variables)
    assert answer.out == "{'worker': ['node1:8888', 'node2:8888']} ('worker', 1)\n", answer


def test_ray_under_slurm_starts_a_head_the_others_and_the_check(tmp_path: Path) -> None:
    stand_in(tmp_path, "srun", SRUN)
    stand_in(tmp_path, "scontrol", 'printf "node%s\\n" 1 2 3 4')
    # Not for some time, but until what was started before has printed.
    (tmp_path / "printed").touch()
    wait = "echo sleep >> slept; until [ $(wc -l < printed) -ge $(wc -l < slept) ]; do /bin/sleep 0.05; done"
    stand_in(tmp_path, "sleep", wait)
    job = shell(tmp_path, "sh", "-c", block("sh", "### Ray under Slurm"), SLURM_JOB_NODELIST="node[1-4]")
    out, _ = job.communicate(timeout=60)
    assert out.splitlines() == [
        "srun --overlap --nodes=1 --ntasks=1 -w node1 ray start --head --port=6379 --block",
        "srun --overlap --nodes=3 --ntasks=3 --exclude=node1 ray start --address=node1:6379 --block",
        "srun --overlap --nodes=1 --ntasks=1 -w node1 twinrun check --engine ray --ray-address node1:6379 --runs 20 train.py",
    ]
