"""The port of a worker is held for it by the process that starts the cluster, so that nobody else takes it meanwhile. What
the worker binds to it must be willing to share: a Python program does not ask for that."""

from __future__ import annotations

import os
import socket
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twinrun.twin.family import Family

VARIABLE = "TWINRUN_PORT"


def share_port(family: Family) -> None:
    """Use the reserved port in a worker."""
    port = os.environ.pop(VARIABLE, "")
    if family.worker is None or not port:
        return
    original = socket.socket.bind

    @wraps(original)
    def bind(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and str(address[1]) == port:
            self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        original(self, address)

    socket.socket.bind = bind  # type: ignore[method-assign, assignment]
