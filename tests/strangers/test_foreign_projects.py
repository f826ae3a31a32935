"""A project that somebody else made: its settings, its programs' names, its source, and its git repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from asked import asked, refused
from support import python, twinrun
from twinrun.baselines.changes import commits_between
from twinrun.environment.user_files import GitState
from twinrun.findings.fixes.diff import git_top
from twinrun.fix.user_files import must_be_clean
from twinrun.settings import OPTIONS

VALUES = (
    "3", "-3", "3.5", "true", '"x"', '""', "[]", "[3]", '["x"]', "[[]]", "{}", "{a = 1}", "1979-05-27", "07:32:00", "nan",
    "-inf", "1e400", "9" * 30, "9" * 4000, '"\\u001b[31m"', '"a\\u0000b"', '["a", 3]', '"9999999999999999h"', f'"{"x" * 5000}"',
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "pyproject.toml"


def ask(*words: str) -> None:
    answer = asked(*words)
    assert (
        answer.code in (0, 2) and answer.err.count("error: ") <= 1 and "\x1b" not in answer.out + answer.err
    )


@pytest.mark.parametrize("value", VALUES)
def test_no_value_of_a_setting_breaks_anything(project: Path, value: str) -> None:
    texts = [f"tool = {value}", f"[tool]\ntwinrun = {value}"]
    for key in (
        "programs",
        "check",
        "baselines",
        *(option.flags(name)[0].lstrip("-") for name, option in OPTIONS.items()),
    ):
        texts.append(f"[tool.twinrun]\n{key} = {value}")
    for text in texts:
        project.write_text(text)
        ask("check", "nowhere.py")
        ask("baseline", "check")
    for key in (
        "program",
        "module",
        "arguments",
        "baseline",
        "runs",
        "steps",
        "contract",
        "pin",
        "vary",
        "timeout",
        "detail",
    ):
        named = "" if key in ("program", "module") else 'program = "nowhere.py"\n'
        project.write_text(f"[tool.twinrun.programs.a]\n{named}{key} = {value}")
        ask("check")
        ask("baseline", "check", "--store", "store")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tool = 3", "is not a table"),
        ("tool.twinrun = 3", "is not a table"),
        ("tool.twinrun.check = 3", "is not a table"),
        ("tool.twinrun.baselines = 3", "is not a text"),
        ("tool.twinrun.steps = {}", "invalid value for steps"),
        ("tool.twinrun.runs = 99999999999999999999", "must be at most"),
        ('tool.twinrun.programs.a.program = ["x"]', "program is not a text"),
        ("x = " + "[" * 1000 + "]" * 1000, "levels deep"),
        ("tool.twinrun." + "a." * 1000 + "b = 1", "levels deep"),
        ("x = " + "9" * 5000, "cannot be read"),
        ('x = "\\u0000"', "NUL"),
        ("\ufffe", "cannot be read"),
        ("\0", "cannot be read"),
    ],
)
def test_settings_that_are_none_are_one_error(project: Path, text: str, said: str) -> None:
    project.write_text(text)
    words = ("baseline", "check") if "baselines" in text or "programs" in text else ("check", "nowhere.py")
    assert said in refused(*words)


def test_settings_that_are_no_file_are_one_error(project: Path) -> None:
    os.mkfifo(project)
    assert "it is a pipe, not a file" in refused("check", "nowhere.py")
    project.unlink()
    project.symlink_to("/dev/zero")
    assert "it is a device, not a file" in refused("check", "nowhere.py")
    project.unlink()
    with project.open("wb") as file:
        file.truncate(2 << 30)
    assert "bytes" in refused("check", "nowhere.py")


def test_the_name_of_a_program_is_shown_and_not_obeyed(project: Path) -> None:
    project.write_text(
        '[tool.twinrun.programs."\\u001b]0;evil\\u0007\\n::error::x"]\nprogram = "\\u001b[2Jnowhere.py"\narguments = ["\\n\\u009b"]\n'
    )
    answer = asked("check")
    assert answer.code == 2 and not set("\x1b\x07\x9b") & set(answer.err)
    first, second = answer.err.splitlines()[:2]
    assert first == "\\x1b]0;evil\\x07\\n::error::x: [masked][2Jnowhere.py \\n[masked]"
    assert second.startswith("error: no such program")


def test_source_that_is_no_file_is_not_read_by_an_audit(project: Path) -> None:
    folder = project.parent
    os.mkfifo(folder / "a.py")
    (folder / "b.py").symlink_to("/dev/zero")
    (folder / "c.py").write_text("x = " + "(" * 5000 + ")" * 5000)
    (folder / "d.py").write_text("import random\nprint(random.random())  # \x1b[31m\n")
    answer = asked("audit", str(folder))
    assert answer.code == 2 and answer.out.count("not judged: ") == 3 and "\x1b" not in answer.out


# the repository

COMMANDS = ("core.fsmonitor", "core.hooksPath", "core.pager", "filter.x.clean", "filter.x.process", "diff.external",
            "core.sshCommand", "gpg.program", "core.editor", "credential.helper")  # fmt: skip


def git(folder: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One that runs a command, and so leaves a file, wherever a repository can name one."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "train.py").write_text("x = 1\n")
    (folder / ".gitattributes").write_text("*.py filter=x diff=x\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one \x1b[31m")
    git(folder, "commit", "-qm", "two", "--allow-empty")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    trap.chmod(0o755)
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
        (hooks / name).write_text(trap.read_text())
        (hooks / name).chmod(0o755)
    for name in COMMANDS:
        git(folder, "config", name, str(hooks if name == "core.hooksPath" else trap))
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "remote.origin.url", f"ext::{trap}")
    git(folder, "config", "remote.origin.promisor", "true")
    (folder / "train.py").write_text("x = 2\n")  # so that git looks into it
    (tmp_path / "ran").unlink(missing_ok=True)
    return folder


def test_a_repository_s_own_commands_are_not_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    state = GitState(repository).read()
    assert len(state["commit"]) == 40 and "its own filters" in state["dirty"] and not ran.exists()
    commits, unknown = commits_between(state["commit"][:7] + "0" * 33, state["commit"], repository)
    assert commits == [] and unknown and not ran.exists()
    first = subprocess.run(
        ["git", "rev-parse", "HEAD~1"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert commits_between(first.stdout.strip(), state["commit"], repository)[0][0].endswith("two")
    assert git_top(repository) == repository and not ran.exists()
    monkeypatch.chdir(repository)
    assert asked("env", "show", "--no-framework").code == 0 and not ran.exists()


@pytest.mark.parametrize("name", ["core.fsmonitor", "core.hooksPath"])
def test_hooks_and_monitors_are_left_out_where_git_looks_at_files(
    repository: Path, tmp_path: Path, name: str
) -> None:
    for other in COMMANDS:
        if other != name:
            git(repository, "config", "--unset", other)
    (tmp_path / "ran").unlink(missing_ok=True)
    assert GitState(repository).read()["dirty"] is True
    with pytest.raises(Exception, match="uncommitted"):
        must_be_clean({str(repository / "train.py"): None})
    assert not (tmp_path / "ran").exists()


def test_filters_of_the_user_s_own_settings_may_be_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in COMMANDS:
        git(repository, "config", "--unset", name)
    mine = tmp_path / "gitconfig"
    mine.write_text('[filter "x"]\n\tclean = cat\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(mine))
    assert GitState(repository).read()["dirty"] is True


def test_a_bare_repository_inside_a_folder_is_not_taken_for_one(tmp_path: Path) -> None:
    """That is how a repository's settings get through a clone."""
    git(tmp_path, "init", "-q", "--bare", "inner")
    assert GitState(tmp_path / "inner").read() == {"commit": "none"}


def test_asking_for_the_environment_imports_nothing_from_the_folder(tmp_path: Path) -> None:
    for name in ("json", "numpy", "psutil", "archspec", "msgspec", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__)\n")
    script = (
        "import sys; sys.path.remove(''); from twinrun.environment.child import run_module; "
        "print(run_module('twinrun.environment.machine', timeout=60))"
    )
    answer = python("-c", script, cwd=tmp_path)
    assert answer.code == 0 and "exit code 0" in answer.out, answer
    assert not (tmp_path / "ran").exists()
    assert twinrun("--version", cwd=tmp_path).code == 0
