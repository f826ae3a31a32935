"""The search for a patch, on programs whose twins are played by a rule: what must stand in the source for them to agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from twinrun.findings.catalogue import finding
from twinrun.findings.fixes import Fix
from twinrun.fix.outcome import FixResult
from twinrun.fix.search import Search
from twinrun.fix.trials import Trials
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.program import Program
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult

# Code, the line of the finding as a pattern, and a pattern that must be in the source for the cause to be gone.
Rule = tuple[str, str, str]

NUMPY = ("TW102", r"np\.random\.rand", r"np\.random\.seed\(")
PYTHON = ("TW101", r"random\.shuffle\(", r"(?m)^random\.seed\(")
LISTING = ("TW302", r"os\.listdir", r"sorted\(os\.listdir")
PROGRAM = """\
import os
import random

import numpy as np

files = os.listdir("data")
random.shuffle(files)
x = np.random.rand(3)
train(files, x)
"""


class Played(Trials):
    """Trials whose twins are played: they agree when every rule is satisfied by the source and the command line."""

    def __init__(
        self,
        script: Path,
        rules: list[Rule],
        *,
        arguments: tuple[str, ...] = (),
        shown: int = 9,
        also: list[Rule] | None = None,
        breaks: str = "nothing",
        seed: int | None = None,
        seconds: float = 600.0,
    ) -> None:
        """`shown` is how many causes a diagnosis finds at once; `also` are findings that are none, only likely;
        a source that matches `breaks` crashes."""
        super().__init__(CheckOptions(Program(str(script), arguments)), Screen(), seconds=seconds, seed=seed)
        self.script, self.rules, self.shown, self.also, self.breaks = script, rules, shown, also or [], breaks
        self.seen: list[str] = []

    def diagnosed(self, options: CheckOptions) -> CheckResult:
        return self.checked(options)

    def checked(self, options: CheckOptions) -> CheckResult:
        text = options.patched.get(str(self.script.resolve()), self.script.read_text())
        self.seen.append(text)
        whole = text + " ".join(options.program.arguments)
        if re.search(self.breaks, whole):
            return CheckResult(str(self.script), UNDECIDED, "twin A crashed", "crashed")
        missing = [rule for rule in self.rules if not re.search(rule[2], whole)]
        if not missing:
            return CheckResult(str(self.script), REPEATS, steps_compared=40)
        found = [self._finding(text, rule, confirmed=True) for rule in missing[: self.shown]]
        found += [self._finding(text, rule, confirmed=False) for rule in self.also]
        return CheckResult(str(self.script), DIVERGES, findings=tuple(found))

    def _finding(self, text: str, rule: Rule, *, confirmed: bool) -> object:
        line = next(n for n, each in enumerate(text.splitlines(), 1) if re.search(rule[1], each))
        return finding(rule[0], "a cause", file=str(self.script), line=line, confirmed=confirmed)


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return path


def fixed(trials: Played, result: FixResult, search: Search) -> str:
    """The program with the patch; its own file is as it was."""
    return search.trials.patch(search.units).texts[str(trials.script.resolve())]


def test_all_causes_are_fixed_at_once_with_one_seed_constant(script: Path) -> None:
    trials = Played(script, [NUMPY, PYTHON, LISTING])
    search = Search(trials)
    result = search.run()
    assert (result.verdict, result.exit_code) == (REPEATS, 0)
    assert result.proof is not None and (result.proof.runs, result.proof.steps) == (2, 40)
    assert fixed(trials, result, search) == PROGRAM.replace(
        "import numpy as np\n", "import numpy as np\n\nSEED = 42\nrandom.seed(SEED)\nnp.random.seed(SEED)\n"
    ).replace('os.listdir("data")', 'sorted(os.listdir("data"))')
    assert script.read_text() == PROGRAM
    assert [change.code for change in result.changes] == ["TW102", "TW101", "TW302"]
    assert result.not_needed == ()


def test_causes_that_show_one_after_the_other_are_fixed_in_rounds(script: Path) -> None:
    trials = Played(script, [NUMPY, PYTHON, LISTING], shown=1)
    search = Search(trials)
    result = search.run()
    assert result.verdict == REPEATS
    assert {(change.code, change.line) for change in result.changes} == {
        ("TW102", 8),
        ("TW101", 7),
        ("TW302", 6),
    }
    assert 'sorted(os.listdir("data"))' in fixed(trials, result, search)


def test_a_change_that_is_not_needed_is_dropped(script: Path) -> None:
    trials = Played(script, [NUMPY], also=[LISTING, PYTHON])
    search = Search(trials)
    result = search.run()
    assert [change.code for change in result.changes] == ["TW102"]
    assert {change.code for change in result.not_needed} == {"TW302", "TW101"}
    assert fixed(trials, result, search) == PROGRAM.replace(
        "import numpy as np\n", "import numpy as np\n\nnp.random.seed(42)\n"
    )


def test_the_last_check_had_exactly_the_patch(script: Path) -> None:
    trials = Played(script, [NUMPY], also=[LISTING, PYTHON])
    search = Search(trials)
    text = fixed(trials, search.run(), search)
    assert text in trials.seen


def test_many_changes_are_dropped_in_halves(script: Path) -> None:
    names = "abcdefgh"
    lines = [f'{name} = os.listdir("{name}")\n' for name in names]
    script.write_text("import os\n\n" + "".join(lines))
    rules = [("TW302", rf'listdir\("{name}"\)', rf'sorted\(os.listdir\("{name}"\)') for name in names]
    trials = Played(script, [rules[2]], also=[*rules[:2], *rules[3:]])
    result = Search(trials).run()
    assert [change.line for change in result.changes] == [5]
    assert trials.checks <= 4


def test_a_program_that_repeats_needs_no_patch(script: Path) -> None:
    result = Search(Played(script, [])).run()
    assert (result.verdict, result.diff, result.unchanged) == (REPEATS, "", True)


def test_a_program_that_cannot_be_judged_gets_none(script: Path) -> None:
    result = Search(Played(script, [], breaks="import")).run()
    assert (result.verdict, result.reason_kind, result.exit_code, result.diff) == (
        UNDECIDED,
        "crashed",
        2,
        "",
    )


def test_what_no_edit_can_fix_is_said_and_the_rest_is_still_in_the_patch(script: Path) -> None:
    race = ("TW403", r"train\(", "never")
    result = Search(Played(script, [NUMPY, race])).run()
    assert (result.verdict, result.exit_code) == (DIVERGES, 1)
    assert [change.code for change in result.changes] == ["TW102"]
    assert [(each.code, each.line) for each in result.left] == [("TW403", 9)]


def test_a_change_that_breaks_the_program_is_taken_back(script: Path) -> None:
    result = Search(Played(script, [NUMPY], also=[LISTING], breaks=r"sorted\(")).run()
    assert result.verdict == REPEATS
    assert [change.code for change in result.changes] == ["TW102"]


def test_the_seed_that_was_asked_for_is_written(script: Path) -> None:
    trials = Played(script, [NUMPY], seed=7)
    search = Search(trials)
    assert "np.random.seed(7)" in fixed(trials, search.run(), search)


def test_the_time_for_the_search_ends_it_with_what_there_is(script: Path) -> None:
    result = Search(Played(script, [NUMPY, PYTHON], seconds=0.0)).run()
    assert result.verdict == DIVERGES
    assert any("time" in note for note in result.notes)


OPTION = """\
import argparse

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=None)
args = parser.parse_args()
np.random.seed(args.seed)
x = np.random.rand(3)
"""


@pytest.mark.parametrize(("arguments", "told"), [((), ("--seed", "42")), (("--seed", "3"), ())])
def test_a_program_that_takes_its_seed_as_an_argument_is_told_the_argument(
    script: Path, arguments: tuple[str, ...], told: tuple[str, ...]
) -> None:
    script.write_text(OPTION)
    rule = ("TW102", r"np\.random\.rand", "--seed 42")
    result = Search(Played(script, [rule], arguments=arguments)).run()
    assert result.arguments == told
    if told:
        assert (result.verdict, result.diff) == (REPEATS, "")


def test_a_racing_program_must_agree_several_times(script: Path) -> None:
    trials = Played(script, [("TW202", r"np\.random\.rand", r"sorted\("), LISTING])
    result = Search(trials).run()
    assert result.proof is not None and result.proof.runs == 6


@pytest.mark.parametrize(("answers", "codes"), [("yy", ["TW102", "TW302"]), ("ny", ["TW302"]), ("q", [])])
def test_the_user_may_leave_changes_out(script: Path, answers: str, codes: list[str]) -> None:
    given = iter(answers)
    asked: list[Fix] = []

    def ask(fix: Fix) -> str:
        asked.append(fix)
        return next(given)

    result = Search(Played(script, [NUMPY, LISTING])).run(ask)
    assert [change.code for change in result.changes] == codes
    assert result.verdict == (REPEATS if len(codes) == 2 else DIVERGES)
    assert len(asked) == len(answers)


def test_a_module_of_the_program_is_fixed_and_the_seed_goes_into_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.py").write_text("import os\n\nFILES = os.listdir('d')\n")
    script = tmp_path / "train.py"
    script.write_text("import numpy as np\n\nimport data\n\nprint(np.random.rand(), data.FILES)\n")

    class Both(Played):
        def checked(self, options: CheckOptions) -> CheckResult:
            module = tmp_path / "data.py"
            text = options.patched.get(str(module.resolve()), module.read_text())
            result = super().checked(options)
            if "sorted" in text:
                return result
            listing = finding("TW302", "a cause", file="data.py", line=3, confirmed=True)
            return result.replace(verdict=DIVERGES, findings=(listing, *result.findings))

    result = Search(Both(script, [NUMPY])).run()
    assert result.verdict == REPEATS
    assert "--- a/data.py\n" in result.diff and "--- a/train.py\n" in result.diff
    assert "+np.random.seed(42)\n" in result.diff


def test_installed_packages_are_never_changed(tmp_path: Path, script: Path) -> None:
    package = tmp_path / "site-packages" / "lib.py"
    package.parent.mkdir()
    package.write_text("import os\nfiles = os.listdir('d')\n")

    class Elsewhere(Played):
        def checked(self, options: CheckOptions) -> CheckResult:
            found = finding("TW302", "a cause", file=str(package), line=2, confirmed=True)
            return CheckResult("train.py", DIVERGES, findings=(found,))

    result = Search(Elsewhere(script, [])).run()
    assert "lib.py" not in result.diff
    assert [each.file for each in result.left] == [str(package)]
