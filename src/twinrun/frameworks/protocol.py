"""The whole of what a framework must give. One can live in another package: it names a subclass of `Framework` under
the entry point `twinrun.frameworks`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from twinrun.findings.finding import Finding
from twinrun.protocol.point import Point
from twinrun.protocol.source import Source

if TYPE_CHECKING:
    from twinrun.twin.recorder import Recorder
    from twinrun.twin.session import Session


class Framework:
    """`module` is what a program imports to use the framework. The parent loads the class too: it must not import the
    framework at the top of a file. What the methods below do inside a twin runs after `module` was imported."""

    name: str = ""
    module: str = ""
    sources: Sequence[Source] = ()
    points: Sequence[Point] = ()  # by which steps are seen
    import_draws: int = 0  # words that importing it draws from Python's random
    # How functions end that shuffle what they are given, and take a seed for it.
    shufflers: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()  # distributions whose versions belong to the environment
    # Modules that need the framework, by name. `describer` has `load()`, which imports it, and `describe(initialise=…)`,
    # its facts for the environment record; `python -m` of `prober` runs the probes of a numeric fingerprint.
    describer: str = ""
    prober: str = ""
    # Files whose content only the framework can read, and the module that does: `python -m` of it prints, for each path
    # that it is given, a digest of every part, as JSON.
    file_patterns: tuple[str, ...] = ()
    file_reader: str = ""
    # Exceptions that speak of something that twins share: a file, a port, a device, memory.
    resource_errors: tuple[str, ...] = ()
    # Exceptions of a worker that waits for another which is gone.
    peer_errors: tuple[str, ...] = ()
    # What the exception of a worker says that took part in another operation than the others at the same time.
    mismatch: re.Pattern[str] | None = None

    # inside the program's process

    def attach(self, recorder: Recorder) -> Sequence[Point]:
        """Called right after the program has imported the framework. Returns the points to install now. Their wrappers
        report to the recorder: blocks of digested tensors under their phase, and the end of every step
        (`twin.steps.Steps` counts them)."""
        return self.points

    def probe(self, recorder: Recorder, name: str, tensor: Any) -> bool:
        """Take a tensor that the program hands to `twinrun.probe`. False: it is nothing of this framework's."""
        return False

    def trace_ops(self, recorder: Recorder, *, pipeline: bool) -> None:
        """Set `recorder.trace`, and from then on trace every op, for op-level comparison. By default there is none."""

    def audit_datasets(self, session: Session, *, at_once: bool) -> None:
        """Set `session.audited`, and from then on audit every dataset that the program iterates: at once, or only those
        that it is iterating when `session.audited` is called. In between, that must cost nothing that is noticed."""

    def why_no_step(self, recorder: Recorder) -> str | None:
        """Why no step was observed in a program that imported the framework, as far as that is known here. Called at the
        end of such a program only."""
        return None

    def explain(self, problem: BaseException) -> Finding | None:
        """The finding behind an exception that ended the program."""
        return None

    # in the parent, or where it starts the workers of a cluster

    def launch_environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Variables that twins of one machine need, beside those that are set already."""
        return {}

    def device_environment(self, device: str, environment: Mapping[str, str]) -> Mapping[str, str] | None:
        """Variables with which a program runs on this device, `cpu`, `gpu` or `gpu:1`, and sees no other accelerator. None:
        there is no such device here, as far as can be seen without starting the framework."""
        return None

    def worker_environment(self, addresses: Sequence[str], number: int) -> Mapping[str, str]:
        """Variables that tell a worker of a cluster where the others are, and which of them it is."""
        return {}

    def is_progress(self, line: str) -> bool:
        """Whether a line of output is the framework's own progress bar: it shows times, and metrics that are watched."""
        return False

    def is_log_noise(self, line: str) -> bool:
        """Whether a line of output is the framework's own start-up chatter, which says nothing about a failure."""
        return False
