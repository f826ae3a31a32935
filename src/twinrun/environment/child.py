"""`python -m twinrun.environment.child`: loads the installed framework and prints the environment as one line
of JSON."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from twinrun.environment.capture import DESCRIBERS, capture


def main() -> None:
    for framework in DESCRIBERS:
        if find_spec(framework) is not None:
            adapter = import_module(DESCRIBERS[framework])
            adapter.load()
            break
    print(json.dumps({"twinrun/environment/1": capture(base=Path.cwd(), initialise=True).as_json()}))


if __name__ == "__main__":
    main()
