"""One twin, stopped at a step: held there until it has done all that belongs to the step, and then sent the signal."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence

from twinrun.interrupt import raise_pending
from twinrun.launch.lockstep import Outcome, advance
from twinrun.launch.twin_process import Twin
from twinrun.protocol.messages import AskOutlines
from twinrun.recording.frame import Frame

_PATIENCE = 30.0  # seconds that a program has to end after SIGTERM
_STANDING = 600.0  # seconds between a frame and the next thing that changes what it shows


def stand(twin: Twin) -> None:
    """Wait until the twin does nothing but wait for us: whatever it wrote after the step is written."""
    twin.ask(AskOutlines([]), timeout=_STANDING)


def run_to(twin: Twin, step: int, deadline: float | None, tick: Callable[[], None] = lambda: None) -> Outcome:
    """`held`: the twin stands where this step is done."""

    def reached(frames: list[Frame]) -> bool:
        return frames[0].step >= step and (frames[0].span > 0 or not step)

    outcome = advance([twin], reached, deadline=deadline, tick=tick)
    if outcome.kind == "held":
        stand(twin)
    return outcome


def stop(twin: Twin, by: signal.Signals, tick: Callable[[], None] = lambda: None) -> str | None:
    """Send the signal to a twin that stands, and see it end. Returns a note where it had to be ended otherwise."""
    twin.process.send(by)
    if by == signal.SIGKILL:
        twin.wait(_PATIENCE)
        return None
    twin.go()  # a handler of the program's may want to go on to the end of the step, and save
    outcome = advance([twin], lambda _: False, deadline=time.monotonic() + _PATIENCE, tick=tick)
    if outcome.kind != "timeout" and twin.wait(_PATIENCE) is not None:
        return None
    twin.process.send(signal.SIGKILL)
    return f"it had not ended {_PATIENCE:g} s after {by.name}, and was killed"


def kill_in_save(
    twin: Twin, written: Callable[[], Sequence[str]], deadline: float | None
) -> Sequence[str] | None:
    """Let a twin that stands go on, and kill it as soon as there are files that it has written. Empty where it ended before
    it wrote any, None where that took too long."""
    twin.go()
    while not twin.ended:
        while twin.frames:
            twin.frames.popleft()
            twin.go()
        if found := written():
            twin.process.send(signal.SIGKILL)
            twin.wait(_PATIENCE)
            return found
        if twin.readable():
            twin.pump()
        raise_pending()
        if deadline is not None and time.monotonic() > deadline:
            return None
    return ()
