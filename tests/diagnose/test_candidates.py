"""From evidence to candidates: what differs is suspected, what does not is not, and the code says what the fix would be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from twinrun.comparison.frames import Difference
from twinrun.diagnose.suspects import candidates
from twinrun.diagnose.evidence import Evidence, side_by_side
from twinrun.diagnose.source import Source
from twinrun.launch.program import Program


def row(kind: str, line: int = 1, **more: Any) -> dict[str, Any]:
    base = {
        "kind": kind, "file": "/p/train.py", "line": line, "function": "main", "via": "", "entry": "", "what": kind, "where": "",
        "count": 1, "order": line, "last": line, "step": 0, "seeded": None, "inside": [], "threads": 1,
        "digest": "same", "draws": ["same"],
    }  # fmt: skip
    return {**base, **more}


def other(of: dict[str, Any]) -> dict[str, Any]:
    """The same site in the other twin, where it gave something else."""
    return {**of, "digest": "other", "draws": ["other"]}


def suspected(
    a: list[dict[str, Any]], b: list[dict[str, Any]], phase: str = "batch", step: int = 1
) -> list[tuple[str, int | None]]:
    nothing = Source(Program("/nowhere/train.py"))
    evidence = Evidence(Difference(step, phase, "x"), side_by_side(a, b))
    found = candidates(evidence, nothing)
    assert found[-1].kind == "hash-unseen"  # always tried, last: no ledger sees the order of a set
    return [(candidate.code, candidate.line) for candidate in found[:-1]]


@pytest.mark.parametrize(
    ("kind", "more", "code"),
    [
        ("python-random", {}, "TW101"),
        ("numpy", {}, "TW102"),
        ("numpy", {"where": "py_function"}, "TW204"),
        ("numpy", {"where": "generator"}, "TW204"),
        ("generator", {}, "TW103"),
        ("keras-seed", {"via": "keras"}, "TW105"),
        ("entropy", {"via": "uuid"}, "TW108"),
        ("clock", {}, "TW303"),
        ("file", {}, "TW304"),
        ("listing", {"seeded": "members"}, "TW302"),
    ],
)
def test_a_source_that_differs_is_suspected_by_its_code(kind: str, more: dict[str, Any], code: str) -> None:
    seen = row(kind, 5, **more)
    assert suspected([seen], [other(seen)]) == [(code, 5)]


@pytest.mark.parametrize(
    "kind", ["python-random", "numpy", "generator", "keras-seed", "entropy", "clock", "file", "listing"]
)
def test_a_source_that_gave_the_same_in_both_twins_is_not_suspected(kind: str) -> None:
    assert suspected([row(kind)], [row(kind)]) == []


def test_a_draw_by_a_library_of_its_own_is_not_suspected() -> None:
    seen = row("numpy", via="importlib")
    assert suspected([seen], [other(seen)]) == []


def test_a_draw_before_the_seed_is_seeded_too_late() -> None:
    draw, seed = row("numpy", 3), row("seed:numpy", 9, seeded="1")
    assert suspected([draw, seed], [other(draw), seed]) == [("TW106", 3)]


def test_a_draw_after_the_seed_is_not_too_late() -> None:
    seed, draw = row("seed:numpy", 2, seeded="1"), row("numpy", 3)
    assert suspected([seed, draw], [seed, other(draw)]) == [("TW102", 3)]


def test_a_seeded_stream_that_several_threads_draw_from_is_raced_for() -> None:
    seed, draw = row("seed:numpy", 2, seeded="1"), row("numpy", 3, threads=4)
    assert suspected([seed, draw], [seed, other(draw)]) == [("TW205", 3)]


def test_a_seeded_stream_that_differs_is_suspected_behind_an_unseeded_one() -> None:
    seed, draw = row("seed:numpy", 2, seeded="1"), row("numpy", 3)
    unseeded = row("python-random", 5)
    found = suspected([seed, draw, unseeded], [seed, other(draw), other(unseeded)])
    assert found == [("TW101", 5), ("TW102", 3)]


def test_a_seed_that_differs_points_to_where_its_value_came_from() -> None:
    clock, seed, draw = row("clock", 2), row("seed:numpy", 3, seeded="1"), row("numpy", 4)
    found = suspected([clock, seed, draw], [other(clock), other(seed), other(draw)])
    assert found == [
        ("TW303", 2),
        ("TW102", 3),
    ]  # the draws are that seed's doing; the seed itself comes last


def test_a_draw_inside_a_library_is_suspected_behind_the_programs_own() -> None:
    split = row("numpy", 3, via="sklearn", entry="train_test_split", what="np.random.shuffle")
    noise = row("python-random", 8)
    both = [split, noise], [other(split), other(noise)]
    assert suspected(*both) == [("TW101", 8), ("TW102", 3)]


def test_a_seed_taken_back_is_blamed_before_the_draws_that_follow() -> None:
    good, back = row("seed:numpy", 2, seeded="7"), row("unseed:numpy", 4, seeded="None")
    draw = row("numpy", 6)
    found = suspected([good, back, draw], [good, other(back), other(draw)])
    assert found == [("TW102", 4), ("TW102", 6)]


def test_a_seed_taken_back_from_a_stream_nobody_draws_from_again_is_not_suspected() -> None:
    draw, back = row("numpy", 2), row("unseed:numpy", 4, seeded="None")
    assert suspected([draw, back], [draw, other(back)]) == []


def test_what_keras_drew_before_it_seeded_the_stream_with_it_is_to_blame() -> None:
    """`split_dataset` draws a number, and seeds Python's stream with it."""
    draw = row("keras-seed", 5, via="keras", entry="split_dataset")
    seed = row("seed:python-random", 5, order=6, via="keras", entry="split_dataset", seeded="1")
    assert suspected([draw, seed], [other(draw), other(seed)])[0] == ("TW201", 5)


def test_the_global_generator_is_blamed_where_it_is_drawn_from() -> None:
    made = row("generator", 3, via="tensorflow", what="tf.random.get_global_generator")
    drawn = row("tf-generator", 9, seeded="global")
    assert suspected([made, drawn], [other(made), drawn]) == [("TW103", 9)]


def test_names_that_the_system_makes_up_are_entropy() -> None:
    name = row("name", 4, via="tempfile", what="tempfile.mkdtemp")
    assert suspected([name], [other(name)]) == [("TW108", 4)]


def test_results_in_order_of_completion_are_the_workers_doing() -> None:
    taken = row("completion", 7, what="as_completed")
    assert suspected([taken], [taken]) == [("TW205", 7)]
    assert suspected([taken], [taken], phase="weights") == [("TW403", 7)]


def test_a_module_that_draws_while_it_is_imported_is_named() -> None:
    draw = row("numpy", 3, where="import of setup_data")
    seed = row("seed:numpy", 9, seeded="1")
    evidence = Evidence(Difference(1, "batch", "x"), side_by_side([draw, seed], [other(draw), seed]))
    first = candidates(evidence, Source(Program("/nowhere/train.py")))[0]
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
    loader = row("loader", 9, file=str(script), seeded="4", what="Jittered")
    evidence = Evidence(Difference(1, "batch", "x"), side_by_side([loader], [loader]))
    first = candidates(evidence, Source(Program(str(script))))[0]
    assert (first.code, first.line) == ("TW205", 11)


def test_an_unseeded_shuffle_is_suspected_though_no_digest_shows_it() -> None:
    assert suspected([row("shuffle", 4, seeded="no")], [row("shuffle", 4, seeded="no")]) == [("TW201", 4)]
    assert suspected([row("shuffle", 4, seeded="yes")], [row("shuffle", 4, seeded="yes")]) == []


def test_a_parallel_stage_is_suspected_only_for_what_is_inside_it() -> None:
    drawing = row(
        "parallel",
        6,
        what="Dataset.map(f)",
        seeded="None",
        inside=[["tf-random", "/p/train.py", 5, "tf.random"]],
    )
    unordered = row("parallel", 7, what="Dataset.map(g)", seeded="False")
    plain = row("parallel", 8, what="Dataset.map(h)", seeded="None")
    assert suspected([drawing], [drawing]) == [("TW203", 6)]
    assert suspected([unordered], [unordered]) == [("TW202", 7)]
    assert suspected([plain], [plain]) == []


def test_files_that_came_or_went_are_a_changed_input_and_not_an_order() -> None:
    a, b = row("listing", 4, seeded="abc"), {**other(row("listing", 4)), "seeded": "abcd"}
    assert suspected([a], [b]) == [("TW304", 4)]


def test_the_phase_decides_which_of_two_is_tried_first() -> None:
    keras, shuffle = row("keras-seed", 2, via="keras"), row("shuffle", 3, seeded="no")
    rows = [keras, shuffle], [other(keras), shuffle]
    assert suspected(*rows, phase="init", step=0)[0][0] == "TW105"
    assert suspected(*rows, phase="batch")[0][0] == "TW201"


HASHED = """
words = open("w.txt").read().split()
known = {"a", "b"}
print("a" in known, len(known))
vocabulary = {w: i for i, w in enumerate(set(words))}
for w in sorted(known):
    print(w)
ordered = sorted(list(set(words)))
longest = max(len(w) for w in set(words))
print(list(known))
for size in {8, 16, 32}:
    print(size)
"""


def test_sets_are_suspected_where_their_order_is_used(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(HASHED)
    assert [line for _, line, _ in Source(Program(str(script))).hash_order()] == [
        5,
        10,
    ]  # what is only printed comes last


PACKAGE = """
import keras
from parts.words import index, names

for name in {"shown", "only"}:
    log = name
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit([[i] for i in index(["a", "b"]).values()], [0, 1])
"""


def test_the_set_that_reaches_training_is_named_before_the_others(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(PACKAGE)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    words = "names = []\ndef index(words):\n    return {w: i for i, w in enumerate(set(words))}\n"
    (tmp_path / "parts" / "words.py").write_text(words)
    file, line, _ = Source(Program(str(script))).hash_order()[0]
    assert (Path(file).name, line) == ("words.py", 3)
