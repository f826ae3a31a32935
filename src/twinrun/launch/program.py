"""The program to run: a script or a module with its arguments, as python itself would take them."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from twinrun.errors import ProgramNotFound, UsageError
from twinrun.masking import Secrets, mask_arguments

_MOST_SOURCE = 1 << 20


def must_be_program(path: Path) -> None:
    """The text of a notebook happens to be valid Python, of which nothing can be said."""
    if path.suffix == ".ipynb":
        raise UsageError(
            f"{path} is a notebook: Twinrun reads and runs Python programs",
            hint=f"jupyter nbconvert --to script {path} makes {path.with_suffix('.py')}",
        )


@dataclass(frozen=True)
class Program:
    target: str
    arguments: tuple[str, ...] = ()
    module: bool = False
    python: str = sys.executable
    cwd: str | None = None  # None: the working directory of this process
    launcher: tuple[str, ...] = ()  # words in front of the command
    show_arguments: bool = False  # in what is written, unless they are surely credentials

    def command(self) -> list[str]:
        return [*self.launcher, self.python, *(["-m"] if self.module else []), self.target, *self.arguments]

    def __str__(self) -> str:
        return f"-m {self.target}" if self.module else self.target

    @cached_property
    def shown_arguments(self) -> tuple[str, ...]:
        """The arguments as they are written down. A word that stands in the program's own source is no secret."""
        return mask_arguments(self.arguments, show=self.show_arguments, harmless=self._source_words())

    @cached_property
    def secrets(self) -> Secrets:
        """What the program was given that must not be written down, wherever it prints it."""
        return Secrets.of(self.arguments, os.environ, show=self.show_arguments)

    def _source_words(self) -> frozenset[str]:
        from twinrun.source_audit.program_files import find_script

        script = find_script(self.target, module=self.module)
        with contextlib.suppress(OSError):
            if script is not None and script.is_file():
                with script.open("rb") as file:
                    text = file.read(_MOST_SOURCE).decode("utf-8", "replace")
                return frozenset(re.findall(r"[A-Za-z0-9]{4,}", text))
        return frozenset()

    def must_exist(self) -> None:
        """Raise now what python would report later, from inside every twin."""
        if self.module:
            self._module_must_exist()
            return
        path = Path(self.target)
        try:
            there, main = path.exists(), (path / "__main__.py").is_file()
        except OSError as problem:  # a name that is too long, say
            raise ProgramNotFound(f"no such program: {self.target}: {problem.strerror}") from None
        if main:
            return
        if not there:
            near = sorted(p.name for p in Path(path.parent).glob("*.py"))[:5] if path.parent.is_dir() else []
            hint = f"there is {', '.join(near)} here" if near else "check the path and the working directory"
            raise ProgramNotFound(f"no such program: {self.target}", hint=hint)
        must_be_program(path)
        if not path.is_file():
            raise ProgramNotFound(f"{self.target} is not a file", hint="give a .py file, or a module with -m")

    def _module_must_exist(self) -> None:
        top = self.target.partition(".")[0]
        here = Path.cwd()
        try:
            if (here / top).is_dir() or (here / f"{top}.py").is_file():
                return
            found = importlib.util.find_spec(top)
        except (ImportError, ValueError, OSError):
            found = None
        if found is None:
            raise ProgramNotFound(
                f"no module named {top}", hint="run from the folder that python -m would be run from"
            )
