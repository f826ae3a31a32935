"""Where a restarted run joins the uninterrupted one, and what was not restored: read from recordings, without any program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from twinrun.launch.options import Screen
from twinrun.launch.program import Program
from twinrun.protocol import Facts
from twinrun.recording.digest import digest_array
from twinrun.recording.folder import open_recording
from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.manifest import Manifest
from twinrun.recording.store import Writer
from twinrun.resume.compare import Compared, compare
from twinrun.resume.one_stop import OneStop, Unjudged
from twinrun.resume.options import ResumeOptions
from twinrun.resume.outcome import Stop

STEPS, EPOCH = 12, 4
ROLES = {
    "adam/iteration": "iteration",
    "adam/kernel_momentum": "optimizer",
    "adam/learning_rate": "learning-rate",
}
STATE = Layout(
    ("init",) * 4 + ("seed",),
    (
        "kernel",
        "adam/kernel_momentum",
        "adam/iteration",
        "adam/learning_rate",
        "dropout/seed_generator_state",
    ),
)
STEP = Layout(("weights",) * 4 + ("seed", "batch", "loss"), (*STATE.names, "x", "loss"))
EPOCH_END = Layout(("metric",), ("epoch/loss",))
FINAL = Layout(("final",) * 4 + ("seed",), STATE.names)


@dataclass
class Training:
    """A training program, reduced to what a recording shows of one: every value follows from those before it."""

    kernel: int = 1
    momentum: int = 0
    iteration: int = 0
    rate: int = 100
    seed: int = 50
    place: int = 0  # in the data
    order: int = 0  # of the shuffle
    hidden: int = 0  # what no variable holds
    total: int = 0  # of the epoch's loss
    states: list[dict[str, int]] = field(
        default_factory=list
    )  # what a checkpoint would hold, after each step
    extra: bool = False  # a variable that only loading makes

    def frames(self, steps: int) -> list[Frame]:
        made = [self._frame(0, 0, STATE, self._state())]
        self.states.append(self._all())
        for step in range(1, steps + 1):
            place = EPOCH - 1 - self.place % EPOCH if self.order else self.place % EPOCH
            batch = 1000 + place * 3 + self.place // EPOCH
            self.seed += 1
            self.momentum = self.momentum * 3 + batch
            self.kernel = hash(
                (self.kernel, self.momentum, self.rate // (1 + self.iteration), self.seed, batch, self.hidden)
            )
            self.kernel %= 2**40
            self.iteration += 1
            self.place += 1
            self.total += self.kernel
            made.append(self._frame(step, 1, STEP, [*self._state(), batch, self.total]))
            self.states.append(self._all())
            if self.place % EPOCH == 0:
                made.append(self._frame(step, 0, EPOCH_END, [self.total]))
                self.total = 0
                self.states[-1]["total"] = 0
        return [*made, self._frame(steps, 0, FINAL, self._state())]

    def _state(self) -> list[int]:
        return [self.kernel, self.momentum, self.iteration, self.rate, self.seed]

    def _all(self) -> dict[str, int]:
        names = ("kernel", "momentum", "iteration", "rate", "seed", "place", "order", "hidden", "total")
        return {name: getattr(self, name) for name in names}

    def _frame(self, step: int, span: int, layout: Layout, digests: list[int]) -> Frame:
        if self.extra and layout is not EPOCH_END:
            layout = Layout((*layout.phases, layout.phases[0]), (*layout.names, "loaded/copy"))
            digests = [*digests, 77]
        return Frame(step, span, layout, pack(digests))


def _recorded(folder: Path, frames: list[Frame]) -> Path:
    folder.mkdir()
    writer = Writer(folder, detail=True)
    for frame in frames:
        writer.write(frame)
    Manifest("train.py", status="ended", exit_code=0, seal=writer.close()).write(folder)
    return folder


def _restarted(
    folder: Path, at: int, steps: int | None = None, lost: tuple[str, ...] = (), **changes: int
) -> Compared:
    """A run that is stopped after a step and goes on with all of its state but what is lost."""
    whole = Training()
    first = _recorded(folder / "whole", whole.frames(STEPS))
    kept = {name: value for name, value in whole.states[at].items() if name not in lost}
    again = Training(**{**kept, **changes})
    second = _recorded(folder / "again", again.frames(STEPS - at if steps is None else steps))
    return compare(open_recording(first)[1], open_recording(second)[1], at, ROLES)


@pytest.mark.parametrize("at", range(1, STEPS))
def test_all_restored_is_equal_at_every_step(tmp_path: Path, at: int) -> None:
    found = _restarted(tmp_path, at)
    assert found.joined is not None and found.joined.after == at
    assert (found.first, found.holes) == (None, ())


@pytest.mark.parametrize(
    ("lost", "part", "says"),
    [
        ("momentum", "optimizer", "adam/kernel_momentum: as at the start"),
        ("iteration", "iteration", "as at the start"),
        ("seed", "seeds", "dropout/seed_generator_state: as at the start"),
        ("place", "data-position", "at step 7 it was fed the batch of step 1"),
    ],
)
def test_what_is_lost_is_named(tmp_path: Path, lost: str, part: str, says: str) -> None:
    found = _restarted(tmp_path, 6, lost=(lost,))
    assert found.joined is not None and (found.joined.after, found.joined.held) == (6, True)
    assert found.first is not None and found.first.step == 7
    assert [hole.part for hole in found.holes] == [part] and says in found.holes[0].detail


def test_several_losses_are_all_named(tmp_path: Path) -> None:
    found = _restarted(tmp_path, 6, lost=("momentum", "iteration", "seed", "place"))
    assert [hole.part for hole in found.holes] == ["optimizer", "iteration", "seeds", "data-position"]


def test_a_lost_learning_rate(tmp_path: Path) -> None:
    found = _restarted(tmp_path, 6, rate=99)
    assert [hole.part for hole in found.holes] == ["learning-rate"]
    assert "as after no step" in found.holes[0].detail


def test_weights_that_were_not_loaded(tmp_path: Path) -> None:
    found = _restarted(tmp_path, 6, lost=("kernel",))
    assert found.joined is not None and found.joined.after == 6
    assert [hole.part for hole in found.holes] == ["weights"]


def test_another_shuffle_order(tmp_path: Path) -> None:
    found = _restarted(tmp_path, 4, order=1)
    assert [hole.part for hole in found.holes] == ["data-order"]


def test_batches_that_were_never_seen(tmp_path: Path) -> None:
    frames = Training().frames(STEPS)
    again = Training(**_after(4)).frames(STEPS - 4)
    other = [_with(frame, "x", 5000 + number) for number, frame in enumerate(again)]
    found = _compared(tmp_path, frames, other, 4)
    assert [hole.part for hole in found.holes] == ["data"] and "none of them" in found.holes[0].detail


def test_state_that_no_variable_holds(tmp_path: Path) -> None:
    found = _restarted(tmp_path, 6, hidden=1)
    assert [hole.part for hole in found.holes] == ["unseen"]
    assert found.first is not None and (found.first.step, found.first.phase) == (7, "loss")


def test_averages_that_begin_anew_are_metrics_and_no_more(tmp_path: Path) -> None:
    found = _restarted(tmp_path, 6, lost=("total",))
    assert [hole.part for hole in found.holes] == ["metrics"]
    assert found.first is not None and (found.first.step, found.first.phase) == (7, "loss")


def test_at_the_end_of_an_epoch_there_is_no_average_to_lose(tmp_path: Path) -> None:
    assert _restarted(tmp_path, 8, lost=("total",)).first is None


def test_a_seed_generator_that_ends_otherwise_is_noted_where_no_step_shows_it(tmp_path: Path) -> None:
    *steps, end = Training(**_after(6)).frames(STEPS - 6)
    again = [*steps, _with(end, "dropout/seed_generator_state", 7)]
    found = _compared(tmp_path, Training().frames(STEPS), again, 6)
    assert (found.first, found.holes) == (None, ())
    assert len(found.notes) == 1 and found.notes[0].endswith(": dropout/seed_generator_state")


def test_starting_over_is_no_resuming(tmp_path: Path) -> None:
    frames = Training().frames(STEPS)
    found = _compared(tmp_path, frames, frames, 6)
    assert found.started_over and found.first is None


@pytest.mark.parametrize("changes", [{"seed": 9}, {"place": 4, "hidden": 1}])
def test_starting_over_otherwise_is_no_resuming_either(tmp_path: Path, changes: dict[str, int]) -> None:
    again = Training(**changes).frames(STEPS)
    again[0] = Training().frames(1)[0]
    found = _compared(tmp_path, Training().frames(STEPS), again, 6)
    assert found.started_over and found.first is not None and found.first.step == 1


def test_a_checkpoint_of_an_earlier_step(tmp_path: Path) -> None:
    again = Training(**_after(4)).frames(STEPS - 4)
    found = _compared(tmp_path, Training().frames(STEPS), again, stopped_at=6)
    assert found.joined is not None and (found.joined.after, found.first) == (4, None)


@pytest.mark.parametrize(("steps", "ended"), [(STEPS, 18), (3, 9)])
def test_too_many_or_too_few_steps(tmp_path: Path, steps: int, ended: int) -> None:
    found = _restarted(tmp_path, 6, steps=steps)
    assert [hole.part for hole in found.holes] == ["steps"]
    assert f"ended after step {ended}, the uninterrupted one after step 12" in found.holes[0].detail
    assert found.first is not None and found.first.step == min(13, ended + 1)


def test_the_state_of_no_step(tmp_path: Path) -> None:
    found = _restarted(tmp_path, 6, kernel=9999, momentum=9998, iteration=9997, seed=9)
    assert found.joined is None and found.first is not None
    assert [hole.part for hole in found.holes] == ["weights"] and "of no step" in found.holes[0].detail


@pytest.mark.parametrize("kernel", [1, 123])
def test_what_is_restored_after_it_was_first_seen(tmp_path: Path, kernel: int) -> None:
    """A program that evaluates before it loads: what was seen before its first step is not what it trained with, even where
    that is the very start."""
    again = Training(**_after(6)).frames(STEPS - 6)
    again[0] = Frame(0, 0, STATE, pack([kernel, 0, 0, 100, 50]))
    found = _compared(tmp_path, Training().frames(STEPS), again, 6)
    assert found.joined is not None and (found.joined.after, found.joined.held) == (6, False)
    assert found.first is None


def test_a_variable_that_loading_makes_is_no_difference(tmp_path: Path) -> None:
    again = Training(**_after(6), extra=True).frames(STEPS - 6)
    assert _compared(tmp_path, Training().frames(STEPS), again, 6).first is None


def test_a_model_that_is_loaded_under_another_name(tmp_path: Path) -> None:
    again = [_renamed(frame) for frame in Training(**_after(6)).frames(STEPS - 6)]
    found = _compared(tmp_path, Training().frames(STEPS), again, 6)
    assert found.joined is not None and found.joined.names == {"kernel#2": "kernel"}
    assert found.first is None


def test_slots_that_the_first_step_makes_anew(tmp_path: Path) -> None:
    """Eager optimizers make them then: before it there is only the count."""
    again = Training(**{**_after(6), "iteration": 0, "momentum": 0}).frames(STEPS - 6)
    again[0] = _without(again[0], "adam/kernel_momentum")
    found = _compared(tmp_path, [_without(frame, "adam/kernel_momentum") if not frame.step else frame for frame in Training().frames(STEPS)], again, 6)  # fmt: skip
    assert [hole.part for hole in found.holes][:2] == ["optimizer", "iteration"]
    assert found.holes[0].detail == "adam/kernel_momentum: made anew"


def _measured(frames: list[Frame], *digests: int) -> list[Frame]:
    """With variables of metrics, which are recorded in the end."""
    *steps, end = frames
    names = ("metric/total", "metric/total[2]")[: len(digests)]
    layout = Layout((*end.layout.phases, *("final",) * len(digests)), (*end.layout.names, *names))
    return [*steps, Frame(end.step, 0, layout, end.digests + pack(list(digests)))]


@pytest.mark.parametrize(("metrics", "equal"), [((7,), True), ((0, 7), True), ((0, 8), False)])
def test_metrics_of_a_model_that_loading_replaced_do_not_count(
    tmp_path: Path, metrics: tuple[int, ...], equal: bool
) -> None:
    again = _measured(Training(**_after(6)).frames(STEPS - 6), *metrics)
    found = _compared(tmp_path, _measured(Training().frames(STEPS), 7), again, 6)
    assert (found.first is None) == equal


def test_an_average_of_the_whole_run_that_began_anew_is_a_metric(tmp_path: Path) -> None:
    again = _measured(Training(**_after(6)).frames(STEPS - 6), 8)
    found = _compared(tmp_path, _measured(Training().frames(STEPS), 7), again, 6)
    assert [hole.part for hole in found.holes] == ["metrics"]
    assert found.first is not None and (found.first.step, found.first.tensor) == (STEPS, "metric/total")


def _counting(frames: list[Frame], number: Callable[[int], int] = lambda step: step) -> list[Frame]:
    """With a variable that counts the steps of its process, or is that number after each of them."""

    def one(frame: Frame) -> Frame:
        layout = Layout((*frame.layout.phases, frame.layout.phases[0]), (*frame.layout.names, "count"))
        count = pack([digest_array(np.asarray(number(frame.step), np.int64))])
        return Frame(frame.step, frame.span, layout, frame.digests + count)

    return [frame if frame.layout is EPOCH_END else one(frame) for frame in frames]


def test_a_count_that_begins_anew_is_no_difference_where_nothing_comes_of_it(tmp_path: Path) -> None:
    again = Training(**_after(6)).frames(STEPS - 6)
    found = _compared(tmp_path, _counting(Training().frames(STEPS)), _counting(again), 6)
    assert found.first is None and found.notes == (
        "count counts anew after the restart, and nothing else differs",
    )


@pytest.mark.parametrize("again", [lambda step: 0, lambda step: step + 1, lambda step: step // 3])
def test_a_small_number_that_was_not_restored_is_no_count_that_begins_anew(
    tmp_path: Path, again: Callable[[int], int]
) -> None:
    """The stage of a curriculum, or the best epoch so far, that nothing trained on shows."""
    restarted = _counting(Training(**_after(6)).frames(STEPS - 6), again)
    found = _compared(tmp_path, _counting(Training().frames(STEPS), lambda step: step // 2), restarted, 6)
    assert found.first is not None and (found.first.step, found.first.tensor) == (7, "count")
    assert [hole.part for hole in found.holes] == ["weights"] and "count" in found.holes[0].detail


@pytest.mark.parametrize(("lost", "parts"), [("seed", ["seeds"]), ("hidden", ["weights"])])
def test_a_count_that_begins_anew_is_blamed_where_nothing_else_was_lost(
    tmp_path: Path, lost: str, parts: list[str]
) -> None:
    again = Training(**{**_after(6), lost: 9}).frames(STEPS - 6)
    found = _compared(tmp_path, _counting(Training().frames(STEPS)), _counting(again), 6)
    assert [hole.part for hole in found.holes] == parts
    assert found.holes[0].detail.startswith("count: as at the start") == (lost == "hidden")


def test_a_loss_that_the_optimizer_has_no_part_in(tmp_path: Path) -> None:
    """Without the averages of fit, and with random numbers that no variable holds."""

    def own(frames: list[Frame]) -> list[Frame]:
        steps = [frame for frame in frames if frame.layout is not EPOCH_END]
        return [_with(frame, "loss", 7 * number) for number, frame in enumerate(steps)]

    whole = own(Training().frames(STEPS))
    again = own(Training(**{**_after(6), "iteration": 0}).frames(STEPS - 6))
    found = _compared(tmp_path, whole, again, 6)
    assert [hole.part for hole in found.holes] == ["iteration", "unseen"]


def test_what_saving_made_is_not_taken_for_a_counter_that_began_anew(tmp_path: Path) -> None:
    """Both count from 0, and the uninterrupted run has saved more often."""
    counts = Layout((*STEP.phases, "weights"), (*STEP.names, "optimizer_1/iteration"))
    whole = [
        Frame(frame.step, frame.span, counts, frame.digests + pack([0])) if frame.layout is STEP else frame
        for frame in Training().frames(STEPS)
    ]
    again = Training(**{**_after(6), "iteration": 0}).frames(STEPS - 6)
    found = _compared(tmp_path, whole, again, 6)
    assert found.joined is not None and not found.joined.names
    assert [hole.part for hole in found.holes] == ["iteration"]


def test_a_variable_that_is_trained_in_one_run_only_is_a_difference(tmp_path: Path) -> None:
    again = [_without(frame, "adam/kernel_momentum") for frame in Training(**_after(6)).frames(STEPS - 6)]
    found = _compared(tmp_path, Training().frames(STEPS), again, 6)
    assert found.first is not None and (found.first.step, found.first.tensor) == (7, "adam/kernel_momentum")


def _digested_on_gpu(frame: Frame, name: str) -> Frame:
    """As it would be recorded there: another digest of the same value, and its kind."""
    kinds = "".join("d" if each == name else "h" for each in frame.layout.names)
    if "d" not in kinds:
        return frame
    moved = _with(frame, name, _digests(frame)[frame.layout.names.index(name)] + 1)
    layout = Layout(frame.layout.phases, frame.layout.names, kinds)
    return Frame(frame.step, frame.span, layout, moved.digests)


@pytest.mark.parametrize("name", ["kernel", "x"])
def test_digests_of_different_kinds_are_neither_equal_nor_a_difference(tmp_path: Path, name: str) -> None:
    again = [_digested_on_gpu(frame, name) for frame in Training(**_after(6)).frames(STEPS - 6)]
    found = _compared(tmp_path, Training().frames(STEPS), again, 6)
    assert found.unknown is not None and found.unknown.tensor == name
    assert found.first is None and found.holes == ()


def test_digests_of_one_kind_are_compared_wherever_they_were_taken(tmp_path: Path) -> None:
    def both(frames: list[Frame]) -> list[Frame]:
        return [_digested_on_gpu(_digested_on_gpu(frame, "x"), "kernel") for frame in frames]

    again = Training(**_after(6)).frames(STEPS - 6)
    found = _compared(tmp_path, both(Training().frames(STEPS)), both(again), 6)
    assert found.unknown is None and found.first is None and found.joined is not None


def test_a_stop_with_digests_of_different_kinds_is_undecided(tmp_path: Path) -> None:
    whole = Training().frames(STEPS)
    alone: Any = SimpleNamespace(
        folder=tmp_path,
        reader=open_recording(_recorded(tmp_path / "A", whole))[1],
        facts=[Facts(roles=ROLES)],
    )
    stop = OneStop(ResumeOptions(Program("train.py")), alone, Screen(), Stop(6))
    stopped = [_digested_on_gpu(frame, "kernel") for frame in whole[:7]]
    _recorded(stop.stopped, stopped)
    with pytest.raises(Unjudged) as before:
        stop.differs_before(len(stopped))
    again = [_digested_on_gpu(frame, "x") for frame in Training(**_after(6)).frames(STEPS - 6)]
    restarted = open_recording(_recorded(stop.restarted, again))[1]
    with pytest.raises(Unjudged) as after:
        stop.compared(restarted, Facts())
    for found in (before.value.reason, after.value.reason):
        assert found.kind == "not-comparable" and "on a GPU in one run" in found.message


def _compared(folder: Path, whole: list[Frame], again: list[Frame], stopped_at: int) -> Compared:
    first, second = _recorded(folder / "whole", whole), _recorded(folder / "again", again)
    return compare(open_recording(first)[1], open_recording(second)[1], stopped_at, ROLES)


def _after(step: int) -> dict[str, int]:
    whole = Training()
    whole.frames(step)
    return whole.states[-1]


def _digests(frame: Frame) -> list[int]:
    return [int.from_bytes(frame.digest(entry), sys.byteorder) for entry in range(len(frame.layout))]


def _with(frame: Frame, name: str, digest: int) -> Frame:
    digests = [
        digest if each == name else old for each, old in zip(frame.layout.names, _digests(frame), strict=True)
    ]
    return Frame(frame.step, frame.span, frame.layout, pack(digests))


def _without(frame: Frame, name: str) -> Frame:
    kept = [entry for entry, each in enumerate(frame.layout.names) if each != name]
    layout = Layout(
        *(tuple(row[entry] for entry in kept) for row in (frame.layout.phases, frame.layout.names))
    )
    digests = _digests(frame)
    return Frame(frame.step, frame.span, layout, pack([digests[entry] for entry in kept]))


def _renamed(frame: Frame) -> Frame:
    """With the loaded model beside a fresh one that nothing trains."""
    if "kernel" not in frame.layout.names:
        return frame
    phases, names = frame.layout.phases, frame.layout.names
    layout = Layout(
        (*phases, phases[0]), (*(f"{name}#2" if name == "kernel" else name for name in names), "kernel")
    )
    return Frame(frame.step, frame.span, layout, pack([*_digests(frame), 1]))
