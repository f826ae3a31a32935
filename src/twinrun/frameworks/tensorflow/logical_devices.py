"""Several devices for a machine that has only its processor (`--replicas`), so that a program for several GPUs can be tried
there."""

from __future__ import annotations

import re
from typing import Any

from twinrun.frameworks.tensorflow.runtime import tf
from twinrun.twin.recorder import Recorder


def split_cpu(recorder: Recorder) -> None:
    """Right after TensorFlow was imported: later it is too late."""
    if tf.config.list_physical_devices("GPU"):
        recorder.note("--replicas is for machines without a GPU; this one has one, and is used as it is")
        return
    one = tf.config.LogicalDeviceConfiguration()
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [one] * recorder.spec.replicas)


def on_cpus(devices: Any) -> Any:
    """The devices that a strategy is given, where they are GPUs that this machine does not have."""
    if not isinstance(devices, (list, tuple)) or tf.config.list_physical_devices("GPU"):
        return devices
    return [re.sub("gpu", "CPU", str(device), flags=re.IGNORECASE) for device in devices]


def reduction_of_cpus(given: Any) -> Any:
    """What a strategy sums its gradients by, where that is NCCL, which knows GPUs alone: what works on any device."""
    if not isinstance(given, tf.distribute.NcclAllReduce) or tf.config.list_physical_devices("GPU"):
        return given
    return tf.distribute.HierarchicalCopyAllReduce()
