"""Every way in which the program starts a process: what is started is given Twinrun's entrance, and a place in the
family. A program that restarts itself (to set PYTHONHASHSEED, say) stays what it is: the process is the same, its memory
is not, so the recorder follows through the environment, as at the first start."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from twinrun.protocol.child import ChildProcess
from twinrun.protocol.point import Point, replacement
from twinrun.protocol.registry import frameworks
from twinrun.protocol.spec import CHILD
from twinrun.twin.callers import unseen
from twinrun.twin.family import Family, entrance

if TYPE_CHECKING:
    from twinrun.twin.recorder import Recorder
    from twinrun.twin.session import Session

_ENVIRONMENT = 5  # its place among the arguments of fork_exec
_NO_ENTRANCE = re.compile(r"-[A-Za-z]*[EIS]")  # options with which an interpreter does not look for it
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
# What takes the entrance out of the environment, in a shell or by `env`. A path that the old one is added to keeps it.
_HIDES = re.compile(
    r"\bPYTHONPATH=(?!\S*\$\{?PYTHONPATH)\S*|\bunset\s.*\bPYTHONPATH\b|\benv\s+(?:-i|-|-u\s*PYTHONPATH)(?=\s)"
)
_STAYS = re.compile(r"\s*(?:export\s|unset\s|PYTHONPATH=\S*\s*$)")  # for the commands that follow
_COMMANDS = re.compile(r"[\n;|&]+")
_INTERPRETER = re.compile(r"(?:^|[\s/])python[\d.]*\s+(.*)", re.DOTALL)


def _family(session: Session) -> Family | None:
    recorder = session.recorder
    return recorder.family if recorder is not None and recorder.alive else None


@replacement
def _fork_exec(session: Session, original: Any, *args: Any) -> Any:
    """Under subprocess, and under the processes of multiprocessing that are not forked."""
    family = _family(session)
    if family is not None and len(args) > _ENVIRONMENT:
        given = args[_ENVIRONMENT]
        before = dict(os.environb) if given is None else dict(line.partition(b"=")[::2] for line in given)
        added = family.entrance(before)
        if added:
            _look_at(family, args[0], added, args[_ENVIRONMENT - 1])
            merged = {**before, **_encoded(added)}
            lines = [name + b"=" + value for name, value in merged.items()]
            args = (*args[:_ENVIRONMENT], lines, *args[_ENVIRONMENT + 1 :])
    return _child_of(family, original(*args))


@replacement
def _posix_spawn(session: Session, original: Any, path: Any, argv: Any, env: Any, **settings: Any) -> Any:
    family = _family(session)
    if family is not None:
        added = family.entrance(env)
        if added:
            _look_at(family, argv, added)
            env = _merged(env, added)
    return _child_of(family, original(path, argv, env, **settings))


@replacement
def _fork(session: Session, original: Any) -> Any:
    return _child_of(_family(session), original())


def _child_of(family: Family | None, number: int) -> int:
    """The number of a process that was started; 0 in a forked child."""
    if family is not None and number:
        family.children.append(number)
    return number


@replacement
def _system(session: Session, original: Any, command: Any) -> Any:
    """The C library starts a shell with an environment that only the shell itself can change."""
    family = _family(session)
    added = family.entrance(os.environ) if family is not None else {}
    if added and family is not None:
        _look_at(family, ("sh", "-c", command), added)
        words = " ".join(f"{name}={shlex.quote(value)}" for name, value in added.items())
        command = b"export " + os.fsencode(words) + b"; " + os.fsencode(command)
    return original(command)


@replacement
def _kill(session: Session, original: Any, pid: int, signal: int) -> None:
    """A child that the program itself ends has not crashed."""
    family = _family(session)
    if family is not None and signal and pid != os.getpid():
        family.signalled(pid)
    original(pid, signal)


@replacement
def _hand_over(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    """A child that has handed over its result may be ended at any time: by a pool that is done, say."""
    recorder = session.recorder
    if recorder is not None and recorder.is_child and threading.current_thread() is threading.main_thread():
        recorder.settle()
        session.log.begin_task()
    return original(*args, **kwargs)


_REASON = "processes that the program starts"
POINTS = (
    Point("_posixsubprocess:fork_exec", _fork_exec, _REASON, ("verdict",)),
    # Python 3.11 and later keep a name of their own for it.
    Point("subprocess:_fork_exec", _fork_exec, _REASON, ("verdict",), optional=True),
    Point("os:posix_spawn", _posix_spawn, _REASON, ("verdict",), optional=True),
    Point("os:posix_spawnp", _posix_spawn, _REASON, ("verdict",), optional=True),
    Point("os:fork", _fork, "the numbers of processes, which a program may print", ("cause",)),
    Point("os:system", _system, _REASON, ("verdict",)),
    Point("os:kill", _kill, "processes that the program ends", ("verdict",)),
    Point("os:killpg", _kill, "processes that the program ends", ("verdict",)),
    Point("multiprocessing.queues:Queue.put", _hand_over, "the results of processes", ("verdict",)),
    Point(
        "multiprocessing.connection:_ConnectionBase.send",
        _hand_over,
        "the results of processes",
        ("verdict",),
    ),
    Point(
        "multiprocessing.connection:_ConnectionBase.send_bytes",
        _hand_over,
        "the results of processes",
        ("verdict",),
    ),
)


def follow_exec(recorder: Recorder) -> None:
    """Everything in `os` that replaces the process goes through one of these two."""
    execve: Callable[[Any, Any, Any], NoReturn] = os.execve

    def new_execve(path: Any, args: Sequence[Any], env: Mapping[Any, Any]) -> NoReturn:
        family = recorder.family
        if recorder.alive and family.identity:
            added = family.entrance(env, family.identity)
            if added:
                _look_at(family, args, added)
                env = _merged(env, added)
        elif recorder.alive and recorder.frames == 0 and _is_python(path):
            env = {**env, **entrance(family.spec_file, env.get("PYTHONPATH"))}
        execve(path, args, env)

    def new_execv(path: Any, args: Sequence[Any]) -> NoReturn:
        new_execve(path, args, os.environ)

    os.execve, os.execv = new_execve, new_execv  # type: ignore[assignment]


def _look_at(family: Family, args: Sequence[Any], added: Mapping[str, str], cwd: Any = None) -> None:
    """An interpreter that does not look for the entrance, or is not given it, cannot be watched. Where its program names
    a framework, that is written down: it may train."""
    words = [os.fsdecode(word) for word in args]
    if not words:
        return
    place = Path(os.fsdecode(cwd)) if cwd is not None else Path()
    source, hidden = _source(words[1:], place) if _is_python(words[0]) else _behind(words, place)
    if not hidden or not _names_a_framework(source):
        return
    identity = added[CHILD]
    why = f"it was started with {hidden}"
    ChildProcess(identity, family.command_label(words[1:]), 0, unwatched=why).write(family.claim(identity))


def _behind(words: list[str], cwd: Path) -> tuple[str, str]:
    """What the interpreters run which a shell or `env` starts without the entrance, and what takes that away."""
    found = hidden = later = ""
    for command in _COMMANDS.split(_shell_text(words[0], words[1:], cwd)):
        taken, interpreter = _HIDES.search(command), _INTERPRETER.search(command)
        by = taken[0] if taken is not None else later
        if taken is not None and _STAYS.match(command):
            later = by
        elif interpreter is not None and by:
            with contextlib.suppress(ValueError):  # a quote that stays open
                found, hidden = found + _source(shlex.split(interpreter[1]), cwd)[0], hidden or by
    return found, hidden


def _shell_text(path: str, words: list[str], cwd: Path) -> str:
    name = Path(path).name
    if name == "env":
        return shlex.join([name, *words])
    if name not in ("sh", "bash", "dash", "zsh"):
        return _text(cwd / path) if name.endswith(".sh") else ""
    script = next((place for place, word in enumerate(words) if not word.startswith("-")), None)
    if script is None:
        return ""
    is_code = any(re.fullmatch(r"-[a-z]*c", word) for word in words[:script])
    return words[script] if is_code else _text(cwd / words[script])


def _source(words: list[str], cwd: Path) -> tuple[str, str]:
    """What an interpreter runs, as far as it can be read, and the option that keeps Twinrun out, if there is one."""
    hidden = ""
    rest = iter(words)
    for word in rest:
        if word in ("-c", "-m") or (word.startswith("-") and word[-1:] in "cm" and not word.startswith("--")):
            hidden = hidden or (word if _NO_ENTRANCE.match(word) else "")
            given = next(rest, "")
            if word.endswith("c"):
                return given, hidden
            place = cwd.joinpath(*given.split("."))
            return _text(place.with_suffix(".py")) + _text(place / "__main__.py"), hidden
        if word in _WITH_VALUE:
            next(rest, "")
        elif word.startswith("-"):
            hidden = hidden or (word if _NO_ENTRANCE.fullmatch(word) else "")
        else:
            return _text(cwd / word), hidden
    return "", hidden


def _text(path: Path) -> str:
    with unseen(), contextlib.suppress(OSError):
        return path.read_text(errors="replace")
    return ""


def _names_a_framework(source: str) -> bool:
    modules = "|".join(re.escape(framework.module) for framework in frameworks())
    return re.search(rf"\b(?:import|from)\s+(?:{modules})\b", source) is not None


def _merged(env: Mapping[Any, Any], added: Mapping[str, str]) -> dict[Any, Any]:
    """The names as text, so that none is there twice."""
    return {**{os.fsdecode(name): value for name, value in env.items()}, **added}


def _encoded(added: Mapping[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in added.items()}


def _is_python(path: Any) -> bool:
    return isinstance(path, (str, bytes, os.PathLike)) and Path(os.fsdecode(path)).name.startswith("python")
