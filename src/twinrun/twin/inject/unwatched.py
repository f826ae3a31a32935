"""Runs in an interpreter that cannot load Twinrun, of whatever version. Where a framework was imported by the time it ends,
it may have trained, and that is written down."""
# ruff: noqa: PTH103, PTH118, PTH123, UP031

import atexit
import json
import os
import sys


def leave_word(spec, identity, inject, problem):  # type: ignore[no-untyped-def]
    os.environ.pop("TWINRUN_CHILD", None)
    path = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    if [entry for entry in path if entry != inject]:
        os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in path if entry != inject)
    try:
        with open(spec) as file:
            known = json.load(file)
    except (OSError, ValueError):
        return
    folder = os.path.join(known["folder"], "children", "%s-%d" % (identity, os.getpid()))
    atexit.register(_write, folder, known.get("watched", ()), identity, problem)


def _write(folder, watched, identity, problem):  # type: ignore[no-untyped-def]
    if not any(name in sys.modules for name in watched):
        return
    os.makedirs(folder)
    why = "Twinrun cannot be loaded in %s (%s)" % (sys.executable, problem)
    about = {"identity": identity, "label": " ".join(sys.argv), "pid": os.getpid(), "unwatched": why}
    with open(os.path.join(folder, "child.json"), "w") as file:
        json.dump(about, file)
