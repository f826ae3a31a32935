"""What processes know of a strategy, judged by their recordings: replicas that drift apart, and training that cannot
repeat. Without a framework, or with one that starts at once; test_strategies.py has TensorFlow's."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support import PLAIN, check, twinrun, write
from twinrun.launch.replicas import judge_replicas
from twinrun.protocol import Facts
from twinrun.protocol import child as files
from twinrun.protocol.child import ChildProcess
from twinrun.protocol.facts import Drift, Replicated
from twinrun.protocol.messages import End, SoFar
from twinrun.recording.frame import Frame, Layout, pack
from twinrun.recording.manifest import Manifest
from twinrun.recording.store import Writer
from twinrun.result import CheckResult

Weights = dict[str, int]  # by name, a digest of each


def member(
    twin: Path, number: int, steps: list[Weights], known: msgspec.Struct | None, *, worker: bool = False
) -> None:
    """A process that trained, and what it left of itself."""
    folder = twin / files.FOLDER / str(number + 1)
    folder.mkdir(parents=True)
    label = f"worker {number}" if worker else "worker.py"
    ChildProcess(str(number + 1), label, 1, worker=number if worker else None).write(folder)
    writer = Writer(folder, detail=True)
    for step, weights in enumerate(steps, start=1):
        layout = Layout(("weights",) * len(weights), tuple(weights))
        writer.write(Frame(step, 1, layout, pack(list(weights.values()))))
    Manifest("worker.py", status="ended", seal=writer.close()).write(folder)
    if known is not None:
        file = files.END if isinstance(known, End) else files.SO_FAR
        (folder / file).write_bytes(msgspec.json.encode(known))


def drift_of(twin: Path) -> str | None:
    return judge_replicas(CheckResult("", "repeats"), [(twin, Facts())]).reason


TOGETHER = Replicated("localhost:1,localhost:2", ["v", "w"])


@pytest.mark.parametrize("ended", [True, False])
def test_a_variable_that_only_one_worker_still_reports_is_compared(tmp_path: Path, ended: bool) -> None:
    """One that has not changed for long is not reported, and is as it was."""
    known = End("ended", Facts(replicated=TOGETHER)) if ended else SoFar(TOGETHER)
    member(tmp_path, 0, [{"v": 1, "w": 1}, {"w": 2}, {"w": 3}], known)
    member(tmp_path, 1, [{"v": 1, "w": 1}, {"w": 2}, {"v": 9, "w": 3}], known)
    found = drift_of(tmp_path)
    assert found is not None and found.endswith(
        "v of child 2 (worker.py) is not that of child 1 (worker.py) from step 3 on"
    )


def test_variables_that_are_reported_at_different_times_do_not_drift(tmp_path: Path) -> None:
    known = End("ended", Facts(replicated=TOGETHER))
    member(tmp_path, 0, [{"v": 1, "w": 1}, {"w": 2}, {"v": 5, "w": 3}], known)
    member(tmp_path, 1, [{"v": 1, "w": 1}, {"v": 1, "w": 2}, {"v": 5}], known)
    assert drift_of(tmp_path) is not None  # w is 3 in the first, and still 2 in the second
    member(tmp_path / "equal", 0, [{"v": 1, "w": 1}, {"w": 2}, {"v": 5, "w": 2}], known)
    member(tmp_path / "equal", 1, [{"v": 1, "w": 1}, {"v": 1, "w": 2}, {"v": 5}], known)
    assert drift_of(tmp_path / "equal") is None


@pytest.mark.parametrize(
    "chief",
    [
        [{"v": 1}, {"own": 1}, {"own": 2}, {"v": 2}, {"own": 3}, {"v": 3}],
        [{"own": 1, "v": 0}, {"v": 1}, {"v": 2}, {"v": 3}],
        [{"v": 1}, {"v": 7, "own": 1}, {"v": 2}, {"v": 3}, {"own": 2}],
    ],
    ids=["between", "before", "with what it has loaded"],
)
def test_a_chief_that_trains_something_of_its_own_does_not_drift(
    tmp_path: Path, chief: list[Weights]
) -> None:
    """Its steps have other numbers then, and it may report weights that the others do not."""
    known = End("ended", Facts(replicated=TOGETHER))
    member(tmp_path, 0, chief, known)
    member(tmp_path, 1, [{"v": 1}, {"v": 2}, {"v": 3}], known)
    assert drift_of(tmp_path) is None
    member(tmp_path / "apart", 0, chief, known)
    member(tmp_path / "apart", 1, [{"v": 1}, {"v": 2}, {"v": 9}], known)
    found = drift_of(tmp_path / "apart")
    assert found is not None and found.endswith("from step 3 on"), found


def test_the_worker_that_drifted_is_in_the_difference(tmp_path: Path) -> None:
    known = End("ended", Facts(replicated=TOGETHER))
    for number in range(3):
        member(tmp_path, number, [{"v": 1}, {"v": 2 + number // 2}], known, worker=True)
    first = judge_replicas(CheckResult("", "repeats"), [(tmp_path, Facts())]).first_difference
    assert first is not None and (first.process, first.worker, first.step) == ("worker 2", 2, 2)


def test_a_cluster_that_is_started_anew_at_the_same_addresses_is_another(tmp_path: Path) -> None:
    """As by a launcher that trains twice, on ports of its own choice, and with other weights."""
    for number, (place, weight) in enumerate([(0, 1), (1, 1), (1, 5), (0, 5)]):
        known = End("ended", Facts(replicated=msgspec.structs.replace(TOGETHER, number=place)))
        member(tmp_path, number, [{"v": weight}, {"v": weight + 1}], known)
    assert drift_of(tmp_path) is None
    known = End("ended", Facts(replicated=msgspec.structs.replace(TOGETHER, number=0)))
    member(tmp_path, 4, [{"v": 7}], known)
    member(tmp_path, 5, [{"v": 8}], SoFar(msgspec.structs.replace(TOGETHER, number=1)))
    found = drift_of(tmp_path)
    assert found is not None and found.endswith(
        "v of child 6 (worker.py) is not that of child 5 (worker.py) from step 1 on"
    ), found


@pytest.mark.parametrize(("chief", "verdict"), [([1, 2, 9], "repeats"), ([1, 9, 9], "diverges")])
def test_what_a_chief_does_to_its_weights_after_training_is_no_drift(
    tmp_path: Path, chief: list[int], verdict: str
) -> None:
    """Its last step is open until the program ends. That it was a step is not known to be wrong either."""
    known = End("ended", Facts(replicated=msgspec.structs.replace(TOGETHER, open_step=3)))
    member(tmp_path, 0, [{"v": value} for value in chief], known)
    member(tmp_path, 1, [{"v": 1}, {"v": 2}, {"v": 3}], known)
    result = judge_replicas(CheckResult("", "repeats"), [(tmp_path, Facts())])
    assert result.verdict == verdict
    (found,) = result.findings
    assert (found.code, found.confirmed) == ("TW604", verdict == "diverges")
    assert ("after step 3, the last one" in found.message) is (verdict == "repeats")


def test_a_worker_that_was_ended_before_its_first_step_has_nothing_to_compare(tmp_path: Path) -> None:
    member(tmp_path, 0, [{"v": 1, "w": 1}], SoFar(TOGETHER))
    member(tmp_path, 1, [], SoFar(TOGETHER))
    (tmp_path / files.FOLDER / "2" / "steps.sqlite").unlink()
    assert drift_of(tmp_path) is None


# Programs that say of themselves what a strategy of TensorFlow's makes Twinrun say.

CANNOT = (
    "from twinrun.twin.recorder import active\nactive().unrepeatable = 'gradients come in no fixed order'\n"
)
DRIFTS = """
from twinrun.protocol.facts import Drift, Replicated
from twinrun.twin.recorder import active
drift = Drift(2, "model 0", 1) if model_drifts else None
active().replicated = lambda: Replicated("", ["model 0"], drift)
"""
AS_A_CHILD = """
import subprocess, sys, time
if len(sys.argv) < 2:
    child = subprocess.Popen([sys.executable, __file__, "child"], stdout=subprocess.PIPE)
    child.stdout.readline()
    child.{end}()
    sys.exit(child.wait() * 0)
"""


@pytest.mark.usefixtures("tinynet")
@pytest.mark.parametrize("end", ["wait", "terminate"])
def test_a_child_that_cannot_repeat_does_not(tmp_path: Path, end: str) -> None:
    waits = "print('trained', flush=True)\n" + ("time.sleep(3600)\n" if end == "terminate" else "")
    path = write(tmp_path, AS_A_CHILD.format(end=end) + PLAIN + CANNOT + "train(3)\n" + waits)
    document = check(path).document
    assert (document["verdict"], document["reason_kind"]) == ("undecided", "not-comparable"), document
    assert "gradients come in no fixed order" in document["reason"]


@pytest.mark.usefixtures("tinynet")
def test_replicas_of_a_child_that_is_ended_are_compared(tmp_path: Path) -> None:
    drifts = "model_drifts = True\n" + DRIFTS + "train(3)\nprint('trained', flush=True)\ntime.sleep(3600)\n"
    document = check(write(tmp_path, AS_A_CHILD.format(end="kill") + PLAIN + drifts)).document
    assert (document["verdict"], document["reason_kind"]) == ("diverges", "replica-drift"), document
    assert document["children"][0]["verdict"] == "repeats"


@pytest.mark.usefixtures("tinynet")
@pytest.mark.parametrize(
    ("text", "verdict", "kind"),
    [
        (CANNOT, "undecided", "not-comparable"),
        ("model_drifts = True\n" + DRIFTS, "diverges", "replica-drift"),
        ("model_drifts = False\n" + DRIFTS, "repeats", None),
    ],
    ids=["cannot repeat", "drifts", "holds"],
)
def test_recordings_keep_what_is_known_of_a_strategy(
    tmp_path: Path, text: str, verdict: str, kind: str | None
) -> None:
    path = write(tmp_path, PLAIN + text + "train(3)\n")
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        assert twinrun("run", "--dir", folder, path).code == 0
    document = twinrun("diff", "--output-format", "json", *folders).document
    assert (document["verdict"], document["reason_kind"]) == (verdict, kind), document


def test_a_drift_of_one_process_is_named(tmp_path: Path) -> None:
    facts = Facts(replicated=Replicated("", ["w"], Drift(2, "w", 1)))
    result = judge_replicas(CheckResult("", "repeats"), [(tmp_path, facts)])
    assert [(each.code, each.confirmed) for each in result.findings] == [("TW604", True)]
    assert result.reason is not None and result.reason.endswith(
        "w of replica 1 is not that of replica 0 from step 2 on"
    )
    assert len(judge_replicas(result, [(tmp_path, facts)]).findings) == 1  # found by two comparisons
