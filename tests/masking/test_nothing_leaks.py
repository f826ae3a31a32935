"""Real commands with secrets all around them: in arguments, variables, addresses, tracebacks, names of files, git's
configuration, configuration files. Everything that is written is searched for each of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from planted import DOUBTFUL, GIVEN, KINDS, NEEDLES, SHAPED, VARIABLES

from support import Answer, start, twinrun, write

NAMES = [text for text in SHAPED.values() if not set("/@:") & set(text)]
# The program knows all secrets, and has none in its source.
COMMON = """
    import json, os, random, subprocess, sys
    import twinrun
    settings = open("settings.ini").read()
    kinds = json.load(open("kinds.json"))
    def leak():
        print(settings)
        print(sys.argv, dict(os.environ), file=sys.stderr)
        for name, text in kinds.items():
            print(f"{name} ({text})")
            print(repr(text), file=sys.stderr)
"""
PROGRAMS = {
    "diverges.py": """
        leak()
        for token in json.load(open("names.json")):
            open(f"model_{token}.txt", "w").write(token)
            open(f"model_{token}.txt").read()
        subprocess.run([sys.executable, "worker.py", *sys.argv[1:]], check=True)
        for step in range(3):
            twinrun.probe("value", random.random())
    """,
    "worker.py": """
        leak()
        twinrun.probe("inner", 1.0)
    """,
    "crashes.py": """
        twinrun.probe("value", 1.0)
        leak()
        raise RuntimeError("cannot log in: " + " ".join(sys.argv) + " ".join(kinds.values()) + " ".join(os.environ.values()))
    """,
    "delivers.py": """
        twinrun.probe("value", 1.0)
        for text in kinds.values():
            line = text.replace(chr(10), " ")
            print(f"{random.random()}: {line}")
        for token in json.load(open("names.json")):
            open(f"left_{token}.txt", "w").write(f"{random.random()} {token}")
    """,
    "steady.py": """
        leak()
        twinrun.probe("value", float("--other" in sys.argv))
    """,
}


@dataclass
class Planted:
    """A project in which secrets lie everywhere, and what came of the commands that were run in it."""

    folder: Path
    answers: dict[str, Answer] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def run(self, name: str, *words: str, program: str = "", more: tuple[str, ...] = ()) -> Answer:
        arguments = [*_arguments(), *more] if program else []
        variables = {f"PLANTED_{number}": text for number, text in enumerate(KINDS.values())}
        variables |= VARIABLES
        variables |= {"XLA_FLAGS": f"--token={KINDS['hugging face']}", "TZ": KINDS["url password"]}
        variables |= {"KMP_AFFINITY": KINDS["jwt"], "GLIBC_TUNABLES": KINDS["aws key id"]}
        variables |= {"TWINRUN_HOME": str(self.folder / "state"), "PYTHONPATH": str(self.folder / "site")}
        variables |= {"GITHUB_STEP_SUMMARY": str(self.folder / "out" / "summary.md")}
        answer = twinrun(*words, *([program] if program else []), *arguments, cwd=self.project, env=variables)
        assert "Traceback (most recent call last)" not in answer.err, answer.err
        self.answers[name] = answer
        return answer

    def written(self) -> Iterator[tuple[str, bytes]]:
        """Everything that Twinrun wrote, with the names of the files."""
        for name, answer in self.answers.items():
            yield f"{name} on the terminal", (answer.out + answer.err).encode()
        for root in ("state", "out", "project/twinrun-baselines"):
            for path in (self.folder / root).rglob("*"):
                yield f"the name of {path}", str(path.relative_to(self.folder)).encode()
                if path.is_file():
                    yield str(path.relative_to(self.folder)), path.read_bytes()


def _arguments() -> list[str]:
    kinds = [word for text in KINDS.values() for word in ("--option", text)]
    given = [word for pair in GIVEN.items() for word in pair]
    joined = [f"{option}={value}x" for option, value in GIVEN.items() if option.startswith("--")]
    names = [f"out/model_{token}.h5" for token in NAMES]
    return [*kinds, *given, *joined, *names, "--epochs", "3", "--data", "data/part-00001.csv"]


def _needles() -> dict[str, bytes]:
    found = {**NEEDLES, **GIVEN, **VARIABLES, "--user": "went12there"}
    return {kind: text.encode() for kind, text in found.items()}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    here = Planted(tmp_path_factory.mktemp("planted"))
    project = here.project
    project.mkdir()
    (here.folder / "out").mkdir()
    for name, text in PROGRAMS.items():
        write(project, COMMON + "\n" + text.replace("\n    ", "\n"), name)
    (project / "kinds.json").write_text(json.dumps(KINDS))
    (project / "names.json").write_text(json.dumps(NAMES))
    lines = [f"{option.lstrip('-')} = {value}" for option, value in GIVEN.items()]
    (project / "settings.ini").write_text("\n".join([*lines, *KINDS.values()]))
    listed = json.dumps(_arguments())  # a list of texts is the same in TOML
    (project / "pyproject.toml").write_text(
        f'[tool.twinrun.programs.configured]\nprogram = "steady.py"\narguments = {listed}\n'
    )
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    remote = f"https://bot:{KINDS['gitlab token']}@example.com/group/project.git?private_token=qu3ryS3cret"
    subprocess.run(["git", "remote", "add", "origin", remote], cwd=project, check=True)
    author = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "x"], cwd=project, check=True)
    metadata = here.folder / "site" / "leaky-1.0.dist-info"
    metadata.mkdir(parents=True)
    url = f"https://{KINDS['github token']}:x-oauth@example.com/leaky.git?token=qu3ryS3cret"
    (metadata / "direct_url.json").write_text(json.dumps({"url": url, "vcs_info": {"commit_id": "0" * 40}}))

    out = here.folder / "out"
    to_json = ("--output-format", "json", "--output-file")
    here.run(
        "check", "check", *to_json, f"{out}/check.json", "--html", f"{out}/check.html", program="diverges.py"
    )
    here.run(
        "crash", "check", *to_json, f"{out}/crash.json", "--html", f"{out}/crash.html", program="crashes.py"
    )
    here.run("crash in CI", "check", "--output-format", "github", program="crashes.py")
    here.run("deliver", "check", *to_json, f"{out}/deliver.json", program="delivers.py")
    for name in ("check", "crash", "deliver"):
        for form in ("text", "html", "json", "junit", "sarif", "github"):
            here.run(f"{name} as {form}", "report", "--output-format", form, f"{out}/{name}.json")
    here.run("run", "run", program="steady.py")
    here.run(
        "record",
        "baseline",
        "record",
        "--name",
        "kept",
        "--runs",
        "1",
        *to_json,
        f"{out}/kept.json",
        program="steady.py",
    )
    here.run(
        "against it",
        "baseline",
        "check",
        "--name",
        "kept",
        "--no-rerun",
        program="steady.py",
        more=("--other",),
    )
    here.run("without arguments", "baseline", "check", "--name", "kept")
    here.run("list", "baseline", "list", "--output-format", "json")
    here.run("configured", "check", "--no-diagnose")
    here.run("env", "env", "show", "--no-framework", "--all", "--output-format", "json")
    here.run("lock", "env", "lock", "--no-framework", "-o", f"{out}/twinrun.lock")
    here.run("pins", "env", "lock", "--no-framework", "--format", "requirements", "-o", f"{out}/pins.txt")
    here.run("lock check", "env", "check", "--no-framework", "--all", f"{out}/twinrun.lock")
    here.run("unknown", "check", "--budgte", KINDS["npm"], program="steady.py")
    here.run("resume", "check", "--resume-diagnosis", f"{out}/check.json")
    here.run("wrong", "check", "--budget", KINDS["github token"], program="steady.py")
    return here  # fmt: skip


def test_no_secret_is_found_in_anything_that_is_written(planted: Planted) -> None:
    found = [
        f"{kind} in {where}"
        for where, data in planted.written()
        for kind, needle in _needles().items()
        if needle in data
    ]
    assert found == []


def test_the_commands_did_what_they_should(planted: Planted) -> None:
    """Or nothing would have been written that could hold a secret."""
    codes = {name: answer.code for name, answer in planted.answers.items() if " as " not in name}
    assert codes == {
        "check": 1, "crash": 2, "crash in CI": 2, "deliver": 2, "run": 0, "record": 0, "against it": 1,
        "without arguments": 2, "list": 0, "configured": 0, "env": 0, "lock": 0, "pins": 0, "lock check": 0, "unknown": 2, "resume": 2, "wrong": 2,
    }  # fmt: skip
    names = {Path(where).name for where, _ in planted.written()}
    assert {"manifest.json", "steps.sqlite", "stdout.txt", "stderr.txt", "child.json", "end.json"} <= names
    assert {"check.json", "check.html", "kept.json", "summary.md", "twinrun.lock"} <= names
    printed = [data for where, data in planted.written() if where.endswith(("stdout.txt", "stderr.txt"))]
    assert any(data.count(b"[masked]") > len(KINDS) for data in printed)
    check, crash, delivered = (
        json.loads((planted.folder / "out" / f"{name}.json").read_text())
        for name in ("check", "crash", "deliver")
    )
    assert check["experiments"] and "cannot log in" in crash["output_tail"]
    assert delivered["reason_kind"] == "unwatched-output" and len(delivered["delivered"]["differences"]) > 5


def test_what_is_no_secret_can_be_read(planted: Planted) -> None:
    check = json.loads((planted.folder / "out" / "check.json").read_text())
    command = check["experiments"][0]["command"]
    assert "--freeze python-random.draw:diverges.py:" in command
    assert "--epochs 3 --data data/part-00001.csv" in command
    assert "out/model_[masked].h5" in command.replace("'", "")
    assert command.endswith(
        "# replace [masked] with the real values; --show-arguments shows all but credentials"
    )
    assert check["diagnosis"]["command"].startswith("twinrun check diverges.py --option")
    assert Path(check["recordings"][0]).is_dir()
    head = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(
        head, cwd=planted.project, capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = json.loads(planted.answers["env"].out)["environment"]["facts"]
    assert environment["code"]["git"] == {
        "commit": commit, "dirty": False, "remote": "https://example.com/group/project.git",
    }  # fmt: skip
    assert environment["packages"]["origins"]["leaky"] == f"https://example.com/leaky.git@{'0' * 40}"
    kept = next((planted.project / "twinrun-baselines" / "kept").glob("*.json")).read_text()
    rows = json.loads(kept)["rows"]
    assert rows and all(re.fullmatch(r"[0-9a-f]{16}", row[4]) for row in rows)
    sources = json.loads(kept)["environment"]["facts"]["code"]["sources"]
    assert re.fullmatch(r"[0-9a-f]{16}", sources["steady.py"])


def test_who_gave_secrets_is_asked_for_them_again(planted: Planted) -> None:
    assert "may be secret, and was not saved" in planted.answers["resume"].message
    assert "some may be secret, and were not kept" in planted.answers["without arguments"].message


def test_a_detector_of_others_finds_nothing_either(planted: Planted) -> None:
    """Its plugins know shapes that we may not. Our digests are the hexadecimal strings that it would find."""
    detector = pytest.importorskip("detect_secrets", reason="pip install detect-secrets")
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.settings import transient_settings

    plugins = [each.__name__ for each in get_mapping_from_secret_type_to_class().values()]
    used = [{"name": name} for name in plugins if name != "HexHighEntropyString"]
    found = detector.SecretsCollection()
    leaks = detector.SecretsCollection()
    with transient_settings({"plugins_used": used}):
        leaks.scan_file(str(planted.project / "kinds.json"))
        for root in ("state", "out", "project/twinrun-baselines"):
            for path in (planted.folder / root).rglob("*"):
                if path.is_file():
                    found.scan_file(str(path))
    assert len(leaks.json()), "it finds what was planted"
    assert not found.json()


def test_the_search_would_find_a_leak(planted: Planted, tmp_path: Path) -> None:
    shutil.copytree(planted.folder, tmp_path / "copy")
    leaky = Planted(tmp_path / "copy")
    (leaky.folder / "out" / "leak.bin").write_bytes(b"\0\1" + KINDS["npm"].encode() + b"\xff")
    assert any(_needles()["npm"] in data for _, data in leaky.written())


def test_arguments_that_may_be_data_are_shown_on_request(tmp_path: Path) -> None:
    program = write(tmp_path, "import random, twinrun\ntwinrun.probe('x', random.random())\n")
    words = [word for pair in DOUBTFUL.items() for word in pair]
    secret = ["--password", "hunter2hunter2", "--token", KINDS["npm"]]
    answer = twinrun(
        "check", "--show-arguments", "--output-format", "json", program, *words, *secret, cwd=tmp_path
    )
    document = answer.document
    manifest = json.loads((Path(document["recordings"][0]) / "manifest.json").read_text())
    assert manifest["arguments"] == [*words, "--password", "[masked]", "--token", "[masked]"]
    assert " ".join(words) in document["experiments"][0]["command"]
    hidden = twinrun(
        "check", "--no-diagnose", "--output-format", "json", program, *words, cwd=tmp_path
    ).document
    manifest = json.loads((Path(hidden["recordings"][0]) / "manifest.json").read_text())
    assert manifest["arguments"] == [word for option in DOUBTFUL for word in (option, "[masked]")]


def test_the_program_itself_gets_its_arguments_as_they_are(tmp_path: Path) -> None:
    text = "import sys, twinrun\nassert sys.argv[1:] == ['--password', 'hunter2hunter2', 'swordfish']\ntwinrun.probe('x', 1.0)\n"
    answer = twinrun(
        "check", write(tmp_path, text), "--password", "hunter2hunter2", "swordfish", cwd=tmp_path
    )
    assert answer.code == 0, answer.out
    assert "hunter2" not in answer.out


def test_nor_is_one_left_by_a_check_that_was_interrupted(tmp_path: Path) -> None:
    text = """
    import sys, time, twinrun
    twinrun.probe("value", 1.0)
    print("started with", sys.argv, flush=True)
    time.sleep(600)
    """
    secrets = [KINDS["npm"], "hunter2hunter2"]
    words = [
        "check",
        "--dir",
        tmp_path / "state",
        write(tmp_path, text),
        secrets[0],
        "--password",
        secrets[1],
    ]
    process = start(*words, cwd=tmp_path)
    output = [tmp_path / "state" / name / "stdout.txt" for name in ("A", "B")]
    deadline = time.monotonic() + 120
    while not all(path.is_file() and "started with" in path.read_text() for path in output):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.terminate()
    process.communicate(timeout=60)
    assert [path.read_text().count("[masked]") for path in output] == [2, 2]
    left = {path: path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file()}
    assert [path for path, data in left.items() for secret in secrets if secret.encode() in data] == []
