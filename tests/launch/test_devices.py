"""One twin on each of two devices: what must be equal, what only within the contract, and whether the devices are the cause.

The framework of docs/how-to/add-a-framework.md is given a device: on its "gpu", products come out one ULP larger, or, where
the program asks for it, rounded to quarters. So all but the device itself is real."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pages import blocks, install
from support import PLAIN, Answer, check, twinrun, write
from twinrun.comparison.contract import parse_contract
from twinrun.comparison.judge import Judge
from twinrun.errors import NoDevice, UsageError
from twinrun.frameworks.tensorflow import visible_device
from twinrun.launch.interventions import parse_devices
from twinrun.launch.placement import misplaced
from twinrun.launch.program import Program
from twinrun.recording.frame import GIVEN, Frame, Layout, pack
from twinrun.recording.outline import Key, Outline, Part
from twinrun.result import DeviceUse
from twinrun.settings import check_options

CPU_GPU = ("--devices", "cpu,gpu")
PRODUCT = """

coarse = False


def product(a, b):
    if os.environ.get("TINYNET_DEVICE") != "gpu":
        return a @ b
    return np.round(a @ b * 4) / np.float32(4) if coarse else np.nextafter(a @ b, np.float32(np.inf))
"""
ENVIRONMENT = """
    def device_environment(self, device, environment):
        return {"TINYNET_DEVICE": device}
"""
PLACED = """
        import os
        device = os.environ.get("TINYNET_DEVICE", "cpu").upper()
        recorder.placed = lambda: {f"{device}:0": len(self.models)}
"""


@pytest.fixture(scope="module", autouse=True)
def two_devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    page = blocks("add-a-framework.md")
    del page["train.py"]
    page["tinynet.py"] = page["tinynet.py"].replace("x.T @ error", "product(x.T, error)") + PRODUCT
    page["twinrun_tinynet/__init__.py"] += ENVIRONMENT
    finish = "        recorder.at_finish.append(self.finish)\n"
    training = page["twinrun_tinynet/training.py"]
    assert "product(" in page["tinynet.py"] and finish in training
    page["twinrun_tinynet/training.py"] = training.replace(finish, finish + PLACED)
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("PYTHONPATH", str(install(page, tmp_path_factory.mktemp("devices"))))
        yield


def test_what_is_computed_may_differ_within_the_contract(tmp_path: Path) -> None:
    answer = check(write(tmp_path, f"{PLAIN}\ntrain(6)"), *CPU_GPU)
    found = answer.document
    assert (answer.code, found["verdict"], found["steps_compared"]) == (0, "repeats", 6), found
    assert found["contract"] == "rtol=auto,atol=auto"
    assert found["first_bit_difference"]["phase"] == "weights"
    assert found["devices"] == [
        {"device": "cpu", "variables": {"CPU:0": 1}},
        {"device": "gpu", "variables": {"GPU:0": 1}},
    ]


def test_the_first_tensor_outside_is_named_and_the_devices_are_proved_to_be_the_cause(tmp_path: Path) -> None:
    program = write(tmp_path, f"{PLAIN}\ntinynet.coarse = True\ntrain(6)")
    answer = twinrun("check", *CPU_GPU, "--output-format", "json", program)
    found = answer.document
    assert (answer.code, found["verdict"]) == (1, "diverges"), found
    first = found["first_difference"]
    assert (first["step"], first["phase"]) == (2, "weights") and first["max_abs"] > 3.5e-4
    (finding,) = found["findings"]
    assert (finding["code"], finding["confirmed"]) == ("TW407", True)
    assert "with both twins on cpu, and with both on gpu, they repeat" in finding["evidence"][0]
    tried = {each["what"]: each["verdict"] for each in found["experiments"]}
    assert tried["with both twins on cpu"] == tried["with both twins on gpu"] == "repeats"
    assert "--devices=gpu,gpu" in " ".join(each["command"] for each in found["experiments"])


@pytest.mark.parametrize("contract", [(), ("--contract", "band=loss:50%")])
@pytest.mark.parametrize(
    ("given", "phase", "step"),
    [
        ("model.weight = np.nextafter(model.weight, one)\ntrain(6)", "init", 0),
        ("train(6, batch=lambda step, x: np.nextafter(x, one) if step == 3 else x)", "batch", 3),
    ],
)
def test_what_a_step_is_given_must_be_equal_whatever_the_contract(
    tmp_path: Path, given: str, phase: str, step: int, contract: tuple[str, ...]
) -> None:
    """By two ULPs, where the contract would allow far more."""
    sign = "one = np.float32(np.inf if os.environ['TINYNET_DEVICE'] == 'gpu' else -np.inf)"
    text = f"import os\n{PLAIN}\n{sign}\n"
    answer = check(write(tmp_path, text + given), *CPU_GPU, *contract)
    found = answer.document
    assert (answer.code, found["verdict"]) == (1, "diverges"), found
    assert (found["first_difference"]["step"], found["first_difference"]["phase"]) == (step, phase)
    assert found["first_difference"]["max_ulp"] == 2


def test_a_contract_of_ones_own(tmp_path: Path) -> None:
    program = write(tmp_path, f"{PLAIN}\ntinynet.coarse = True\ntrain(6)")
    wide = check(program, *CPU_GPU, "--contract", "rtol=0.1,atol=0.1").document
    assert (wide["verdict"], wide["contract"]) == ("repeats", "rtol=0.1,atol=0.1")
    assert check(program, *CPU_GPU, "--contract", "bitwise").document["verdict"] == "diverges"


def test_twins_one_after_the_other_are_compared_by_value_too(tmp_path: Path) -> None:
    program = write(tmp_path, f"{PLAIN}\ntrain(6)")
    assert check(program, *CPU_GPU, "--sequential").document["verdict"] == "repeats"


def test_a_twin_that_was_not_on_its_device_says_nothing_of_it(tmp_path: Path) -> None:
    answer = check(
        write(tmp_path, f"import os\nos.environ['TINYNET_DEVICE'] = 'cpu'\n{PLAIN}\ntrain(6)"), *CPU_GPU
    )
    found = answer.document
    assert (answer.code, found["verdict"], found["reason_kind"]) == (2, "undecided", "not-comparable")
    assert "twin B was given gpu, and none of its 1 variables lay there" in found["reason"]


def test_where_they_differ_on_one_device_too_it_is_not_the_devices(tmp_path: Path) -> None:
    unseeded = PLAIN.replace("tinynet.seed(1)", "").replace('model.weight = np.array([0.5, 0.25], "f")', "")
    found = _diagnosed(
        twinrun("check", *CPU_GPU, "--output-format", "json", write(tmp_path, f"{unseeded}\ntrain(3)"))
    )
    assert [each["code"] for each in found["findings"]] == ["TN101"]
    assert any("the twins differ with both on cpu as well" in note for note in found["notes"])


# The processor plays both, and one op is worse on the "gpu".
TENSORFLOW = """
import os
import tensorflow as tf
devices = tf.config.list_physical_devices
tf.config.list_physical_devices = lambda kind=None: devices("CPU")
scale = 1.01 if os.environ["TINYNET_DEVICE"] == "gpu" else 1.0
x = tf.reshape(tf.range(8.0), [4, 2])
weight = tf.Variable([[0.5], [0.25]], name="weight")
for _ in range(3):
    with tf.GradientTape() as tape:
        out = scale * (x @ weight)
        loss = tf.reduce_mean((out - 1.0) ** 2)
    weight.assign_sub(0.05 * tape.gradient(loss, weight))
"""


@pytest.mark.slow
def test_the_first_op_outside_the_contract_is_named_with_its_line_and_placement(tmp_path: Path) -> None:
    program = write(tmp_path, TENSORFLOW)
    found = _diagnosed(twinrun("check", *CPU_GPU, "--output-format", "json", program))
    (finding,) = found["findings"]
    line = 1 + TENSORFLOW.splitlines().index("        out = scale * (x @ weight)")
    assert (finding["code"], finding["line"]) == ("TW407", line)
    assert finding["message"].startswith("Mul is the first op whose results on cpu and gpu do not agree")
    assert finding["evidence"][0] == (
        "note: placement is ruled out: it ran on CPU:0 in both twins, with inputs that may have differed"
    )
    assert not finding["confirmed"]  # as nothing was ever on a GPU


def _diagnosed(answer: Answer) -> dict[str, Any]:
    assert answer.document["verdict"] == "diverges", answer.document
    return answer.document


class Silent:
    """A twin that does not answer: of its values nothing is known."""

    folder = Path()

    def __init__(self, name: str) -> None:
        self.name = name

    def outlines(self, keys: list[Key]) -> list[Outline | None]:
        return [None] * len(keys)

    def values(self, parts: list[Part]) -> bytes | None:
        return None

    def dump(self, parts: list[Part], file: Path) -> str | None:
        return None


@pytest.mark.parametrize("text", ["rtol=auto,atol=auto", "band=loss:1%"])
def test_a_seed_that_differs_counts_between_devices_and_nowhere_else(text: str) -> None:
    layout = Layout(("seed", "weights"), ("dropout/seed_generator_state", "kernel"))
    pair = [Frame(1, 1, layout, pack([seed, 5])) for seed in (1, 2)]
    plain = Judge(parse_contract(text), [Silent("A"), Silent("B")])
    assert not plain.look(pair) and plain.evidence
    across = Judge(replace(parse_contract(text), exact=GIVEN), [Silent("A"), Silent("B")])
    assert across.look(pair) and across.unmeasured is None
    assert across.first is not None and across.first.key == ("seed", "dropout/seed_generator_state")


# What is asked for


@pytest.mark.parametrize("devices", ["cpu", "cpu,gpu,gpu:1", "cpu,tpu", "cpu,gpu:x", ","])
def test_what_is_no_pair_of_devices_is_refused(devices: str) -> None:
    with pytest.raises(UsageError):
        parse_devices(devices)


@pytest.mark.parametrize("more", [{"vary": "threads"}, {"runs": 3}, {"workers": 2}, {"pin": "device=cpu"}])
def test_what_would_differ_as_well_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="--devices cannot be combined"):
        check_options(Program("train.py"), devices="cpu,cpu", **more)


def test_a_machine_without_a_gpu_is_an_error_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH")  # and with it the framework that has one
    answer = twinrun("check", *CPU_GPU, write(tmp_path, "raise SystemExit('it ran')"))
    assert answer.code == 2 and "there is no gpu on this machine" in answer.message
    assert "it ran" not in answer.out + answer.err
    with pytest.raises(NoDevice):
        parse_devices("gpu:99,cpu")


@pytest.mark.parametrize(
    ("device", "visible", "expected"),
    [
        ("cpu", None, "-1"),
        ("cpu", "3", "-1"),
        ("gpu", None, "0"),
        ("gpu:1", None, "1"),
        ("gpu:2", None, None),
        ("gpu", "3,5", "3"),
        ("gpu:1", "3,5", "5"),
        ("gpu:1", "GPU-1f,GPU-2e", "GPU-2e"),
        ("gpu:2", "3,5", None),
        ("gpu", "-1", None),
        ("gpu:1", "2,-1,4", None),
        ("gpu", "", None),
    ],
)
def test_a_device_is_counted_among_the_visible_ones(
    tmp_path: Path, device: str, visible: str | None, expected: str | None
) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl"):
        (tmp_path / name).touch()
    found = visible_device(device, visible, tmp_path, (tmp_path / "nvidia0",))
    assert found == (None if expected is None else {"CUDA_VISIBLE_DEVICES": expected})
    if device != "cpu":
        assert visible_device(device, visible, tmp_path, (tmp_path / "none",)) is None


@pytest.mark.parametrize(
    ("device", "variables", "right"),
    [
        ("cpu", {"CPU:0": 3}, True),
        ("cpu", {}, True),
        ("cpu", {"CPU:0": 3, "GPU:0": 1}, False),
        ("gpu", {"CPU:0": 3, "GPU:0": 1}, True),
        ("gpu:1", {"GPU:0": 4}, True),  # the one that it sees
        ("gpu", {"CPU:0": 3}, False),
        ("gpu", {}, False),
    ],
)
def test_a_gpu_was_used_where_variables_lay_on_it(
    device: str, variables: dict[str, int], right: bool
) -> None:
    assert (misplaced("A", DeviceUse(device, variables)) is None) == right
