"""The audit of what ImageDataGenerator.flow gives, in Keras and in tf_keras."""

from __future__ import annotations

from typing import Any

from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.pipelines.data_audit import DataAudit
from twinrun.pipelines.pipeline_stages import Stage
from twinrun.pipelines.seeding import numpy_is_seeded

_RANGES = ("rotation_range", "width_shift_range", "height_shift_range", "shear_range", "channel_shift_range")


def audit_image_iterator(loader: Any, workers: int | None, use_multiprocessing: bool | None) -> DataAudit:
    """It draws from NumPy's global stream, which it seeds anew for each batch where it has a seed."""
    name = type(loader).__name__
    count = int(workers or getattr(loader, "_workers", 1) or 1)
    processes = bool(use_multiprocessing or getattr(loader, "_use_multiprocessing", False))
    seed, shuffle = getattr(loader, "seed", None), bool(getattr(loader, "shuffle", False))
    augments = _augments(getattr(loader, "image_data_generator", None))
    draws = shuffle or augments
    randomness = "none" if not draws else "seeded" if seed is not None else "unknown"
    findings: tuple[Finding, ...] = ()
    if augments and (count > 1 or processes):
        randomness, findings = "racing", (_raced(name, count, processes, seed),)
    elif draws and seed is None and not numpy_is_seeded():
        randomness, findings = "unseeded", (_unseeded(name, shuffle, augments),)
    notes = []
    if seed is not None and draws:
        notes.append("reseeds NumPy's global stream for every batch: whoever else draws from it repeats too")
    elif draws:
        notes.append(
            "draws from NumPy's global stream: several workers take turns at it as they happen to run"
        )
    stage = Stage(
        "1",
        name,
        "ImageIterator",
        True,
        attributes={"workers": count, "use_multiprocessing": processes},
        parallel=count > 1,
        order="deterministic",
        randomness=randomness,
        notes=tuple(notes),
    )
    return DataAudit((stage,), findings, subject=name)


def _raced(name: str, workers: int, processes: bool, seed: int | None) -> Finding:
    how = f"{workers} {'processes' if processes else 'threads'}"
    seeded = "its seed, which it sets anew for each batch," if seed is not None else "np.random.seed"
    return finding(
        "TW205",
        f"{how} of {name} augment with NumPy's global stream as they happen to run",
        evidence=[f"{seeded} does not help: which worker draws next is a race"],
        fix="workers=1, or augment in the dataset: ds.map(augment, …) and twinrun.repeatable(ds, seed=42)",
    )


def _unseeded(name: str, shuffle: bool, augments: bool) -> Finding:
    what = " and ".join([*(["shuffles"] if shuffle else []), *(["augments"] if augments else [])])
    return finding(
        "TW102",
        f"{name} {what} with NumPy's global stream, which was not seeded",
        evidence=["its seed is None, and np.random.seed was not called"],
        fix="flow(…, seed=42), and np.random.seed(42) at the start",
    )


def _augments(generator: Any) -> bool:
    """Whether an ImageDataGenerator transforms at random."""
    if generator is None:
        return False
    if any(getattr(generator, name, 0) for name in _RANGES):
        return True
    flips = getattr(generator, "horizontal_flip", False) or getattr(generator, "vertical_flip", False)
    zoom = getattr(generator, "zoom_range", (1, 1))
    return bool(flips or getattr(generator, "brightness_range", None) or tuple(zoom) != (1, 1))
