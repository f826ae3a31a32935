"""The lockstep: all twins advance together. A step is released only when every twin has reached it and the judge has
found nothing; at the first difference that counts they all stand still at that very step."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twinrun.interrupt import raise_pending
from twinrun.launch.twin_process import Twin
from twinrun.recording.frame import Frame

Look = Callable[[list[Frame]], bool]  # the judge: True to hold the twins here
_PAUSE = 0.02  # seconds between two looks at twins that wait for no answer: to wake at every step takes a core from them


@dataclass(frozen=True)
class Outcome:
    """Why the lockstep ended."""

    kind: str  # "ended" | "held" | "uneven" | "failed" | "timeout"
    twin: Twin | None = None  # the one that failed, or that ended before the others
    longer: str = ""  # the name of one that went on


def advance(
    twins: Sequence[Twin],
    look: Look,
    *,
    deadline: float | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Outcome:
    """`deadline` in time.monotonic(). `tick` is called several times a second, for the screen."""
    selector = selectors.DefaultSelector()
    for twin in twins:
        selector.register(twin.channel, selectors.EVENT_READ, twin)
    free = not any(twin.waits for twin in twins)
    with selector:
        while True:
            events = selector.select(timeout=0.1)
            silence = not events
            for key, _ in events:
                key.data.pump()
                if key.data.closed:
                    selector.unregister(key.fileobj)
                    silence = True
            tick()
            raise_pending()
            # Whether a process has ended is asked when nothing comes, not at every step.
            failed = next((twin for twin in twins if _failed(twin, silence)), None)
            if failed is not None:
                return Outcome("failed", failed)
            while all(twin.frames for twin in twins):
                if look([twin.frames.popleft() for twin in twins]):
                    return Outcome("held")
                for twin in twins:
                    twin.go()
            silent = [twin for twin in twins if not twin.frames and twin.ended] if silence else []
            if silent and len(silent) == len(twins):
                return Outcome("ended")
            # Nothing more comes from one twin, and another has gone further.
            longer = next((twin.name for twin in twins if twin.frames), None)
            if silent and longer is not None:
                return Outcome("uneven", silent[0], longer)
            if deadline is not None and time.monotonic() > deadline:
                return Outcome("timeout", min(twins, key=lambda twin: (twin.count, not twin.ended)))
            if free and events:
                time.sleep(_PAUSE)


def _failed(twin: Twin, silence: bool) -> bool:
    """Recording failed, or the program did."""
    if twin.trouble is not None:
        return True
    return silence and not twin.frames and twin.ended and (twin.wait(timeout=10.0) or 0) != 0
