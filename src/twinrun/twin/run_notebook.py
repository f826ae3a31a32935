"""`python -m twinrun.twin.run_notebook NOTEBOOK [ARGUMENT…]`: how a notebook becomes a program. Its cells run in its own
folder, from the first to the last, or to one that raises an error."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from traceback import TracebackException
from types import TracebackType

from twinrun.notebooks.notebook import Notebook, read_notebook
from twinrun.twin.session import current


def main() -> None:
    sys.path.pop(0)  # the working folder: nothing there is to be imported before the first cell
    sys.argv = sys.argv[1:]
    path = Path(sys.argv[0]).absolute()
    notebook = read_notebook(path)
    from twinrun.notebooks.shell import Shell

    shell = Shell.started(notebook, str(path))
    os.chdir(path.parent)
    sys.path.insert(0, "")
    current().notes.extend(notebook.skipped)
    show = _Tracebacks(notebook, path)
    recorder = current().recorder
    sys.excepthook = show if recorder is None else recorder.excepthook(show)
    for cell, above in zip(notebook.cells, notebook.starts, strict=True):
        error = shell.run(cell, above)
        if error is not None and cell.may_fail:
            show(type(error), error, error.__traceback__)
        elif error is not None:
            raise error
        if shell.exit_now:
            break


class _Tracebacks:
    """Shows what ended the program: the notebook's own lines by their cells, and nothing of who runs them."""

    def __init__(self, notebook: Notebook, path: Path) -> None:
        self._notebook, self._file, self._name = notebook, str(path), path.name

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        shown = TracebackException(kind, error, trace)
        self._by_cells(shown)
        print("".join(shown.format()), end="", file=sys.stderr)

    def _by_cells(self, shown: TracebackException) -> None:
        files = [frame.filename for frame in shown.stack]
        if self._file in files:
            del shown.stack[: files.index(self._file)]
        for frame in shown.stack:
            place = self._notebook.place(frame.lineno or 0) if frame.filename == self._file else None
            # To ask for its line is to have it read, by the number that it has in the text.
            if place is not None and frame.line is not None:
                frame.filename, frame.lineno = f"{self._name}, cell {place.cell}", place.line
        if getattr(shown, "filename", None) == self._file:  # of a cell that is no Python
            place = self._notebook.place(int(shown.lineno or 0))
            if place is not None:
                shown.stack.clear()
                shown.filename, shown.lineno = f"{self._name}, cell {place.cell}", str(place.line)
        for other in (shown.__cause__, shown.__context__):
            if other is not None:
                self._by_cells(other)


if __name__ == "__main__":
    main()
