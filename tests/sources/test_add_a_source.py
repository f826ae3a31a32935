"""A source that lives outside the package, as docs/how-to/add-a-source.md describes it: logged, pinned, varied, frozen,
suspected, confirmed and explained with nothing in Twinrun that knows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pages import blocks, install
from support import check, twinrun, write

PAGE = blocks("add-a-source.md")
PROGRAM = PAGE.pop("train.py")
LINE = 5  # of the roll


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str | None]:
    return {"PYTHONPATH": str(install(PAGE, tmp_path))}


def diagnosed(program: Path, env: Any, *options: str) -> dict[str, Any]:
    found = twinrun("check", "--output-format", "json", *options, program, env=env).document
    assert found["verdict"] == "diverges", found
    return found


def test_it_is_logged_suspected_and_confirmed(tmp_path: Path, env: Any) -> None:
    (finding,) = diagnosed(write(tmp_path, PROGRAM), env)["findings"]
    assert (finding["code"], finding["name"]) == ("DX101", "unseeded-dice")
    assert (Path(finding["file"]).name, finding["line"], finding["confirmed"]) == ("train.py", LINE, True)
    assert "with dicebox.roll frozen there the twins repeat" in finding["evidence"][-1]
    assert finding["fix"] == "call dicebox.seed(42) first"


def test_its_experiment_can_be_repeated_by_hand(tmp_path: Path, env: Any) -> None:
    found = check(
        write(tmp_path, PROGRAM), "--freeze", f"dice:train.py:{LINE}", env=env, cwd=tmp_path
    ).document
    assert found["verdict"] == "repeats", found


def test_it_is_pinned_and_read_back(tmp_path: Path, env: Any) -> None:
    program = write(tmp_path, PROGRAM)
    assert check(program, "--pin", env=env).document["verdict"] == "repeats"
    controls = twinrun("doctor", "--output-format", "json", "--pin", program, env=env).document["controls"]
    assert controls["dice-seed"]["set_by"] == "twinrun" and controls["dice-seed"]["ok"], controls["dice-seed"]


def test_it_is_varied_and_the_line_that_it_reaches_is_named(tmp_path: Path, env: Any) -> None:
    findings = diagnosed(write(tmp_path, PROGRAM), env, "--pin", "--vary", "dice")["findings"]
    assert [(finding["code"], finding["line"], finding["confirmed"]) for finding in findings] == [
        ("DX102", LINE, True)
    ]


def test_its_codes_are_explained(env: Any) -> None:
    found = twinrun("explain", "DX101", env=env)
    assert found.code == 0 and "dicebox.roll is used without a seed" in found.out, found
    assert "DX102" in twinrun("explain", env=env).out


def test_its_points_are_in_the_patch_table(tmp_path: Path, env: Any) -> None:
    rows = twinrun("doctor", "--patches", "--output-format", "json", env=env).document["patches"]
    assert [row["status"] for row in rows if row["owner"] == "dice"] == ["waiting", "waiting"]


def test_without_one_that_is_broken_nothing_is_claimed(tmp_path: Path) -> None:
    broken = {**PAGE, "twinrun_dicebox/__init__.py": "import nothing_of_this_name"}
    found = check(write(tmp_path, PROGRAM), env={"PYTHONPATH": str(install(broken, tmp_path))}).document
    assert found["verdict"] == "undecided", found
    assert "'dice' of twinrun.sources cannot be loaded" in found["reason"]
    assert "repair or uninstall the package that brings it" in found["notes"]
