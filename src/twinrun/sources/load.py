"""Load on the machine while a twin runs: what a busy neighbour does to races and timings."""

from __future__ import annotations

import os
import subprocess
import sys

_SPIN = "import os, sys\nparent = int(sys.argv[1])\nwhile os.getppid() == parent: sum(range(10000))"


def keep_a_core_busy() -> None:
    """A child in the twin's own process group: it ends when the twin does, or is ended with it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TWINRUN_")}
    subprocess.Popen(
        [sys.executable, "-S", "-c", _SPIN, str(os.getpid())], env=environment, stdin=subprocess.DEVNULL
    )
