"""Programs that restart themselves: to set PYTHONHASHSEED, say, which a running interpreter cannot. The process stays the
same, its memory does not, so the recorder follows through the environment, as at the first start."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from msgspec.structs import replace

from twinrun.protocol.spec import VARIABLE, Spec
from twinrun.twin.recorder import Recorder

INJECT = str(Path(__file__).parent / "inject")


def follow_exec(recorder: Recorder, spec: Spec, spec_file: str) -> None:
    """Everything in `os` that replaces the process goes through one of these two."""
    execve: Callable[[Any, Any, Any], NoReturn] = os.execve

    def new_execve(path: Any, args: Sequence[Any], env: Mapping[Any, Any]) -> NoReturn:
        if recorder.alive and recorder.frames == 0 and _is_python(path):
            before = env.get("PYTHONPATH")
            replace(spec, pythonpath=before).write(Path(spec_file))
            os.set_inheritable(spec.lifeline_fd, True)
            env = {**env, **entrance(spec_file, before)}
        execve(path, args, env)

    def new_execv(path: Any, args: Sequence[Any]) -> NoReturn:
        new_execve(path, args, os.environ)

    os.execve, os.execv = new_execve, new_execv  # type: ignore[assignment]


def entrance(spec_file: str, pythonpath: str | None) -> dict[str, str]:
    """The variables with which an interpreter runs Twinrun before the program."""
    return {
        "PYTHONPATH": os.pathsep.join((INJECT, pythonpath)) if pythonpath else INJECT,
        VARIABLE: spec_file,
    }


def _is_python(path: Any) -> bool:
    return isinstance(path, (str, bytes, os.PathLike)) and Path(os.fsdecode(path)).name.startswith("python")
