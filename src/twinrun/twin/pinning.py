"""Pinning from outside: the variables a process must be started with, and what is done inside it before the
program's first line and right after each framework is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from twinrun.protocol.control import Control, NotApplied
from twinrun.protocol.pin import PinRequest
from twinrun.sources import interpreter
from twinrun.sources.controls import actions, wanted_controls
from twinrun.twin.pins import begin, current
from twinrun.twin.refusal import explain_at_exit

# What has to be watched once a framework is there, so that its seeding is known.
_WATCHERS = {"tensorflow": "twinrun.frameworks.tensorflow.tf_controls"}
_FRAMEWORKS = ("tensorflow", "keras", "tf_keras")


def launch_environment(request: PinRequest) -> dict[str, str]:
    """The variables to start a twin with. Called in the parent: imports no framework."""
    return {
        name: value
        for control in wanted_controls(request)
        for name, value in control.at_launch(request).items()
    }


def install(request: PinRequest | None) -> None:
    """Inside a twin, before the program: pin what needs no framework now, and each framework as it is
    imported. With no request, only watch who seeds what, so that it can be read back."""
    session = begin(request, launched=True)
    watch_seeding()
    if request is None:
        return
    session.environment.update(
        {name: value for name, value in launch_environment(request).items() if os.environ.get(name) == value}
    )
    pin_now_and_later(request)


def pin_now_and_later(request: PinRequest) -> None:
    """Pin what is there now, and each framework right after it is imported."""
    if request.wants("op-determinism"):
        explain_at_exit()
    for control in wanted_controls(request):
        if control.framework is None:
            apply(control, request)
    _when_imported("numpy.random", _applier("numpy", request))
    for framework in _FRAMEWORKS:
        _when_imported(framework, _applier(framework, request))


def watch_seeding() -> None:
    """See who seeds what from here on. Changes nothing of what the calls do."""
    if current().watching:
        return
    current().watching = True
    interpreter.watch_python_random()
    _when_imported("numpy.random", lambda _: interpreter.watch_numpy_random())
    for framework, home in _WATCHERS.items():
        _when_imported(framework, _watcher(framework, home))


def _watcher(framework: str, home: str) -> Callable[[ModuleType], None]:
    def watch_now(_: ModuleType) -> None:
        try:
            import_module(home).watch()
        except Exception as problem:  # a framework that moved must not break the program's import
            current().refused[f"watching {framework}"] = f"{type(problem).__name__}: {problem}"

    return watch_now


def apply(control: Control, request: PinRequest) -> None:
    """Apply one control in this process; what cannot be applied is kept, with the reason."""
    session = current()
    try:
        undo = actions(control).apply(request)
        if undo is not None:
            session.undo.append((control.name, undo))
    except NotApplied as reason:
        session.refused[control.name] = str(reason)
    except Exception as problem:  # a framework that moved: say so, and let the program run
        session.refused[control.name] = f"{type(problem).__name__}: {problem}"
    else:
        session.applied[control.name] = control.wanted(request)


def _applier(framework: str, request: PinRequest) -> Callable[[ModuleType], None]:
    def pin_now(_: ModuleType) -> None:
        # A later request, from inside the program, has taken over.
        if current().request is not request:
            return
        for control in wanted_controls(request):
            if control.framework == framework:
                apply(control, request)

    return pin_now


def _when_imported(name: str, then: Callable[[ModuleType], object]) -> None:
    """Now, if the module is there already; else right after the program has imported it."""
    if name in sys.modules:
        then(sys.modules[name])
        return
    import wrapt

    wrapt.register_post_import_hook(then, name)
