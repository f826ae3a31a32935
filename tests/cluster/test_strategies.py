"""TensorFlow's distribution strategies: what is seen of each replica, and what is found where they do not train as one."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from strategy_programs import DATA, EAGER_LOOP, FIT, LOOP, MODEL, WORKERS, line_of, program

from support import FIRST, Answer, check, environment, nobody_left, outputs, start, twinrun, write
from twinrun.recording.folder import open_recording


def diagnosed(path: Path, *options: str, **settings: Any) -> dict[str, Any]:
    words = ("check", "--budget", "400s", "--output-format", "json", *options)
    return twinrun(*words, path, *settings.pop("arguments", ()), timeout=600, **settings).document


def phases(recording: Path) -> list[tuple[str, str]]:
    """Of the first step, without the weights."""
    with_steps = (frame for frame in open_recording(recording)[1].frames() if frame.span)
    layout = next(with_steps).layout
    seen = zip(layout.phases, layout.names, strict=True)
    return [each for each in seen if each[0] in ("batch", "gradient")]


def copies_of_weights(recording: Path) -> dict[str, list[bytes]]:
    """After the first step: of each variable, the digests of its copies."""
    frame = next(frame for frame in open_recording(recording)[1].frames() if frame.span)
    found: dict[str, list[bytes]] = {}
    for entry, (phase, name) in enumerate(zip(frame.layout.phases, frame.layout.names, strict=True)):
        if phase == "weights":
            found.setdefault(re.sub(r"/replica_[0-9]+", "", name), []).append(frame.digest(entry))
    return found


def test_two_workers_repeat_and_every_replica_is_seen(tmp_path: Path) -> None:
    path = program(tmp_path, DATA, WORKERS, MODEL, FIT, keras="tf_keras")
    document = check(path, "--workers", "2", "--pin").document
    assert (document["verdict"], document["steps_compared"], document["findings"]) == ("repeats", 4, []), (
        document
    )
    assert [child["name"] for child in document["children"]] == ["worker 0", "worker 1"]
    seen = phases(Path(document["recordings"][0]) / "children" / "2")
    assert seen[:2] == [("batch", "x"), ("batch", "y")]
    gradients = [name for phase, name in seen if phase == "gradient"]
    assert gradients[0] == "local/dense/kernel" and gradients[-1] == "reduced/dense_1/bias"


def test_replicas_that_drift_apart(tmp_path: Path) -> None:
    spoil = "def after(number):\n    if (number, me) == (2, 1):\n        model.layers[1].bias.assign([0.5])\n"
    path = program(tmp_path, DATA, WORKERS, MODEL, LOOP.replace("def after(number):\n    pass\n", spoil))
    document = check(path, "--workers", "2", "--steps", "3").document
    assert (document["verdict"], document["reason_kind"]) == ("diverges", "replica-drift"), document
    first = document["first_difference"]
    assert (first["step"], first["tensor"].rpartition("/")[2], first["process"]) == (2, "bias", "worker 1")
    assert first["worker"] == 1
    assert [(each["code"], each["confirmed"]) for each in document["findings"]] == [("TW604", True)]


def mirrored(count: int, ops: str) -> str:
    devices = f'[f"/gpu:{{number}}" for number in range({count})]'
    return f"strategy = tf.distribute.MirroredStrategy({devices}, tf.distribute.{ops}())\n"


def every_replica_is_seen(recording: Path, count: int) -> None:
    """Its batch, its gradients, and its weights."""
    seen = phases(recording)
    assert [name for phase, name in seen if phase == "batch"][:count] == [
        "x",
        *(f"x/replica_{n}" for n in range(1, count)),
    ]
    assert sum(name.startswith("local/") for _, name in seen) == 4 * count
    assert sum(name.startswith("reduced/") for _, name in seen) == 4
    weights = copies_of_weights(recording)
    trained = [name.removeprefix("reduced/") for _, name in seen if name.startswith("reduced/")]
    assert [len(weights[name]) for name in trained] == [count] * 4, weights
    assert [len(set(weights[name])) for name in trained] == [1] * 4, weights


@pytest.mark.parametrize(("count", "ops"), [(2, "ReductionToOneDevice"), (4, "HierarchicalCopyAllReduce")])
def test_replicas_of_one_process(tmp_path: Path, count: int, ops: str) -> None:
    path = program(tmp_path, DATA, mirrored(count, ops), MODEL, FIT)
    document = check(path, "--replicas", str(count)).document
    assert (document["verdict"], document["steps_compared"]) == ("repeats", 4), document
    assert document["environment"]["key"]["strategy"] == f"MirroredStrategy, 1 worker, {count} devices"
    every_replica_is_seen(Path(document["recordings"][0]), count)


@pytest.mark.slow
def test_a_program_that_sums_by_nccl_is_tried_without_a_gpu(tmp_path: Path) -> None:
    document = check(
        program(tmp_path, DATA, mirrored(2, "NcclAllReduce"), MODEL, LOOP), "--replicas", "2"
    ).document
    assert (document["verdict"], document["steps_compared"]) == ("repeats", 4), document
    assert any(note.startswith("NcclAllReduce works on GPUs alone") for note in document["notes"]), document


def test_gradients_that_two_reductions_sum_in_other_orders(tmp_path: Path) -> None:
    ops = FIRST + (
        "ops = tf.distribute.ReductionToOneDevice() if first() else tf.distribute.HierarchicalCopyAllReduce()\n"
        "strategy = tf.distribute.MirroredStrategy(cross_device_ops=ops)\n"
    )
    path = program(tmp_path, DATA, ops, MODEL, FIT, rows=16, width=40)
    first = check(path, "--replicas", "4", arguments=[tmp_path / "marker"]).document["first_difference"]
    assert (first["step"], first["phase"], first["tensor"].split("/")[0]) == (1, "gradient", "reduced"), first


def test_a_custom_loop_of_two_workers_repeats(tmp_path: Path) -> None:
    # With a number of steps there is no round with one worker.
    path = program(tmp_path, DATA, WORKERS, MODEL, LOOP)
    document = check(path, "--workers", "2", "--pin", "--steps", "4").document
    assert (document["verdict"], document["steps_compared"], document["findings"]) == ("repeats", 4, []), (
        document
    )


# Each of these starts a dozen TensorFlow processes or more.


@pytest.mark.slow
def test_gradients_that_the_program_sums_itself_are_seen(tmp_path: Path) -> None:
    clipped = """
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients = tf.distribute.get_replica_context().all_reduce("sum", gradients)
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    pairs = zip(gradients, model.trainable_variables)
    optimizer.apply_gradients(pairs, skip_gradients_aggregation=True)
"""
    update = next(line for line in LOOP.splitlines(keepends=True) if "apply_gradients" in line)
    path = program(tmp_path, DATA, WORKERS, MODEL, LOOP.replace(update, clipped[1:]), keras="tf_keras")
    document = check(path, "--workers", "2").document
    assert (document["verdict"], document["steps_compared"]) == ("repeats", 4), document
    gradients = [name for _, name in phases(Path(document["recordings"][0]) / "children" / "1")][-8:]
    numbers = range(4)
    assert gradients == [f"{side}/all_reduce_{n}" for side in ("local", "reduced") for n in numbers]


@pytest.mark.slow
@pytest.mark.parametrize("keras", ["keras", "tf_keras"])
@pytest.mark.parametrize("train", [FIT, LOOP, EAGER_LOOP], ids=["fit", "loop", "eager loop"])
@pytest.mark.parametrize("ops", ["ReductionToOneDevice", "HierarchicalCopyAllReduce"])
def test_mirrored_replicas_repeat(tmp_path: Path, keras: str, train: str, ops: str) -> None:
    for count in (2, 4):
        path = program(tmp_path, DATA, mirrored(count, ops), MODEL, train, keras=keras)
        document = check(path, "--replicas", str(count)).document
        assert (document["verdict"], document["steps_compared"]) == ("repeats", 4), document
        every_replica_is_seen(Path(document["recordings"][0]), count)


@pytest.mark.slow
@pytest.mark.parametrize(("pinned", "verdict"), [((), "diverges"), (("--pin",), "repeats")])
def test_workers_without_a_seed_repeat_when_pinned(
    tmp_path: Path, pinned: tuple[str, ...], verdict: str
) -> None:
    """Neither initial weights nor the noise of worker 1 are seeded by the program."""
    noise = "x += np.random.standard_normal(x.shape).astype('f') * me\n"
    unseeded = MODEL.replace("keras.utils.set_random_seed(1)\n", "")
    for place in (tmp_path / "noise", tmp_path / "weights"):
        place.mkdir()
        parts = (noise, MODEL) if place.name == "noise" else (unseeded,)
        path = program(place, DATA, WORKERS, *parts, LOOP)
        document = check(path, "--workers", "2", "--steps", "4", *pinned).document
        assert document["verdict"] == verdict, document


# What plain python would have made of the same cluster.
PLAINLY = """
import json, os, socket, subprocess, sys
held = [socket.socket() for _ in range(2)]
for one in held:
    one.bind(("localhost", 0))
addresses = [f"localhost:{one.getsockname()[1]}" for one in held]
for one in held:
    one.close()
def start(number):
    cluster = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": number}}
    return subprocess.Popen(
        [sys.executable, sys.argv[1]], env={**os.environ, "TF_CONFIG": json.dumps(cluster)}, stdout=subprocess.PIPE, text=True
    )
workers = [start(number) for number in range(2)]
print(json.dumps([worker.communicate(timeout=120)[0] for worker in workers]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("train", "keras"), [(LOOP, "keras"), (FIT, "tf_keras")], ids=["loop", "fit"])
def test_watching_workers_changes_nothing(tmp_path: Path, train: str, keras: str) -> None:
    """Every loss and every weight, with all digits."""
    end = "\nfor weight in model.get_weights():\n    print(weight.ravel().tolist(), flush=True)\n"
    train = train.replace("model.fit(", "losses = model.fit(") + (
        "\nprint(losses.history)\n" if train == FIT else ""
    )
    path = program(tmp_path, DATA, WORKERS, MODEL, train.replace("verbose=2", "verbose=0"), end, keras=keras)
    launcher = write(tmp_path, PLAINLY, "plainly.py")
    done = subprocess.run(
        [sys.executable, launcher, path],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    document = check(path, "--workers", "2").document
    assert document["verdict"] == "repeats", document
    watched = [
        (Path(document["recordings"][0]) / f"worker-{number}" / "stdout.txt").read_text()
        for number in range(2)
    ]
    assert all(len(text.splitlines()) >= 5 for text in watched), watched
    assert json.loads(done.stdout) == watched


@pytest.mark.slow
def test_a_seed_of_each_worker_alone(tmp_path: Path) -> None:
    noise = "noise = np.random.default_rng(os.getpid())\nx = x + noise.standard_normal(x.shape).astype('f')\n"
    path = program(tmp_path, DATA, noise, WORKERS, MODEL, LOOP)
    document = diagnosed(path, "--workers", "2")
    assert document["verdict"] == "diverges", document
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"]) == ("TW108", True), document
    assert found["line"] == line_of(path, "os.getpid()")


@pytest.mark.slow
def test_the_line_that_sets_replicas_apart(tmp_path: Path) -> None:
    spoil = "def after(number):\n    if (number, me) == (2, 1):\n        model.layers[1].bias.assign([0.5])\n"
    path = program(tmp_path, DATA, WORKERS, MODEL, LOOP.replace("def after(number):\n    pass\n", spoil))
    (found,) = diagnosed(path, "--workers", "2")["findings"]
    assert (found["code"], found["confirmed"], found["line"]) == ("TW604", True, line_of(path, ".assign("))


@pytest.mark.slow
def test_a_chief_that_replaces_its_weights_after_training(tmp_path: Path) -> None:
    """As by their mean over the last steps, to save that."""
    replaces = (
        "if me == 0:\n    for variable in model.trainable_variables:\n        variable.assign(variable / 2)\n"
    )
    path = program(tmp_path, DATA, WORKERS, MODEL, LOOP, "    if number == 3:\n        break\n", replaces)
    document = check(path, "--workers", "2").document
    assert document["verdict"] == "repeats", document
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"]) == ("TW604", False), found
    assert found["message"].endswith("of worker 1 is not that of worker 0 after step 3, the last one")


@pytest.mark.slow
def test_the_line_that_sets_replicas_of_one_process_apart(tmp_path: Path) -> None:
    spoil = "if number == 2:\n        strategy.experimental_local_results(bias)[1].assign([0.5])"
    bias = "bias = model.layers[1].bias.value\n"
    mirrored = "strategy = tf.distribute.MirroredStrategy()\n"
    path = program(tmp_path, DATA, mirrored, MODEL, bias, LOOP.replace("pass", spoil))
    document = diagnosed(path, "--replicas", "2")
    assert (document["verdict"], document["reason_kind"]) == ("diverges", "replica-drift"), document
    first = document["first_difference"]
    assert (first["step"], first["tensor"].rpartition("/")[2], first["process"]) == (2, "bias", "replica 1")
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"], found["line"]) == ("TW604", True, line_of(path, ".assign("))


@pytest.mark.slow
def test_gradients_that_are_summed_in_two_orders(tmp_path: Path) -> None:
    pick = "ops = tf.distribute.ReductionToOneDevice() if first() else tf.distribute.HierarchicalCopyAllReduce()\n"
    mirrored = "strategy = tf.distribute.MirroredStrategy(cross_device_ops=ops)\n"
    # Exactly one of two processes that ask is the first, in every round.
    alternating = FIRST.replace("        return False", "        os.unlink(shared)\n        return False")
    path = program(tmp_path, DATA, alternating, pick, mirrored, MODEL, FIT, rows=64, width=40)
    document = diagnosed(path, "--replicas", "4", arguments=[tmp_path / "marker"])
    first = document["first_difference"]
    assert (first["phase"], first["tensor"].split("/")[0]) == ("gradient", "reduced"), document
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"], found["line"]) == (
        "TW603",
        True,
        line_of(path, "MirroredStrategy("),
    )
    assert "ReductionToOneDevice" in found["message"] and "HierarchicalCopyAllReduce" in found["message"]


# Every second cluster that starts has its workers in another order. Each keeps its data, as a machine does that has its
# share on a disk of its own.
TURNED = """
import itertools
cluster = json.loads(os.environ["TF_CONFIG"])
addresses, me = cluster["cluster"]["worker"], cluster["task"]["index"]
def turn():
    for number in itertools.count():
        shared = os.path.join(os.environ["TWINRUN_HOME"], f"{sys.argv[1].replace(os.sep, '-')}-{number}")
        try:
            os.symlink(addresses[0], shared)
        except FileExistsError:
            if os.readlink(shared) != addresses[0]:
                continue
        return number
if turn() % 2:
    cluster["cluster"]["worker"] = addresses[1:] + addresses[:1]
    cluster["task"]["index"] = (me - 1) % len(addresses)
    os.environ["TF_CONFIG"] = json.dumps(cluster)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
"""


@pytest.mark.slow
def test_gradients_of_workers_that_are_summed_in_two_orders(tmp_path: Path) -> None:
    own = LOOP.replace("context.num_input_pipelines, context.input_pipeline_id", "len(addresses), me")
    loop = own.replace("batch_size(8)", "batch_size(12)")
    path = program(tmp_path, DATA, TURNED, MODEL, loop, rows=24, width=40)
    document = diagnosed(path, "--workers", "3", arguments=[tmp_path / "turn"])
    first = document["first_difference"]
    assert (first["step"], first["phase"]) == (1, "gradient"), document
    assert first["tensor"].startswith("reduced/"), document
    (found,) = document["findings"]
    place = ("TW603", True, line_of(path, "MultiWorkerMirroredStrategy("))
    assert (found["code"], found["confirmed"], found["line"]) == place, document
    assert "summed by AUTO, and worker " in found["message"], found
    tried = {each["what"]: each["verdict"] for each in document["experiments"]}
    assert tried["with the gradients summed around a ring"] == "diverges", tried


@pytest.mark.slow
def test_another_number_of_replicas(tmp_path: Path) -> None:
    alternating = FIRST.replace("        return False", "        os.unlink(shared)\n        return False")
    mirrored = (
        'strategy = tf.distribute.MirroredStrategy([f"/cpu:{n}" for n in range(2 if first() else 4)])\n'
    )
    path = program(tmp_path, DATA, alternating, mirrored, MODEL, FIT)
    document = diagnosed(path, "--replicas", "4", arguments=[tmp_path / "marker"])
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"], found["line"]) == (
        "TW601",
        True,
        line_of(path, "MirroredStrategy("),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message", "line"),
    [
        (
            ("whole.shard(context.num_input_pipelines, context.input_pipeline_id)",
             "whole.shard(2, 0) if context.num_input_pipelines > 1 else whole"),
            "of 32 elements 16 are read more than once and 16 are never read",
            "whole.shard(2, 0)",
        ),
        (
            ("strategy.distribute_datasets_from_function(data)",
             "strategy.experimental_distribute_dataset(data(tf.distribute.InputContext("
             "strategy.num_replicas_in_sync, me, strategy.num_replicas_in_sync)))"),
            "are never read",
            "whole.shard(",
        ),
    ],
    ids=["overlapping", "sharded twice"],
)  # fmt: skip
def test_shares_that_do_not_cover_the_data(
    tmp_path: Path, change: tuple[str, str], message: str, line: str
) -> None:
    path = program(tmp_path, DATA, WORKERS, MODEL, LOOP.replace(*change))
    document = check(path, "--workers", "2").document
    assert document["verdict"] == "repeats", document
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"], found["line"]) == ("TW602", True, line_of(path, line)), found
    assert message in found["message"]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "found"), [("OFF", True), ("AUTO", False)])
def test_a_policy_by_which_every_worker_reads_all_of_the_data(
    tmp_path: Path, policy: str, found: bool
) -> None:
    own = f"""
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.{policy}
whole = tf.data.Dataset.from_tensor_slices((x, y)).batch(8).with_options(options)
"""
    loop = LOOP.replace(
        "strategy.distribute_datasets_from_function(data)", "strategy.experimental_distribute_dataset(whole)"
    )
    path = program(tmp_path, DATA, WORKERS, MODEL, own, loop)
    document = check(path, "--workers", "2").document
    assert document["verdict"] == "repeats", document
    assert [each["code"] for each in document["findings"]] == ["TW602"] * found, document
    for each in document["findings"]:
        assert (each["confirmed"], each["line"]) == (True, line_of(path, "experimental_distribute_dataset("))
        assert "of 32 elements 32 are read more than once" in each["message"]
        assert any("auto_shard_policy OFF" in line for line in each["evidence"]), each


@pytest.mark.parametrize("how", [pytest.param("", marks=pytest.mark.slow), "--sequential"])
def test_a_worker_that_skips_its_last_batch(tmp_path: Path, how: str) -> None:
    skip = LOOP.replace(
        "    print(float(train(batch)), flush=True)\n",
        "    if (number, me) == (4, 1):\n        break\n    print(float(train(batch)), flush=True)\n",
    )
    path = program(tmp_path, DATA, WORKERS, MODEL, skip)
    answer = check(path, "--workers", "2", "--worker-timeout", "10s", *how.split())
    document = answer.document
    assert answer.code == 2, document
    (found,) = document["findings"]
    assert found["code"] == "TW602" and "uneven" in found["message"], document
    assert found["line"] == line_of(path, "whole.shard(")


@pytest.mark.slow
def test_a_worker_whose_fit_ends_a_batch_early(tmp_path: Path) -> None:
    """It sums up the metrics of its epoch while the other trains, and TensorFlow ends both."""
    short = FIT.replace("DATA", "OFF").replace(".batch(8)", ".shard(2, me).batch(8).take(2 - me)")
    path = program(tmp_path, DATA, WORKERS, MODEL, short, keras="tf_keras")
    answer = check(path, "--workers", "2", "--worker-timeout", "20s")
    document = answer.document
    assert (answer.code, document["verdict"]) == (2, "undecided"), document
    assert not any("the other twin may hold" in note for note in document["notes"]), document
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"]) == ("TW602", False), document
    assert found["message"].endswith("their shares may be uneven")
    assert found["line"] == line_of(path, ".shard(2, me)")


@pytest.mark.slow
def test_shares_by_the_order_of_files(tmp_path: Path) -> None:
    listed = """
if not os.path.isdir("data"):
    os.mkdir("data")
    for number in range(4):
        np.savez(f"data/{number}.npz", x=x[8 * number:8 * number + 8], y=y[8 * number:8 * number + 8])
workers = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"]
files = os.listdir("data")[json.loads(os.environ["TF_CONFIG"])["task"]["index"]::len(workers)]
x = np.concatenate([np.load(f"data/{name}")["x"] for name in files])
y = np.concatenate([np.load(f"data/{name}")["y"] for name in files])
"""
    own = LOOP.replace(
        "mine = whole.shard(context.num_input_pipelines, context.input_pipeline_id)", "mine = whole"
    )
    make = program(tmp_path, DATA, listed.partition("workers =")[0])
    answer = twinrun("run", make, cwd=tmp_path)  # the files are there before the workers start
    assert (tmp_path / "data").is_dir(), answer
    path = program(tmp_path, DATA, listed, WORKERS, MODEL, own)
    document = diagnosed(path, "--workers", "2", cwd=tmp_path)
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"], found["line"]) == (
        "TW602",
        True,
        line_of(path, "os.listdir"),
    ), found


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_a_killed_worker(tmp_path: Path, number: int) -> None:
    slow = LOOP.replace(
        "def after(number):\n    pass\n", "import time\ndef after(number):\n    time.sleep(0.5)\n"
    )
    path = program(tmp_path, DATA, WORKERS, MODEL, slow, rows=3200)
    command = start("check", "--no-diagnose", "--workers", "2", "--dir", str(tmp_path / "kept"), path)
    log = tmp_path / "kept" / "A" / f"worker-{number}" / "stdout.txt"
    deadline = time.monotonic() + 120
    while not log.exists() or len(log.read_text().splitlines()) < 3:
        assert time.monotonic() < deadline and command.poll() is None
        time.sleep(0.2)
    victim = _worker(path, number, tmp_path / "kept" / "A")
    addresses = json.loads(victim.environ()["TF_CONFIG"])["cluster"]["worker"]
    os.kill(victim.pid, signal.SIGKILL)
    out, err = command.communicate(timeout=90)
    assert command.returncode == 2, out + err
    killed = rf"worker {number} was ended by signal 9 \(SIGKILL\) after step \d+, in twin A alone"
    assert re.search(killed, out), out
    nobody_left(str(path))
    for address in addresses:  # its port is free again
        with socket.create_server(("", int(address.rpartition(":")[2]))):
            pass


def _worker(path: Path, number: int, twin: Path) -> psutil.Process:
    """The process of a worker of one twin: its parent writes that twin's recording."""
    for process in psutil.process_iter(["cmdline", "environ"]):
        command = process.info["cmdline"] or []
        config = (process.info["environ"] or {}).get("TF_CONFIG", "")
        if command[-1:] == [str(path)] and f'"index": {number}' in config:
            files = {file.path for file in process.open_files()}
            if any(file.startswith(str(twin)) for file in files):
                return process
    raise AssertionError("no such worker")


@pytest.mark.slow
def test_fit_of_keras_3_with_several_workers(tmp_path: Path) -> None:
    answer: Answer = check(program(tmp_path, DATA, WORKERS, MODEL, FIT), "--workers", "2")
    document = answer.document
    assert (answer.code, document["reason_kind"]) == (2, "crashed")
    assert any("fit of tf_keras" in note and "strategy.run" in note for note in document["notes"]), document


@pytest.mark.slow
def test_parameter_servers_cannot_repeat(tmp_path: Path) -> None:
    servers = """
import socket
def port():
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]
spec = tf.train.ClusterSpec({"ps": [f"localhost:{port()}"], "worker": [f"localhost:{port()}"]})
running = [tf.distribute.Server(spec, job_name=job, task_index=0) for job in ("ps", "worker")]
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weight = tf.Variable([[0.5], [0.25]])
def replica():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.ones([4, 2]) @ weight - 1.0) ** 2)
    weight.assign_sub(0.05 * tape.gradient(loss, weight))
@tf.function
def step():
    strategy.run(replica)
for _ in range(3):
    coordinator.schedule(step)
coordinator.join()
print("trained", weight.numpy()[0, 0] != 0.5, flush=True)
os._exit(0)
"""
    document = check(write(tmp_path, "import os\nimport tensorflow as tf\n" + servers)).document
    assert outputs(document) == ["trained True\n"] * 2
    assert (document["verdict"], document["reason_kind"]) == ("undecided", "not-comparable"), document
    assert (
        "ParameterServerStrategy" in document["reason"]
        and "MultiWorkerMirroredStrategy" in document["reason"]
    )
