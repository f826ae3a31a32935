"""How fast the source audit is: files a minute, and its time over that of parsing the same files.

    python benchmarks/source_audit.py [FOLDER…]

Without folders: a project of 1,000 files made from the programs of the tests, and the sources of installed Keras. The
goal is 1,000 files a minute. On a busy machine look at the processor's time, not at the clock's.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path

from measure import table

from twinrun.source_audit.audit import audit_source
from twinrun.source_audit.program_files import python_files

CORPUS = Path(__file__).parents[1] / "tests" / "source_audit" / "corpus"


def generated(folder: Path, count: int = 1000) -> Path:
    """Programs and modules of a project: those of the tests, each in its own folder, over and over."""
    programs = []
    for path in sorted(CORPUS.glob("*.py")):
        for cell in re.split(r"^# %% .*\n", path.read_text(), flags=re.MULTILINE)[1:]:
            pieces = re.split(r"^# file: (\S+)\n", cell, flags=re.MULTILINE)
            programs.append(dict(zip(pieces[1::2], pieces[2::2], strict=True)) or {"main.py": cell})
    written = 0
    while written < count:
        for number, files in enumerate(programs):
            for name, text in files.items():
                path = folder / f"part{written // 100}" / f"program{number}_{written}" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            written += len(files)
            if written >= count:
                break
    return folder


def measured(folder: Path) -> list[str]:
    files = python_files(folder)
    start, clock = time.process_time(), time.perf_counter()
    found = audit_source([folder])
    processor, wall = time.process_time() - start, time.perf_counter() - clock
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trees = [ast.parse(path.read_bytes()) for path in files]
    parsing = time.process_time() - start
    return [
        f"{len(trees)}",
        f"{sum(path.stat().st_size for path in files) / 1e6:.1f} MB",
        f"{len(files) / processor * 60:,.0f}",
        f"{len(files) / wall * 60:,.0f}",
        f"{processor / parsing:.1f}",
        f"{len(found.findings)}",
        f"{len(found.problems)}",
    ]


def report(folders: list[Path]) -> str:
    rows = [[folder.name, *measured(folder)] for folder in folders]
    head = [
        "source",
        "files",
        "size",
        "files/min (processor)",
        "files/min (clock)",
        "over parsing",
        "findings",
        "not judged",
    ]
    return table(head, rows)


def main() -> None:
    if len(sys.argv) > 1:
        print(report([Path(word) for word in sys.argv[1:]]))
        return
    installed = [importlib.util.find_spec(name) for name in ("keras", "tf_keras")]
    packages = [Path(spec.origin).parent for spec in installed if spec is not None and spec.origin]
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        print(report([generated(project), *packages]))


if __name__ == "__main__":
    main()
