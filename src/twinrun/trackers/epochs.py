"""Two runs of a tracker compared by the digests of their epochs: which epoch, and which variable, is the first that differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec import Struct

from twinrun.comparison.verdict import DIVERGES, REPEATS, UNDECIDED, Reason
from twinrun.counted import counted
from twinrun.errors import TrackerFailed
from twinrun.result import Judged
from twinrun.trackers import must_be_installed
from twinrun.trackers.epoch_files import FOLDER, Epoch, folder_of, read_epochs

MLFLOW = "mlflow:"  # and the id of a run
_NO_DIGESTS = (
    "train with the callback twinrun.EpochDigests: model.fit(…, callbacks=[twinrun.EpochDigests(…)])"
)


class EpochDifference(Struct, frozen=True):
    """The first variable that differs after an epoch, in the order of the model, or a metric where no variable does."""

    epoch: int
    kind: Literal["variable", "metric"]
    name: str
    a: str  # digests, or values of the metric
    b: str
    others: int = 0  # of its kind, after this epoch


class EpochsResult(Judged, frozen=True, kw_only=True, tag_field="schema", tag="twinrun/epochs/1"):
    """`equal_after`: the epochs after which everything was equal, up to the first difference."""

    runs: tuple[str, str]
    equal_after: tuple[int, ...] = ()
    variables: int = 0
    first_difference: EpochDifference | None = None
    notes: tuple[str, ...] = ()


def is_tracked(run: str) -> bool:
    """Whether it names a run with digests of epochs, and not a recording."""
    return run.startswith(MLFLOW) or folder_of(Path(run)) is not None


def compare_runs(a: str, b: str) -> EpochsResult:
    return compare_epochs((a, b), _epochs(a), _epochs(b))


def compare_epochs(runs: tuple[str, str], a: dict[int, Epoch], b: dict[int, Epoch]) -> EpochsResult:
    """`runs` are what they are called."""
    equal: list[int] = []
    notes: tuple[str, ...] = ()
    first: EpochDifference | None = None
    reason: Reason | None = None
    for number in sorted(a.keys() & b.keys()):
        one, other = a[number], b[number]
        if len(one.variables) != len(other.variables) or not one.variables:
            counts = f"{counted(len(one.variables), 'variable')} against {len(other.variables)}"
            reason = Reason("not-comparable", f"the models differ: {counts}")
            break
        if _names(one) != _names(other):
            notes = (
                f"the variables have other names in {runs[1]}, and were compared in the order of the models",
            )
        first = _first_difference(one, other)
        if first is not None:
            notes += tuple(_gap(a, b, equal, number))
            break
        equal.append(number)
    if first is None and reason is None:
        reason = _not_all(runs, a, b, equal)
    return EpochsResult.of(
        " and ".join(runs),
        DIVERGES if first is not None else UNDECIDED if reason is not None else REPEATS,
        reason,
        runs=runs,
        equal_after=tuple(equal),
        variables=max((len(epoch.variables) for epoch in a.values()), default=0),
        first_difference=first,
        notes=notes,
    )


def _epochs(run: str) -> dict[int, Epoch]:
    if not run.startswith(MLFLOW):
        folder = folder_of(Path(run))
        found = read_epochs(folder) if folder is not None else {}
    else:
        with TemporaryDirectory(prefix="twinrun-") as place:
            folder = _fetch(run.removeprefix(MLFLOW), Path(place))
            found = read_epochs(folder) if folder is not None else {}
    if not found:
        raise TrackerFailed(f"{run} has no digests of epochs", hint=_NO_DIGESTS)
    return found


def _fetch(run_id: str, folder: Path) -> Path | None:
    must_be_installed("mlflow")
    from twinrun.trackers import mlflow

    try:
        return mlflow.fetch(run_id, FOLDER, folder)
    except Exception as problem:  # whatever a server or the network leads to
        text = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise TrackerFailed(f"cannot read {MLFLOW}{run_id}: {text}", hint=mlflow.hint()) from None


def _names(epoch: Epoch) -> set[str]:
    return {name for name, _ in epoch.variables}


def _first_difference(a: Epoch, b: Epoch) -> EpochDifference | None:
    if _names(a) == _names(b):
        theirs = dict(b.variables)
        pairs = [(name, digest, theirs[name]) for name, digest in a.variables]
    else:
        pairs = [(name, one, two) for (name, one), (_, two) in zip(a.variables, b.variables, strict=True)]
    differing = [pair for pair in pairs if pair[1] != pair[2]]
    if differing:
        return EpochDifference(a.epoch, "variable", *differing[0], len(differing) - 1)
    both = [(name, value, b.metrics[name]) for name, value in a.metrics.items() if name in b.metrics]
    metrics = [pair for pair in both if pair[1] != pair[2]]
    return EpochDifference(a.epoch, "metric", *metrics[0], len(metrics) - 1) if metrics else None


def _gap(a: dict[int, Epoch], b: dict[int, Epoch], equal: list[int], number: int) -> Iterator[str]:
    """Epochs between the last that was equal and the first that differs."""
    between = [
        each for each in sorted(a.keys() ^ b.keys()) if each < number and each > max(equal, default=-1)
    ]
    if between:
        plural, are = ("", "is") if len(between) == 1 else ("s", "are")
        yield f"epoch{plural} {_listed(between)} {are} in one of the runs only, and may differ too"


def _not_all(
    runs: tuple[str, str], a: dict[int, Epoch], b: dict[int, Epoch], equal: list[int]
) -> Reason | None:
    """Why runs without a difference are not shown to repeat, if so."""
    alone = [
        f"{run} alone has {_listed(more)}"
        for run, more in zip(runs, (sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())), strict=True)
        if more
    ]
    if not alone:
        return None
    if not equal:
        return Reason("not-comparable", f"no epoch is in both runs: {'; '.join(alone)}")
    return Reason(
        "uneven", f"equal after the epochs that both runs have ({_listed(equal)}); {'; '.join(alone)}"
    )


def _listed(numbers: list[int]) -> str:
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}–{numbers[-1]}"
    shown = ", ".join(map(str, numbers[:8]))
    return shown if len(numbers) <= 8 else f"{shown} …"
