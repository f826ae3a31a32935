"""The library calls and the document, which say the same as the command."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import twinrun as library
from support import BY_HAND, FIRST, check, outputs, python, twinrun, write
from twinrun.errors import TwinrunError, UsageError

PROBE = "import twinrun\nassert twinrun.probe('x', [1, 2]) == [1, 2]\n"

# Every field of the document that others may rely on.
FIELDS = {"schema", "verdict", "reason", "reason_kind", "contract", "runs", "steps_compared", "first_difference", "findings", "controls",
          "varied", "environment", "timing"}  # fmt: skip
DIFFERENCE = {"step", "phase", "tensor", "worker", "max_ulp", "max_abs", "differing"}


def test_the_document_has_every_field_when_a_program_repeats(tmp_path: Path) -> None:
    answer = check(write(tmp_path, PROBE), "--vary", "hashseed,timezone", "--contract", "ulp=0")
    found = answer.document
    assert set(found) >= FIELDS
    assert found["schema"] == "twinrun/check/1" and found["verdict"] == "repeats" and found["reason"] is None
    assert (found["runs"], found["contract"], found["steps_compared"]) == (2, "ulp=0", 0)
    assert found["varied"] == ["hashseed", "timezone"] and found["findings"] == []
    assert found["timing"]["seconds"] > 0 and isinstance(found["environment"]["key"], dict)
    assert found["controls"]["hash-seed"]["set_by"] != "default"
    assert answer.out == json.dumps(found, indent=1) + "\n"


def test_the_document_has_every_field_when_a_program_diverges(tmp_path: Path) -> None:
    found = check(write(tmp_path, "import os, twinrun\ntwinrun.probe('noise', list(os.urandom(9)))")).document
    assert set(found) >= FIELDS and found["verdict"] == "diverges"
    first = found["first_difference"]
    assert set(first) >= DIFFERENCE
    assert (first["step"], first["phase"], first["tensor"], first["worker"]) == (0, "probe", "noise", 0)
    assert 0 < first["differing"] <= 1 and first["max_ulp"] is None and 0 < first["max_abs"] < 256
    assert first["size"] == 9 and first["differing_count"] == round(9 * first["differing"])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    return tmp_path


def test_check_takes_a_path_with_arguments(here: Path) -> None:
    text = "import sys, twinrun\ntwinrun.probe('words', [len(word) for word in sys.argv[1:]])"
    for program in ("train.py", write(here, text)):
        result = library.check(program, "--epochs", "2", diagnose=False)
        assert (result.verdict, result.exit_code, result.runs, result.contract) == (
            "repeats",
            0,
            2,
            "bitwise",
        )
        assert result.as_json()["schema"] == "twinrun/check/1"


def test_check_takes_a_module_and_the_options_of_the_command(here: Path) -> None:
    (here / "package").mkdir()
    write(here / "package", "", "__init__.py")
    write(here / "package", "import os, twinrun\ntwinrun.probe('noise', list(os.urandom(9)))", "train.py")
    result = library.check("package.train", module=True, runs=3, sequential=True, timeout=60, diagnose=False)
    assert (result.verdict, result.exit_code, result.runs) == ("diverges", 1, 3)
    assert result.first_difference is not None and result.first_difference.tensor == "noise"
    assert (
        library.check(
            "package.train", module=True, vary="hashseed", contract="atol=255", diagnose=False
        ).verdict
        == "diverges"
    )


def test_several_checks_of_one_process_do_not_get_in_each_others_way(here: Path) -> None:
    program = write(here, PROBE)
    results = [library.check(program, diagnose=False) for _ in range(3)]
    assert [result.verdict for result in results] == ["repeats"] * 3
    assert len({path for result in results for path in result.recordings}) == 6


FUNCTIONS = """
import twinrun
def train():
    twinrun.probe("x", [1, 2])
class Trainer:
    @staticmethod
    def train():
        twinrun.probe("x", [1, 2])
def noisy():
    import os
    twinrun.probe("noise", list(os.urandom(9)))
def broken():
    raise RuntimeError("broke down")
"""


def test_check_takes_a_function_that_can_be_imported(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, FUNCTIONS, "of_tests.py")
    monkeypatch.syspath_prepend(str(here))
    import of_tests  # type: ignore[import-not-found]

    assert library.check(of_tests.train, diagnose=False).verdict == "repeats"
    assert library.check(of_tests.Trainer.train, diagnose=False).verdict == "repeats"
    assert library.check(of_tests.noisy, diagnose=False).verdict == "diverges"
    broken = library.check(of_tests.broken, diagnose=False)
    assert broken.verdict == "undecided" and "broke down" in str(broken.output_tail)
    sys.modules.pop("of_tests")


def test_a_function_is_found_where_it_was_imported_from(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only in the working directory: whatever is on the path of the caller is on the path of the twins."""
    (here / "elsewhere").mkdir()
    write(here / "elsewhere", FUNCTIONS, "of_others.py")
    monkeypatch.syspath_prepend(str(here / "elsewhere"))
    import of_others  # type: ignore[import-not-found]

    assert library.check(of_others.train, diagnose=False).verdict == "repeats"
    sys.modules.pop("of_others")


def test_a_function_that_no_fresh_interpreter_could_import_is_refused() -> None:
    def local() -> None: ...

    for function in (local, lambda: None):
        with pytest.raises(UsageError, match="cannot be imported"):
            library.check(function, diagnose=False)


def test_what_the_command_refuses_the_library_raises(here: Path) -> None:
    program = write(here, PROBE)
    for words in (
        {"contract": "nearly"},
        {"vary": "moon"},
        {"runs": 1},
        {"steps": 0},
        {"timeout": -1},
        {"pin": "x"},
    ):
        with pytest.raises(TwinrunError):
            library.check(program, diagnose=False, **words)  # type: ignore[arg-type]
    with pytest.raises(TwinrunError):
        library.check("no_such_file.py")
    with pytest.raises(TwinrunError):
        library.compare(here, here)


def test_compare_says_what_diff_says(here: Path) -> None:
    program = write(here, "import sys, twinrun\ntwinrun.probe('x', [int(sys.argv[1])])")
    for name, value in (("a", "1"), ("b", "1"), ("c", "2")):
        assert twinrun("run", "--dir", here / name, program, value).code == 0
    assert library.compare(here / "a" / "A", str(here / "b" / "A")).verdict == "repeats"
    result = library.compare(here / "a" / "A", here / "c" / "A")
    assert result.verdict == "diverges" and result.first_difference is not None
    assert twinrun("diff", here / "a" / "A", here / "c" / "A").code == result.exit_code == 1


# probes


def test_outside_a_twin_a_probe_does_nothing() -> None:
    value = object()
    assert library.probe("anything", value) is value
    light = "import sys, twinrun\nassert twinrun.probe('x', 5) == 5\nprint('numpy' in sys.modules)"
    assert python("-c", light).out == "False\n"


PROBES = (
    FIRST
    + BY_HAND
    + """
import twinrun
odd = first()
noise = tf.constant([1.0, 2.0]) if odd else tf.constant([1.0, 3.0])

@tf.function
def inside(x, name):
    return twinrun.probe(name, x * 2)

@tf.function
def training(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(twinrun.probe("inner", x * weight))
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    return loss

@tf.function
def looping(x):
    for i in tf.range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(twinrun.probe("in loop", x * weight * tf.cast(i, tf.float32)))
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])

mode = sys.argv[1]
if mode == "structure":
    one = tf.constant(1)
    assert twinrun.probe("one", one) is one
    twinrun.probe("mine", {"a": [one, noise]})
elif mode == "function":
    assert inside(noise, "mine").shape == (2,)
elif mode == "variable":
    twinrun.probe("mine", tf.Variable(noise, name="mine"))
elif mode == "training":
    for step in range(1, 5):
        training(noise[1] - 2.0 if step == 3 else tf.constant(1.0))
elif mode == "looping":
    import keras
    optimizer = keras.optimizers.SGD(0.0)
    optimizer.build([weight])
    looping(noise[1])
elif mode == "between":
    train(4, lambda step: twinrun.probe("mine", noise if step == 2 else tf.constant([0.0])))
"""
)
PLAIN_PROBE = (
    FIRST
    + """
import numpy as np, twinrun
noise = np.array([1.0, 2.0]) if first() else np.array([1.0, 3.0])
assert twinrun.probe("mine", noise) is noise
"""
)


@pytest.mark.parametrize(
    ("program", "mode", "step", "tensor"),
    [
        (PLAIN_PROBE, "at once", 0, "mine"),
        (PROBES, "structure", 0, "mine/a/1"),
        (PROBES, "function", 0, "mine"),
        (PROBES, "training", 3, "inner"),
        (PROBES, "looping", 2, "in loop"),  # the first time round it is multiplied by zero
        (PROBES, "between", 3, "mine"),
    ],
    ids=["at once", "structure", "function", "training", "looping", "between"],
)
def test_a_probe_is_seen_at_its_step(tmp_path: Path, program: str, mode: str, step: int, tensor: str) -> None:
    answer = check(write(tmp_path, program), arguments=[mode, tmp_path / "marker"])
    first: dict[str, Any] | None = answer.document["first_difference"]
    assert first is not None, answer.document["reason"]
    assert (first["phase"], first["tensor"]) == ("probe", tensor)
    assert first["max_abs"] is not None and first["differing_count"] >= 1
    assert first["step"] == step


def test_a_probe_changes_nothing_for_the_program(tmp_path: Path) -> None:
    text = "import numpy as np, twinrun\nx = np.arange(3)\ny = twinrun.probe('x', x)\nassert y is x\nx[0] = 5\nprint(y)"
    program = write(tmp_path, text)
    assert outputs(check(program).document) == [python(program).out] * 2
