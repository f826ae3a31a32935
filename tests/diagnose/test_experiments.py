"""Experiments: the command that repeats one leaves nothing out, and freezing an input file leaves the user's files alone."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click import Context
from hypothesis import given
from hypothesis import strategies as st

from support import PLAIN, twinrun, write
from twinrun.cli.check import check as check_verb
from twinrun.comparison.contract import parse_contract
from twinrun.comparison.frames import Difference
from twinrun.diagnose import diagnosis
from twinrun.diagnose.experiments import command
from twinrun.launch.options import CheckOptions
from twinrun.launch.program import Program
from twinrun.protocol import Evidence
from twinrun.protocol.intervention import Freeze, Intervention, Pin, Stress, Vary
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.registry import sources, variations
from twinrun.result import CheckResult, Diagnosis
from twinrun.settings import check_options

pytestmark = pytest.mark.usefixtures("tinynet")

NUMBERS = st.integers(0, 2**32)
FREEZES = st.builds(
    lambda named, line: Freeze(*named, "/p/train.py", line),
    st.sampled_from([(source.name, action) for source in sources() for action in ("", *source.actions)]),
    st.integers(1, 999),
)
PINS = st.builds(lambda seed, strict: Pin(PinRequest(seed, strict)), NUMBERS, st.booleans())
VARIES = st.sampled_from([Vary(name) for name in variations()])


@given(
    freezes=st.lists(FREEZES, max_size=3, unique=True),
    pin=st.none() | PINS,
    varies=st.lists(VARIES, max_size=2, unique=True),
    stress=st.booleans(),
    contract=st.sampled_from(["bitwise", "ulp=4", "rtol=1e-06,atol=1e-08"]),
    steps=st.none() | st.integers(1, 50),
    sequential=st.booleans(),
    cluster=st.just((0, 60.0)) | st.tuples(st.integers(1, 3), st.sampled_from([0.5, 60.0, 300.0, 1e5])),
    tracing=st.sampled_from(["", "step", "pipeline"]),
)
def test_the_printed_command_asks_for_the_very_same_check(
    freezes: list[Freeze], pin: Pin | None, varies: list[Vary], stress: bool, contract: str,
    steps: int | None, sequential: bool, cluster: tuple[int, float], tracing: str,
) -> None:  # fmt: skip
    interventions: list[Intervention] = [*freezes, *([pin] if pin else []), *varies]
    if stress:
        interventions.append(Stress())
    options = CheckOptions(
        Program("train.py", ("--epochs", "2")), steps=steps, contract=parse_contract(contract),
        interventions=tuple(interventions), sequential=sequential, tracing=tracing,  # type: ignore[arg-type]
        workers=cluster[0], worker_timeout=cluster[1],
    )  # fmt: skip
    words = shlex.split(command(options))
    assert words[:2] == ["twinrun", "check"]
    with check_verb.make_context("check", words[2:]) as context:
        assert _read_back(context) == options


def _read_back(context: Context) -> CheckOptions:
    given = dict(context.params)
    program, *arguments = given.pop("program")
    assert given["no_diagnose"]
    return check_options(Program(program, tuple(arguments)), **given)


COUNTS = """
from pathlib import Path
state = Path("state.txt")
runs = int(state.read_text()) if state.exists() else 0
state.write_text(str(runs + 1))
with open("runs.log", "a") as log:
    log.write("x")
model.weight = model.weight + np.float32(runs)
train(3)
"""


def test_neither_a_check_nor_its_experiments_touch_the_users_files(tmp_path: Path) -> None:
    program = write(tmp_path, PLAIN + COUNTS)
    found = twinrun("check", "--output-format", "json", program.name, cwd=tmp_path).document
    [finding] = found["findings"]
    assert (finding["code"], finding["file"], finding["confirmed"]) == ("TW304", "train.py", True), found
    assert found["experiments"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["train.py"]


def test_a_resumed_diagnosis_knows_what_was_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an op whose comparison contradicts the check would be blamed."""
    seen: list[Evidence] = []

    def explained(lab: object, result: CheckResult, evidence: Evidence, *_: object) -> CheckResult:
        seen.append(evidence)
        return result

    monkeypatch.setattr(diagnosis, "_explained", explained)
    saved = CheckResult(
        "train.py",
        "diverges",
        first_difference=Difference(3, "weights", "w"),
        diagnosis=Diagnosis(complete=False, command="twinrun check train.py", compared=("loss", "weights")),
    )
    diagnosis.resume_diagnosis(CheckOptions(Program(str(write(tmp_path, "")))), saved)
    assert [evidence.losses_alike for evidence in seen] == [True]
