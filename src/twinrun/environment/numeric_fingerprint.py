"""The numeric fingerprint of a machine: what each probe gave, and how two machines' answers compare."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from twinrun.comparison.ulp import is_float, ulp_distance
from twinrun.environment.environment import Environment, read_json, typed
from twinrun.errors import BadRecording
from twinrun.recording.pieces import dtype_of

SAMPLE = 384  # values kept of each answer, evenly spread; the digest covers all of them


@dataclass(frozen=True)
class Probe:
    """One operation on fixed inputs: the digest of its whole answer, and a sample of the values for ULPs."""

    name: str
    group: str
    device: str = "cpu"
    threads: int = 0
    dtype: str = ""
    shape: tuple[int, ...] = ()
    digest: str = ""
    values: str = ""  # base64 of the sample's bytes
    repeats: bool = True  # whether the same call gave the same bits twice in one process
    error: str | None = None

    @property
    def place(self) -> tuple[str, str, int]:
        return self.name, self.device, self.threads

    def sample(self) -> np.ndarray:
        return array_of(self.dtype, base64.b64decode(self.values, validate=True))


@dataclass(frozen=True)
class Fingerprint:
    """All the probes of one machine, with its environment."""

    environment: Environment
    probes: tuple[Probe, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    schema: Literal["twinrun/fingerprint/1"] = "twinrun/fingerprint/1"

    @property
    def digest(self) -> str:
        return _digest_of(self.probes)

    def groups(self) -> dict[str, str]:
        """One digest per kind of operation, in the order in which they were run."""
        names = dict.fromkeys(probe.group for probe in self.probes)
        return {name: _digest_of(probe for probe in self.probes if probe.group == name) for name in names}

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(self)
        document["environment"] = self.environment.as_json()
        return {"fingerprint": self.digest, "groups": self.groups(), **document}


@dataclass(frozen=True)
class Agreement:
    """How one probe compares: equal bits, so many ULPs apart, or not comparable and why."""

    probe: str
    group: str
    device: str
    threads: int
    same: bool
    max_ulp: int | None = None
    differing: float | None = None
    reason: str | None = None


def sample_of(array: np.ndarray, most: int = SAMPLE) -> np.ndarray:
    """Evenly spread values, ends included, of the flattened array."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return np.asarray(flat[sample_places(flat.size, most)])


def sample_places(size: int, most: int = SAMPLE) -> np.ndarray:
    """The numbers of the elements that are taken of so many."""
    return np.arange(size) if size <= most else np.linspace(0, size - 1, most).astype(np.int64)


def array_of(dtype: str, data: bytes) -> np.ndarray:
    """The array of these bytes."""
    return np.frombuffer(data, dtype=dtype_of(dtype))


def _digest_of(probes: Iterable[Probe]) -> str:
    lines = (f"{each.name} {each.device} {each.threads} {each.digest or each.error}" for each in probes)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def compare(a: Fingerprint, b: Fingerprint) -> list[Agreement]:
    """Every probe of either side; one that only one side ran is not comparable."""
    left, right = (_first_of(side.probes, lambda probe: probe.place) for side in (a, b))
    if not set(left) & set(right):
        # Other devices or thread counts altogether: then by name.
        left, right = (_first_of(side.probes, lambda probe: probe.name) for side in (a, b))
    found = []
    for place in [*left, *(place for place in right if place not in left)]:
        if place in left and place in right:
            found.append(agreement(left[place], right[place]))
        else:
            only, side = (left[place], "first") if place in left else (right[place], "second")
            found.append(_agreement(only, same=False, reason=f"only the {side} side ran it"))
    return found


def _first_of(probes: Iterable[Probe], key: Callable[[Probe], Hashable]) -> dict[Hashable, Probe]:
    first: dict[Hashable, Probe] = {}
    for probe in probes:
        first.setdefault(key(probe), probe)
    return first


def agreement(a: Probe, b: Probe) -> Agreement:
    if a.error or b.error:
        return _agreement(a, same=False, reason=f"did not run: {a.error or b.error}")
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return _agreement(a, same=False, reason=f"{a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}")
    if a.digest == b.digest:
        return _agreement(a, same=True, max_ulp=0, differing=0.0)
    left, right = a.sample(), b.sample()
    if left.shape != right.shape:
        return _agreement(a, same=False, reason="the samples differ in size")
    if is_float(left.dtype):
        distance = ulp_distance(left, right)
        share = float(np.mean(distance != 0)) if left.size else 0.0
        return _agreement(a, same=False, max_ulp=int(distance.max(initial=0)), differing=share)
    differing = float(np.mean(left.view(np.uint8) != right.view(np.uint8))) if left.size else 0.0
    return _agreement(a, same=False, differing=differing, reason="other values")


def _agreement(probe: Probe, **outcome: Any) -> Agreement:
    return Agreement(probe.name, probe.group, probe.device, probe.threads, **outcome)


def read_fingerprint(path: Path) -> Fingerprint:
    hint = "write one with `twinrun fingerprint -o FILE`"
    return from_json(read_json(path, "a fingerprint", hint), str(path))


def from_json(document: Any, where: str | None = None) -> Fingerprint:
    """Reads what as_json wrote. Every sample is decoded here, so that a damaged file is reported at once."""
    found = typed(document, Fingerprint, "a fingerprint of this version of Twinrun", where)
    try:
        for probe in found.probes:
            if probe.error is None:
                probe.sample()
    except (TypeError, ValueError, binascii.Error) as problem:
        raise BadRecording(f"this fingerprint is damaged: {problem}", where=where) from None
    if found.digest != document.get("fingerprint"):
        raise BadRecording("this fingerprint was changed: its digest does not match its probes", where=where)
    return found
