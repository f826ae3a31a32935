"""Without a step, an evaluation or a probe there is nothing to judge: no verb may call such a program equal. All programs
but one here import no framework."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from support import Answer, check, twinrun, write

LOOP = """
import numpy as np
draw = np.random.default_rng(7)
weights = np.zeros(3)
for step in range(20):
    weights -= 0.1 * (weights - draw.normal(size=3))
print(weights)
"""
PROBED = LOOP + "import twinrun\ntwinrun.probe('weights', weights)\n"
NAMED = "import random, uuid\nname = f'run-{uuid.uuid4().hex}-{random.random()}'\n"


def is_no_step(answer: Answer, code: int = 2) -> str:
    found = answer.document
    assert (answer.code, found.get("verdict", "undecided"), found["reason_kind"]) == (
        code,
        "undecided",
        "no-step",
    )
    assert "twinrun.probe(name, value)" in found["reason"]
    return str(found["reason"])


@pytest.mark.parametrize(
    "options", [(), ("--sequential",), ("--contract", "ulp=4"), ("--contract", "band=loss:1")]
)
def test_a_seeded_draw_is_not_a_result(tmp_path: Path, options: tuple[str, ...]) -> None:
    reason = is_no_step(check(write(tmp_path, LOOP), *options))
    assert "no framework that Twinrun watches was imported" in reason


def test_an_unseeded_draw_is_no_difference(tmp_path: Path) -> None:
    is_no_step(check(write(tmp_path, NAMED)))
    found = check(write(tmp_path, NAMED + PROBED)).document
    assert (found["verdict"], found["first_difference"]) == ("repeats", None)


def test_a_library_that_is_not_watched_is_named(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("")
    assert "PyTorch was imported, which Twinrun does not watch" in is_no_step(
        check(write(tmp_path, "import torch\n" + LOOP))
    )


def test_a_backend_that_is_not_watched_is_named(tmp_path: Path) -> None:
    (tmp_path / "keras.py").write_text("class backend:\n    backend = staticmethod(lambda: 'jax')\n")
    assert "Keras ran on the jax backend, which Twinrun does not watch" in is_no_step(
        check(write(tmp_path, "import keras\n" + LOOP))
    )


EMPTY = """
import keras
import numpy as np
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=["mae"])
model.fit(np.zeros((0, 2)), np.zeros((0, 1)), verbose=0)
"""


def test_initial_weights_alone_are_not_judged_when_they_are_equal(tmp_path: Path) -> None:
    assert "fit was called and saw no batch" in is_no_step(check(write(tmp_path, EMPTY)))
    found = check(write(tmp_path, EMPTY.replace("keras.utils.set_random_seed(1)", ""))).document
    assert (found["verdict"], found["first_difference"]["phase"]) == ("diverges", "init")


def test_every_verb_says_so(tmp_path: Path) -> None:
    program = write(tmp_path, LOOP)
    as_json = ("--output-format", "json")
    for name in "ab":
        is_no_step(twinrun("run", *as_json, "--dir", tmp_path / name, program), code=0)
    recordings = [tmp_path / name / "A" for name in "ab"]
    is_no_step(twinrun("diff", *as_json, *recordings))
    store = ("--name", "loop", "--store", tmp_path / "store")
    for runs in ("1", "2"):
        is_no_step(twinrun("baseline", "record", *as_json, *store, "--runs", runs, program))
    refused = twinrun("baseline", "record", *store, "--recording", recordings[0])
    assert refused.code == 2 and "no training step was observed" in refused.message
    assert not (tmp_path / "store").exists()
    junit = twinrun("check", "--no-diagnose", "--output-format", "junit", program)
    error = ElementTree.fromstring(junit.out).find(".//error")
    assert junit.code == 2 and error is not None and error.get("type") == "no-step"


def test_what_is_probed_is_judged_and_called_what_it_is(tmp_path: Path) -> None:
    program = write(tmp_path, PROBED)
    answer = twinrun("check", "--no-diagnose", program)
    assert answer.code == 0 and "2 runs, evaluations and probes compared, equal bit for bit" in answer.out
    store = ("--name", "loop", "--store", tmp_path / "store")
    assert twinrun("baseline", "record", *store, program).code == 0
    answer = twinrun("baseline", "check", *store)
    assert answer.code == 0 and "evaluations and probes, equal to the baseline" in answer.out
    write(tmp_path, LOOP)
    is_no_step(twinrun("baseline", "check", "--output-format", "json", *store))
