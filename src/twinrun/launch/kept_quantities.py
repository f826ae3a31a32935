"""What a run with another number of workers keeps of a run with the first: seeds, weights, batches, losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from twinrun.comparison.contract import Contract
from twinrun.comparison.tensors import distance
from twinrun.launch.cluster_recording import Cluster, Tensor, Tensors
from twinrun.result import Quantity

GLOBAL_BATCH = "global batches"
_NO_ELEMENTS = "the elements of the batches are not known"
Batch = Counter[int] | None  # the elements of a global batch; None where they are not known
Number = TypeVar("Number", int, float)


def kept_quantities(first: Cluster, run: Cluster, contract: Contract) -> tuple[Quantity, ...]:
    """Every one of them, in the order in which training goes through them, those of the verdict among them."""
    steps = [step for step in first.steps if step in set(run.steps)]
    batches = (_batches(first, steps), _batches(run, steps))
    return (
        _seeds(first, run),
        _initial_weights(first, run, contract),
        _steps(first, run),
        _global_batches(steps, *batches),
        _loss(first, run, steps, contract),
        _weights(first, run, steps, contract),
        _batch_size(first, run, *batches),
        _learning_rate(first, run, steps),
    )


class Comparison:
    """One quantity, over all steps and tensors."""

    def __init__(self, name: str, contract: Contract, *, judged: bool) -> None:
        self._name, self._contract, self._judged = name, contract, judged
        self._seen = self._outside = False
        self._first: tuple[int | None, str] | None = None  # step and tensor of the first whose bits differ
        self._unmeasured = ""
        self.max_abs: float | None = None
        self._max_ulp: int | None = None

    def add(self, step: int | None, name: str, a: Tensor | None, b: Tensor | None) -> None:
        """The same tensor of both runs. None: there is none."""
        self._seen = True
        if a is None or b is None:
            self._differs(step, name)
        elif a.digest != b.digest:
            one, other = a.value(), b.value()
            if one is not None and other is not None:
                self.add_values(step, name, one, other)
            elif a.digest[0] == b.digest[0] and not self._contract.numeric:
                self._differs(step, name)
            else:
                self.not_measured(step, name)

    def add_values(self, step: int | None, name: str, a: np.ndarray, b: np.ndarray) -> None:
        self._seen = True
        if a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes():
            return
        within = self._contract.numeric and self._contract.holds(a, b)
        self._differs(step, name, within=within)
        found = distance(a, b)
        self.max_abs = _larger(self.max_abs, found.max_abs)
        self._max_ulp = _larger(self._max_ulp, found.max_ulp)

    def add_all(self, step: int | None, title: str, a: Tensors, b: Tensors) -> None:
        for name in dict.fromkeys([*a, *b]):
            self.add(step, f"{title}{name}", a.get(name), b.get(name))

    def not_measured(self, step: int | None, name: str) -> None:
        at = "" if step is None else f" at step {step}"
        self._unmeasured = self._unmeasured or f"the values of {name}{at} were not kept"

    def _differs(self, step: int | None, name: str, *, within: bool = False) -> None:
        self._first = self._first or (step, name)
        self._outside = self._outside or not within

    def quantity(self, how: str = "") -> Quantity:
        unknown = "" if self._seen else "none was seen"
        if not self._outside:
            unknown = unknown or self._unmeasured
        if unknown:
            return Quantity(self._name, "unknown", how, unknown, judged=self._judged)
        step, tensor = self._first or (None, "")
        return Quantity(
            self._name,
            "equal" if self._first is None else "different" if self._outside else "within",
            how,
            step=step,
            tensor=tensor,
            max_ulp=self._max_ulp,
            max_abs=self.max_abs,
            judged=self._judged,
        )


def _larger(one: Number | None, other: Number | None) -> Number | None:
    return other if one is None else one if other is None else max(one, other)


def _seeds(first: Cluster, run: Cluster) -> Quantity:
    wanted = first.workers[0].seeds()
    for worker in run.workers:
        found = worker.seeds()
        for name in dict.fromkeys([*wanted, *found]):
            if wanted.get(name) != found.get(name):
                return Quantity("seeds", "different", note=f"{run.title(worker)}{name}")
    return Quantity("seeds", "equal") if wanted else Quantity("seeds", "unknown", note="nothing was seeded")


def _initial_weights(first: Cluster, run: Cluster, contract: Contract) -> Quantity:
    found = Comparison("initial weights", contract, judged=True)
    for worker in run.workers:
        found.add_all(None, run.title(worker), first.workers[0].initial, worker.initial)
    return found.quantity()


def _steps(first: Cluster, run: Cluster) -> Quantity:
    taken = [[len(worker.steps) for worker in cluster.workers] for cluster in (first, run)]
    return _number("steps", first, run, *map(sorted, map(set, taken)), judged=True)


def _batches(run: Cluster, steps: Iterable[int]) -> list[Batch]:
    """What all workers together trained on in each step."""
    found: list[Batch] = []
    for step in steps:
        shares = [worker.steps[step].elements() for worker in run.workers]
        known = [Counter(share) for share in shares if share is not None]
        found.append(sum(known, Counter()) if len(known) == len(shares) else None)
    return found


def _global_batches(steps: Sequence[int], first: Sequence[Batch], other: Sequence[Batch]) -> Quantity:
    """As sets of elements: who read each of them, and in what order, does not matter."""
    how = "as sets of elements"
    if not steps or None in first or None in other:
        return Quantity(GLOBAL_BATCH, "unknown", how, _NO_ELEMENTS, judged=True)
    apart = [step for step, one, another in zip(steps, first, other, strict=True) if one != another]
    if apart:
        return Quantity(GLOBAL_BATCH, "different", how, step=apart[0], judged=True)
    return Quantity(GLOBAL_BATCH, "equal", how, judged=True)


def _loss(first: Cluster, run: Cluster, steps: Sequence[int], contract: Contract) -> Quantity:
    """Not judged. A worker reports the loss of all workers, which may be a sum over them, or that of its own share. Whether
    sums or means are the loss of all depends on the program, so the nearer one is shown."""
    shares = [[worker.steps[step].loss for worker in run.workers] for step in steps]
    wanted = [first.workers[0].steps[step].loss for step in steps]
    if all(_digests(share) == _digests(each[0]) for each in shares for share in each):
        one = Comparison("loss", contract, judged=False)
        for step, a, each in zip(steps, wanted, shares, strict=True):
            one.add_all(step, "", a, each[0])
        divided = _combined(steps, wanted, shares, contract, _divided, "divided by the number of workers")
        return min(one.quantity(), divided, key=_gap)
    ways = [
        _combined(steps, wanted, shares, contract, combine, how)
        for combine, how in ((np.sum, "summed over the workers"), (np.mean, "averaged over the workers"))
    ]
    return min(ways, key=_gap)


def _gap(kept: Quantity) -> float:
    return kept.max_abs or 0.0


def _divided(values: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.mean(values, axis) / values.shape[axis])


def _digests(tensors: Tensors) -> dict[str, tuple[str, bytes]]:
    return {name: tensor.digest for name, tensor in tensors.items()}


def _combined(
    steps: Sequence[int],
    wanted: Sequence[Tensors],
    shares: Sequence[Sequence[Tensors]],
    contract: Contract,
    combine: Callable[..., np.ndarray],
    how: str,
) -> Quantity:
    found = Comparison("loss", contract, judged=False)
    for step, whole, each in zip(steps, wanted, shares, strict=True):
        for name, tensor in whole.items():
            values = [tensor.value(), *(share[name].value() for share in each if name in share)]
            known = [value for value in values if value is not None]
            if len(known) < 1 + len(each):
                found.not_measured(step, name)
            else:
                together = combine(np.stack(known[1:]).astype("f8"), axis=0).astype(known[0].dtype)
                found.add_values(step, name, known[0], together)
    return found.quantity(how)


def _weights(first: Cluster, run: Cluster, steps: Sequence[int], contract: Contract) -> Quantity:
    found = Comparison("weights", contract, judged=True)
    for worker in run.workers:
        both = zip(steps, first.workers[0].weights(steps), worker.weights(steps), strict=True)
        for step, wanted, weights in both:
            found.add_all(step, run.title(worker), wanted, weights)
    return found.quantity()


def _batch_size(first: Cluster, run: Cluster, *batches: Sequence[Batch]) -> Quantity:
    sizes = [[batch.total() for batch in each if batch is not None] for each in batches]
    if not sizes[0] or any(len(known) < len(each) for known, each in zip(sizes, batches, strict=True)):
        return Quantity("global batch size", "unknown", note=_NO_ELEMENTS)
    return _number("global batch size", first, run, *sizes)


def _learning_rate(first: Cluster, run: Cluster, steps: Sequence[int]) -> Quantity:
    rates = [cluster.workers[0].rates(steps) for cluster in (first, run)]
    known = [[rate for each in one for rate in each] for one in rates if one is not None]
    if len(known) < 2:
        return Quantity("learning rate", "unknown", note="no variable of the optimizer holds it")
    return _number("learning rate", first, run, *known)


def _number(
    name: str,
    first: Cluster,
    run: Cluster,
    wanted: Sequence[float],
    found: Sequence[float],
    *,
    judged: bool = False,
) -> Quantity:
    if wanted == found:
        return Quantity(name, "kept", note=_in_words(wanted), judged=judged)
    both = f"{first}: {_in_words(wanted)}; {run}: {_in_words(found)}"
    return Quantity(name, "changed", note=both, judged=judged)


def _in_words(values: Sequence[float]) -> str:
    """Each once, in the order in which they came."""
    words = [f"{value:g}" for value in dict.fromkeys(values)]
    return ", ".join(words[:4]) + (", …" if len(words) > 4 else "")
