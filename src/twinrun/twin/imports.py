"""Post-import hooks: adapters are attached when the program imports its framework, and not before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import wrapt

from twinrun.twin.recorder import Watch

# module that the program imports -> our adapter's `attach(watch)`
ADAPTERS = {
    "tensorflow": "twinrun.frameworks.tensorflow",
    "keras": "twinrun.frameworks.keras",
    "tf_keras": "twinrun.frameworks.tf_keras",
}


def when_imported(name: str, then: Callable[[ModuleType], None]) -> None:
    """Now, if the module is there already; else right after the program has imported it."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        wrapt.register_post_import_hook(then, name)


def attach_adapters(watch: Watch) -> None:
    for framework, adapter in ADAPTERS.items():
        when_imported(framework, _attacher(adapter, watch))


def _attacher(adapter: str, watch: Watch) -> Callable[[ModuleType], None]:
    def attach(_: ModuleType) -> None:
        try:
            import_module(adapter).attach(watch)
        except Exception as problem:
            watch.trouble(problem)

    return attach
