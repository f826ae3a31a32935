"""The program to run: a script or a module with its arguments, as python itself would take them, or a notebook."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from twinrun.errors import BadNotebook, ProgramNotFound
from twinrun.masking import Secrets, each_text, mask_arguments, masked
from twinrun.notebooks import is_notebook
from twinrun.notebooks.notebook import read_notebook
from twinrun.notebooks.places import by_cells

_MOST_SOURCE = 1 << 20
_WORD = re.compile(r"[A-Za-z0-9]{4,}")
_CLUSTER = str(Path(__file__).absolute().parents[1] / "twin" / "cluster.py")  # not imported: it would be slow
_RUN_NOTEBOOK = "twinrun.twin.run_notebook"
T = TypeVar("T")


def must_be_readable(path: Path) -> None:
    """Raise now what every reader of a notebook would stumble over."""
    try:
        notebook = read_notebook(path)
    except (OSError, ValueError) as problem:
        raise BadNotebook(f"{path} cannot be read: {problem}") from None
    if not notebook.cells:
        raise BadNotebook(f"{path} has no code cells")


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
        how = ["-m", _RUN_NOTEBOOK] if self.is_notebook else ["-m"] if self.module else []
        return [*self.launcher, self.python, *how, self.target, *self.arguments]

    @property
    def is_notebook(self) -> bool:
        return not self.module and is_notebook(self.target)

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

    def shown(self, result: T, patched: Mapping[str, str] | None = None) -> T:
        """A result of running the program as it is written down: without what is secret, and with the places in a notebook
        by its cells. `patched` is what was run in place of some files."""
        clean = masked(result, self.secrets)
        if not self.is_notebook:
            return clean
        return each_text(clean, by_cells(self.target, patched) if patched else self._by_cells)

    @cached_property
    def _by_cells(self) -> Callable[[str], str]:
        return by_cells(self.target)

    def _source_words(self) -> frozenset[str]:
        from twinrun.source_audit.program_files import find_script

        script = find_script(self.target, module=self.module)
        with contextlib.suppress(OSError, ValueError, BadNotebook):
            if script is not None and self.is_notebook:
                return frozenset(_WORD.findall(read_notebook(script).text))
            if script is not None and script.is_file():
                with script.open("rb") as file:
                    text = file.read(_MOST_SOURCE).decode("utf-8", "replace")
                return frozenset(_WORD.findall(text))
        return frozenset()

    def in_cluster(self, workers: int, patience: float) -> Program:
        """The same in front of which the workers are started that run it."""
        words = (self.python, _CLUSTER, str(workers), str(patience))
        return replace(self, launcher=(*self.launcher, *words))

    def must_exist(self) -> None:
        """Raise now what python would report later, from inside every twin."""
        if not self.target:
            hint = "was it meant to come from a variable that is not set?"
            raise ProgramNotFound("the name of the program is empty", hint=hint)
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
        if not path.is_file():
            raise ProgramNotFound(
                f"{self.target} is not a file", hint="give a .py file, a notebook, or a module with -m"
            )
        if self.is_notebook:
            must_be_readable(path)

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
