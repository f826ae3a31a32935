"""Does the audit of a program's real inputs find what the zoo's labels say about its data? The agreement, program by program.

Each open program runs once, with nothing but the watch on its datasets and loaders. What the audit found in them stands
beside the causes of the label that lie in the data (TW107, TW2…, and unseeded streams that are drawn in a pipeline).

    python benchmarks/audit_zoo.py [NAME …]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tomllib

ZOO = Path(__file__).parent.parent / "zoo"
WATCHED = """
import atexit, json, os, runpy, sys
import wrapt
from twinrun.controls.launch import install
install(None)  # see who seeds what, from the first line on, as a twin does

@wrapt.when_imported("tensorflow")
def _(module):
    from twinrun.adapters.tensorflow.data import watch
    watch.watch_datasets()
    for name in ("keras", "tf_keras"):
        wrapt.register_post_import_hook(lambda module: watch.watch_keras(), name)

@atexit.register
def _():
    if "twinrun.adapters.tensorflow.data.watch" not in sys.modules:
        found, failed = [], []
    else:
        from twinrun.adapters.tensorflow.data import watch
        watch.watch_keras()
        found = [[one.code, f"{os.path.basename(one.file or '')}:{one.line}"] for audit in watch.collected() for one in audit.findings]
        failed = watch.failures()
    with open(os.environ["AUDIT_TO"], "w") as file:
        json.dump({"findings": found, "failures": failed}, file)

sys.argv = sys.argv[1:]
if sys.argv[0] == "-m":
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.getcwd())
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
# Causes that lie in a dataset or a Keras loader. A listing or a pool of threads in Python is not seen here.
IN_DATA = ("TW107", "TW201", "TW202", "TW203", "TW204", "TW205", "TW207")


def audited(program: dict[str, Any]) -> dict[str, Any]:
    root = ZOO / program["root"]
    folder = root if root.is_dir() else root.parent
    with tempfile.TemporaryDirectory() as scratch:
        runner, answer = Path(scratch) / "watched.py", Path(scratch) / "answer.json"
        runner.write_text(WATCHED)
        environment = {**os.environ, "AUDIT_TO": str(answer), "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, str(runner), *program["run"]]
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=600, check=False)
        found: dict[str, Any] = (
            json.loads(answer.read_text()) if answer.exists() else {"findings": [], "failures": ["died"]}
        )
    return found


def main() -> None:
    wanted = set(sys.argv[1:])
    programs = tomllib.loads((ZOO / "manifest.toml").read_text())["program"]
    rows, agreed = [], 0
    for program in programs:
        if wanted and program["name"] not in wanted:
            continue
        labels = {code for cause in program.get("cause", ()) for code in cause["codes"]}
        lines = {line for cause in program.get("cause", ()) for line in cause["lines"]}
        found = audited(program)
        codes = {code for code, _ in found["findings"]}
        expected = bool(labels & set(IN_DATA)) and program["group"] == "guilty"
        hit = bool(codes & labels) if expected else not (codes - labels)
        agreed += hit
        at = any(place in {Path(line).name for line in lines} for _, place in found["findings"])
        rows.append(
            (program["name"], program["group"], sorted(labels), found["findings"], found["failures"], hit, at)
        )
        print(
            f"{'agrees ' if hit else 'DIFFERS'} {program['name']:24} {program['group']:9} label {','.join(sorted(labels)) or '-':18} audit "
            f"{' '.join(f'{code}@{place}' for code, place in found['findings']) or '-'} {'' if not found['failures'] else found['failures']}",
            flush=True,
        )
    print(f"{agreed} of {len(rows)} agree")


if __name__ == "__main__":
    main()
