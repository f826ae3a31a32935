"""Put first on a twin's PYTHONPATH, so that the user's program is started by plain python, unmodified, and Twinrun still
runs before its first line. Then the path, the variables and any sitecustomize that would have run are restored."""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _here]
if "TWINRUN_SPEC" in os.environ:
    _spec = os.environ.pop("TWINRUN_SPEC")
    _child = os.environ.get("TWINRUN_CHILD")
    try:
        from twinrun.twin.bootstrap import start

        start(_spec)
    except Exception as _problem:
        if not _child:
            raise
        # A process of the program's that is started by another interpreter: it runs as it would without us.
        sys.path.insert(0, _here)
        from unwatched import leave_word

        sys.path.remove(_here)
        leave_word(_spec, _child, _here, _problem)

# The one this file stands in front of. Where there is none, or it fails, the error is the one that python would have
# got without us.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402, F401
