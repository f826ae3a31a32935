"""IPython in a process of the program's: runs the cells of a notebook one after the other, as a kernel does, and gives
their code the file and the lines that the notebook's text has. Imported only where a notebook runs."""

from __future__ import annotations

import ast
import linecache
import os
import types
from contextlib import nullcontext
from typing import Any

from IPython.core.compilerop import CachingCompiler
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from twinrun.notebooks.notebook import Cell, Notebook

_FIGURES = "module://matplotlib_inline.backend_inline"  # drawn when a cell ends, in no window


class Compiler(CachingCompiler):  # type: ignore[misc]
    """The code of the cell that runs belongs to the notebook; other code that it has IPython run is as ever."""

    def __init__(self) -> None:
        super().__init__()
        self.file = ""
        self.cell: Cell | None = None
        self.above = 0  # lines of the text above the cell

    def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
        if self.cell is not None and raw_code == self.cell.source:
            return self.file
        name: str = super().cache(transformed_code, number, raw_code)
        return name

    def ast_parse(self, source: str, filename: str = "<unknown>", symbol: str = "exec") -> Any:
        if filename != self.file:
            return super().ast_parse(source, filename, symbol)
        try:
            return ast.increment_lineno(super().ast_parse(source, filename, symbol), self.above)
        except SyntaxError as error:
            error.lineno = (error.lineno or 0) + self.above
            raise


class Shell(InteractiveShell):  # type: ignore[misc]
    """Without what is for a person at the keyboard: history, windows, tracebacks in colour."""

    system = InteractiveShell.system_raw  # by subprocess, whose processes are watched

    @classmethod
    def started(cls, notebook: Notebook, file: str) -> Shell:
        """The one shell of this process, whose names are those of `__main__`."""
        os.environ.setdefault("MPLBACKEND", _FIGURES)
        main = types.ModuleType("__main__")
        main.__loader__ = types.SimpleNamespace(path=file)
        config = Config(HistoryManager={"enabled": False})
        shell: Shell = cls.instance(user_module=main, config=config, compiler_class=Compiler)
        shell.compile.file = file
        # So that functions can be inspected, as TensorFlow's AutoGraph does.
        lines = notebook.text.splitlines(keepends=True)
        linecache.cache[file] = (len(notebook.text), None, lines, file)
        return shell

    def run(self, cell: Cell, above: int) -> BaseException | None:
        """Runs a cell, and returns what it raised."""
        self.compile.cell, self.compile.above = cell, above
        captured = cell.translation.captured
        with nullcontext() if captured is None else capture_output() as output:
            result = self.run_cell(cell.source, store_history=True)
        names = [word for word in (captured or "").split() if word.isidentifier()]
        self.user_ns.update(dict.fromkeys(names, output))
        error: BaseException | None = result.error_before_exec or result.error_in_exec
        return error

    def transform_cell(self, raw_cell: str) -> str:
        cell = self.compile.cell
        if cell is None or raw_cell != cell.source:
            return str(super().transform_cell(raw_cell))
        code = cell.translation.code
        if "\n" not in code:  # `ls` and `exit` may be commands, which only the names that there are can tell
            with self.builtin_trap:
                code = self.prefilter_manager.prefilter_lines(code)
        return f"{code}\n"

    def ask_exit(self) -> None:
        self.exit_now = True

    def enable_gui(self, gui: str | None = None) -> None:
        pass

    def enable_matplotlib(self, gui: str | None = None) -> Any:
        return super().enable_matplotlib("inline")

    def init_virtualenv(self) -> None:
        """The interpreter is the one that was chosen."""

    def atexit_operations(self) -> None:
        """The names of the program stay until it has ended, as those of a script do."""

    def showtraceback(self, *_: Any, **__: Any) -> None:
        """Whoever runs the cells is told of the error."""

    showsyntaxerror = showindentationerror = showtraceback
