"""`python -m twinrun.twin.call MODULE FUNCTION FOLDER`: how a function given to `twinrun.check` becomes a program."""

from __future__ import annotations

import sys
from importlib import import_module


def main() -> None:
    module, name, folder = sys.argv[1:4]
    if folder not in sys.path:
        sys.path.insert(0, folder)
    target: object = import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    assert callable(target)
    target()


if __name__ == "__main__":
    main()
