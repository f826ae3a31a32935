"""Seeds for separate purposes, derived from the one a user gives: no two streams ever share a seed, so
drawing more of one never moves another."""

from __future__ import annotations

from hashlib import blake2b


def derive(seed: int, purpose: str, *, below: int = 2**32) -> int:
    """A number from 1 to `below` - 1 that depends on the seed and the purpose alone. Never 0, which
    some take for "no seed"."""
    digest = blake2b(f"{seed}\n{purpose}".encode(), digest_size=16, person=b"twinrun.seed").digest()
    return 1 + int.from_bytes(digest, "little") % (below - 1)
