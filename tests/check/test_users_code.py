"""Which files are the user's own code, and which were put there by an installer."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from support import write
from twinrun.launch.check import check_folder, observe_check
from twinrun.launch.options import CheckOptions, Screen
from twinrun.launch.program import Program
from twinrun.twin.callers import is_users

DATA = "tool-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n"
WHEEL = "tool-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def test_what_pip_put_into_a_folder_is_not_the_users_own(tmp_path: Path) -> None:
    wheel = tmp_path / "tool-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in (("tool/__init__.py", ""), ("tool/a, b/deep.py", ""), DATA, WHEEL):
            archive.writestr(name, text)
        archive.writestr("tool-1.0.dist-info/RECORD", "")
    place = tmp_path / "lib"
    words = ["install", "--quiet", "--no-index", "--no-deps", "--target", str(place), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, stdout=subprocess.DEVNULL)
    (place / "mine.py").touch()
    (place / "tool" / "mine.py").touch()
    assert not is_users(str(place / "tool" / "__init__.py"))
    assert not is_users(str(place / "tool" / "a, b" / "deep.py"))
    assert is_users(str(place / "mine.py")) and is_users(str(place / "tool" / "mine.py"))
    # Looking for records is our doing, and no input of the program's.
    program = write(
        place, "import json, twinrun\njson.load(open(__file__[:-8] + 'x.json'))\ntwinrun.probe('x', [1.0])"
    )
    write(place, "{}", "x.json")
    options = CheckOptions(Program(str(program)))
    with check_folder(options) as folder:
        observed = observe_check(options, folder, Screen())
    for facts in observed.facts:
        read = [event.subject for event in facts.events if event.source == "input-files"]
        assert [Path(path).name for path in read] == ["x.json"]


def test_a_project_that_is_installed_to_be_worked_on_is_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "tool-1.0.dist-info").mkdir()
    record = "__editable__.tool-1.0.pth,sha256=x,9\ntool-1.0.dist-info/METADATA,sha256=x,9\n"
    (tmp_path / "tool-1.0.dist-info" / "RECORD").write_text(record)
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "__init__.py").touch()
    assert is_users(str(tmp_path / "tool" / "__init__.py"))
