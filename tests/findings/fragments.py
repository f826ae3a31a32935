"""Runs many small programs, each in a process of its own, for the price of one TensorFlow import.

Reads a JSON list of source texts on stdin and prints a JSON list of `[exit code, output]`. Every program
runs in a child forked after the imports and before TensorFlow has started any thread, in an empty folder.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path


def run(source: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output.txt")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                handle = os.open(output, os.O_WRONLY | os.O_CREAT)
                os.dup2(handle, 1)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                work = Path(folder, "work")
                work.mkdir()
                os.chdir(work)
                random.seed()  # the parent's streams were copied by the fork: as unseeded as in a new process
                np.random.seed()
                script = work / "program.py"
                script.write_text(source)
                exec(compile(source, str(script), "exec"), {"__name__": "__main__", "__file__": str(script)})
                code = 0
            except SystemExit as leaving:
                code = leaving.code if isinstance(leaving.code, int) else 1
            except BaseException:
                print(traceback.format_exc())
            sys.stdout.flush()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), output.read_text()


if __name__ == "__main__":
    import random

    import keras  # noqa: F401 - imported once, for all the children
    import numpy as np
    import tensorflow as tf  # noqa: F401

    print(json.dumps([run(source) for source in json.load(sys.stdin)]))
