"""What a user asks to be pinned: a seed, how strict to be, where to run, what to tolerate."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from twinrun.errors import UsageError

LARGEST_SEED = 2**64 - 1
_FORMS = "--pin, --pin=7, --pin=7,strict, --pin=device=cpu, --pin=threads=1, --pin=allow=TW406"
Streams = tuple[tuple[str, int], ...]


class PinRequest(msgspec.Struct, frozen=True):
    """`only` names the controls to apply, and no others; None means all of them but those in `leave_out`. `threads` is
    the number of threads to compute with; None keeps what the machine or OMP_NUM_THREADS gives, but makes it explicit.
    `streams` gives single streams a seed other than `seed`. `reseed` replaces the seeds that the program sets itself, and
    keeps the streams apart even where the program seeds them together."""

    seed: int = 42
    strict: bool = False
    device: str | None = None
    allow: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    leave_out: tuple[str, ...] = ()
    threads: int | None = None
    streams: Streams = ()
    reseed: bool = False

    @staticmethod
    def parse(text: str) -> PinRequest:
        """`--pin`'s value: parts separated by commas; a bare number is the seed."""
        request = PinRequest()
        for part in (piece.strip() for piece in text.split(",")):
            if part:
                request = _with_part(request, part)
        return request

    def wants(self, control: str) -> bool:
        return (self.only is None or control in self.only) and control not in self.leave_out

    def seed_of(self, stream: str) -> int:
        """What the seeds of a stream are derived from."""
        return dict(self.streams).get(stream, self.seed)

    def without(self, control: str) -> PinRequest:
        """The same request, less one control."""
        return replace(self, leave_out=(*self.leave_out, control))

    def __str__(self) -> str:
        """The text to write after `--pin=`."""
        parts = [str(self.seed)]
        for name in ("strict", "reseed", "device", "threads", "allow", "only", "leave_out", "streams"):
            value, option = getattr(self, name), name.replace("_", "-")
            if value != getattr(_DEFAULTS, name):
                text = "+".join(map(_written, value)) if isinstance(value, tuple) else value
                parts.append(option if value is True else f"{option}={text}")
        return ",".join(parts)


_DEFAULTS = PinRequest()


def _written(item: str | tuple[str, int]) -> str:
    return item if isinstance(item, str) else f"{item[0]}:{item[1]}"


def _with_part(request: PinRequest, part: str) -> PinRequest:
    if part in ("strict", "reseed"):
        return replace(request, **{part: True})
    name, given, value = (piece.strip() for piece in part.partition("="))
    if not given and _whole(name) >= 0:
        name, value = "seed", name
    field = name.replace("-", "_")
    if not value or field not in _READERS:
        raise UsageError(f"invalid value for --pin: {part!r}", hint=f"write {_FORMS}")
    found = _READERS[field](value)
    if isinstance(found, tuple):  # given several times, they add up
        found = (*(getattr(request, field) or ()), *found)
    return replace(request, **{field: found})


def _whole(text: str) -> int:
    """-1 for what is not a whole number."""
    return int(text) if text.isascii() and text.isdigit() else -1


def _seed(text: str) -> int:
    if not 0 <= _whole(text) <= LARGEST_SEED:
        raise UsageError(f"{text!r} is not a seed", hint=f"a seed is a whole number from 0 to {LARGEST_SEED}")
    return int(text)


def _threads(text: str) -> int:
    if _whole(text) < 1:
        raise UsageError(f"{text!r} is not a number of threads", hint="write threads=1 or more")
    return int(text)


def _device(text: str) -> str:
    if not re.fullmatch(r"cpu|gpu|gpu:\d+", text.lower()):
        raise UsageError(
            f"{text!r} is not a device to pin to", hint="write device=cpu, device=gpu or device=gpu:0"
        )
    return text.lower()


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split("+"))


def _streams(text: str) -> Streams:
    return tuple((name, _seed(seed)) for name, _, seed in (part.rpartition(":") for part in _names(text)))


_READERS: dict[str, Callable[[str], Any]] = {
    "seed": _seed,
    "device": _device,
    "threads": _threads,
    "allow": lambda text: _names(text.upper()),
    "only": _names,
    "leave_out": _names,
    "streams": _streams,
}
