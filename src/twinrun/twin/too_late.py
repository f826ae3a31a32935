"""What came before a seed that is set now: draws already made and objects already built keep what they have.
Nothing is guessed: what is listed is found in the process."""

from __future__ import annotations

import random
import sys
from importlib import import_module

from twinrun.findings.finding import Finding

# Importing TensorFlow draws one word from Python's random itself (seen on 2.18 and 2.21).
_IMPORT_DRAWS = 1
_SHOWN = 5


def came_before() -> list[str]:
    """Draws and objects that a seed set now comes too late for, in words."""
    found: list[str] = []
    drawn = _python_draws()
    if drawn > (_IMPORT_DRAWS if "tensorflow" in sys.modules else 0):
        found.append("draws from Python's random")
    if _numpy_was_drawn():
        found.append("draws from NumPy's global stream")
    if "keras" in sys.modules or "tf_keras" in sys.modules:
        found += import_module("twinrun.frameworks.keras.keras_controls").made_before()
    if "tensorflow" in sys.modules:
        found += import_module("twinrun.frameworks.tensorflow.built_before").made_before()
    return found


def too_late(found: list[str], file: str | None, line: int | None) -> Finding | None:
    if not found:
        return None
    shown = ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
    return Finding(
        code="TW106",
        name="seeded-too-late",
        message=f"pinned too late for what came before: {shown}",
        file=file,
        line=line,
        confirmed=False,
        evidence=tuple(found),
        fix="call twinrun.pin(42) before anything else, or use `twinrun run --pin`, which comes first always",
    )


def _python_draws() -> int:
    """Words drawn since the stream was last seeded, up to a block of 624. A fresh state stands at the block's
    end."""
    at = random.getstate()[1][-1]
    return 0 if at == 624 else int(at)


def _numpy_was_drawn() -> bool:
    if "numpy.random" not in sys.modules:
        return False
    state = sys.modules["numpy.random"].get_state(legacy=False)
    # NumPy's own fresh state stands at 623, a newly seeded one at 624.
    return bool(state["bit_generator"] == "MT19937" and state["state"]["pos"] not in (623, 624))
