"""Programs that start their workers themselves, without `--workers`: each of these is a child that is watched like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
from strategy_programs import DATA, LOOP, MODEL, WORKERS, line_of, program

from support import check, twinrun, write

pytestmark = pytest.mark.slow

# Starts itself as two workers, by a module that each of them imports or as a command.
LAUNCHER = """
import json, multiprocessing, os, socket, subprocess, sys
def free(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("localhost", 0))
    addresses = [f"localhost:{one.getsockname()[1]}" for one in held]
    for one in held:
        one.close()
    return addresses
def settings(addresses, number):
    return json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": number}})
def work(config):
    os.environ["TF_CONFIG"] = config
    import worker
def spawned(configs):
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=work, args=[config]) for config in configs]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return [child.exitcode for child in children]
def commands(configs):
    command = [sys.executable, os.path.join(os.path.dirname(__file__), "worker.py")]
    children = [subprocess.Popen(command, env={**os.environ, "TF_CONFIG": config}) for config in configs]
    return [child.wait() for child in children]
if __name__ == "__main__":
    addresses = free(2)
    start = spawned if sys.argv[1] == "spawned" else commands
    assert start([settings(addresses, number) for number in range(2)]) == [0, 0]
"""


def launcher(folder: Path, *before: str) -> tuple[Path, Path]:
    worker = program(folder, DATA, *before, WORKERS, MODEL, LOOP, name="worker.py")
    return write(folder, LAUNCHER, "launcher.py"), worker


@pytest.mark.parametrize("how", ["spawned", "commands"])
def test_workers_of_its_own_repeat(tmp_path: Path, how: str) -> None:
    path, _ = launcher(tmp_path)
    document = check(path, arguments=[how]).document
    assert (document["verdict"], document["steps_compared"]) == ("repeats", 8), document
    assert [(child["verdict"], child["steps"]) for child in document["children"]] == [("repeats", 4)] * 2


@pytest.mark.parametrize("how", ["spawned", "commands"])
def test_a_seed_of_each_worker_of_its_own(tmp_path: Path, how: str) -> None:
    path, worker = launcher(tmp_path, "x += np.random.default_rng(os.getpid()).random(x.shape, 'f')\n")
    words = ("check", "--budget", "300s", "--output-format", "json", path, how)
    document = twinrun(*words, timeout=400).document
    first = document["first_difference"]
    assert (document["verdict"], first["step"], first["phase"]) == ("diverges", 1, "batch"), document
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"]) == ("TW108", True), found
    assert (Path(found["file"]).name, found["line"]) == ("worker.py", line_of(worker, "os.getpid()"))


def test_a_worker_of_its_own_that_sets_replicas_apart(tmp_path: Path) -> None:
    path, worker = launcher(tmp_path)
    spoil = "if (number, me) == (2, 1):\n        model.layers[1].bias.assign([0.5])"
    worker.write_text(worker.read_text().replace("pass", spoil))
    document = check(path, arguments=["commands"]).document
    assert (document["verdict"], document["reason_kind"]) == ("diverges", "replica-drift"), document
    first = document["first_difference"]
    assert (first["step"], first["tensor"].rpartition("/")[2]) == (2, "bias")
    assert first["process"].startswith("child 2 ("), document
