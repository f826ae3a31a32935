"""The processes that the program starts. Nobody stops them at a step: each is compared as a whole, from its start to its end."""

from __future__ import annotations

from pathlib import Path

from twinrun.launch.children import children_of
from twinrun.launch.family import equal


def children_unlike(alone: Path, stopped: Path, restarted: Path) -> str | None:
    """A process that trained otherwise than in the uninterrupted run, or not to its end, in a sentence. What one started
    before the stop and one after it did alike counts once."""
    wanted = children_of(alone)
    found = [*(child for child in children_of(stopped) if child.whole), *children_of(restarted)]
    unlike = [child for child in wanted if not any(equal(child, other) for other in found)]
    unlike += [child for child in found if not any(equal(child, other) for other in wanted)]
    if not unlike:
        return None
    return (
        f"the program itself resumed equal to the uninterrupted run, but not {unlike[0].about.label}, which it starts: "
        "whether that resumed cannot be told, since only the program is stopped at a step"
    )
