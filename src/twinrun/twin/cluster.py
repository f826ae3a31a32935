"""Starts the workers of a cluster on this machine, in front of the program that each of them runs. This process is the
twin, and the workers are its children. When one of them fails, or all that are left stand still, all are ended. Runs as a
script."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, TextIO

import msgspec
import psutil

from twinrun.protocol import child as files
from twinrun.protocol.facts import Failure, WorkerEnd
from twinrun.protocol.registry import frameworks, lost_peer
from twinrun.recording.output import ERRORS
from twinrun.recording.printed import OUTPUT
from twinrun.twin.callers import unseen
from twinrun.twin.recorder import Recorder, active
from twinrun.twin.shared_port import VARIABLE as PORT

_TICK = 0.05  # seconds
_GRACE = 2.0  # for the others to report what a failure does to them
_BUSY = 0.02  # of a processor: a worker that waits for another uses less
_LOOKS = 30  # at what the workers do, in the time after which they stand still
_KEPT = 2_000_000  # bytes of a worker's output that its log keeps, beside the last lines
_LAST = 40  # lines
_LONGEST = 8192  # bytes of a line that are passed on before its end is there


def reserve(count: int) -> list[socket.socket]:
    """Ports that are free, and stay so for as long as these are open: only who may share them (SO_REUSEPORT), as the
    workers do, can take one."""
    reserved = []
    for _ in range(count):
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        one.bind(("", 0))
        reserved.append(one)
    return reserved


class Log:
    """What a worker prints on one stream: kept in a file, and passed on line by line. The target is one that gives the same
    bytes again for what is not in its encoding (surrogateescape)."""

    def __init__(self, path: Path, source: IO[bytes], target: TextIO, name: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb", buffering=0)
        self._room = _KEPT
        self._last: deque[bytes] = deque(maxlen=_LAST)  # of what the file has no room for
        self.lines = 0
        self._source, self._target = source, target
        self.thread = threading.Thread(target=self._follow, name=name, daemon=True)
        self.thread.start()

    def _follow(self) -> None:
        with unseen(), self._source, self._file:
            for line in iter(lambda: self._source.readline(_LONGEST), b""):
                self.lines += 1
                self._keep(line)
                self._target.write(line.decode(self._target.encoding, "surrogateescape"))
                self._target.flush()
            if self._last:
                self._write(b"\n[twinrun: more was printed than this]\n" + b"".join(self._last))

    def _keep(self, line: bytes) -> None:
        if len(line) <= self._room:
            self._room -= len(line)
            self._write(line)
        else:
            self._room = 0
            self._last.append(line)

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # on a full disk the worker must not wait for ever
            self._file.write(data)


class Worker:
    """One process of the cluster, with its number in it."""

    def __init__(self, number: int, command: Sequence[str], addresses: Sequence[str], folder: Path) -> None:
        self.number = number
        environment = dict(os.environ)
        for framework in frameworks():
            environment.update(framework.worker_environment(addresses, number))
        environment[PORT] = addresses[number].rpartition(":")[2]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        logs = folder / f"worker-{number}"
        self._logs = [
            Log(logs / OUTPUT, self.process.stdout, sys.stdout, f"worker {number}"),
            Log(logs / ERRORS, self.process.stderr, sys.stderr, f"worker {number} errors"),
        ]
        self._recording = folder / files.FOLDER / str(number + 1)
        self._active = time.monotonic()  # when it last did something
        self._used = 0.0  # the processor time that it had used by then
        self._left: tuple[int, ...] = ()  # what it had printed and recorded by then
        self._report: dict[str, Any] = {}

    def poll(self) -> int | None:
        return self.process.poll()

    def _reported(self) -> dict[str, Any]:
        """What it said of itself at its end; empty where it has said nothing so far."""
        if not self._report:
            with contextlib.suppress(OSError, ValueError):  # it is just being written
                self._report = json.loads((self._recording / files.END).read_bytes())
        return self._report

    @property
    def has_stopped(self) -> bool:
        """It has taken the steps asked for, and goes on unrecorded."""
        return self._reported().get("status") == "stopped"

    @property
    def lost_peer(self) -> bool:
        """Whether it failed for want of another."""
        failure = self._reported().get("facts", {}).get("failure")
        return failure is not None and lost_peer(msgspec.convert(failure, Failure))

    @property
    def failed(self) -> bool:
        """Whether an exception has ended its program, as far as is known while the process goes on."""
        with contextlib.suppress(OSError, ValueError):
            return json.loads((self._recording / files.SO_FAR).read_bytes()).get("failure") is not None
        return False

    def still_for(self, now: float, patience: float) -> float:
        """Seconds for which it has done next to nothing: it has printed nothing, recorded nothing, and waited."""
        used, waiting = _work(self.process.pid)
        left = (*(log.lines for log in self._logs), _written(self._recording))
        if used - self._used > _BUSY * patience or left != self._left or not waiting:
            self._active, self._used, self._left = now, used, left
        return now - self._active

    def end(self) -> None:
        if self.poll() is None:
            self.process.kill()
        self.process.wait()
        for log in self._logs:
            log.thread.join(timeout=5.0)  # a process that the worker left behind may hold the other end


class Cluster:
    def __init__(self, workers: Sequence[Worker], patience: float) -> None:
        self._workers = workers
        self._patience = patience
        self._looked = time.monotonic()

    def wait(self) -> WorkerEnd | None:
        """Until all have ended, or have taken the steps asked for. The worker whose end was no good one, if any."""
        while True:
            codes = [worker.poll() for worker in self._workers]
            if any(codes):
                failed = self._failed()
                self._give_others_time()
                # Who lost a peer may notice it before that one has come to its end. Else others fail because of these.
                return blamed(self._failed() if all(worker.lost_peer for worker, _ in failed) else failed)
            if None not in codes or self.stopped:
                return None
            if len(codes) > 1 and (waiting := self._standing_still(codes)) is not None:
                ended = codes.index(0) if 0 in codes else None
                return WorkerEnd(waiting.number, None, ended, waiting.failed)
            time.sleep(_TICK)

    def _failed(self) -> list[tuple[Worker, int]]:
        codes = ((worker, worker.poll()) for worker in self._workers)
        return [(worker, code) for worker, code in codes if code]

    def _standing_still(self, codes: list[int | None]) -> Worker | None:
        """One that may wait for ever, for another that has ended or for one that waits too, or that has failed and does not
        exit: all that are left do nothing."""
        now = time.monotonic()
        if now - self._looked < self._patience / _LOOKS:
            return None
        self._looked = now
        left = [worker for worker, code in zip(self._workers, codes, strict=True) if code is None]
        still = [worker.still_for(now, self._patience) for worker in left]
        if min(still) <= self._patience:
            return None
        return next((worker for worker in left if worker.failed), left[0])

    @property
    def stopped(self) -> bool:
        """All that have not ended have taken the steps asked for."""
        left = [worker for worker in self._workers if worker.poll() != 0]
        return bool(left) and all(worker.has_stopped for worker in left)

    def _give_others_time(self) -> None:
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline and any(worker.poll() is None for worker in self._workers):
            time.sleep(_TICK)

    def end(self) -> None:
        for worker in self._workers:
            worker.end()


def blamed(failed: Sequence[tuple[Worker, int]]) -> WorkerEnd:
    """Of workers that failed at the same moment, with their exit codes. A signal comes from outside, unless the worker aborts
    itself. Who does that may do so because another was killed, or has failed by an error of its own; who reports that it
    lost another surely does."""

    def order(each: tuple[Worker, int]) -> tuple[bool, bool, bool, int]:
        worker, code = each
        aborted = code == -signal.SIGABRT
        return (code > 0 or aborted, worker.lost_peer, aborted, worker.number)

    worker, code = min(failed, key=order)
    return WorkerEnd(worker.number, code)


def main(count: int, patience: float, command: list[str]) -> int:
    recorder = active()
    assert recorder is not None  # only a twin is started so
    recorder.session.log.recording = False  # nothing that happens here is the program's
    with contextlib.ExitStack() as opened:
        ports = [opened.enter_context(port).getsockname()[1] for port in reserve(count)]
        addresses = [f"localhost:{port}" for port in ports]
        folder = Path(recorder.spec.folder)
        workers: list[Worker] = []
        cluster = Cluster(workers, patience)
        opened.callback(cluster.end)
        for number in range(count):
            workers.append(Worker(number, command, addresses, folder))
        failure = cluster.wait()
        _report(recorder, failure, stopped=failure is None and cluster.stopped)
    return 0 if failure is None else 1


def _report(recorder: Recorder, failure: WorkerEnd | None, *, stopped: bool) -> None:
    recorder.worker_end = failure
    if stopped:
        recorder.status = "stopped"
    elif failure is not None:
        recorder.status = "failed"


def _work(pid: int) -> tuple[float, bool]:
    """Of a process and those below it: the processor time they have used, in seconds, and whether all their threads wait for
    something other than a processor or a disk."""
    used, waiting = 0.0, True
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                times = each.cpu_times()
                used += times.user + times.system
                waiting = waiting and _waits(each.pid)
    return used, waiting


def _waits(pid: int) -> bool:
    """As the kernel has it: running, or able to, is R, and D is waiting for a disk."""
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError, IndexError):  # it has just ended
            if thread.read_text().rpartition(")")[2].split()[0] in "RD":
                return False
    return True


def _written(recording: Path) -> int:
    """When something was last written there."""
    with contextlib.suppress(OSError):
        return max((file.stat().st_mtime_ns for file in recording.iterdir()), default=0)
    return 0


if __name__ == "__main__":
    del sys.path[0]  # this folder, which is no place of the program's
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
