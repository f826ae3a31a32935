"""Why no training step was observed in this process, by what the program has imported."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from twinrun.protocol.registry import frameworks

if TYPE_CHECKING:
    from twinrun.twin.recorder import Recorder

# Libraries that train and are not watched, by module.
_UNWATCHED = {
    "jax": "JAX",
    "torch": "PyTorch",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "sklearn": "scikit-learn",
}


def why_no_step(recorder: Recorder) -> str:
    imported = [framework for framework in frameworks() if framework.module in sys.modules]
    for framework in imported:
        with contextlib.suppress(Exception):  # one that was only half imported
            if (why := framework.why_no_step(recorder)) is not None:
                return why
    if imported:
        return f"{imported[0].name} was imported and updated nothing"
    unwatched = next((name for module, name in _UNWATCHED.items() if module in sys.modules), None)
    if unwatched is not None:
        return f"{unwatched} was imported, which Twinrun does not watch"
    return "no framework that Twinrun watches was imported (a custom loop?)"
