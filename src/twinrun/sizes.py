"""Sizes in bytes, as users write and read them."""

from __future__ import annotations

import re
from typing import Any

from twinrun.errors import UsageError

_BYTES = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}


def parse_size(name: str, value: Any) -> int:
    """`0`, `300MB`, `5GB`."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?) ?([KMGT]?)B?", str(value).strip(), re.IGNORECASE)
    if not match:
        raise UsageError(f"invalid value for {name}: {value!r} is not a size", hint="write 0, 300MB or 5GB")
    return int(float(match[1]) * _BYTES[match[2].upper()])


def size_in_words(nbytes: int) -> str:
    for unit in "TGMK":
        if nbytes >= _BYTES[unit]:
            return f"{nbytes / _BYTES[unit]:.3g} {unit}B"
    return f"{nbytes} bytes"
