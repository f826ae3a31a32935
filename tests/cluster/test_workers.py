"""`--workers`: clusters of processes on this machine, started, followed, compared and ended. With a framework that starts
at once; test_strategies.py has TensorFlow's."""

from __future__ import annotations

import errno
import io
import json
import signal
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from support import PLAIN, Answer, belonging_to, check, interrupt, nobody_left, outputs, start, twinrun, write
from twinrun.comparison.frames import Difference
from twinrun.launch.children import Child, Content, with_children
from twinrun.launch.family import Comparison
from twinrun.protocol import Facts
from twinrun.protocol import child as files
from twinrun.protocol.child import ChildProcess
from twinrun.protocol.facts import Failure, WorkerEnd
from twinrun.protocol.messages import End
from twinrun.result import CheckResult
from twinrun.twin.cluster import Cluster, Log, blamed, reserve

pytestmark = pytest.mark.usefixtures("tinynet")

# Workers that exchange a word before they train: each listens at its own address, and the others connect to it.
TOGETHER = """
import json, os, signal, socket, sys, time
cluster = json.loads(os.environ["TF_CONFIG"])
addresses, me = cluster["cluster"]["worker"], cluster["task"]["index"]
def place(number):
    host, _, port = addresses[number].rpartition(":")
    return host, int(port)
def meet():
    \"\"\"The words of all workers, in their order.\"\"\"
    if me == 0:
        with socket.create_server(place(0)) as server:
            others = [server.accept()[0] for _ in addresses[1:]]
            words = sorted(other.recv(1).decode() for other in others)
            for other in others:
                other.sendall("".join(["0", *words]).encode())
            return others
    while True:
        try:
            with_chief = socket.create_connection(place(0))
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    with_chief.sendall(str(me).encode())
    assert with_chief.recv(16).decode() == "".join(map(str, range(len(addresses))))
    return [with_chief]
peers = meet()
print("worker", me, "of", len(addresses))
"""
# What a strategy of TensorFlow's makes Twinrun say: the workers train one model together.
STRATEGY = """
from twinrun.protocol.facts import Replicated
from twinrun.twin.recorder import active
active().replicated = lambda: Replicated("one,other", ["model 0"])
"""


def line_of(program: Path, text: str) -> int:
    lines = program.read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def workers(folder: Path, text: str, *options: str, together: bool = False, count: int = 2) -> Answer:
    program = write(folder, (TOGETHER if together else TOGETHER.partition("def place")[0]) + PLAIN + text)
    return check(program, "--workers", str(count), *options)


def test_workers_that_repeat(tmp_path: Path) -> None:
    document = workers(tmp_path, "train(3 + me)\nprint(addresses)", together=True, count=3).document
    assert document["verdict"] == "repeats", document
    assert [(c["name"], c["verdict"], c["steps"], c["worker"]) for c in document["children"]] == [
        (f"worker {number}", "repeats", 3 + number, True) for number in range(3)
    ]
    for folder, printed in zip(map(Path, document["recordings"]), outputs(document), strict=True):
        lines = [f"worker {number} of 3" for number in range(3)]
        assert sorted(printed.splitlines())[3:] == lines  # after the ports, which differ
        assert [
            (folder / f"worker-{n}" / "stdout.txt").read_text().splitlines()[0] for n in range(3)
        ] == lines


@pytest.mark.parametrize("how", ["", "--sequential"])
def test_the_worker_that_differs_first_is_named(tmp_path: Path, how: str) -> None:
    different = "lambda step, x: x + int.from_bytes(os.urandom(3), 'big') if step >= 4 - me else x"
    document = workers(tmp_path, f"train(5, batch={different})", *how.split()).document
    first = document["first_difference"]
    assert document["verdict"] == "diverges"
    assert (first["process"], first["worker"]) == ("worker 1", 1)
    assert (first["step"], first["phase"]) == (3, "batch")


def test_what_makes_a_worker_differ_is_found(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        TOGETHER.partition("def place")[0] + PLAIN + "noise = np.random.default_rng(os.getpid())\n"
        "train(3, batch=lambda step, x: x + noise.standard_normal(x.shape) if me else x)",
    )
    document = twinrun("check", "--workers", "2", "--output-format", "json", program).document
    (found,) = document["findings"]
    expected = ("TW108", True, line_of(program, "os.getpid()"))
    assert (found["code"], found["confirmed"], found["line"]) == expected, document
    assert "--workers 2" in document["experiments"][0]["command"]


@pytest.mark.parametrize(("pinned", "verdict"), [("", "diverges"), ("--pin", "repeats")])
def test_every_worker_is_pinned(tmp_path: Path, pinned: str, verdict: str) -> None:
    """Nothing here is seeded but what PLAIN seeds: not NumPy, by which worker 1 changes its data."""
    noise = "train(2, batch=lambda step, x: x + me * np.random.standard_normal(x.shape))"
    document = workers(tmp_path, noise, "--steps", "9", *pinned.split()).document
    assert document["verdict"] == verdict, document
    first = document["first_difference"]
    assert first is None or (first["worker"], first["phase"]) == (1, "batch")


def test_workers_take_no_more_steps_than_asked_for(tmp_path: Path) -> None:
    document = workers(tmp_path, "train(10**9, each=lambda step: time.sleep(0.01))", "--steps", "3").document
    assert document["verdict"] == "repeats", document
    assert [child["steps"] for child in document["children"]] == [3, 3]


def test_a_worker_that_is_killed_ends_its_cluster(tmp_path: Path) -> None:
    killed = "lambda step: os.kill(os.getpid(), signal.SIGKILL) if (me, step) == (1, 2) else None"
    wait = "\nif me == 0: peers[0].recv(1), time.sleep(3600)"
    started = time.monotonic()
    answer = workers(tmp_path, f"print(addresses, flush=True)\ntrain(4, each={killed}){wait}", together=True)
    document = answer.document
    assert (answer.code, document["reason_kind"]) == (2, "crashed")
    assert document["reason"].startswith("worker 1 was ended by signal 9 (SIGKILL)")
    assert time.monotonic() - started < 60
    nobody_left(str(tmp_path))
    for printed in outputs(document):
        listed = next(line for line in printed.splitlines() if line.startswith("["))
        for address in json.loads(listed.replace("'", '"')):
            with socket.create_server(("", int(address.rpartition(":")[2]))):
                pass


def test_a_worker_that_fails_is_named_with_its_last_lines(tmp_path: Path) -> None:
    fails = 'lambda step: sys.exit("the disk of worker 1 is full") if (me, step) == (1, 2) else None'
    answer = workers(tmp_path, f"train(4, each={fails})\ntime.sleep(3600 * (1 - me))")
    document = answer.document
    assert (answer.code, document["reason_kind"]) == (2, "crashed")
    assert document["reason"] == "worker 1 ended with exit code 1 after step 2"
    assert document["output_tail"] == "the disk of worker 1 is full"


def test_a_worker_that_waits_for_one_that_has_ended_is_not_waited_for(tmp_path: Path) -> None:
    waits = "train(2 - me)\nif me == 0: time.sleep(3600)"
    answer = workers(tmp_path, "import time\n" + STRATEGY + waits, "--worker-timeout", "3s")
    document = answer.document
    assert (answer.code, document["reason_kind"]) == (2, "timeout")
    assert (
        "worker 0 stood still for 3 s after step 1, and worker 1 had ended after step 1" in document["reason"]
    )
    (found,) = document["findings"]
    assert (found["code"], found["confirmed"]) == ("TW602", False), found
    assert found["message"] == "worker 1 ended, and worker 0 had more to train: their shares may be uneven"


def test_a_worker_that_fails_and_does_not_exit_is_named(tmp_path: Path) -> None:
    """Python waits for its threads, and the others for it."""
    fails = """
import threading, time
def waits():
    threading.Thread(target=time.sleep, args=[3600]).start()
    raise SystemError("no space left")
train(2, each=lambda step: waits() if (me, step) == (1, 2) else None)
time.sleep(3600)
"""
    answer = workers(tmp_path, fails, "--worker-timeout", "3s")
    document = answer.document
    assert (answer.code, document["reason_kind"], document["findings"]) == (2, "crashed", []), document
    assert document["reason"] == (  # the step under way is not known to be over
        "worker 1 failed after step 1 and did not exit, and no worker did anything for 3 s"
    )
    assert document["output_tail"].endswith("SystemError: no space left")
    nobody_left(str(tmp_path))


def test_workers_that_all_wait_are_not_waited_for(tmp_path: Path) -> None:
    waits = "train(3 - me)\nif me: os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(3600)"
    answer = workers(tmp_path, "import signal, time\n" + waits, "--worker-timeout", "3s")
    document = answer.document
    assert (answer.code, document["reason_kind"]) == (2, "timeout"), document
    assert document["reason"] == (
        "no worker did anything for 3 s (worker 0 after step 2, worker 1 after step 1): they may wait for each other "
        "(--worker-timeout)"
    )
    nobody_left(str(tmp_path))


def test_a_worker_of_which_nothing_was_seen_leaves_it_undecided(tmp_path: Path) -> None:
    document = workers(tmp_path, "train(3) if me == 0 else None").document
    assert (document["verdict"], document["reason_kind"]) == ("undecided", "no-step"), document
    assert document["reason"].startswith("no training step of worker 1 was observed: "), document
    assert [(child["name"], child["verdict"]) for child in document["children"]] == [("worker 0", "repeats")]


def test_workers_that_train_or_print_now_and_then_do_not_stand_still(tmp_path: Path) -> None:
    slowly = """
import time
for step in range(10):
    time.sleep(0.5)
    train(1) if step < 5 else print(step, flush=True)
"""
    # With a number of steps there is no round with one worker.
    document = workers(tmp_path, slowly, "--worker-timeout", "2s", "--steps", "99").document
    assert document["verdict"] == "repeats", document


def test_a_worker_that_ends_before_the_steps_asked_for(tmp_path: Path) -> None:
    document = workers(tmp_path, "train(2 if me else 10**9)", "--steps", "3").document
    assert document["verdict"] == "repeats", document
    assert [child["steps"] for child in document["children"]] == [3, 2]


def test_of_two_that_fail_the_one_that_lost_its_peer_is_not_to_blame() -> None:
    def worker(number: int, *, lost_peer: bool) -> Any:
        return SimpleNamespace(number=number, lost_peer=lost_peer)

    lost, failed, killed = worker(0, lost_peer=True), worker(1, lost_peer=False), worker(2, lost_peer=False)
    assert blamed([(lost, 1), (failed, 1)]) == WorkerEnd(1, 1)
    assert blamed([(lost, 1), (failed, 1), (killed, -9)]) == WorkerEnd(2, -9)
    assert blamed([(lost, 1)]) == WorkerEnd(0, 1)
    # As TensorFlow does where a collective loses its peer.
    assert blamed([(lost, -signal.SIGABRT), (killed, -9)]) == WorkerEnd(2, -9)
    assert blamed([(failed, -signal.SIGABRT), (killed, -9)]) == WorkerEnd(2, -9)
    aborted = worker(0, lost_peer=False)  # it has no time to report why
    assert blamed([(aborted, -signal.SIGABRT), (failed, 1)]) == WorkerEnd(1, 1)
    assert blamed([(aborted, -signal.SIGABRT), (lost, 1)]) == WorkerEnd(0, -signal.SIGABRT)


def test_who_ends_after_those_that_lost_it_is_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twinrun.twin.cluster._GRACE", 0.2)

    def worker(number: int, *codes: int | None, lost_peer: bool = False) -> Any:
        """Asked again and again, it gives these codes, and from then on the last."""
        left = list(codes)
        poll = lambda: left.pop(0) if len(left) > 1 else left[0]  # noqa: E731
        return SimpleNamespace(number=number, poll=poll, lost_peer=lost_peer)

    late = worker(1, None, None, None, 3)
    assert Cluster([worker(0, 1, lost_peer=True), late], 1.0).wait() == WorkerEnd(1, 3)
    # Who is ended because another has failed is not to blame, however it ends.
    assert Cluster([worker(0, 1), worker(1, None, None, None, -6)], 1.0).wait() == WorkerEnd(0, 1)
    assert Cluster([worker(0, 1, lost_peer=True), worker(1, None)], 1.0).wait() == WorkerEnd(0, 1)


def test_what_ended_a_cluster_is_the_failure_of_the_worker_to_blame(tmp_path: Path) -> None:
    """That another could not reach it any more is no resource that the other twin may hold."""
    failure = Failure(["UnavailableError"], "Connection refused")
    for number in range(2):
        folder = tmp_path / files.FOLDER / str(number + 1)
        folder.mkdir(parents=True)
        ChildProcess(str(number + 1), f"worker {number}", 1, worker=number).write(folder)
    (folder / files.END).write_bytes(msgspec.json.encode(End("failed", Facts(failure=failure))))
    known = [with_children(Facts(worker_end=end), tmp_path) for end in (WorkerEnd(0, -9), WorkerEnd(1, 1))]
    assert [facts.failure for facts in known] == [None, failure]
    text = "Collective instance 12 expected type 0 and data_type 9 but got type 0 and data_type 1"
    other = Failure(["InternalError"], text)
    (folder / files.END).write_bytes(msgspec.json.encode(End("failed", Facts(failure=other))))
    assert with_children(Facts(worker_end=WorkerEnd(1, 1)), tmp_path).failure is None


OWN = """
own = tinynet.Line(2)
for epoch in range(2):
    train(2, batch=lambda step, x: x + 2 * epoch)
    for _ in range(3 * (1 - me)):
        own.train_step(np.ones((1, 2), "f"), np.ones(1, "f"))
"""


def test_a_chief_that_trains_something_of_its_own(tmp_path: Path) -> None:
    """It takes more steps than the others, with whom it has one model in common."""
    document = workers(tmp_path, STRATEGY + OWN, "--steps", "99").document
    assert (document["verdict"], document["findings"]) == ("repeats", []), document
    chief, other = (child["steps"] for child in document["children"])
    assert chief > other


def test_a_worker_that_trains_in_one_twin_alone(tmp_path: Path) -> None:
    """--steps ends the others before it is known what it would have done."""
    first = """
def first():
    try:
        os.symlink("taken", os.path.join(os.environ["TWINRUN_HOME"], "taken"))
    except FileExistsError:
        return False
    return True
if me == 0 or first():
    train(9)
"""
    document = workers(tmp_path, first, "--steps", "3").document
    assert (document["verdict"], document["reason_kind"]) == ("diverges", "uneven"), document
    assert document["first_difference"]["worker"] == 1, document


def test_an_interrupted_check_leaves_no_worker(tmp_path: Path) -> None:
    program = write(tmp_path, TOGETHER.partition("def place")[0] + PLAIN + "train(2)\ntime.sleep(3600)")
    command = start("check", "--workers", "2", program)
    deadline = time.monotonic() + 60
    while len(belonging_to(str(program))) < 7:  # the command, and two of: what starts the workers, and these
        assert time.monotonic() < deadline
        time.sleep(0.1)
    interrupt(command)
    command.communicate(timeout=60)
    assert command.returncode == 130
    nobody_left(str(program))


def test_a_worker_whose_own_gradients_differ_comes_before_those_that_got_the_sum() -> None:
    names = {"0": ("reduced/w",), "1": ("local/w", "reduced/w")}

    def compare(one: str, other: str) -> CheckResult:
        also = tuple(f"gradient: {name}" for name in names[one])
        return CheckResult(
            "", "diverges", first_difference=Difference(1, "loss", "loss"), also_differing=also
        )

    def run(name: str) -> list[Child[str]]:
        about = [ChildProcess(str(n + 1), f"worker {n}", 1, worker=n) for n in range(2)]
        content = Content(1, 1, name)
        return [Child(each, str(each.worker), "ended", content=content) for each in about]

    decisive = Comparison((run("A"), run("B")), compare).run().decisive
    assert decisive is not None and decisive.first_difference is not None
    assert decisive.first_difference.process == "worker 1"


def test_members_of_a_cluster_are_compared_by_their_numbers_in_it() -> None:
    def run(name: str, *members: int) -> list[Child[int]]:
        """Started in this order."""
        content = [Content(1, 1, f"{name}{member}") for member in members]
        about = [ChildProcess(str(n + 1), "worker.py", 1) for n in range(len(members))]
        made = zip(about, members, content, strict=True)
        return [Child(each, member, "ended", None, one, member) for each, member, one in made]

    compared = []

    def compare(one: int, other: int) -> CheckResult:
        compared.append((one, other))
        return CheckResult("", "repeats")

    Comparison((run("A", 0, 1, 2), run("B", 2, 0, 1)), compare).run()
    assert compared == [(0, 0), (1, 1), (2, 2)]


def test_a_reserved_port_is_nobody_elses() -> None:
    held = reserve(4)
    ports = {one.getsockname()[1] for one in held}
    assert len(ports) == 4
    for port in ports:
        with pytest.raises(OSError) as refused, socket.create_server(("", port)):
            pass
        assert refused.value.errno == errno.EADDRINUSE
    for one in held:
        one.close()


def test_what_a_worker_prints_is_passed_on_as_it_is(tmp_path: Path) -> None:
    """Also where the terminal, or a pipe under LANG=C, has no such characters."""
    printed = "naïve\n".encode() + b"\xff\n" + b"last\n"
    passed_on = io.TextIOWrapper(written := io.BytesIO(), encoding="ascii", errors="surrogateescape")
    log = Log(tmp_path / "logs" / "stdout.txt", io.BytesIO(printed), passed_on, "worker 0")
    log.thread.join(timeout=10)
    assert not log.thread.is_alive()
    assert written.getvalue() == printed == (tmp_path / "logs" / "stdout.txt").read_bytes()
