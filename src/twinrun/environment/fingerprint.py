"""The numeric fingerprint of a machine as a value: what each probe gave, and how two machines' answers
compare."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from twinrun.comparison.ulp import is_float, ulp_distance
from twinrun.environment.environment import Environment
from twinrun.errors import BadRecording

SCHEMA = "twinrun/fingerprint/1"
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
        return np.frombuffer(base64.b64decode(self.values, validate=True), dtype=_dtype(self.dtype))


@dataclass(frozen=True)
class Fingerprint:
    """All the probes of one machine, with its environment."""

    environment: Environment
    probes: tuple[Probe, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def digest(self) -> str:
        return digest_of(self.probes)

    def groups(self) -> dict[str, str]:
        """One digest per kind of operation, in the order in which they were run."""
        names = dict.fromkeys(probe.group for probe in self.probes)
        return {name: digest_of(probe for probe in self.probes if probe.group == name) for name in names}

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "fingerprint": self.digest,
            "groups": self.groups(),
            "settings": self.settings,
            "seconds": self.seconds,
            "environment": self.environment.as_json(),
            "probes": [asdict(probe) for probe in self.probes],
        }


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

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def digest_of(probes: Iterable[Probe]) -> str:
    text = "\n".join(
        f"{probe.name} {probe.device} {probe.threads} {probe.digest or probe.error}" for probe in probes
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sample_of(array: np.ndarray) -> np.ndarray:
    """Evenly spread values, ends included, of the flattened array."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.size <= SAMPLE:
        return flat
    return flat[np.linspace(0, flat.size - 1, SAMPLE).astype(np.int64)]


def compare(a: Fingerprint, b: Fingerprint) -> list[Agreement]:
    """Every probe of either side; one that only one side ran is not comparable."""
    left = {probe.place: probe for probe in a.probes}
    right = {probe.place: probe for probe in b.probes}
    if not set(left) & set(right):
        # Other devices or thread counts altogether: set side by side by name, which is what a reader wants to
        # know.
        left, right = _by_name(a.probes), _by_name(b.probes)
    found = []
    for place in dict.fromkeys([*left, *right]):
        one, other = left.get(place), right.get(place)
        if one is None or other is None:
            only = one or other
            assert only is not None
            side = "second" if one is None else "first"
            found.append(_agreement(only, same=False, reason=f"only the {side} side ran it"))
        else:
            found.append(agreement(one, other))
    return found


def _by_name(probes: Iterable[Probe]) -> dict[tuple[str, str, int], Probe]:
    first: dict[tuple[str, str, int], Probe] = {}
    for probe in probes:
        first.setdefault((probe.name, "", 0), probe)
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
        return _agreement(a, same=False, reason="the samples are not of one size")
    differing = float(np.mean(left.view(np.uint8) != right.view(np.uint8))) if left.size else 0.0
    if is_float(left.dtype):
        distance = ulp_distance(left, right)
        share = float(np.mean(distance != 0)) if left.size else 0.0
        return _agreement(a, same=False, max_ulp=int(distance.max(initial=0)), differing=share)
    return _agreement(a, same=False, differing=differing, reason="other values")


def _agreement(probe: Probe, **outcome: Any) -> Agreement:
    return Agreement(probe.name, probe.group, probe.device, probe.threads, **outcome)


def read_fingerprint(path: Path) -> Fingerprint:
    """Reads a fingerprint file. Every sample is decoded here, so that a damaged file is named at once."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadRecording(
            f"there is no {path}", hint="write one with `twinrun fingerprint -o FILE`"
        ) from None
    except (OSError, ValueError) as problem:
        raise BadRecording(f"{path} is not a fingerprint: {problem}") from None
    return from_json(document, str(path))


def from_json(document: Any, where: str | None = None) -> Fingerprint:
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise BadRecording("this is not a fingerprint of this version of Twinrun", where=where)
    try:
        probes = tuple(probe_from_json(each) for each in document["probes"])
        for probe in probes:
            if probe.error is None:
                probe.sample()
        settings, seconds = dict(document["settings"]), float(document["seconds"])
        environment = Environment.from_json(document["environment"], where)
    except (KeyError, TypeError, ValueError, binascii.Error) as problem:
        reason = f"this fingerprint is damaged: {type(problem).__name__}: {problem}"
        raise BadRecording(reason, where=where) from None
    found = Fingerprint(environment, probes, settings, seconds)
    if found.digest != document.get("fingerprint"):
        raise BadRecording("this fingerprint was changed: its digest does not match its probes", where=where)
    return found


def probe_from_json(document: Mapping[str, Any]) -> Probe:
    return Probe(**{**document, "shape": tuple(document["shape"])})


def _dtype(name: str) -> Any:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)
