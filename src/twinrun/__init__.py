"""Twinrun runs a training program twice, reports whether it repeats, and names the cause when it does not.

Importing this package imports no framework and none of its own heavy parts: each public name is
loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing at run time takes longer than all the rest of this file
    from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "pin": "twinrun.twin.pin",
    "pinned": "twinrun.twin.pin",
    "probe": "twinrun.twin.probe",
    "check": "twinrun.api",
    "compare": "twinrun.api",
    "audit": "twinrun.pipelines",
    "repeatable": "twinrun.pipelines",
    "data_fingerprint": "twinrun.pipelines",
    "element_rng": "twinrun.pipelines",
    "EpochDigests": "twinrun.frameworks.keras.epoch_digests",
    "ResumeState": "twinrun.frameworks.keras.resume_state",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'twinrun' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext twinrun` in a notebook: adds `%%twinrun`."""
    import_module("twinrun.magic").Extension(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
