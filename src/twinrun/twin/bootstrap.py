"""The first thing that runs inside a twin, before the user's program. Imports no framework: it only arranges to be
called when the program imports one."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from twinrun.errors import MissingPoint, TwinrunError
from twinrun.protocol.channel import TROUBLE, Channel
from twinrun.protocol.registry import frameworks, sources
from twinrun.protocol.spec import Spec
from twinrun.twin.family import Family, Mailbox, restore_environment
from twinrun.twin.imports import when_imported
from twinrun.twin.pinning import install_pin
from twinrun.twin.printing import follow_output
from twinrun.twin.recorder import Recorder, activate, child_spec
from twinrun.twin.session import Session, begin
from twinrun.twin.shared_port import share_port
from twinrun.twin.starting import POINTS, follow_exec
from twinrun.twin.stress import switch_often
from twinrun.twin.trouble import describe

if TYPE_CHECKING:
    from twinrun.frameworks.protocol import Framework


_TESTED = "use a release that Twinrun was tested with (docs/reference/frameworks.md)"


def start(spec_file: str) -> None:
    identity = restore_environment()
    spec = Spec.read(spec_file)
    family = Family(spec, spec_file, identity)
    channel = Mailbox(family) if identity else _connect(spec)
    if identity:
        spec = child_spec(spec)
    session = begin(spec)
    session.log.process = identity
    try:
        recorder = session.recorder = activate(Recorder(spec, channel, session, family))
    except (TwinrunError, OSError) as problem:  # no room, or no permission, for a recording
        channel.send_message(TROUBLE, describe(problem, spec.folder))
        return
    if spec.stressed:
        switch_often()
    follow_children(recorder)
    share_port(family)
    follow_output(recorder)
    _see_abrupt_exit(recorder)
    sys.excepthook = recorder.excepthook(sys.excepthook)
    try:
        install_sources(session)
    except Exception as problem:  # the program runs all the same; the check cannot be `repeats`
        recorder.trouble(problem)
    install_pin(spec.pin)  # None: only watch who seeds what
    for framework in frameworks():
        _attach_later(framework, recorder)
    # Registered first, so it runs last: the program's own exit handlers may still train or save.
    atexit.register(recorder.finish)


def follow_children(recorder: Recorder) -> None:
    family = recorder.family

    def in_child() -> None:
        family.after_fork()
        recorder.go_on_as_child()

    os.register_at_fork(before=family.before_fork, after_in_child=in_child)
    if recorder.spec.audit_until is None:
        recorder.session.patches.install("children", POINTS)
    follow_exec(recorder)


def install_sources(session: Session) -> None:
    """Every source, each as far as its libraries are imported; the rest follows with the imports."""
    for source in sources():
        for other, libraries in source.claims.items():
            session.log.claim(other, libraries, source.name)
        source.start(session)
        session.patches.install(source.name, source.points)


def _attach_later(framework: Framework, recorder: Recorder) -> None:
    def attach(_: object) -> None:
        spec = recorder.spec
        try:
            recorder.session.patches.install(framework.name, framework.attach(recorder))
            if spec.tracing:
                framework.trace_ops(recorder, pipeline=spec.tracing == "pipeline")
            if spec.audit_until is not None:
                framework.audit_datasets(recorder.session, at_once=True)
                recorder.stop_at(spec.audit_until)
            elif spec.lockstep and spec.events:  # it may be held, and asked
                framework.audit_datasets(recorder.session, at_once=False)
        except ImportError as problem:  # a module that this release has moved or dropped
            place = problem.name or framework.module
            recorder.trouble(MissingPoint(f"this release of {framework.name} has no {place}", _TESTED, place))
        except Exception as problem:
            recorder.trouble(problem)

    when_imported(framework.module, attach)


def _connect(spec: Spec) -> Channel:
    for left in Path(spec.folder).glob("steps.sqlite*"):
        left.unlink()  # by this very process, before it started itself anew
    return Channel(socket.socket(fileno=spec.channel_fd))


def _see_abrupt_exit(recorder: Recorder) -> None:
    """os._exit runs no exit handlers. Called by the program's main thread it is an end like any other."""
    leave = os._exit

    def _exit(status: int) -> NoReturn:
        if threading.current_thread() is threading.main_thread():
            recorder.finish()
        leave(status)

    os._exit = _exit
