"""Loaders with several workers are recorded where their workers meet, and run with one where they are frozen."""

from __future__ import annotations

from typing import Any

import pytest

from twinrun.frameworks.keras.sources.loaders import Loaders, Workers
from twinrun.protocol.intervention import Freeze
from twinrun.protocol.spec import Spec
from twinrun.twin.session import Session

KERAS, TF_KERAS = Loaders.points


class Rows:
    workers = 3
    use_multiprocessing = False

    def __getitem__(self, index: int) -> int:
        return index


def session(*freezes: Freeze) -> Session:
    return Session(Spec("", 0, 0, "train.py", interventions=freezes))


def started(running: Session, workers: int) -> dict[str, Any]:
    """What a tf_keras adapter is made with."""
    given: dict[str, Any] = {}

    def original(self: Any, x: Any, **options: Any) -> None:
        given.update(options)

    TF_KERAS.wrap(running, original)(object(), Rows(), shuffle=False, workers=workers)
    return given


@pytest.mark.parametrize("workers", [1, 4])
def test_a_sequence_of_tf_keras_is_recorded_when_it_has_several_workers(workers: int) -> None:
    running = session()
    assert started(running, workers) == {"shuffle": False, "workers": workers, "use_multiprocessing": False}
    events = running.log.events()
    assert [event.detail_as(Workers).count for event in events] == ([4] if workers > 1 else [])
    assert all((event.function, event.context) == ("__getitem__", "loader") for event in events)


def test_a_frozen_sequence_runs_with_one_worker() -> None:
    assert started(session(Freeze("loaders")), 4)["workers"] == 1


def test_a_frozen_pydataset_runs_with_one_worker() -> None:
    rows: Any = Rows()
    KERAS.wrap(session(Freeze("loaders", "start")), lambda self, x: None)(object(), rows)
    assert (rows._workers, rows._use_multiprocessing) == (1, False)
