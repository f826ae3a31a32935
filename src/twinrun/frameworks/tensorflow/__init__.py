"""TensorFlow: variables, tf.function calls, gradient tapes, dataset iterators and sessions, seen from outside the step."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinrun.findings.finding import Finding
from twinrun.frameworks.protocol import Framework
from twinrun.frameworks.tensorflow.patches import POINTS
from twinrun.frameworks.tensorflow.sources import SOURCES
from twinrun.protocol.facts import DatasetsAudit
from twinrun.protocol.point import Point

if TYPE_CHECKING:
    from twinrun.twin.recorder import Recorder
    from twinrun.twin.session import Session

_NVIDIA = (Path("/dev/nvidia0"), Path("/proc/driver/nvidia"))
_VISIBLE = "CUDA_VISIBLE_DEVICES"


class TensorFlow(Framework):
    name = "TensorFlow"
    module = "tensorflow"
    sources = SOURCES
    points = POINTS
    import_draws = 1
    packages = ("tensorflow",)
    describer = "twinrun.frameworks.tensorflow.describe"
    file_patterns = ("*.index", "*.data-?????-of-?????", "*saved_model.pb", "*fingerprint.pb")
    file_reader = "twinrun.frameworks.tensorflow.saved_files"
    prober = "twinrun.frameworks.tensorflow.numeric_fingerprint"
    resource_errors = (
        "NotFoundError", "AlreadyExistsError", "DataLossError", "FailedPreconditionError", "UnavailableError",
        "ResourceExhaustedError", "InternalError", "UnknownError", "AbortedError",
    )  # fmt: skip

    peer_errors = ("UnavailableError", "AbortedError", "CancelledError")
    mismatch = re.compile(r"Collective instance \d+ expected .* but got ")

    def attach(self, recorder: Recorder) -> Sequence[Point]:
        if recorder.spec.replicas:
            from twinrun.frameworks.tensorflow.logical_devices import split_cpu

            split_cpu(recorder)
        return self.points

    def probe(self, recorder: Recorder, name: str, tensor: Any) -> bool:
        from twinrun.frameworks.tensorflow.observer import observer_for

        return observer_for(recorder).probe(name, tensor)

    def trace_ops(self, recorder: Recorder, *, pipeline: bool) -> None:
        from twinrun.frameworks.tensorflow.optrace import trace_ops

        trace_ops(recorder, pipeline=pipeline)

    def audit_datasets(self, session: Session, *, at_once: bool) -> None:
        """What fails in the audit of pipelines is reported; what the source's audit has found stays."""
        try:
            from twinrun.pipelines.built_datasets import record_datasets

            report = record_datasets(at_once=at_once).report
        except Exception as problem:
            failed = _not_audited(problem)
            session.audited = lambda: failed
            return

        def audited() -> DatasetsAudit:
            try:
                return report()
            except Exception as problem:
                return _not_audited(problem)

        session.audited = audited

    def why_no_step(self, recorder: Recorder) -> str | None:
        return "TensorFlow was imported and no variable was updated (a loop over plain tensors?)"

    def explain(self, problem: BaseException) -> Finding | None:
        from twinrun.frameworks.tensorflow.refusal import explain

        return explain(problem)

    def launch_environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        return shared_gpu(environment.get(_VISIBLE))

    def device_environment(self, device: str, environment: Mapping[str, str]) -> Mapping[str, str] | None:
        return visible_device(device, environment.get(_VISIBLE))

    def worker_environment(self, addresses: Sequence[str], number: int) -> Mapping[str, str]:
        """The port of a worker is held for it, and must be shared."""
        cluster = {"cluster": {"worker": list(addresses)}, "task": {"type": "worker", "index": number}}
        return {"TF_CONFIG": json.dumps(cluster), "TF_GRPC_REUSE_PORT": "1"}

    def is_log_noise(self, line: str) -> bool:
        starts = ("I0000", "W0000", "WARNING: All log messages before absl")
        # As on every machine without a GPU.
        return line.startswith(starts) or " I tensorflow/" in line or "failed call to cuInit" in line


def _not_audited(problem: Exception) -> DatasetsAudit:
    reason = f"the input pipelines could not be audited: {type(problem).__name__}: {problem}"
    return DatasetsAudit(failures=(reason,))


def shared_gpu(visible: str | None, signs: tuple[Path, ...] = _NVIDIA) -> dict[str, str]:
    """TensorFlow takes all of a GPU's memory at once, and the twins share the GPU: there it must take what it needs."""
    if visible in ("", "-1") or not any(sign.exists() for sign in signs):
        return {}
    return {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}


def visible_device(
    device: str, visible: str | None, folder: Path = Path("/dev"), signs: tuple[Path, ...] = _NVIDIA
) -> dict[str, str] | None:
    """Environment variables that let TensorFlow see this device alone. GPUs are counted among those that are visible now."""
    kind, _, number = device.partition(":")
    if kind == "cpu":
        return {_VISIBLE: "-1"}
    if not any(sign.exists() for sign in signs):
        return None
    if visible is None:
        found = [str(place) for place in range(len(list(folder.glob("nvidia[0-9]*"))) or 1)]
    else:
        listed = (each.strip() for each in visible.split(","))
        found = list(takewhile(lambda each: each not in ("", "-1"), listed))  # as CUDA reads it
    place = int(number or 0)
    return {_VISIBLE: found[place]} if place < len(found) else None
