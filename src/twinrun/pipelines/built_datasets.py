"""Inside a program: every input it really trains on, audited when it is first iterated.

`record_datasets()` looks at datasets as iterators are made of them, and at the inputs of Keras' `fit`. It reads; it never
iterates, and takes no seed.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable
from dataclasses import replace
from types import GeneratorType, ModuleType
from typing import Any

import wrapt

from twinrun.errors import TwinrunError
from twinrun.findings.finding import Finding
from twinrun.pipelines.autograph import unconverted
from twinrun.pipelines.build_sites import Site, calling_site, note_sites
from twinrun.pipelines.data_audit import DataAudit, audit_dataset
from twinrun.pipelines.keras_inputs import as_fit_shuffle, audit_keras_input
from twinrun.pipelines.lifted_graph import unwrapped

_MARK = "__twinrun_original__"


class DatasetRecorder:
    """The audits of one process, each input once."""

    def __init__(self) -> None:
        self.audits: list[DataAudit] = []
        self.failures: list[str] = []
        self._seen: dict[int, Any] = {}
        self._known: set[tuple[Any, ...]] = set()

    def dataset(self, dataset: Any) -> None:
        """A dataset is about to be iterated."""
        if hasattr(dataset, "_variant_tensor") and self._is_new(unwrapped(dataset)):
            self._add(lambda: as_fit_shuffle(audit_dataset(dataset)))

    def keras_input(self, data: Any, **options: Any) -> None:
        """`fit` got something with these options. Arrays are not of interest here: Keras makes datasets of them."""
        names = {parent.__name__ for parent in type(data).__mro__}
        is_loader = isinstance(data, GeneratorType) or bool(names & {"PyDataset", "Sequence"})
        if is_loader and self._is_new(data):
            site = calling_site()
            self._add(lambda: _placed(audit_keras_input(data, **options), site))

    def _is_new(self, data: Any) -> bool:
        key = id(data)
        if key in self._seen:
            return False
        with contextlib.suppress(TypeError):  # without weak references it may be audited twice
            self._seen[key] = weakref.ref(data, lambda _: self._seen.pop(key, None))
        return True

    def _add(self, audit: Callable[[], DataAudit]) -> None:
        try:
            found = audit()
        except Exception as problem:  # the program goes on: what cannot be read is reported
            kind = "" if isinstance(problem, TwinrunError) else f"{type(problem).__name__}: "
            self.failures.append(f"{kind}{problem}")
            return
        shape = tuple((stage.kind, str(stage.site), stage.order, stage.randomness) for stage in found.stages)
        if shape not in self._known:  # the same lines building the same stages again, once per epoch say
            self._known.add(shape)
            self.audits.append(found)

    def report(self) -> dict[str, list[Any]]:
        """For the parent process: findings, stages that could not be classified, inputs that could not be audited."""
        unknown = [
            f"{stage.kind}() at {stage.site or 'an unknown line'}: {'; '.join(stage.notes) or 'its randomness cannot be read'}"
            for audit in self.audits
            for stage in audit.stages
            if "unknown" in (stage.order, stage.randomness)
        ]
        return {
            "findings": [one.as_json() for audit in self.audits for one in audit.findings],
            "unknown": list(dict.fromkeys(unknown)),
            "failures": [f"an input could not be audited: {one}" for one in dict.fromkeys(self.failures)],
        }


def _placed(audit: DataAudit, site: Site | None) -> DataAudit:
    """A finding without a line of its own is reported at the line that passed the input to `fit`."""

    def placed(one: Finding) -> Finding:
        if one.file or site is None:
            return one
        return replace(one, file=site.file, line=site.line, evidence=(*one.evidence, "passed to fit() here"))

    return replace(audit, findings=tuple(map(placed, audit.findings)))


# -- the patches ---------------------------------------------------------------------------------------------

_recorder: DatasetRecorder | None = None
_undo: list[Callable[[], None]] = []


def record_datasets() -> DatasetRecorder:
    """Start recording in this process. Called again, it returns the recorder that is already there."""
    global _recorder
    if _recorder is None:
        note_sites()
        _recorder = DatasetRecorder()
        for module, owner, method, see in _POINTS:
            wrapt.register_post_import_hook(functools.partial(_patch, owner, method, see), module)
    return _recorder


def stop_recording() -> None:
    """Undo `record_datasets`."""
    global _recorder
    while _undo:
        _undo.pop()()
    _recorder = None


def _patch(owner_name: str | None, name: str, see: Callable[..., None], module: ModuleType) -> None:
    """Show the recorder what a function is called with, before it runs."""
    owner: Any = module if owner_name is None else getattr(module, owner_name)
    original = vars(owner)[name]
    if _recorder is None or hasattr(original, _MARK):
        return

    @functools.wraps(original)
    def recorded(*arguments: Any, **named: Any) -> Any:
        if _recorder is not None:
            see(_recorder, *arguments, **named)
        return original(*arguments, **named)

    setattr(recorded, _MARK, original)
    setattr(owner, name, unconverted(recorded))
    _undo.append(lambda: setattr(owner, name, original))


def _see_dataset(recorder: DatasetRecorder, dataset: Any, *rest: Any, **named: Any) -> None:
    recorder.dataset(dataset)


def _see_iterator(recorder: DatasetRecorder, _: Any, dataset: Any = None, *rest: Any, **named: Any) -> None:
    recorder.dataset(dataset)


def _see_adapter(recorder: DatasetRecorder, x: Any, *rest: Any, **named: Any) -> None:
    recorder.keras_input(x, shuffle=named.get("shuffle", rest[4] if len(rest) > 4 else False))


def _see_handler(recorder: DatasetRecorder, _: Any, x: Any, *rest: Any, **named: Any) -> None:
    names = ("shuffle", "workers", "use_multiprocessing")
    recorder.keras_input(x, **{name: named[name] for name in names if name in named})


_DATA_OPS = "tensorflow.python.data.ops"
_POINTS: tuple[tuple[str, str | None, str, Callable[..., None]], ...] = (
    (f"{_DATA_OPS}.iterator_ops", "OwnedIterator", "_create_iterator", _see_iterator),
    (f"{_DATA_OPS}.multi_device_iterator_ops", "OwnedMultiDeviceIterator", "__init__", _see_iterator),
    # A loop over a dataset inside a tf.function makes no iterator: AutoGraph reduces the dataset.
    (f"{_DATA_OPS}.dataset_ops", "DatasetV2", "reduce", _see_dataset),
    ("keras.src.trainers.data_adapters", None, "get_data_adapter", _see_adapter),
    ("tf_keras.src.engine.data_adapter", "DataHandler", "__init__", _see_handler),
)
