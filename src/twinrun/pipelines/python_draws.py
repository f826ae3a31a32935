"""What a Python function called by a pipeline draws from: read from its bytecode, never by running it.

Names are resolved to the objects they stand for (modules, generators, functions), through globals, closures
and bound instances, and the user's own helpers are followed. Nothing is guessed: a name that cannot be
resolved is skipped.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import random
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from twinrun.pipelines.build_sites import GENERATED, Site, is_users

_DEPTH = 8
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")
_ENTROPY = {("posix", "urandom"), ("nt", "urandom"), ("uuid", "uuid4"), ("uuid", "uuid1")}
_IGNORED_INSTRUCTIONS = {"CACHE", "PRECALL", "PUSH_NULL", "EXTENDED_ARG", "RESUME", "NOP"}


@dataclass(frozen=True)
class HostDraw:
    """One place in Python code that draws.

    `kind`: `stream` (a global stream: np.random, random, tf.random), `shared` (one generator object for all
    calls), `unseeded` (a generator made on the spot without a seed), `entropy` (the operating system),
    `element` (twinrun.element_rng: what it should be).
    """

    kind: str
    what: str
    file: str
    line: int
    stream: str = ""  # which global stream: numpy, python, tensorflow

    def __str__(self) -> str:
        return f"{self.what} ({self.file}:{self.line})"


def host_draws(function: Any) -> tuple[HostDraw, ...]:
    """Every draw found in a callable and in the user's own functions it calls, in order of reading."""
    return tuple(dict.fromkeys(_Reader().callable(function)))


def randomness_of(draws: Iterable[HostDraw], *, raced: bool, unseeded: frozenset[str]) -> str:
    """Whether Python draws repeat: `racing`, `unseeded`, `unknown`, `seeded` or `none`.

    `raced`: several calls run at once. `unseeded`: the global streams that certainly nobody has seeded.
    """
    draws = tuple(draws)
    kinds = {draw.kind for draw in draws}
    if raced and kinds & {"stream", "shared"}:
        return "racing"
    if kinds & {"unseeded", "entropy"} or unseeded_stream(draws, unseeded) is not None:
        return "unseeded"
    if kinds & {"stream", "shared"}:
        return "unknown"  # it depends on whether that stream was seeded, and on who else draws from it
    return "seeded" if "element" in kinds else "none"


def unseeded_stream(draws: Iterable[HostDraw], unseeded: frozenset[str]) -> str | None:
    """The first global stream among `unseeded` that is drawn from."""
    return next((draw.stream for draw in draws if draw.kind == "stream" and draw.stream in unseeded), None)


def drawn_from(draws: Iterable[HostDraw]) -> str:
    return ", ".join(str(draw) for draw in draws if draw.kind != "element")


def unseeded_streams() -> frozenset[str]:
    """`numpy`, `python`: those that certainly nobody has seeded so far.

    NumPy's stream keeps its initial entropy until it is seeded. Python's keeps no trace; there it is known
    only in a process that Twinrun has instrumented from its first line.
    """
    from twinrun.twin.session import current

    found = set()
    if not numpy_is_seeded():
        found.add("numpy")
    pins = current().pins
    if pins.launched and pins.watching:
        seeding = pins.seedings.get("python-random")
        if seeding is None or (seeding.value is None and not seeding.restored):
            found.add("python")
    return frozenset(found)


def numpy_is_seeded() -> bool:
    """Whether NumPy's global stream was seeded: seeding it drops its initial entropy."""
    return getattr(np.random.mtrand._rand._bit_generator, "seed_seq", None) is None


def undecorated(function: Any) -> Any:
    """The function inside TensorFlow's and functools' wrappers."""
    seen = set()
    while id(function) not in seen:
        seen.add(id(function))
        if isinstance(function, functools.partial):
            function = function.func
        elif type(function).__name__ == "EagerFunc":
            function = function._func
        elif hasattr(function, "_tf_decorator"):
            function = function._tf_decorator.decorated_target
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(function, "python_function"):
            function = function.python_function
    return function


def callable_site(function: Any) -> Site | None:
    """Where a Python function, method, lambda, partial or callable object is written, if it is the user's."""
    inner, _ = _function_and_self(function)
    if inner is None or not is_users(inner.__code__.co_filename):
        return None
    return Site(inner.__code__.co_filename, inner.__code__.co_firstlineno, inner.__code__.co_name)


_UNKNOWN: Any = object()


@dataclass
class _Frame:
    """What names stand for while a function's code is read, and the chain `a.b.c` being followed."""

    names: dict[str, Any]
    free: dict[str, Any]
    local: dict[str, Any]
    value: Any = _UNKNOWN
    label: str = ""

    def load(self, one: dis.Instruction, following: dis.Instruction | None) -> bool:
        """Follow one instruction. Returns whether it left a known value on the stack."""
        name = str(one.argval)
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            self.value, self.label = self.names.get(name, getattr(builtins, name, _UNKNOWN)), name
        elif one.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            self.value, self.label = self.free.get(name, self.local.get(name, _UNKNOWN)), name
        elif one.opname.startswith("LOAD_FAST"):
            self.value, self.label = self.local.get(name, _UNKNOWN), name
        elif one.opname in _ATTRIBUTES:
            self.value, self.label = _attribute(self.value, name), f"{self.label}.{name}"
        elif one.opname == "IMPORT_NAME":
            whole = following is not None and following.opname == "IMPORT_FROM"
            wanted = name if whole else name.partition(".")[0]  # `import a.b` binds a
            self.value, self.label = sys.modules.get(wanted, _UNKNOWN), wanted
            return False
        else:
            if one.opname in ("STORE_FAST", "STORE_DEREF"):
                self.local[name] = self.value
            self.value = _UNKNOWN
            return False
        return following is None or following.opname not in _ATTRIBUTES


class _Reader:
    def __init__(self) -> None:
        self._seen: set[CodeType] = set()

    def callable(self, function: Any, depth: int = 0) -> Iterator[HostDraw]:
        function, bound = _function_and_self(function)
        if function is None or depth > _DEPTH or function.__code__ in self._seen:
            return
        self._seen.add(function.__code__)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
        free = {name: cell_value(cell) for name, cell in cells}
        local = {}
        if bound is not _UNKNOWN and function.__code__.co_argcount:
            local[function.__code__.co_varnames[0]] = bound
        yield from self._code(function.__code__, _Frame(function.__globals__, free, local), depth)

    def _code(self, code: CodeType, frame: _Frame, depth: int) -> Iterator[HostDraw]:
        line = code.co_firstlineno
        instructions = [one for one in dis.get_instructions(code) if one.opname not in _IGNORED_INSTRUCTIONS]
        for one, following in zip(instructions, [*instructions[1:], None], strict=True):
            line = _line_of(one, line)
            if isinstance(one.argval, CodeType):  # a function, lambda or comprehension written inside
                inner = _Frame(frame.names, {**frame.free, **frame.local}, {})
                yield from self._code(one.argval, inner, depth)
            if frame.load(one, following) and frame.value is not _UNKNOWN:
                found = draw_kind(frame.value, _is_bare_call(following))
                if found is not None:
                    yield HostDraw(found[0], frame.label, code.co_filename, line, found[1])
                else:
                    yield from self._follow(frame.value, depth)

    def _follow(self, value: Any, depth: int) -> Iterator[HostDraw]:
        """Go on in a function that is named here, if it is the user's own."""
        if isinstance(value, (ModuleType, type)):
            return
        function, _ = _function_and_self(value)
        file = "" if function is None else function.__code__.co_filename
        # autograph makes a copy of the user's function
        if file and (is_users(file) or GENERATED in file):
            yield from self.callable(value, depth + 1)


def _function_and_self(value: Any) -> tuple[Any, Any]:
    """The Python function behind a callable, and the object it is bound to. None when there is none."""
    value = undecorated(value)
    if isinstance(value, MethodType):
        function, bound = undecorated(value.__func__), value.__self__
    elif isinstance(value, (FunctionType, type)):
        function, bound = value, _UNKNOWN
    else:
        function, bound = inspect.getattr_static(type(value), "__call__", None), value
    return (function, bound) if isinstance(function, FunctionType) else (None, bound)


def draw_kind(value: Any, bare_call: bool = False) -> tuple[str, str] | None:
    """(kind, stream) of the draw made by calling this object, or None when it does not draw."""
    generators = (np.random.Generator, np.random.RandomState, random.Random)
    bit_generators = (np.random.PCG64, np.random.Philox, np.random.MT19937)
    owner = getattr(value, "__self__", None)
    if owner is np.random.mtrand._rand:
        return "stream", "numpy"
    if owner is random._inst:
        return "stream", "python"
    if isinstance(owner, random.SystemRandom):
        return "entropy", ""
    if isinstance(value, generators) or isinstance(owner, generators):
        return "shared", ""
    if any(value is maker for maker in (np.random.default_rng, *generators[1:], *bit_generators)):
        return ("unseeded", "") if bare_call else None
    return _kind_by_name(value)


def _kind_by_name(value: Any) -> tuple[str, str] | None:
    module, name = getattr(value, "__module__", None) or "", getattr(value, "__name__", "")
    if (module, name) in _ENTROPY or module == "secrets":
        return "entropy", ""
    if name == "element_rng" and module.startswith("twinrun."):
        return "element", ""
    if module.startswith("tensorflow.") and module.endswith(("ops.random_ops", "ops.random_crop_ops")):
        return ("stream", "tensorflow") if callable(value) else None
    if isinstance(
        value, FunctionType
    ):  # a wrapper, of the event log's or of element_streams', in the stream's place
        if module == "random" and hasattr(random.Random, name):
            return "stream", "python"
        if module == "numpy.random" and hasattr(np.random.RandomState, name):
            return "stream", "numpy"
    return None


def cell_value(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return _UNKNOWN


def _attribute(value: Any, name: str) -> Any:
    """An attribute without running anyone's property."""
    if value is _UNKNOWN:
        return _UNKNOWN
    if isinstance(value, ModuleType):
        return value.__dict__.get(name, _UNKNOWN) if name in value.__dict__ else _lazily(value, name)
    try:
        found = inspect.getattr_static(value, name)
    except AttributeError:
        return _UNKNOWN
    if isinstance(found, FunctionType) and not isinstance(value, type):
        return MethodType(found, value)
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, (property, functools.cached_property, classmethod)) or hasattr(found, "__set__"):
        return _UNKNOWN
    if inspect.ismethoddescriptor(found):  # a method of a built-in class, such as Generator.random
        return getattr(value, name, _UNKNOWN)
    return found


def _lazily(module: ModuleType, name: str) -> Any:
    """Submodules that a library loads on first use (`tf.random`) are looked up as the program would."""
    if module.__name__.partition(".")[0] in ("tensorflow", "numpy", "keras", "twinrun", "tf_keras"):
        return getattr(module, name, _UNKNOWN)
    return sys.modules.get(f"{module.__name__}.{name}", _UNKNOWN)


def _is_bare_call(instruction: dis.Instruction | None) -> bool:
    return instruction is not None and instruction.opname.startswith("CALL") and instruction.arg == 0


def _line_of(instruction: dis.Instruction, line: int) -> int:
    positions = getattr(instruction, "positions", None)
    found = positions.lineno if positions is not None else instruction.starts_line
    return found if isinstance(found, int) and not isinstance(found, bool) else line
