"""The ledger: who drew randomness and who looked at the outside world."""

from __future__ import annotations

from twinrun.launch.watch import Watch


def install(watch: Watch) -> None:
    return None
