"""Fuzzing that is led by the code it reaches, of one format: `python guided.py FORMAT -max_total_time=60`. Needs atheris; the
rest of the command line is libFuzzer's. Ends with 0 when nothing was found."""

from __future__ import annotations

import os
import pkgutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import atheris
from hypothesis import HealthCheck, given, settings

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("TWINRUN_HOME", tempfile.mkdtemp())

_READERS = (
    "baselines",
    "cli",
    "comparison",
    "environment",
    "findings",
    "launch",
    "recording",
    "render",
    "source_audit",
)

with atheris.instrument_imports(include=["twinrun"]):
    for package in map(import_module, (f"twinrun.{name}" for name in _READERS)):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    from fuzzing import FORMATS


def main() -> None:
    kind = FORMATS[sys.argv.pop(1)]
    folder = Path(tempfile.mkdtemp())
    kind.make(folder)

    @given(kind.changes(folder))
    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    def each(change: object) -> None:
        kind.read(folder, change)

    # Short inputs end before hypothesis has drawn anything from them.
    atheris.Setup([*sys.argv, "-len_control=0", "-max_len=8192"], each.hypothesis.fuzz_one_input)  # type: ignore[attr-defined]
    atheris.Fuzz()


if __name__ == "__main__":
    main()
