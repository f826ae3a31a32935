"""`python -m twinrun.frameworks.tensorflow.numeric_fingerprint SETTINGS`: runs the probes of a numeric fingerprint.

Prints a line of JSON for the environment, then one before and one after each probe, so that results are not lost when a
probe crashes the process."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import tensorflow as tf
import xxhash

from twinrun.environment.capture import capture
from twinrun.environment.numeric_fingerprint import Probe, sample_of
from twinrun.frameworks.tensorflow.probes import Call, probes


def run(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every probe on every device, each twice to see whether it repeats."""
    threads = int(settings.get("threads") or 0)
    if threads:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    if settings.get("determinism", True):
        tf.config.experimental.enable_op_determinism()
    tf.random.set_seed(1)
    environment = capture(initialise=True)
    yield {"environment": environment.as_json()}
    in_use = int(environment.get("framework", "intra_op_threads", 0) or 0)
    done = 0
    for logical in tf.config.list_logical_devices():
        device = logical.name.removeprefix("/device:").lower()
        if device.split(":")[0] not in ("cpu", "gpu"):
            continue
        with tf.device(logical.name):
            for group, name, call in probes():
                done += 1
                if done <= int(settings.get("skip", 0)):
                    continue
                yield {"started": asdict(Probe(name, group, device, in_use))}
                yield {"probe": asdict(_probe(group, name, call, device, in_use))}
    yield {"ended": done}


def _probe(group: str, name: str, call: Call, device: str, threads: int) -> Probe:
    try:
        first, second = np.asarray(call()), np.asarray(call())
    except Exception as problem:  # this device cannot run it
        reason = f"{type(problem).__name__}: {str(problem).splitlines()[0][:120]}"
        return Probe(name, group, device, threads, error=reason)
    first = np.ascontiguousarray(first)
    return Probe(
        name,
        group,
        device,
        threads,
        str(first.dtype),
        tuple(first.shape),
        xxhash.xxh3_64(first.tobytes()).hexdigest(),
        base64.b64encode(sample_of(first).tobytes()).decode(),
        first.tobytes() == np.ascontiguousarray(second).tobytes(),
    )


if __name__ == "__main__":
    for message in run(json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}")):
        print(json.dumps(message), flush=True)
