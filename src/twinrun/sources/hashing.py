"""Which hash seed this interpreter really runs with. PYTHONHASHSEED only says what somebody wrote; the
interpreter read it once, at its start. So the string hash is computed anew from the seed and compared with
hash() itself."""

from __future__ import annotations

import os
import sys

_MASK = 2**64 - 1
_SAMPLE = "twinrun: which hash seed?"


def effective_hash_seed(candidates: tuple[int, ...] = ()) -> int | None:
    """The seed in force: 0 when randomisation is off, None when it is none of the candidates (nor
    PYTHONHASHSEED)."""
    text = os.environ.get("PYTHONHASHSEED", "")
    written = (int(text),) if text.isascii() and text.isdigit() else ()
    for seed in (0, *written, *candidates):
        if string_hash(_SAMPLE, seed) == hash(_SAMPLE):
            return int(seed)
    return None


def string_hash(text: str, seed: int) -> int | None:
    """hash(text) as an interpreter started with that seed gives it; None for a hash algorithm we do not
    know."""
    rounds = {"siphash13": (1, 3), "siphash24": (2, 4)}.get(sys.hash_info.algorithm)
    if rounds is None or sys.hash_info.width != 64:
        return None
    key = _key(seed)
    value = _siphash(key[:8], key[8:16], text.encode("latin-1"), *rounds)
    signed = value - 2**64 if value >= 2**63 else value
    return -2 if signed == -1 else signed


def _key(seed: int) -> bytes:
    """The interpreter's own expansion of the seed into its secret."""
    if seed == 0:
        return bytes(16)
    secret, state = bytearray(), seed & 0xFFFFFFFF
    for _ in range(16):
        state = (state * 214013 + 2531011) & 0xFFFFFFFF
        secret.append((state >> 16) & 0xFF)
    return bytes(secret)


def _siphash(first: bytes, second: bytes, data: bytes, compress: int, finish: int) -> int:
    k0, k1 = int.from_bytes(first, "little"), int.from_bytes(second, "little")
    state = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]
    tail = data[len(data) // 8 * 8 :]
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data) - len(tail), 8)]
    words.append((len(data) & 0xFF) << 56 | int.from_bytes(tail, "little"))
    for word in words:
        state[3] ^= word
        _rounds(state, compress)
        state[0] ^= word
    state[2] ^= 0xFF
    _rounds(state, finish)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _rounds(v: list[int], count: int) -> None:
    for _ in range(count):
        v[0] = (v[0] + v[1]) & _MASK
        v[1] = _rotate(v[1], 13) ^ v[0]
        v[0] = _rotate(v[0], 32)
        v[2] = (v[2] + v[3]) & _MASK
        v[3] = _rotate(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & _MASK
        v[3] = _rotate(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & _MASK
        v[1] = _rotate(v[1], 17) ^ v[2]
        v[2] = _rotate(v[2], 32)


def _rotate(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _MASK
