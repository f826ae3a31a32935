"""What can go wrong because of what the user gave us. One class per kind; the command line prints them without a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(eq=False)
class TwinrunError(Exception):
    """The base of what is raised for invalid use and for files that cannot be read. The command line prints it as `error: message`,
    `--> where` and `hint: hint`, and exits with 2: nothing could be judged."""

    message: str
    hint: str | None = None
    where: str | None = None

    @property
    def lines(self) -> list[str]:
        where = [f"  --> {self.where}"] if self.where else []
        return [self.message, *where, *([f"hint: {self.hint}"] if self.hint else [])]

    def __str__(self) -> str:
        return "\n".join(self.lines)


class UsageError(TwinrunError):
    """An option, argument or setting that is unknown or has an invalid value."""

    @classmethod
    def unknown(cls, what: str, given: str, known: Iterable[str]) -> Self:
        """`given` is none of the known names: with the one that was probably meant, and all of them."""
        from difflib import get_close_matches

        names = list(known)
        near = get_close_matches(given, names, n=1)
        meant = f"did you mean {near[0]}? Choose from" if near else "choose from"
        return cls(f"unknown {what} {given!r}", hint=f"{meant} {', '.join(names)}")


class ProgramNotFound(TwinrunError):
    """The script or module to run does not exist."""


class BadNotebook(TwinrunError):
    """A notebook that cannot be read, or is in another language, or needs the extra that is not installed."""


class BadRecording(TwinrunError):
    """A folder that is not a recording, is damaged, or was written by a newer Twinrun."""


class BadResult(TwinrunError):
    """A file that is not a saved result, or one that was written by a newer Twinrun."""


class CannotWrite(TwinrunError):
    """No permission or no room where a recording or report should go."""


class NotComparable(TwinrunError):
    """Two recordings cannot answer the question that was asked."""


class NoDevice(TwinrunError):
    """A device that this machine does not have, or that the framework cannot use."""


class UnknownCode(TwinrunError):
    """A code or name that is not in the catalogue of findings."""


class CannotPin(TwinrunError):
    """Strict pinning was requested and something could not be pinned."""


class BadBaseline(TwinrunError):
    """A baseline that is damaged, was edited, or was written by another version."""


class BrokenPlugin(TwinrunError):
    """A source or framework of another package that cannot be loaded."""


class MissingPoint(TwinrunError):
    """This release of a library lacks a function that must be replaced for a verdict. `where` is its place."""


class TrackerFailed(TwinrunError):
    """MLflow, TensorBoard or Weights & Biases is not installed, does not answer, or does not have what is asked for."""


class CannotCopy(TwinrunError):
    """The program's folder cannot be copied: for an experiment that must not touch the user's files, or to a cluster."""


class ClusterError(TwinrunError):
    """A cluster that cannot be reached, lacks what the runs ask for, or has a node that cannot make one."""
