"""Which of the process' global streams certainly nobody has seeded. What is not certain is not said."""

from __future__ import annotations


def unseeded_streams() -> frozenset[str]:
    """`numpy`, `python`: those that are known not to have been seeded so far.

    NumPy's stream keeps the entropy it was born with until it is seeded. Python's keeps no trace; there it is
    known only in a process that Twinrun has watched from its first line.
    """
    found = set()
    if not numpy_is_seeded():
        found.add("numpy")
    from twinrun.twin.session import current

    pins = current().pins
    if pins.launched and pins.watching:
        seeding = pins.seedings.get("python-random")
        if seeding is None or (seeding.value is None and not seeding.restored):
            found.add("python")
    return frozenset(found)


def numpy_is_seeded() -> bool:
    """Whether NumPy's global stream was seeded: seeding it forgets the entropy it was born with."""
    import numpy as np

    return getattr(np.random.mtrand._rand._bit_generator, "seed_seq", None) is None
