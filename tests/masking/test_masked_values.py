"""What is written down is of a type that masks itself, and what a program printed is masked in its recording."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from planted import KINDS, NEEDLES

from twinrun.baselines.baseline import Baseline
from twinrun.baselines.changes import _known_to_differ
from twinrun.baselines.outcome import BaselineResult
from twinrun.environment.difference import Difference
from twinrun.environment.environment import Environment, EnvironmentKey
from twinrun.findings.finding import Finding
from twinrun.fix.outcome import FixResult
from twinrun.launch.cost import CostReport
from twinrun.launch.doctor import Examination
from twinrun.launch.program import Program
from twinrun.launch.run import RunResult
from twinrun.masking import MASK, NO_SECRETS, Masked, Secrets, masked
from twinrun.recording import output
from twinrun.recording.manifest import Manifest
from twinrun.result import CheckResult, Experiment
from twinrun.source_audit.audit_result import AuditResult

ALL = " ".join(KINDS.values())


@pytest.mark.parametrize(
    "kind",
    [
        AuditResult, Baseline, BaselineResult, CheckResult, CostReport, Difference, Environment, Examination, FixResult, Manifest,
        RunResult,
    ],
)  # fmt: skip
def test_everything_that_is_written_masks_itself(kind: type) -> None:
    assert issubclass(kind, Masked)


def test_a_result_is_masked_however_it_is_made() -> None:
    finding = Finding("TW101", "x", ALL, evidence=(ALL,), fix=ALL)
    plain = CheckResult("train.py", "undecided")
    made = CheckResult(
        ALL,
        "undecided",
        ALL,
        output_tail=ALL,
        notes=(ALL,),
        findings=(finding,),
        environment={ALL: {"a": [ALL]}},
    )
    changed = plain.replace(reason=ALL, experiments=(Experiment(ALL, ALL, "repeats"),))
    read = CheckResult.from_json({**plain.as_json(), "output_tail": ALL})
    fixed = FixResult("train.py", "repeats", diff=ALL, left=(finding,))
    audited = AuditResult("train.py", (finding,), (ALL,), notes=(ALL,))
    environment = Environment({"code": {ALL: ALL}}, EnvironmentKey(framework=ALL))
    assert isinstance(environment.key, EnvironmentKey)
    for result in (made, changed, read, fixed, audited, environment):
        text = str(result.as_json())
        assert MASK in text
        assert [kind for kind, needle in NEEDLES.items() if needle in text] == []


def test_nothing_changes_where_there_is_nothing_to_mask() -> None:
    value = {"a": ("x", ["y", 3], {"z": None}), "path": Path("/x"), "data": b"token=abc"}
    assert masked(value) is value


def test_names_that_become_the_same_are_kept_apart() -> None:
    names = {f"model_{KINDS[kind]}.h5": number for number, kind in enumerate(("npm", "openai", "slack"))}
    assert masked(names) == {f"model_{MASK}.h5": 0, f"model_{MASK}.h5 (2)": 1, f"model_{MASK}.h5 (3)": 2}


def test_a_known_secret_does_not_change_a_verdict() -> None:
    result = CheckResult("x", "repeats", "swordfish", reason_kind="crashed")
    secrets = Secrets.of((), {"A_TOKEN": "repeats", "B_TOKEN": "swordfish", "C_TOKEN": "crashed"})
    assert result.without(secrets) == CheckResult("x", "repeats", MASK, reason_kind="crashed")
    assert msgspec.convert(result.without(secrets).as_json(), CheckResult)


def test_the_output_of_every_twin_is_masked_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_PIECE", 64)  # pieces end in the middle of what is masked
    lines = [f"{kind}: {text}" for kind, text in KINDS.items()] * 3
    for name in ("A/stdout.txt", "B/children/1/stderr.txt"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes("\n".join(lines).encode() + b"\r\n\xff\xfe bytes that are no text\n")
    (tmp_path / "A" / "stderr.txt").write_bytes(b"nothing\xff here\r\n")
    (tmp_path / "A" / "data.txt").write_text(ALL)
    output.mask_output(tmp_path, NO_SECRETS)
    for name in ("A/stdout.txt", "B/children/1/stderr.txt"):
        data = (tmp_path / name).read_bytes()
        assert [kind for kind, needle in NEEDLES.items() if needle.encode() in data] == []
        assert data.endswith(b"\r\n\xff\xfe bytes that are no text\n")
    assert (tmp_path / "A" / "stderr.txt").read_bytes() == b"nothing\xff here\r\n"
    assert (tmp_path / "A" / "data.txt").read_text() == ALL, "it belongs to the program"
    assert sorted(path.name for path in (tmp_path / "A").iterdir()) == [
        "data.txt",
        "stderr.txt",
        "stdout.txt",
    ]


def test_a_word_that_stands_in_the_program_is_shown(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("CHOICES = ['tinynet', 'bignet']\n")
    assert Program(str(script), ("--net", "tinynet", "--name", "swordfish")).shown_arguments == (
        "--net", "tinynet", "--name", MASK,
    )  # fmt: skip


def test_arguments_that_are_masked_are_not_said_to_differ() -> None:
    assert not _known_to_differ(("--name", MASK), ("--name", "autumn"))
    assert _known_to_differ(("--name", MASK), ("--run", MASK))
    assert _known_to_differ(("--name",), ("--name", MASK))
