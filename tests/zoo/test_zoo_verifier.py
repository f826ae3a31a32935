"""The verifier tells true labels from false ones, on programs that need no framework."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ZOO = Path(__file__).resolve().parents[2] / "zoo"

SCRIPTS = {
    "dice": "import random\nprint(random.random())\n",
    "fixed": "print('always the same')\n",
    "listing": "import os\nprint(os.listdir('.'))\n",
    "hashing": "print(list({'a', 'b', 'c', 'd', 'e', 'f'}))\n",
    "growing": "n = len(open('log').read())\nopen('log', 'a').write('x')\nprint(n)\n",
    "two": "import random\nprint(random.random())\n",
}
ENTRIES = {
    "dice": ("guilty", "diverges", "", [("random.random()", "0.5")]),
    "fixed": ("innocent", "repeats", "", []),
    "listing": ("guilty", "diverges", "fileorder", [("os.listdir('.')", "sorted(os.listdir('.'))")]),
    "hashing": ("guilty", "diverges", "hashseed", [("list({", "sorted({")]),
    "growing": ("guilty", "diverges", "", [("write('x')", "write('')")]),
}


def entry(name: str, group: str, verdict: str, vary: str, fixes: list[tuple[str, str]]) -> str:
    lines = ["[[program]]", f'name = "{name}"', f'root = "programs/{name}"', f'run = ["{name}.py"]']
    lines += [f'group = "{group}"', f'verdict = "{verdict}"']
    if vary:
        lines.append(f'vary = ["{vary}"]')
    for old, new in fixes:
        lines += ["[[program.cause]]", 'codes = ["TW101"]', "lines = []"]
        lines.append(f'fix = [["{name}.py", "{old}", "{new}"]]')
    return "\n".join(lines) + "\n"


def verify(folder: Path, entries: dict[str, tuple[str, str, str, list[tuple[str, str]]]]) -> tuple[int, str]:
    for name in entries:
        programs = folder / "programs" / name
        programs.mkdir(parents=True)
        (programs / f"{name}.py").write_text(SCRIPTS[name], encoding="utf-8")
        for extra in ("log", "b", "c", "d", "e", "f", "g", "h"):
            (programs / extra).write_text("", encoding="utf-8")
    manifest = folder / "manifest.toml"
    manifest.write_text("\n".join(entry(name, *label) for name, label in entries.items()), encoding="utf-8")
    command = [sys.executable, str(ZOO / "verify.py"), "--manifest", str(manifest)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_true_labels_hold(tmp_path: Path) -> None:
    code, text = verify(tmp_path, ENTRIES)
    assert code == 0, text
    assert "5 of 5 labels hold" in text
    assert "dice                         as written: 4 distinct in 4" in text


def test_a_guilty_program_called_innocent_is_found_out(tmp_path: Path) -> None:
    code, text = verify(tmp_path, {"dice": ("innocent", "repeats", "", [])})
    assert code == 1 and "WRONG dice" in text


def test_a_fix_that_does_not_remove_the_cause_is_found_out(tmp_path: Path) -> None:
    code, text = verify(
        tmp_path, {"dice": ("guilty", "diverges", "", [("random.random()", "2 * random.random()")])}
    )
    assert code == 1 and "fixed: 4 distinct in 4" in text


def test_a_second_cause_that_does_nothing_is_found_out(tmp_path: Path) -> None:
    fixes = [("random.random()", "0.5"), ("import random", "import random  # nothing")]
    code, text = verify(tmp_path, {"two": ("guilty", "diverges", "", fixes)})
    assert code == 1 and "only cause 2 left: 1 distinct in 4" in text
