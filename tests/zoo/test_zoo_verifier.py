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
    "hidden": "import os\nprint('loss 0.5')\nopen('out.csv', 'w').write(str(os.urandom(4)))\n",
    "shaky": "import os\nprint('loss', os.urandom(4))\nopen('out.csv', 'w').write(str(os.urandom(4)))\n",
    "clocked": "import time\nprint('took', time.time_ns(), 's')\nprint('loss 0.5')\n",
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


def verify(
    folder: Path, entries: dict[str, tuple[str, str, str, list[tuple[str, str]]]], more: str = ""
) -> tuple[int, str]:
    for name in entries:
        programs = folder / "programs" / name
        programs.mkdir(parents=True)
        (programs / f"{name}.py").write_text(SCRIPTS[name], encoding="utf-8")
        for extra in ("log", "b", "c", "d", "e", "f", "g", "h"):
            (programs / extra).write_text("", encoding="utf-8")
    manifest = folder / "manifest.toml"
    manifest.write_text(
        "\n".join(entry(name, *label) for name, label in entries.items()) + more, encoding="utf-8"
    )
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


HIDDEN = 'delivers = ["out.csv"]\nsteady = "^loss"\n'


def test_a_hidden_program_differs_in_a_file_while_what_it_prints_stays_equal(tmp_path: Path) -> None:
    code, text = verify(tmp_path, {"hidden": ("hidden", "diverges", "", [])}, HIDDEN)
    assert code == 0 and "as written: 4 distinct in 4" in text


def test_a_program_whose_training_differs_is_not_hidden(tmp_path: Path) -> None:
    code, text = verify(tmp_path, {"shaky": ("hidden", "diverges", "", [])}, HIDDEN)
    assert code == 1 and "what must stay equal did not" in text


def test_a_file_that_is_not_written_is_reported(tmp_path: Path) -> None:
    code, text = verify(tmp_path, {"fixed": ("innocent", "repeats", "", [])}, 'delivers = ["*.csv"]\n')
    assert code == 1 and "no *.csv was written" in text


def test_lines_that_only_show_the_clock_are_set_apart(tmp_path: Path) -> None:
    label = {"clocked": ("innocent", "repeats", "", [])}
    assert verify(tmp_path / "plain", label, 'delivers = ["stdout"]\n')[0] == 1
    assert verify(tmp_path / "apart", label, 'delivers = ["stdout"]\nshowy = "^took"\n')[0] == 0
