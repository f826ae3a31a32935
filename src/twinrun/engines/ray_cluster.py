"""Runs as tasks of a Ray cluster: submitted, waited for, made again where they were lost with their node, cancelled. The only
file that imports Ray."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twinrun import __version__
from twinrun.counted import counted
from twinrun.engines.node import MadeRun, Order
from twinrun.errors import ClusterError
from twinrun.interrupt import raise_pending

ATTEMPTS = 3  # of one run
_REACHABLE = 5.0  # seconds to connect to an address
_GOODBYE = 10.0  # seconds for runs that are cancelled to end in good order
_LOOK = 0.5  # seconds between looks at a signal or the clock


@dataclass(frozen=True)
class RayRequest:
    """Where the cluster is, None for the one that this machine belongs to, and what each run needs of a node."""

    address: str | None = None
    cpus: int = 1
    gpus: int = 0

    @property
    def needs(self) -> str:
        return _resources(self.cpus, self.gpus)


@dataclass(frozen=True)
class Done:
    """A run that has ended. `lost` says why it had to be made again, once for each time."""

    number: int
    node_id: str
    made: MadeRun
    lost: tuple[str, ...] = ()


class Lost(ClusterError):
    """A run that was lost with its node again and again, or for which no node is left."""


@dataclass
class _Task:
    number: int
    order: bytes
    node_id: str | None = None  # where it must run
    lost: list[str] = field(default_factory=list)


@contextlib.contextmanager
def connected(request: RayRequest) -> Iterator[RayCluster]:
    """However this is left, none of its tasks stays behind."""
    ray = _ray()
    # Ray prints what became of other nodes, from a thread of its own, whatever it is asked for.
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        _connect(ray, request)
        cluster = RayCluster(ray, request)
        try:
            cluster.must_fit()
            yield cluster
        finally:
            cluster.cancel()
            ray.shutdown()


def _ray() -> Any:
    try:
        import ray
        import ray.exceptions
        import ray.util.scheduling_strategies
    except ImportError:
        raise ClusterError(
            "--engine ray needs Ray, which is not installed", hint="pip install 'twinrun[ray]'"
        ) from None
    return ray


def _connect(ray: Any, request: RayRequest) -> None:
    if request.address is not None:
        _must_answer(request.address)
    where = f"at {request.address}" if request.address else "on this machine"
    # Ray has an idea of its own of what SIGTERM means.
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        ray.init(address=request.address or "auto", log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as problem:
        reason = str(problem).strip().splitlines()[0]
        hint = "start one with ray start --head, or give --ray-address HOST:PORT"
        raise ClusterError(f"no Ray cluster {where}: {reason}", hint=hint) from None
    finally:
        with contextlib.suppress(ValueError):  # not in the main thread, where nobody changed them
            for number, handler in before.items():
                signal.signal(number, handler)


def _must_answer(address: str) -> None:
    """Ray itself would try for a minute."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise ClusterError(
            f"{address!r} is not the address of a Ray cluster",
            hint="write HOST:PORT: --ray-address head:6379",
        )
    try:
        socket.create_connection((host, int(port)), _REACHABLE).close()
    except (OSError, OverflowError) as problem:
        hint = "ray status, on the head node, shows the cluster; its port is the one of ray start --port"
        raise ClusterError(f"no Ray cluster at {address}: {problem}", hint=hint) from None


class RayCluster:
    def __init__(self, ray: Any, request: RayRequest) -> None:
        self._ray = ray
        self._request = request
        self._tasks: dict[Any, _Task] = {}  # by the reference to the answer
        self._parcel: Any = None
        self.given_up: dict[int, str] = {}  # why runs were lost that no other node may make

    # what there is

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    @property
    def nodes(self) -> int:
        return len(self._nodes())

    def _fits(self) -> bool:
        return any(
            node["Resources"].get("CPU", 0) >= self._request.cpus
            and node["Resources"].get("GPU", 0) >= self._request.gpus
            for node in self._nodes()
        )

    def must_fit(self) -> None:
        """A task that no node can take would wait for ever."""
        if self._fits():
            return
        known = {
            _resources(int(node["Resources"].get("CPU", 0)), int(node["Resources"].get("GPU", 0)))
            for node in self._nodes()
        }
        raise ClusterError(
            f"no node of the cluster has {self._request.needs}, which a run asks for",
            hint=f"there are nodes with {'; '.join(sorted(known))}: see --cpus-per-run and --gpus-per-run",
        )

    # runs

    def send(self, parcel: bytes) -> None:
        """The program's folders, once for all runs."""
        self._parcel = self._ray.put(parcel)

    def submit(self, number: int, order: Order, node_id: str | None = None) -> None:
        """`node_id`: the node that must make the run."""
        self._submit(_Task(number, pickle.dumps(order), node_id))

    def _submit(self, task: _Task) -> None:
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        where = "SPREAD" if task.node_id is None else affinity(task.node_id, soft=False)
        remote = self._ray.remote(_on_node()).options(
            num_cpus=self._request.cpus, num_gpus=self._request.gpus, scheduling_strategy=where,
            max_retries=0, name=f"twinrun-{task.number}",
        )  # fmt: skip
        self._tasks[remote.remote(task.order, self._parcel, __version__)] = task

    def done(self, deadline: float | None = None, tick: Callable[[], None] = lambda: None) -> Iterator[Done]:
        """Runs as they end, until none is left, or the time (time.monotonic()) has come. Those that were lost with their
        node are made again."""
        while self._tasks and (deadline is None or time.monotonic() < deadline):
            raise_pending()
            tick()
            ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=_LOOK)
            for reference in ready:
                task = self._tasks.pop(reference)
                found = self._answer(reference, task)
                if found is not None:
                    yield found

    @property
    def unfinished(self) -> int:
        return len(self._tasks)

    def _answer(self, reference: Any, task: _Task) -> Done | None:
        """None for a run that is made again."""
        errors = self._ray.exceptions
        try:
            node_id, made = self._ray.get(reference)
        except errors.RayTaskError as problem:
            raise _as_error(problem.cause) from None
        except errors.RayError as problem:
            self._make_again(task, problem)
            return None
        return Done(task.number, node_id, made, tuple(task.lost))

    def _make_again(self, task: _Task, problem: Exception) -> None:
        task.lost.append(_why_lost(problem))
        if task.node_id is not None:  # no other node will do
            self.given_up[task.number] = task.lost[-1]
            return
        if len(task.lost) >= ATTEMPTS:
            raise Lost(
                f"run {task.number + 1} was lost {ATTEMPTS} times: {'; '.join(dict.fromkeys(task.lost))}"
            )
        if not self._fits():
            raise Lost(f"no node is left that has {self._request.needs}: {task.lost[-1]}")
        self._submit(task)

    def cancel(self) -> None:
        """In good order, so that every run takes its processes and files with it; then by force."""
        for force in (False, True):
            for reference in self._tasks:
                with contextlib.suppress(Exception):
                    self._ray.cancel(reference, force=force)
            if self._tasks:
                with contextlib.suppress(Exception):
                    _, left = self._ray.wait(
                        list(self._tasks), num_returns=len(self._tasks), timeout=_GOODBYE
                    )
                    self._tasks = {reference: self._tasks[reference] for reference in left}
        self._tasks.clear()


def _on_node() -> Callable[[bytes, bytes, str], Any]:
    """What a node runs. Ray sends a function of a function as it is, so that a node without Twinrun gets to its first
    line."""

    def on_node(order: bytes, parcel: bytes, version: str) -> Any:
        import pickle

        import ray

        import twinrun
        from twinrun.engines.node import make_run

        if twinrun.__version__ != version:
            raise RuntimeError(f"it has Twinrun {twinrun.__version__}, and the check is made with {version}")
        made = make_run(pickle.loads(order), parcel)
        return ray.get_runtime_context().get_node_id(), made

    return on_node


def _as_error(cause: BaseException) -> ClusterError:
    """An exception of a node, for people."""
    if isinstance(cause, ModuleNotFoundError) and (cause.name or "").partition(".")[0] == "twinrun":
        return ClusterError(
            "a node of the cluster has no Twinrun", hint=f"pip install twinrun=={__version__} on every node"
        )
    return ClusterError(f"a node of the cluster could not make a run: {str(cause) or type(cause).__name__}")


def _why_lost(problem: Exception) -> str:
    names = {
        "NodeDiedError": "its node was lost",
        "OutOfMemoryError": "its node had no memory left",
        "WorkerCrashedError": "its node, or the process on it, was lost",
    }
    name = type(problem).__name__
    return names.get(name, f"Ray reported {name}")


def _resources(cpus: int, gpus: int) -> str:
    parts = [counted(cpus, "CPU"), *([counted(gpus, "GPU")] if gpus else [])]
    return " and ".join(parts)
