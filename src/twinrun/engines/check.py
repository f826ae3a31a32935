"""A check whose runs are made on a Ray cluster: sent out, gathered, compared offline. No cause is looked for there."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from twinrun.diagnose.experiments import command
from twinrun.engines.gathered import NodeRun, by_environment, judge_runs
from twinrun.engines.node import Order
from twinrun.engines.parcel import pack_program, unpack_recording
from twinrun.engines.ray_cluster import Done, Lost, RayCluster, RayRequest, connected
from twinrun.errors import ClusterError, UsageError
from twinrun.interrupt import Interrupted
from twinrun.launch.check import check_folder, save
from twinrun.launch.folders import Place
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.round import letter
from twinrun.launch.run import RunOptions
from twinrun.launch.view_store import roots_of
from twinrun.quote import quoted
from twinrun.result import DIVERGES, CheckResult, Reason

_IDS = 8  # characters of a node's id that are shown, where two nodes have one name


def check_on_ray(options: CheckOptions, request: RayRequest, screen: Screen | None = None) -> CheckResult:
    screen = screen or Screen()
    _must_be_possible(options)
    try:
        with check_folder(options) as place, connected(request) as cluster:
            return _Runs(options, place, cluster, screen).check()
    finally:
        screen.close()


def _must_be_possible(options: CheckOptions) -> None:
    """What a check can only do with twins beside each other is refused, not left out."""
    asked = {
        "--workers": options.workers or options.worker_counts,
        "--replicas": options.replicas,
        "--sequential": options.sequential,
        "--freeze": options.freezes,
        "--vary": options.variations,
        "--devices": options.devices,
        "--stress": options.stressed,
        "--trace-ops": options.tracing == "step",
        "--trace-pipeline": options.tracing == "pipeline",
        "--keep-files": options.keep_files,
        "--ignore-output": options.ignored_output,
        "--contract output": options.contract.output,
    }
    given = [option for option, value in asked.items() if value]
    if given:
        raise UsageError(
            f"{given[0]} does not work with --engine ray", hint="leave it out, or check on this machine"
        )


@dataclass
class _Runs:
    """The runs of one check."""

    options: CheckOptions
    place: Place
    cluster: RayCluster
    screen: Screen
    runs: list[NodeRun] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def check(self) -> CheckResult:
        started = time.monotonic()
        try:
            unfinished = self._gather(started)
        except KeyboardInterrupt as stop:
            why = Interrupted.of(stop)
            self.cluster.cancel()
            done = Reason("interrupted", f"{why} when {self._progress}")
            raise why.leaving(("", self._result(started, done))) from None
        return self._result(started, unfinished)

    def _gather(self, started: float) -> Reason | None:
        """None when all runs are there."""
        options = self.options
        deadline = started + options.timeout if options.timeout else None
        roots = roots_of(options.program)
        self.screen.twins([])
        self.screen.say("sending the program to the cluster", deadline)
        parcel = pack_program(roots)
        digest = hashlib.sha256(parcel).hexdigest()[:16]
        order = Order(_run_options(options), roots, Path.cwd(), digest)
        self.cluster.send(parcel)
        for number in range(options.runs):
            self.cluster.submit(number, order)
        try:
            self._take(deadline)
            for number, node_id in self._single():
                self.cluster.submit(number, order, node_id)
            self._take(deadline)
            for number, why in self.cluster.given_up.items():
                what = f"run {letter(number)}, added where one was alone in its environment,"
                self.notes.append(f"{what} was lost ({why}), and no other node could make it")
        except ClusterError as problem:
            if not self.runs and not isinstance(problem, Lost):  # as the first run, so all
                raise
            hint = f" ({problem.hint})" if problem.hint else ""
            return Reason("crashed", f"{problem.message}{hint}; {self._progress}")
        if self.cluster.unfinished:
            return Reason("timeout", f"not all runs ended within {options.timeout:g} s: {self._progress}")
        return None

    def _take(self, deadline: float | None) -> None:
        def tick() -> None:
            self.screen.say(f"{self._progress}, on {self.cluster.nodes} nodes", deadline)

        for each in self.cluster.done(deadline, tick):
            self._keep(each)

    @property
    def _progress(self) -> str:
        count = max(self.options.runs, len(self.runs))
        return f"{len(self.runs)} of {count} runs had ended"

    def _keep(self, done: Done) -> None:
        name = letter(done.number)
        folder = self.place.folder / name
        unpack_recording(done.made.recording, folder)
        run = NodeRun(name, done.made.host, done.node_id, folder, done.made.result)
        self.runs.append(run)
        self.runs.sort(key=lambda run: (len(run.name), run.name))
        for why in done.lost:
            self.notes.append(f"run {name} was lost ({why}) and made again, on {run.node}")
        if done.number >= self.options.runs:
            self.notes.append(f"run {name} was added on {run.node}, where one was alone in its environment")

    def _single(self) -> list[tuple[int, str]]:
        """One more run on the node of each that is alone in its environment: it has none to be compared with."""
        if len(self.runs) < self.options.runs:
            return []
        alone = [group.runs[0] for group in by_environment(self.runs) if len(group.runs) == 1]
        return [(self.options.runs + number, run.node_id) for number, run in enumerate(alone)]

    def _result(self, started: float, unfinished: Reason | None) -> CheckResult:
        options = self.options
        result = judge_runs(options, _told_apart(self.runs), unfinished)
        notes = [*result.notes, *self.notes, *self.place.notes]
        if result.verdict == DIVERGES:
            here = command(replace(options, runs=2), diagnose=True)
            notes.append(f"no cause is looked for on a cluster; to look for it on this machine: {here}")
        result = result.replace(
            findings=quoted(result.findings, {}),
            notes=tuple(notes),
            timing={"seconds": round(time.monotonic() - started, 3)},
        )
        return save(options.program.shown(result), self.place.folder)


def _run_options(options: CheckOptions) -> RunOptions:
    by_value = options.contract.numeric
    return RunOptions(
        options.program, options.steps, options.interventions, options.timeout,
        detail=options.detail or by_value, keep_values=by_value, keep_child_values=by_value,
    )  # fmt: skip


def _told_apart(runs: Iterable[NodeRun]) -> list[NodeRun]:
    """Add part of a node's id where another node has the same name."""
    runs = list(runs)
    nodes = {(run.node, run.node_id) for run in runs}
    names = [name for name, _ in nodes]
    return [
        replace(run, node=f"{run.node} ({run.node_id[:_IDS]})") if names.count(run.node) > 1 else run
        for run in runs
    ]
