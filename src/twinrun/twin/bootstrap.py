"""The first thing that runs inside a twin, before the user's program. Imports no framework: it only arranges to be
told when the program imports one."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import NoReturn

from twinrun.errors import TwinrunError
from twinrun.protocol.channel import TROUBLE, Channel
from twinrun.protocol.spec import Spec
from twinrun.twin.recorder import Watch, activate, describe
from twinrun.twin.reexec import follow_exec


def start(spec_file: str) -> None:
    spec = Spec.read(spec_file)
    _restore_environment(spec)
    _die_with_parent(spec.lifeline_fd)
    channel = Channel(socket.socket(fileno=spec.channel_fd))
    for left in Path(spec.folder).glob("steps.sqlite*"):
        left.unlink()  # by this very process, before it started itself anew
    try:
        watch = activate(Watch(spec, channel))
    except (TwinrunError, OSError) as problem:  # no room, or no permission, for a recording
        channel.send_json(TROUBLE, describe(problem))
        return
    os.register_at_fork(after_in_child=watch.leave_to_parent)
    _see_abrupt_exit(watch)
    follow_exec(watch, spec, spec_file)
    sys.excepthook = watch.excepthook(sys.excepthook)
    if spec.varied:
        from twinrun.launch.vary import install as vary

        vary(spec.varied)
    from twinrun.protocol.pin import PinRequest
    from twinrun.twin.pinning import install as pin

    pin(PinRequest.from_json(spec.pin) if spec.pin is not None else None)  # None: only watch who seeds what
    if spec.ledger:
        from twinrun.twin.ledger_install import install as keep_ledger

        keep_ledger(watch)
    from twinrun.twin.imports import attach_adapters

    attach_adapters(watch)
    # Registered first, so it runs last: the program's own exit handlers may still train or save.
    atexit.register(watch.finish)


def _restore_environment(spec: Spec) -> None:
    """The program and its children see the environment that plain python would have given them."""
    if spec.pythonpath is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = spec.pythonpath


def _die_with_parent(lifeline: int) -> None:
    """The parent holds the other end of this pipe: when it is gone, for whatever reason, so is the twin, with
    every process that it started."""
    os.set_inheritable(lifeline, False)

    def wait() -> None:
        try:
            os.read(lifeline, 1)
        finally:
            os.killpg(os.getpgid(0), signal.SIGKILL)

    threading.Thread(target=wait, name="twinrun-lifeline", daemon=True).start()


def _see_abrupt_exit(watch: Watch) -> None:
    """os._exit runs no exit handlers. Called by the program's main thread it is an end like any other."""
    leave = os._exit

    def _exit(status: int) -> NoReturn:
        if threading.current_thread() is threading.main_thread():
            watch.finish()
        leave(status)

    os._exit = _exit


def program_folder() -> Path:
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    return Path(file).resolve().parent if file else Path.cwd()
