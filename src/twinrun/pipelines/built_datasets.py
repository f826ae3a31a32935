"""Inside a program: every input it really trains on, audited when it is first iterated or when a report is asked for.

`record_datasets()` looks at datasets as iterators are made of them, and at the inputs of Keras' `fit`. It reads; it never
iterates, and takes no seed.
"""

from __future__ import annotations

import contextlib
import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from twinrun.errors import TwinrunError
from twinrun.findings.finding import Finding
from twinrun.pipelines.autograph import unconverted
from twinrun.pipelines.build_sites import CONSTRUCTOR, TESTED_ON, Site, calling_site, note_sites
from twinrun.pipelines.keras_classes import is_a
from twinrun.pipelines.lifted_graph import unwrapped
from twinrun.protocol.facts import DatasetsAudit
from twinrun.protocol.point import Point, Wrap
from twinrun.twin.session import current

if TYPE_CHECKING:
    from twinrun.pipelines.audit_report import DataAudit

_OWNER = "pipelines"
_OPTIONS = ("shuffle", "workers", "use_multiprocessing")  # of `fit`


@dataclass(frozen=True)
class _Input:
    """Something that the program has begun to iterate. It is kept no longer than the program keeps it."""

    data: weakref.ref[Any]
    audit: Callable[[Any], DataAudit]
    iterator: weakref.ref[Any] | None  # None: not known

    @property
    def is_over(self) -> bool:
        """It was iterated in a loop that has ended since: the loop that trains goes on."""
        return self.iterator is not None and self.iterator() is None


class DatasetRecorder:
    """The audits of one process, each input once: `at_once`, or those of the inputs that are being iterated when a
    report is asked for."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.at_once = at_once
        self.audits: list[DataAudit] = []
        self.failures: list[str] = []
        self._inputs: dict[int, _Input] = {}
        self._known: set[tuple[Any, ...]] = set()

    def see(self, argument: str, call: inspect.BoundArguments) -> None:
        """A function of TensorFlow or Keras is about to be called with an input as this argument."""
        call.apply_defaults()
        given = call.arguments[argument]
        if argument == "x":
            self.keras_input(
                given, {name: call.arguments[name] for name in _OPTIONS if name in call.arguments}
            )
        else:
            self.dataset(given, None if argument == "self" else call.arguments["self"])

    def fail(self, problem: Exception) -> None:
        kind = "" if isinstance(problem, TwinrunError) else f"{type(problem).__name__}: "
        self.failures.append(f"{kind}{problem}")

    def dataset(self, dataset: Any, iterator: Any) -> None:
        """A dataset is about to be iterated, by an iterator where that is known."""
        if hasattr(dataset, "_variant_tensor"):
            self._meet(unwrapped(dataset), _audit_dataset, iterator)

    def keras_input(self, data: Any, options: dict[str, Any]) -> None:
        """`fit` got something with these options. Arrays are not of interest here: Keras makes datasets of them."""
        is_loader = isinstance(data, GeneratorType) or is_a(data, "PyDataset", "Sequence")
        if is_loader:
            site = calling_site()
            self._meet(data, lambda one: _audit_loader(one, options, site))

    def _meet(self, data: Any, audit: Callable[[Any], DataAudit], iterator: Any = None) -> None:
        key = id(data)
        new = key not in self._inputs
        with contextlib.suppress(TypeError):  # without weak references it may be audited twice, or not
            kept = weakref.ref(data, lambda _: self._inputs.pop(key, None))
            self._inputs[key] = _Input(kept, audit, None if iterator is None else weakref.ref(iterator))
        if new and self.at_once:
            self._add(audit(data))

    def _audit_now(self) -> None:
        """Where a loop over some input goes on, it is the one that trains."""
        inputs = list(self._inputs.values())
        for one in [one for one in inputs if not one.is_over] or inputs:
            data = one.data()
            if data is None:
                continue
            try:
                self._add(one.audit(data))
            except Exception as problem:
                self.fail(problem)

    def _add(self, found: DataAudit) -> None:
        shape = tuple((stage.kind, str(stage.site), stage.order, stage.randomness) for stage in found.stages)
        if shape not in self._known:  # the same lines building the same stages again, once per epoch say
            self._known.add(shape)
            self.audits.append(found)

    def report(self) -> DatasetsAudit:
        """A report for the parent process: findings, stages that could not be classified, inputs that could not be audited."""
        if not self.at_once:
            self._audit_now()
        unknown = [
            f"{stage.kind}() at {stage.site or 'an unknown line'}: {'; '.join(stage.notes) or 'its randomness cannot be read'}"
            for audit in self.audits
            for stage in audit.stages
            if "unknown" in (stage.order, stage.randomness)
        ]
        missing = [
            f"the audit may miss something: {row.why} ({row.reason})"
            for row in current().patches.rows()
            if row.owner == _OWNER and row.status == "missing"
        ]
        failures = [f"an input could not be audited: {one}" for one in dict.fromkeys(self.failures)]
        return DatasetsAudit(
            tuple(one for audit in self.audits for one in audit.findings),
            tuple(dict.fromkeys(unknown)),
            (*missing, *failures),
        )


def _audit_dataset(dataset: Any) -> DataAudit:
    from twinrun.pipelines.data_audit import as_fit_shuffle, audit_dataset

    return as_fit_shuffle(audit_dataset(dataset))


def _audit_loader(loader: Any, options: dict[str, Any], site: Site | None) -> DataAudit:
    """A finding without a line of its own is reported at the line that passed the input to `fit`."""
    from twinrun.pipelines.keras_inputs import audit_keras_input

    audit = audit_keras_input(loader, **options)

    def placed(one: Finding) -> Finding:
        if one.file or site is None:
            return one
        return replace(one, file=site.file, line=site.line, evidence=(*one.evidence, "passed to fit() here"))

    return replace(audit, findings=tuple(map(placed, audit.findings)))


_recorder: DatasetRecorder | None = None


def record_datasets(*, at_once: bool = True) -> DatasetRecorder:
    """Start recording in this process. Called again, it returns the recorder that is already there."""
    global _recorder
    if _recorder is None:
        note_sites()
        _recorder = DatasetRecorder(at_once=at_once)
        current().patches.install(_OWNER, POINTS)
    return _recorder


def stop_recording() -> None:
    """Undo `record_datasets`."""
    global _recorder
    _recorder = None


def _before(argument: str) -> Wrap:
    """Show the recorder one argument of a function, and the options of `fit` beside it, before the function runs."""

    def wrap(session: Any, original: Any) -> Any:
        signature = inspect.signature(original)

        @unconverted
        def recorded(*arguments: Any, **named: Any) -> Any:
            if _recorder is not None:
                try:
                    _recorder.see(argument, signature.bind(*arguments, **named))
                except Exception as problem:  # the program goes on: what cannot be read is reported
                    _recorder.fail(problem)
            return original(*arguments, **named)

        return recorded

    return wrap


_OPS = "tensorflow.python.data.ops"
_KERAS = "keras.src.trainers.data_adapters"
_TESTED_ON = {"tensorflow": TESTED_ON, "keras": "Keras 3.8 to 3.15", "tf_keras": "tf_keras 2.18 to 2.21"}
# Where inputs pass on their way into a training loop: the argument that holds them, and why there.
_PLACES = {
    f"{_OPS}.iterator_ops:OwnedIterator._create_iterator": ("dataset", "a loop makes an iterator"),
    f"{_OPS}.multi_device_iterator_ops:OwnedMultiDeviceIterator.__init__": (
        "dataset",
        "a strategy makes one",
    ),
    f"{_OPS}.dataset_ops:DatasetV2.reduce": ("self", "AutoGraph reduces a dataset in place of a loop"),
    f"{_KERAS}:get_data_adapter": ("x", "fit passes its input through here"),
    "tf_keras.src.engine.data_adapter:DataHandler.__init__": ("x", "fit passes its input through here"),
}


def _point(place: str, argument: str, reason: str) -> Point:
    """Once its own module is there: TensorFlow is mostly imported while Keras is only half so."""
    package = place.partition(".")[0]
    after = package if package == "tensorflow" else ""
    return Point(place, _before(argument), reason, ("audit",), _TESTED_ON[package], after=after)


POINTS = (CONSTRUCTOR, *(_point(place, *rest) for place, rest in _PLACES.items()))
