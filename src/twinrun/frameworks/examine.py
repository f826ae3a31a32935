"""`python -m twinrun.frameworks.examine`: a bare process that imports the frameworks that are installed and
prints every control as it reads back. What `twinrun doctor` asks when it is given no program."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from importlib.util import find_spec

from twinrun.protocol.pin import PinRequest
from twinrun.twin.pinning import install
from twinrun.twin.readback import read_back

_FRAMEWORKS = ("numpy.random", "tensorflow", "keras")


def main(written: str | None) -> None:
    install(PinRequest.parse(written) if written is not None else None)
    missing = []
    for name in _FRAMEWORKS:
        if find_spec(name.partition(".")[0]) is None:
            missing.append(f"{name} is not installed")
            continue
        try:
            import_module(name)
        except Exception as problem:
            missing.append(f"{name} cannot be imported: {type(problem).__name__}: {problem}")
    versions = {
        name: str(getattr(sys.modules.get(name), "__version__", "")) for name in ("tensorflow", "keras")
    }
    print(json.dumps({"controls": read_back(), "notes": missing, "versions": versions}, default=str))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
