"""`twinrun audit`, as its users run it."""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from twinrun.cli.group import cli
from twinrun.protocol.facts import DatasetsAudit

GUILTY = """
    import numpy as np
    import tensorflow as tf

    ds = tf.data.Dataset.from_tensor_slices(np.arange(10))
    ds = ds.shuffle(10)
"""
CLEAN = """
    import tensorflow as tf

    ds = tf.data.Dataset.range(10).shuffle(10, seed=1)
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    write(tmp_path / "guilty.py", GUILTY)
    write(tmp_path / "clean.py", CLEAN)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip())
    return path


@dataclass(frozen=True)
class Ran:
    returncode: int
    stdout: str
    stderr: str


def audit(folder: Path, *arguments: str) -> Ran:
    """`twinrun audit …` in a folder, in this process: an interpreter for each call would take most of the time."""
    before = Path.cwd()
    os.chdir(folder)
    linecache.clearcache()  # other folders have files of the same names
    try:
        ran = CliRunner().invoke(cli, ["audit", *arguments], prog_name="twinrun")
    finally:
        os.chdir(before)
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.exception
    return Ran(ran.exit_code, ran.stdout, ran.stderr)


def test_findings_are_exit_code_1_and_say_the_place_the_evidence_and_the_fix(here: Path) -> None:
    ran = audit(here, "--source-only", "guilty.py")
    assert ran.returncode == 1
    assert "likely[TW201]" in ran.stdout
    assert "  --> guilty.py:5\n      5 | ds = ds.shuffle(10)\n        |      ^^^^^^^^^^\n" in ran.stdout
    assert "it reaches a dataset at guilty.py:5" in ran.stdout
    fix = "  fix: give the shuffle a seed\n       - ds = ds.shuffle(10)\n       + ds = ds.shuffle(10, seed=42)\n"
    assert fix in ran.stdout
    assert ran.stdout.endswith("1 finding in 1 file read\n")
    assert ran.stderr == ""


def test_a_clean_program_is_exit_code_0(here: Path) -> None:
    ran = audit(here, "--source-only", "clean.py")
    assert (ran.returncode, ran.stdout) == (0, "no findings in 1 file read\n")


def test_what_the_datasets_have_to_say_is_put_together_with_what_the_source_says(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from twinrun.cli.audit import audit as verb
    from twinrun.findings.catalogue import finding
    from twinrun.launch import audit_run

    monkeypatch.chdir(here)
    seen = [
        finding("TW201", "the same", file=str(here / "guilty.py"), line=5, evidence=["seen as it ran"]),
        finding("TW202", "another", file="guilty.py", line=4),
    ]
    asked: list[object] = []

    def audit_datasets(program: str, args: tuple[str, ...], *, module: bool) -> DatasetsAudit | None:
        asked.append((program, args, module))
        return DatasetsAudit(tuple(seen)) if program == "guilty.py" else None

    monkeypatch.setattr(audit_run, "audit_datasets", audit_datasets)
    ran = CliRunner().invoke(verb, ["--output-format", "json", "guilty.py", "--epochs", "2"])
    document = json.loads(ran.stdout)
    assert asked == [("guilty.py", ("--epochs", "2"), False)]
    assert document["datasets_audited"] is True
    assert [(each["code"], each["line"]) for each in document["findings"]] == [("TW202", 4), ("TW201", 5)]
    assert "seen as it ran" in document["findings"][1]["evidence"]
    ran = CliRunner().invoke(verb, ["clean.py"])
    assert "hint: only the source was read" in ran.stderr
    assert ran.exit_code == 0


def test_the_datasets_of_a_running_program_are_looked_at_and_it_goes_no_further_than_three_steps(
    here: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    program = write(
        here / "train.py",
        """
        import os
        import sys
        import numpy as np
        import tensorflow as tf

        os.remove("clean.py")
        data = np.ones((64, 3), np.float32)
        ds = getattr(tf.data.Dataset.from_tensor_slices(data), "shuf" + "fle")(9).batch(2)
        weight = tf.Variable(tf.zeros([3, 1]))
        optimizer = tf.keras.optimizers.SGD()
        for step, batch in enumerate(ds):
            open("guilty.py", "w").write(str(step))
            open(sys.argv[1], "w").write(str(step))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(batch @ weight)
            optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
        """,
    )
    before = {path.name: path.read_text() for path in here.iterdir()}
    steps = tmp_path_factory.mktemp("elsewhere") / "steps.txt"
    ran = audit(here, "--output-format", "json", "train.py", str(steps))
    document = json.loads(ran.stdout)
    assert document["datasets_audited"] is True
    assert {path.name: path.read_text() for path in here.iterdir()} == before
    assert [(each["code"], each["file"], each["line"]) for each in document["findings"]] == [
        ("TW201", "train.py", 8)  # nothing but the running program knows that this is a shuffle
    ]
    assert int(steps.read_text()) <= 3  # of 31: a step is closed when the next one begins
    assert audit(here, "--source-only", program.name).returncode == 0


def test_what_was_seen_as_the_program_ran_is_silenced_in_the_source_too(here: Path) -> None:
    from twinrun.findings.catalogue import finding
    from twinrun.source_audit.audit import audit_source
    from twinrun.source_audit.audit_result import audit_result

    text = (here / "guilty.py").read_text()
    (here / "guilty.py").write_text(
        text.replace("shuffle(10)", "shuffle(10)  # twinrun: ignore[TW201] a demo")
    )
    place = {"file": str(here / "guilty.py"), "line": 5}
    seen = DatasetsAudit((finding("TW201", "seen", **place), finding("TW207", "another", **place)))
    result = audit_result("guilty.py", audit_source([here / "guilty.py"]), seen)
    assert [each.code for each in result.findings] == ["TW207"]
    assert [(each.code, reason) for each, reason in result.silenced] == [("TW201", "a demo")]


def test_an_input_that_could_not_be_audited_is_undecided_and_never_clean(here: Path) -> None:
    from twinrun.render.audit_text import as_lines
    from twinrun.source_audit.audit import audit_source
    from twinrun.source_audit.audit_result import audit_result

    source = audit_source([here / "clean.py"])
    failed = audit_result("clean.py", source, DatasetsAudit(failures=("an input: no",)))
    assert (failed.verdict, failed.exit_code) == ("undecided", 2)
    assert "undecided: an input: no" in map(str, as_lines(failed))
    unknown = audit_result("clean.py", source, DatasetsAudit(unknown=("ours() at clean.py:3: not a stage",)))
    assert unknown.verdict == "clean"
    assert "note: not known: ours() at clean.py:3: not a stage" in map(str, as_lines(unknown))


def test_a_program_that_ends_badly_is_undecided_and_says_how(here: Path) -> None:
    write(here / "train.py", "raise SystemExit('there is no data')\n")
    ran = audit(here, "train.py")
    assert ran.returncode == 2
    assert "the program ended with exit code 1 before its third step: there is no data" in ran.stdout


def test_nothing_of_the_program_is_imported_or_run(here: Path) -> None:
    write(here / "train.py", "import tensorflow\nopen('it_ran', 'w').close()\nraise SystemExit(3)\n")
    code = """
import sys
from twinrun.source_audit.audit import audit_source
audit_source(["train.py"])
loaded = {name.partition(".")[0] for name in sys.modules}
print(sorted(loaded & {"tensorflow", "keras", "numpy", "train"}))
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
    assert not (here / "it_ran").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.py"], "no such program: nowhere.py"),
        (["-m", "nowhere.train"], "no module nowhere.train here to audit"),
        ([], "which program?"),
        (["--files", "nowhere.py"], "no such file or folder: nowhere.py"),
    ],
)
def test_what_is_not_there_is_exit_code_2(here: Path, arguments: list[str], said: str) -> None:
    ran = audit(here, *arguments)
    assert ran.returncode == 2
    assert f"error: {said}" in ran.stderr
    assert ran.stdout == ""


def test_a_syntax_error_in_the_program_is_undecided(here: Path) -> None:
    write(here / "broken.py", "import random\nrandom.seed(1\n")
    ran = audit(here, "--source-only", "broken.py")
    assert ran.returncode == 2
    assert "undecided: broken.py:2: syntax error" in ran.stdout
    document = json.loads(audit(here, "--source-only", "--output-format", "json", "broken.py").stdout)
    assert document["verdict"] == "undecided"
    assert document["problems"] == [
        {"file": "broken.py", "line": 2, "cell": None, "reason": document["reason"].partition(": ")[2]}
    ]


def test_in_a_folder_the_other_files_go_on(here: Path) -> None:
    write(here / "broken.py", "def f(:\n")
    (here / "null.py").write_bytes(b"x = '\0'\n")
    ran = audit(here, "--output-format", "json", ".")
    document = json.loads(ran.stdout)
    assert ran.returncode == 1
    assert [finding["code"] for finding in document["findings"]] == ["TW201"]
    assert document["files"] == ["clean.py", "guilty.py"]
    assert sorted(problem["file"] for problem in document["problems"]) == ["broken.py", "null.py"]


def test_the_json_document_has_the_fields_of_every_verb(here: Path) -> None:
    document = json.loads(audit(here, "--source-only", "--output-format", "json", "guilty.py").stdout)
    assert document["schema"] == "twinrun/audit/1"
    assert document["verdict"] == "findings"
    assert document["reason"] is None
    assert document["program"] == "guilty.py"
    (finding,) = document["findings"]
    assert finding["code"] == "TW201"
    assert finding["name"] == "unseeded-shuffle"
    assert (finding["file"], finding["line"], finding["confirmed"]) == ("guilty.py", 5, False)


def test_a_saved_document_can_be_rendered_again(here: Path) -> None:
    audit(here, "--source-only", "--output-format", "json", "--output-file", "result.json", "guilty.py")
    command = [sys.executable, "-m", "twinrun", "report", "--output-format", "github", "result.json"]
    ran = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("::warning file=guilty.py,line=5,title=TW201 unseeded-shuffle::")


def test_a_file_that_cannot_be_written_is_exit_code_2(here: Path) -> None:
    ran = audit(here, "--source-only", "--output-file", "no/such/folder/out.txt", "clean.py")
    assert ran.returncode == 2
    assert "error: cannot write" in ran.stderr


def test_options_of_the_program_have_the_values_its_command_line_gives_them(here: Path) -> None:
    write(
        here / "train.py",
        """
        import argparse

        import numpy as np
        import tensorflow as tf

        parser = argparse.ArgumentParser()
        parser.add_argument("--data-seed", type=int)
        parser.add_argument("--noise", type=float, default=0.0)
        parser.add_argument("--shuffle", action="store_true")
        args = parser.parse_args()
        rng = np.random.default_rng(args.data_seed)
        x = np.ones(8)
        if args.noise > 0:
            x = x + rng.normal(size=8)
        ds = tf.data.Dataset.from_tensor_slices(x)
        if args.shuffle:
            ds = ds.shuffle(8)
        """,
    )

    def codes(*arguments: str) -> list[str]:
        ran = audit(here, "--source-only", "--output-format", "json", "train.py", *arguments)
        return [finding["code"] for finding in json.loads(ran.stdout)["findings"]]

    assert codes() == []
    assert codes("--noise", "0.1") == ["TW103"]
    assert codes("--noise=0.1", "--data-seed=3") == []
    assert codes("--shuf") == ["TW201"]


def test_files_audits_every_argument_as_a_pre_commit_hook_does(here: Path) -> None:
    ran = audit(here, "--files", "clean.py", "guilty.py")
    assert ran.returncode == 1
    assert "1 finding in 2 files read" in ran.stdout


def test_the_hook_definition_runs_the_command_it_names(here: Path) -> None:
    hooks = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    entry = next(line.partition(": ")[2] for line in hooks.splitlines() if "entry:" in line)
    assert entry.split()[:2] == ["twinrun", "audit"]
    assert audit(here, *entry.split()[2:], "guilty.py").returncode == 1


def test_a_patch_applies_and_leaves_nothing_to_find(here: Path) -> None:
    ran = audit(here, "--source-only", "--fix-diff", "guilty.py")
    assert ran.returncode == 1
    subprocess.run(["patch", "-p1", "-s"], cwd=here, input=ran.stdout, text=True, check=True)
    assert audit(here, "--source-only", "guilty.py").returncode == 0


def test_in_the_patch_of_a_folder_every_program_gets_its_seed_once(here: Path) -> None:
    draws = "    return tf.data.Dataset.from_tensor_slices(np.random.rand(9)).shuffle(9)\n"
    write(here / "data.py", f"import numpy as np\nimport tensorflow as tf\n\n\ndef load():\n{draws}")
    train = "import keras\nimport numpy as np\n\nimport data\n\nmodel = keras.Sequential([keras.layers.Dense(1)])\n"
    write(here / "train.py", train + "model.fit(data.load())\n")
    latin = "# -*- coding: latin-1 -*-\nimport os\n\nimport tensorflow as tf\n\nnames = os.listdir('\xe9')\n"
    (here / "other.py").write_bytes(f"{latin}tf.data.Dataset.from_tensor_slices(names)\n".encode("latin-1"))
    (here / "guilty.py").unlink()
    ran = audit(here, "--source-only", "--fix-diff", "--output-file", "all.patch", ".")
    assert ran.returncode == 1
    subprocess.run(["patch", "-p1", "-s", "-i", "all.patch"], cwd=here, check=True)
    assert (here / "train.py").read_text().count("set_random_seed(42)") == 1
    assert (here / "data.py").read_text().endswith(draws)  # what the seed covers stays as it is
    assert "sorted(os.listdir('\xe9'))" in (here / "other.py").read_bytes().decode("latin-1")
    assert audit(here, "--source-only", ".").returncode == 0


def test_a_module_is_found_as_python_finds_it(here: Path) -> None:
    write(here / "pack/__init__.py", "")
    write(here / "pack/__main__.py", "from .work import main\nmain()\n")
    write(
        here / "pack/work.py",
        "import tensorflow as tf\ndef main():\n    tf.data.Dataset.range(9).shuffle(9)\n",
    )
    ran = audit(here, "--source-only", "-m", "pack")
    assert "pack/work.py:3" in ran.stdout
    assert "1 finding in 3 files read" in ran.stdout


def test_silenced_findings_are_named_with_their_reason(here: Path) -> None:
    text = (here / "guilty.py").read_text()
    (here / "guilty.py").write_text(
        text.replace("shuffle(10)", "shuffle(10)  # twinrun: ignore[TW201] a demo")
    )
    ran = audit(here, "--source-only", "guilty.py")
    assert ran.returncode == 0
    assert "silenced: TW201 at guilty.py:5: a demo" in ran.stdout
    (here / "guilty.py").write_text(text.replace("shuffle(10)", "shuffle(10)  # twinrun: ignore[TW201]"))
    ran = audit(here, "--source-only", "guilty.py")
    assert ran.returncode == 1
    assert "has no reason here, so it is ignored" in ran.stdout
