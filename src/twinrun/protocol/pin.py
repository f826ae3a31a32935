"""What a user asks to be pinned: a seed, how strict to be, where to run, what to tolerate."""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from twinrun.errors import UsageError

LARGEST_SEED = 2**64 - 1
_FORMS = "--pin, --pin=7, --pin=7,strict, --pin=device=cpu, --pin=threads=1, --pin=allow=TW406"


class PinRequest(msgspec.Struct, frozen=True):
    """`only` names the controls to apply, and no others; None means all of them but those in `leave_out`. `threads` is
    the number of threads to compute with; None keeps what the machine or OMP_NUM_THREADS gives, but makes it explicit."""

    seed: int = 42
    strict: bool = False
    device: str | None = None
    allow: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    leave_out: tuple[str, ...] = ()
    threads: int | None = None

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

    def without(self, control: str) -> PinRequest:
        """The same request, less one control."""
        return replace(self, leave_out=(*self.leave_out, control))

    def __str__(self) -> str:
        """As it would be written after `--pin=`."""
        parts = [str(self.seed)]
        if self.strict:
            parts.append("strict")
        if self.device:
            parts.append(f"device={self.device}")
        if self.threads:
            parts.append(f"threads={self.threads}")
        if self.allow:
            parts.append(f"allow={'+'.join(self.allow)}")
        if self.only is not None:
            parts.append(f"only={'+'.join(self.only)}")
        if self.leave_out:
            parts.append(f"leave-out={'+'.join(self.leave_out)}")
        return ",".join(parts)


def _with_part(request: PinRequest, part: str) -> PinRequest:
    name, given, value = part.partition("=")
    value = value.strip()
    if not given and name.isascii() and name.isdigit():
        return replace(request, seed=_seed(name))
    if part == "strict":
        return replace(request, strict=True)
    if name == "seed" and given:
        return replace(request, seed=_seed(value))
    if name == "device" and value:
        return replace(request, device=_device(value))
    if name == "threads" and value:
        return replace(request, threads=_threads(value))
    if name == "allow" and value:
        return replace(request, allow=(*request.allow, *(_code(code) for code in value.split("+"))))
    if name == "only" and value:
        return replace(request, only=(*(request.only or ()), *_names(value)))
    if name == "leave-out" and value:
        return replace(request, leave_out=(*request.leave_out, *_names(value)))
    raise UsageError(f"invalid value for --pin: {part!r}", hint=f"write {_FORMS}")


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > LARGEST_SEED:
        raise UsageError(f"{text!r} is not a seed", hint=f"a seed is a whole number from 0 to {LARGEST_SEED}")
    return int(text)


def _device(text: str) -> str:
    if not re.fullmatch(r"cpu|gpu|gpu:\d+", text.lower()):
        raise UsageError(
            f"{text!r} is not a device to pin to", hint="write device=cpu, device=gpu or device=gpu:0"
        )
    return text.lower()


def _threads(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        raise UsageError(f"{text!r} is not a number of threads", hint="write threads=1 or more")
    return int(text)


def _code(text: str) -> str:
    code = text.strip().upper()
    if code != "TW406":
        raise UsageError(
            f"--pin cannot allow {text!r}",
            hint="allow=TW406: go on without op determinism if an op has no such kernel",
        )
    return code


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split("+"))
