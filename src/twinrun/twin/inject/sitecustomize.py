"""Put first on a twin's PYTHONPATH, so that the user's program is started by plain python, unmodified, and Twinrun still
runs before its first line. Then the path, the variables and any sitecustomize that would have run are restored."""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _here]
if "TWINRUN_SPEC" in os.environ:
    from twinrun.twin.bootstrap import start

    start(os.environ.pop("TWINRUN_SPEC"))

# The one this file stands in front of. Where there is none, or it fails, the error is the one that python would have
# got without us.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402, F401
