"""Inside a program: every input it really trains on, audited when it is first iterated.

`watch_datasets()` looks at datasets as iterators are made of them, and at what Keras' `fit` is handed. It
reads; it never iterates, and takes no seed.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import wrapt

from twinrun.errors import TwinrunError
from twinrun.pipelines.autograph import unconverted
from twinrun.pipelines.build_sites import Site, calling_site, note_sites
from twinrun.pipelines.data_audit import DataAudit, audit_dataset
from twinrun.pipelines.keras_inputs import as_fit_shuffle, audit_keras_input
from twinrun.pipelines.lift import unwrapped

_ITERATORS = (
    ("tensorflow.python.data.ops.iterator_ops", "OwnedIterator", "_create_iterator"),
    ("tensorflow.python.data.ops.multi_device_iterator_ops", "OwnedMultiDeviceIterator", "__init__"),
)
_KERAS = ("keras.src.trainers.data_adapters", "tf_keras.src.engine.data_adapter")
# A loop over a dataset inside a tf.function makes no iterator: AutoGraph reduces the dataset.
_CONSUMERS = (("tensorflow.python.data.ops.dataset_ops", "DatasetV2", "reduce"),)


class Watch:
    """The audits of one process, each input once."""

    def __init__(self) -> None:
        self.audits: list[DataAudit] = []
        self.failures: list[str] = []
        self.resumes = False
        self._seen: dict[int, Any] = {}
        self._known: set[tuple[Any, ...]] = set()

    def dataset(self, dataset: Any) -> None:
        """A dataset is about to be iterated."""
        if dataset is None or not hasattr(dataset, "_variant_tensor") or not self._is_new(unwrapped(dataset)):
            return
        self._take(lambda: _as_user_sees_it(audit_dataset(dataset, resumes=self.resumes)))

    def keras_input(self, data: Any, **said: Any) -> None:
        """Something that is no dataset is about to be trained on; `said` is what fit was told about it."""
        if self._is_new(data):
            site = calling_site()
            self._take(lambda: _placed(audit_keras_input(data, **said), site))

    def _is_new(self, data: Any) -> bool:
        if id(data) in self._seen:
            return False
        try:
            key = id(data)
            self._seen[key] = weakref.ref(data, lambda _: self._seen.pop(key, None))
        except TypeError:  # no weak reference to be had: it may be looked at twice
            return True
        return True

    def _take(self, audit: Callable[[], DataAudit]) -> None:
        try:
            found = audit()
        except TwinrunError as problem:
            self.failures.append(str(problem))
            return
        except (
            Exception
        ) as problem:  # the program comes first: what we cannot read is said, and the program goes on
            self.failures.append(f"{type(problem).__name__}: {problem}")
            return
        shape = tuple((stage.kind, str(stage.site), stage.order, stage.randomness) for stage in found.stages)
        if shape not in self._known:  # the same lines building the same stages again, once per epoch say
            self._known.add(shape)
            self.audits.append(found)


_watch: Watch | None = None
_undo: list[Callable[[], None]] = []


def watch_datasets() -> Watch:
    """Start watching this process. Asked again, it gives the watch that is already there."""
    global _watch
    if _watch is None:
        note_sites()
        _watch = Watch()
        for module, owner, method in _ITERATORS:
            _wrap(
                module, owner, method, lambda watch, _, dataset=None, *rest, **named: watch.dataset(dataset)
            )
        for module, owner, method in _CONSUMERS:
            _wrap(module, owner, method, lambda watch, dataset, *rest, **named: watch.dataset(dataset))
        for name in _KERAS:
            wrapt.register_post_import_hook(lambda _: watch_keras(), name)
    return _watch


def watch_keras() -> None:
    """Look at what `fit` is handed, too, in the Keras packages that are imported."""
    adapters: Any = sys.modules.get(_KERAS[0])
    if adapters is not None:
        _wrap_function(adapters, "get_data_adapter", _see_adapter)
    handlers: Any = sys.modules.get(_KERAS[1])
    if handlers is not None:
        _wrap_function(handlers.DataHandler, "__init__", _see_handler)


def _wrap_function(owner: Any, name: str, see: Callable[..., None]) -> None:
    original = getattr(owner, name)
    if _watch is None or hasattr(original, "__twinrun_original__"):
        return

    @functools.wraps(original)
    def seen(*arguments: Any, **named: Any) -> Any:
        see(*arguments, **named)
        return original(*arguments, **named)

    seen.__twinrun_original__ = original  # type: ignore[attr-defined]
    setattr(owner, name, seen)
    _undo.append(lambda: setattr(owner, name, original))


def _see_adapter(x: Any, *arguments: Any, **named: Any) -> None:
    if _watch is not None and _is_loader(x):
        _watch.keras_input(x, shuffle=named.get("shuffle", arguments[4] if len(arguments) > 4 else False))


def _see_handler(self: Any, x: Any, *arguments: Any, **named: Any) -> None:
    if _watch is not None and _is_loader(x):
        names = ("shuffle", "workers", "use_multiprocessing")
        _watch.keras_input(x, **{name: named[name] for name in names if name in named})


def _is_loader(data: Any) -> bool:
    from types import GeneratorType

    names = {parent.__name__ for parent in type(data).__mro__}
    return isinstance(data, GeneratorType) or bool(names & {"PyDataset", "Sequence"})


def collected() -> list[DataAudit]:
    """The audits of every input the program has begun to iterate, in that order."""
    return [] if _watch is None else list(_watch.audits)


def failures() -> list[str]:
    """What could not be audited, and why."""
    return [] if _watch is None else list(_watch.failures)


def told() -> dict[str, list[Any]]:
    """All of it for the parent process: findings, stages of which nothing can be said, inputs that could not be audited."""
    audits = collected()
    unknown = [
        f"{stage.kind}() at {stage.site or 'an unknown line'}: {'; '.join(stage.notes) or 'its randomness cannot be read'}"
        for audit in audits
        for stage in audit.stages
        if "unknown" in (stage.order, stage.randomness)
    ]
    return {
        "findings": [one.as_json() for audit in audits for one in audit.findings],
        "unknown": list(dict.fromkeys(unknown)),
        "failures": [f"an input could not be audited: {one}" for one in dict.fromkeys(failures())],
    }


def stop_watching() -> None:
    """Undo `watch_datasets`."""
    global _watch
    while _undo:
        _undo.pop()()
    _watch = None


def _wrap(module: str, owner: str, method: str, see: Callable[..., None]) -> None:
    """Show what a method of TensorFlow is called with to the watch, before it runs."""
    cls = getattr(import_module(module), owner)
    original = cls.__dict__[method]

    @functools.wraps(original)
    def watched(*arguments: Any, **named: Any) -> Any:
        if _watch is not None:
            see(_watch, *arguments, **named)
        return original(*arguments, **named)

    setattr(cls, method, unconverted(watched))
    _undo.append(lambda: setattr(cls, method, original))


def _placed(audit: DataAudit, site: Site | None) -> DataAudit:
    """A finding without a line of its own is told at the line that handed the input over."""
    if site is None:
        return audit
    told = (
        one
        if one.file
        else replace(one, file=site.file, line=site.line, evidence=(*one.evidence, "handed over here"))
        for one in audit.findings
    )
    return replace(audit, findings=tuple(told))


def _as_user_sees_it(audit: DataAudit) -> DataAudit:
    """A pipeline that Keras has built of arrays is told as what the user wrote: fit()."""
    return replace(audit, findings=tuple(as_fit_shuffle(one) for one in audit.findings))
