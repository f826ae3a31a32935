"""Every point of the patch table, removed in turn: what is lost is reported, and nothing else is taken down."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from support import BY_HAND, check, twinrun, write
from twinrun.errors import MissingPoint
from twinrun.pipelines.built_datasets import POINTS as AUDITED
from twinrun.protocol.point import Point
from twinrun.protocol.registry import frameworks, sources
from twinrun.twin.session import Session

POINTS = [
    point
    for owner in (*sources(), *frameworks())
    for point in (*owner.points, *(p for c in getattr(owner, "controls", ()) for p in c.points))
]
BY_PLACE = {point.place: point for point in POINTS}
FAKE = "a_library"


class Table:
    """One point in a session of its own, with a made-up library in place of the real one."""

    def __init__(self, point: Point, monkeypatch: pytest.MonkeyPatch) -> None:
        self.troubles: list[MissingPoint] = []
        self.session = Session()
        self.session.recorder = SimpleNamespace(trouble=self.troubles.append)  # type: ignore[assignment]
        self.library = ModuleType(FAKE)
        monkeypatch.setitem(sys.modules, FAKE, self.library)
        self.point = replace(
            point,
            place=f"{FAKE}:{point.path}",
            entrance=f"{FAKE}:entrance" if point.entrance else "",
            wrap=lambda session, original: lambda *args: ("replaced", original),
            after=FAKE,
            everywhere="",
        )

    def provide(self) -> None:
        owner: Any = self.library
        *parents, name = self.point.path.split(".")
        for parent in parents:
            setattr(owner, parent, type(parent, (), {}))
            owner = getattr(owner, parent)
        setattr(owner, name, lambda *args: "original")

    def install(self) -> str:
        self.session.patches.install("somebody", [self.point])
        (row,) = self.session.patches.rows()
        return row.status

    @property
    def reported(self) -> list[str]:
        return [*(str(trouble) for trouble in self.troubles), *self.session.notes]


@pytest.mark.parametrize("place", BY_PLACE)
def test_a_point_that_is_there_is_replaced_and_nothing_is_reported(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(BY_PLACE[place], monkeypatch)
    table.provide()
    assert table.install() == "installed" and not table.reported


@pytest.mark.parametrize("place", BY_PLACE)
def test_what_is_lost_with_a_missing_point_is_reported(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point = BY_PLACE[place]
    table = Table(point, monkeypatch)
    table.library.entrance = lambda: "entered"  # type: ignore[attr-defined]
    assert table.install() == "missing"
    needs, notes = set(point.needed_for), "\n".join(table.session.notes)
    if point.optional:
        assert not table.reported
        return
    if point.entrance:
        assert not table.troubles and table.point.place in notes and "a_library:entrance" in notes
        assert table.library.entrance() == "entered"
    if "verdict" in needs:
        assert [trouble.where for trouble in table.troubles] == [table.point.place]
    else:
        assert not table.troubles
    notes = "\n".join(table.session.notes)
    assert ("the cause may be missed: " in notes) == ("cause" in needs)
    assert ("the audit may miss something: " in notes) == ("audit" in needs)
    if needs & {"cause", "audit"}:
        assert table.point.place in notes and point.reason in notes
    # What only a control needs is reported by the control when it is applied, with the reason of the row.
    assert table.session.patches.rows()[0].why


@pytest.mark.parametrize("place", BY_PLACE)
def test_every_point_says_why_and_where_it_was_tested(place: str) -> None:
    point = BY_PLACE[place]
    assert point.reason and point.tested_on and point.needed_for


def test_a_wrapper_that_cannot_be_made_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrap(session: Session, original: Any) -> Any:
        raise TypeError("takes two arguments now")

    table = Table(Point("x:function", wrap, "a step", ("verdict",)), monkeypatch)
    table.point = replace(table.point, wrap=wrap)
    table.provide()
    assert table.install() == "missing"
    assert "a_library:function is not as expected: TypeError" in table.reported[0]
    assert table.troubles[0].where == "a_library:function"


def test_what_two_owners_wrap_goes_through_both(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(
        Point("x:function", lambda session, original: original, "a step", ("verdict",)), monkeypatch
    )
    table.provide()
    for owner in ("one", "another", "one"):
        table.session.patches.install(owner, [table.point])
    kind, inner = table.library.function()
    assert kind == "replaced" and inner()[0] == "replaced" and inner()[1]() == "original"


def test_the_installed_releases_have_every_point_and_doctor_shows_the_table_as_found() -> None:
    rows = twinrun("doctor", "--patches", "--output-format", "json").document["patches"]
    needed = [row for row in rows if not row["optional"]]
    assert [row for row in needed if row["status"] == "missing"] == []
    unused = ("gymnasium.", "multiprocessing.", "concurrent.futures.process:")  # nothing imports these here
    waiting = [row["place"] for row in needed if row["status"] != "installed"]
    assert [place for place in waiting if not place.startswith(unused)] == []
    owners = {row["owner"] for row in rows}
    assert {
        "TensorFlow",
        "Keras",
        "tf_keras",
        "numpy-random",
        "tf-random",
        "tf-data-order",
        "keras-seeds",
    } <= owners
    assert all(row["reason"] and row["needed_for"] and row["tested_on"] for row in rows)
    audited = {row["place"]: row["status"] for row in rows if row["owner"] == "pipelines"}
    assert audited == {point.place: "installed" for point in AUDITED}


# The same with real programs. A source from outside, which starts before any framework is imported, hides a point from
# the installer, as in a release that does the same under another name.

HIDER = """
from twinrun.errors import MissingPoint
from twinrun.pipelines.built_datasets import POINTS as AUDITED
from twinrun.protocol.source import Source
from twinrun.twin import patch_table

class Hider(Source):
    name = "hider"

    def start(self, session):
        found = patch_table.find

        def find(place):
            if place in HIDDEN:
                raise MissingPoint(f"this release has no {place}", where=place)
            return found(place)

        patch_table.find = find
"""
FIT = """
import keras, numpy as np
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((8, 2), "f"), np.ones((8, 1), "f"), batch_size=4, verbose=0)
"""
GRAPH = """
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
weight = tf.get_variable("weight", initializer=[1.0, 2.0])
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(weight ** 2))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(train)
"""
FUNCTION_CALL = "tensorflow.python.eager.polymorphic_function.polymorphic_function:Function.__call__"
SESSION_RUN = "tensorflow.python.client.session:BaseSession._call_tf_sessionrun"


def check_without(places: list[str], program: str, folder: Path) -> dict[str, Any]:
    """A check in which these points are missing."""
    assert set(places) <= set(BY_PLACE)
    packages = folder / "site-packages"
    info = packages / "hider-1.0.dist-info"
    info.mkdir(parents=True)
    (packages / "hider.py").write_text(f"HIDDEN = {places}\n{HIDER}")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hider\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[twinrun.sources]\nhider = hider:Hider\n")
    return check(write(folder, program), env={"PYTHONPATH": str(packages)}).document


@pytest.mark.parametrize(
    ("place", "program"),
    [
        ("keras.src.optimizers.base_optimizer:BaseOptimizer.apply", FIT),
        # What is said of every point is tested above, without its library.
        pytest.param(FUNCTION_CALL, BY_HAND, marks=pytest.mark.slow),
        pytest.param(SESSION_RUN, GRAPH, marks=pytest.mark.slow),
    ],
)
def test_without_a_point_that_the_verdict_needs_a_check_is_undecided(
    place: str, program: str, tmp_path: Path
) -> None:
    found = check_without([place], program, tmp_path)
    assert (found["verdict"], found["reason_kind"]) == ("undecided", "patch-missing"), found
    assert place in found["reason"]


def test_without_points_that_fit_does_not_need_it_is_judged_and_what_is_lost_is_a_note(
    tmp_path: Path,
) -> None:
    """A method of sessions, and two points that only the cause needs."""
    causes = ["keras.src.callbacks.callback_list:CallbackList.on_train_batch_end", "numpy.random:rand"]
    found = check_without([SESSION_RUN, *causes], FIT, tmp_path)
    assert (found["verdict"], found["steps_compared"]) == ("repeats", 2), found
    assert any(SESSION_RUN in note and "cannot be checked" in note for note in found["notes"])
    for place in causes:
        assert any("the cause may be missed" in note and place in note for note in found["notes"])
