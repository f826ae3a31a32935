"""From evidence to suspects: what differs is suspected, what does not is not, and the code says what the fix would be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from twinrun.comparison.frames import Difference
from twinrun.diagnose.suspects import suspects
from twinrun.findings.finding import Finding
from twinrun.frameworks.keras.sources.loaders import Workers
from twinrun.frameworks.tensorflow.sources.parallel_map import Stage
from twinrun.frameworks.tensorflow.sources.strategies import Made
from twinrun.frameworks.tensorflow.sources.tf_generators import GeneratorDraw
from twinrun.launch.interventions import parse_freeze
from twinrun.protocol.event import Event, Use
from twinrun.protocol.evidence import Evidence, NoCode, side_by_side
from twinrun.protocol.intervention import Freeze
from twinrun.protocol.suspect import Suspect
from twinrun.source_audit.program_source import ProgramSource
from twinrun.sources.file_listing import FileListing, Listed

NUMPY, PYTHON, KERAS = ("numpy-random", "draw"), ("python-random", "draw"), ("keras-seeds", "take")
NUMPY_SEED, NUMPY_RESEED = ("numpy-random", "seed"), ("numpy-random", "reseed")


@pytest.fixture(autouse=True)
def random_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)


def event(use: tuple[str, str], line: int = 1, **more: Any) -> Event:
    source, action = use
    if isinstance(more.get("detail"), msgspec.Struct):
        more["detail"] = msgspec.to_builtins(more["detail"])
    base = {
        "file": "/p/train.py", "function": "main", "call": source, "order": line, "last": line, "count": 1,
        "digest": "same", "draws": ("same",),
    }  # fmt: skip
    return Event(source=source, action=action, line=line, **{**base, **more})


def other(of: Event, **more: Any) -> Event:
    """The same use in the other twin, where it gave something else."""
    return msgspec.structs.replace(of, digest="other", draws=("other",), **more)


def found(
    a: list[Event],
    b: list[Event],
    phase: str = "batch",
    step: int = 1,
    code: Any = None,
    datasets: tuple[Finding, ...] = (),
) -> list[Suspect]:
    pairs = side_by_side(a, b)
    answer = suspects(Evidence(Difference(step, phase, "x"), pairs, code=code or NoCode(), datasets=datasets))
    assert_typed(answer)
    return answer


def assert_typed(answer: list[Suspect]) -> None:
    """What freezes them can be written after `--freeze`, as the printed commands do."""
    for freeze in (freeze for suspect in answer for freeze in suspect.freeze):
        assert parse_freeze(str(freeze)) == freeze


def suspected(
    a: list[Event], b: list[Event], phase: str = "batch", step: int = 1
) -> list[tuple[str, int | None]]:
    *rest, last = found(a, b, phase, step)
    # Always tried, last: no event shows the order of a set.
    assert (last.source, last.file) == ("hash-order", None)
    return [(suspect.code, suspect.line) for suspect in rest]


@pytest.mark.parametrize(
    ("use", "more", "code"),
    [
        (PYTHON, {}, "TW101"),
        (NUMPY, {}, "TW102"),
        (NUMPY, {"context": "py_function"}, "TW204"),
        (NUMPY, {"context": "generator"}, "TW204"),
        (("generators", "make"), {}, "TW103"),
        (KERAS, {"via": "keras"}, "TW105"),
        (("entropy", "read"), {"via": "uuid"}, "TW108"),
        (("clock", "read"), {}, "TW303"),
        (("clock", "date"), {}, "TW303"),
        (("input-files", "read"), {"subject": "/p/data.csv"}, "TW304"),
        (("file-listing", "list"), {"detail": Listed("members")}, "TW302"),
    ],
)
def test_a_source_that_differs_is_suspected_by_its_code(
    use: tuple[str, str], more: dict[str, Any], code: str
) -> None:
    seen = event(use, 5, **more)
    assert suspected([seen], [other(seen)]) == [(code, 5)]


@pytest.mark.parametrize(
    "use",
    [PYTHON, NUMPY, KERAS, ("generators", "make"), ("entropy", "read"), ("names", "make"), ("clock", "read"),
     ("input-files", "read"), ("file-listing", "list")],
)  # fmt: skip
def test_a_source_that_gave_the_same_in_both_twins_is_not_suspected(use: tuple[str, str]) -> None:
    assert suspected([event(use)], [event(use)]) == []


def test_entropy_that_a_library_takes_for_itself_is_not_suspected() -> None:
    seen = event(("entropy", "library"), via="numpy")
    assert suspected([seen], [other(seen)]) == []


def test_a_draw_by_a_library_of_its_own_is_not_suspected() -> None:
    seen = event(NUMPY, via="importlib")
    assert suspected([seen], [other(seen)]) == []


def test_a_draw_before_the_seed_is_seeded_too_late() -> None:
    draw, seed = event(NUMPY, 3), event(NUMPY_SEED, 9, seed="1")
    assert suspected([draw, seed], [other(draw), seed]) == [("TW106", 3)]


def test_a_draw_after_the_seed_is_not_too_late() -> None:
    seed, draw = event(NUMPY_SEED, 2, seed="1"), event(NUMPY, 3)
    assert suspected([seed, draw], [seed, other(draw)]) == [("TW102", 3)]


def test_a_seeded_stream_that_several_threads_draw_from_is_raced_for() -> None:
    seed, draw = event(NUMPY_SEED, 2, seed="1"), event(NUMPY, 3, threads=4)
    assert suspected([seed, draw], [seed, other(draw)]) == [("TW205", 3)]
    assert suspected([seed, draw], [seed, other(draw)], phase="weights") == [("TW403", 3)]


def test_a_seeded_stream_that_differs_is_suspected_behind_an_unseeded_one() -> None:
    seed, draw = event(NUMPY_SEED, 2, seed="1"), event(NUMPY, 3)
    unseeded = event(PYTHON, 5)
    both = [seed, draw, unseeded], [seed, other(draw), other(unseeded)]
    assert suspected(*both) == [("TW101", 5), ("TW102", 3)]


def test_a_seed_that_differs_points_to_where_its_value_came_from() -> None:
    clock, seed, draw = event(("clock", "read"), 2), event(NUMPY_SEED, 3, seed="1"), event(NUMPY, 4)
    both = [clock, seed, draw], [other(clock), other(seed), other(draw)]
    # The draws are the effect of that seed; the seed itself comes last.
    assert suspected(*both) == [("TW303", 2), ("TW102", 3)]


def test_a_draw_inside_a_library_is_suspected_behind_the_programs_own() -> None:
    split = event(NUMPY, 3, via="sklearn", entry="train_test_split", call="np.random.shuffle")
    noise = event(PYTHON, 8)
    both = [split, noise], [other(split), other(noise)]
    assert suspected(*both) == [("TW101", 8), ("TW102", 3)]
    message = "train_test_split shuffles without random_state, and NumPy's global stream is not seeded"
    assert found(*both)[1].message == message


def test_lines_that_need_the_same_fix_are_a_family_and_each_quotes_its_own_call() -> None:
    calls = {3: "np.random.rand", 5: "np.random.normal", 7: "np.random.choice"}
    draws = [event(NUMPY, line, call=call) for line, call in calls.items()]
    family = found(draws, [other(draw) for draw in draws])[:3]
    assert len({suspect.family for suspect in family}) == 1 and family[0].fix
    for suspect, (line, call) in zip(family, calls.items(), strict=True):
        assert suspect.freeze == (Freeze("numpy-random", "draw", "/p/train.py", line),)
        assert (suspect.line, suspect.message.partition(" ")[0]) == (line, call)
        assert suspect.experiment == f"with {call} frozen there"


@pytest.mark.parametrize(
    ("use", "call", "via"),
    [
        (("tf-random", "draw"), "tf.random (random_shuffle)", "keras"),
        (("tf-random", "draw"), "tf.random (random_shuffle)", "tf_keras"),
        (KERAS, "random.shuffle", "keras"),
        (NUMPY, "np.random.shuffle", "tf_keras"),
    ],
)
def test_the_shuffle_of_fit_has_one_code_however_it_is_done(
    use: tuple[str, str], call: str, via: str
) -> None:
    seen = event(use, 5, call=call, via=via, entry="fit", seeded=False)
    [suspect, _] = found([seen], [other(seen)])
    assert (suspect.code, suspect.message) == ("TW201", "fit shuffles without a seed")


def test_reseeding_is_blamed_before_the_draws_that_follow() -> None:
    good, again = event(NUMPY_SEED, 2, seed="7"), event(NUMPY_RESEED, 4)
    draw = event(NUMPY, 6)
    both = [good, again, draw], [good, other(again), other(draw)]
    assert suspected(*both) == [("TW102", 4), ("TW102", 6)]
    assert found(*both)[0].notes[0] == "the seed set at /p/train.py:2 is lost"


def test_reseeding_a_stream_that_a_framework_draws_from_is_suspected_too() -> None:
    again, draw = event(("python-random", "reseed"), 4), event(KERAS, 6, via="keras")
    assert ("TW101", 4) in suspected([again, draw], [other(again), other(draw)])


def test_reseeding_a_stream_that_nobody_draws_from_again_is_not_suspected() -> None:
    draw, again = event(NUMPY, 2), event(NUMPY_RESEED, 4)
    assert suspected([draw, again], [draw, other(again)]) == []


def test_what_keras_drew_before_it_seeded_the_stream_with_it_is_to_blame() -> None:
    """`split_dataset` draws a number, and seeds Python's stream with it."""
    draw = event(KERAS, 5, via="keras", entry="split_dataset")
    seed = event(("python-random", "seed"), 5, order=6, via="keras", entry="split_dataset", seed="1")
    assert suspected([draw, seed], [other(draw), other(seed)])[0] == ("TW201", 5)


def test_the_global_generator_is_blamed_where_it_is_drawn_from() -> None:
    made = event(("tf-random", "global-generator"), 3, via="tensorflow")
    drawn = event(("tf-random", "generator"), 9, detail=GeneratorDraw(is_global=True))
    assert suspected([made, drawn], [other(made), drawn]) == [("TW103", 9)]


def test_names_that_the_system_makes_up_are_entropy_and_given_to_one_run_at_a_time() -> None:
    name = event(("names", "make"), 4, via="tempfile", call="tempfile.mkdtemp")
    assert suspected([name], [other(name)]) == [("TW108", 4)]
    assert found([name], [other(name)])[0].sequential


def test_results_in_completion_order_are_the_workers_doing() -> None:
    taken = event(("completion-order", "take"), 7, call="as_completed")
    assert suspected([taken], [taken]) == [("TW205", 7)]
    assert suspected([taken], [taken], phase="weights") == [("TW403", 7)]


def test_threads_take_turns_in_one_experiment_and_are_left_out_in_another() -> None:
    thread = event(("threads", "start"), 7)
    turns, omitted, _ = found([thread], [thread])
    assert (turns.code, omitted.code) == ("TW403", "TW403")
    assert turns.freeze == (Freeze("threads", "start", "/p/train.py", 7),)
    assert omitted.freeze == (Freeze("threads", "omit", "/p/train.py", 7),)
    assert turns.rank > omitted.rank


def test_workers_of_a_pool_race_for_what_feeds_the_step() -> None:
    worker = event(("threads", "start"), 7, via="concurrent")
    assert suspected([worker], [worker])[0] == ("TW205", 7)
    assert suspected([worker], [worker], phase="weights")[0] == ("TW403", 7)


def test_processes_are_suspected_though_no_experiment_can_freeze_them() -> None:
    process = event(("threads", "process"), 7)
    assert suspected([process], [process]) == [("TW205", 7)]
    assert not found([process], [process])[0].testable


def test_a_module_that_draws_while_it_is_imported_is_named() -> None:
    draw, seed = event(NUMPY, 3, context="import of setup_data"), event(NUMPY_SEED, 9, seed="1")
    first = found([draw, seed], [other(draw), seed])[0]
    assert first.code == "TW106" and first.advice.startswith("setup_data draws while it is imported")


LOADER = """
class Jittered:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return 3

    def __getitem__(self, i):
        noise = np.random.normal()
        return self.rng.normal(size=4)
"""


def test_workers_that_share_a_generator_are_blamed_where_they_draw(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOADER)
    loader = event(("loaders", "start"), 9, file=str(script), call="Jittered", detail=Workers(4))
    first = found([loader], [loader], code=ProgramSource(script))[0]
    assert (first.code, first.line) == ("TW205", 11)


def test_an_unseeded_shuffle_is_suspected_though_no_digest_shows_it() -> None:
    def shuffle(seeded: bool) -> list[Event]:
        return [event(("shuffle", "stage"), 4, seeded=seeded)]

    assert suspected(shuffle(False), shuffle(False)) == [("TW201", 4)]
    assert suspected(shuffle(True), shuffle(True)) == []


def test_a_parallel_stage_is_suspected_only_for_what_is_inside_it() -> None:
    def stage(line: int, **detail: Any) -> list[Event]:
        return [event(("parallel-map", "stage"), line, call="Dataset.map(f)", detail=Stage("map", **detail))]

    drawing = stage(6, uses=[Use("tf-random", "draw", "/p/train.py", 5, "tf.random")])
    unordered, plain = stage(7, deterministic=False), stage(8)
    assert suspected(drawing, drawing) == [("TW203", 6)]
    assert suspected(unordered, unordered) == [("TW202", 7)]
    assert suspected(plain, plain) == []
    races = Finding("TW403", "name", "calls share a variable", "/p/train.py", 8)
    elsewhere = replace(races, line=9)
    by_audit = found(plain, plain, datasets=(elsewhere, races))[0]
    assert (by_audit.code, by_audit.message, by_audit.line) == ("TW403", races.message, 8)
    assert by_audit.freeze == (Freeze("parallel-map", "stage", "/p/train.py", 8),)


def test_files_that_came_or_went_are_a_changed_input_and_not_an_order() -> None:
    a = event(("file-listing", "list"), 4, detail=Listed("abc"))
    b = other(a, detail=msgspec.to_builtins(Listed("abcd")))
    assert suspected([a], [b]) == [("TW304", 4)]


def test_a_changed_file_is_frozen_with_the_files_that_only_one_run_read() -> None:
    def read(path: str) -> Event:
        return event(("input-files", "read"), 4, subject=path)

    first = found([read("/p/state"), read("/p/a")], [other(read("/p/state"))])[0]
    frozen = tuple(Freeze("input-files", "read", path) for path in ("/p/state", "/p/a"))
    assert (first.code, first.freeze, first.sequential) == ("TW304", frozen, True)


@pytest.mark.parametrize(
    ("first", "also", "reduction"),
    [
        (("gradient", "reduced/w"), (), True),
        (("loss", "loss"), ("gradient: reduced/w", "weights: w"), True),  # the losses are summed up as well
        (("gradient", "local/w"), ("gradient: reduced/w",), False),
        (("loss", "loss"), ("gradient: local/w", "gradient: reduced/w"), False),
        (("loss", "loss"), ("weights: w",), False),
        (("batch", "x"), ("gradient: reduced/w",), False),
    ],
)
def test_the_order_of_a_sum_is_suspected_where_only_the_sum_differs(
    first: tuple[str, str], also: tuple[str, ...], reduction: bool
) -> None:
    made = Made("MultiWorkerMirroredStrategy", 3, "AUTO", number=0)
    one = event(("strategies", "make"), call="S", detail=made)
    two = other(one, detail=msgspec.to_builtins(msgspec.structs.replace(made, number=2)))
    evidence = Evidence(Difference(1, *first), side_by_side([one], [two]), also=also)
    by_order = [each for each in suspects(evidence) if each.code == "TW603"]
    assert [each.freeze[0].action for each in by_order] == (["ring", "sorted"] if reduction else [])
    message = (
        "S has the gradients of its replicas summed by AUTO, and worker 0 of one run is worker 2 of the other"
    )
    assert all(each.message == message for each in by_order)


def test_where_gradients_are_summed_around_a_ring_another_way_is_tried() -> None:
    def tried(one: str, two: str) -> list[str]:
        made = [Made("MultiWorkerMirroredStrategy", 3, each, number=0) for each in (one, two)]
        a, b = (event(("strategies", "make"), call="S", detail=each) for each in made)
        evidence = Evidence(Difference(1, "gradient", "reduced/w"), side_by_side([a], [b]))
        found = [each for each in suspects(evidence) if each.code == "TW603"]
        assert "Implementation.AUTO" in found[0].in_words if one == two == "RING" else True
        return [each.freeze[0].action for each in found]

    assert tried("RING", "RING") == ["auto", "sorted"]
    assert tried("AUTO", "RING") == tried("NCCL", "NCCL") == ["ring", "sorted"]


def test_the_phase_decides_which_of_two_is_tried_first() -> None:
    keras, shuffle = event(KERAS, 2, via="keras"), event(("shuffle", "stage"), 3, seeded=False)
    both = [keras, shuffle], [other(keras), shuffle]
    assert suspected(*both, phase="init", step=0)[0][0] == "TW105"
    assert suspected(*both, phase="batch")[0][0] == "TW201"


def test_the_order_of_a_set_is_suspected_where_the_source_uses_it(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("words = {'a', 'b'}\norder = list(words)\nkey = id(words)\n")
    first, second = found([], [], code=ProgramSource(script))
    assert {(first.source, first.line), (second.source, second.line)} == {("addresses", 3), ("hash-order", 2)}
    assert first.family != second.family


def test_strings_and_objects_that_lie_in_a_set_are_put_in_order_by_one_fix(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("def numbered(things):\n    return dict(enumerate(set(things)))\n")
    first, second = found([], [], code=ProgramSource(script))
    assert {first.source, second.source} == {"addresses", "hash-order"}
    assert first.line == second.line == 2 and first.family == second.family


def test_nothing_suspects_the_order_of_sets_where_the_hash_seed_is_fixed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    assert found([], []) == []


def test_a_listing_of_the_programs_own_comes_before_one_of_an_import() -> None:
    use = ("file-listing", "list")
    imported = event(use, 6, via="keras", context="import of keras.src")
    inside = event(use, 9, via="keras", entry="image_dataset_from_directory")
    own = event(use, 16, via="glob")
    pairs = side_by_side([imported, inside, own], [other(each) for each in (imported, inside, own)])
    reached = FileListing().reached_by("fileorder", Evidence(Difference(1, "batch", "x"), pairs))
    assert [suspect.line for suspect in reached] == [16, 9, 6]


def test_a_seed_reaches_the_processes_that_set_it_and_no_other() -> None:
    seed = event(NUMPY_SEED, 3, seed="1")
    child = event(NUMPY, 9, processes=("1",))
    first = found([seed, child], [seed, other(child)])[0]
    assert (first.code, first.line) == ("TW102", 9)
    assert first.message.endswith("draws from NumPy's global stream, which is not seeded")
    own = event(NUMPY_SEED, 3, seed="1", processes=("", "1"))
    assert "though its stream is seeded" in found([own, child], [own, other(child)])[0].message


def test_what_worker_processes_draw_is_suspected_though_it_is_seeded_and_looks_alike() -> None:
    seed, draw = event(NUMPY_SEED, 3, seed="1"), event(NUMPY, 9, context="worker")
    suspect = found([seed, draw], [seed, draw])[0]
    assert (suspect.code, suspect.line, suspect.testable) == ("TW205", 9, True)
    assert "worker processes" in suspect.message


def test_a_pool_of_processes_is_suspected_of_what_its_workers_keep() -> None:
    pool = event(("threads", "pool"), 7, call="Pool")
    suspect = found([pool], [pool])[0]
    assert (suspect.code, suspect.freeze) == ("TW205", (Freeze("threads", "pool", "/p/train.py", 7),))
