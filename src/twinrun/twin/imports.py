"""Post-import hooks: what belongs to a library happens right after the program imports it, and not before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType


def when_imported(name: str, then: Callable[[ModuleType], object]) -> None:
    """Now, if the module is there already; else right after the program has imported it."""
    if name in sys.modules:
        then(sys.modules[name])
        return
    import wrapt

    wrapt.register_post_import_hook(then, name)
