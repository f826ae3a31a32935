"""The zoo's labels are well formed: whether they are true is shown by zoo/verify.py, which takes an hour."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ZOO = Path(__file__).resolve().parents[2] / "zoo"
sys.path.insert(0, str(ZOO))

from manifest import HELDOUT, OPEN, SUITES, Program, lay_out, load, parse_place  # noqa: E402

PROGRAMS = [*load(OPEN), *load(HELDOUT)]
OF_SUITE = {name: load(path) for name, path in SUITES.items()}
EVERY = [*PROGRAMS, *(program for programs in OF_SUITE.values() for program in programs)]
TELLING = ("planted", "on purpose", "nondeterminis", "unseeded", "reproducib")
CODES_SHOWN_ON_A_CPU = {
    *("TW101", "TW102", "TW103", "TW104", "TW105", "TW106", "TW107", "TW108"),
    *("TW201", "TW202", "TW203", "TW204", "TW205", "TW301", "TW302", "TW303", "TW304"),
    *("TW401", "TW402", "TW403"),
}


def sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def sources_of(program: Program) -> list[Path]:
    return sources(program.root) if program.root.is_dir() else [program.root]


def lies_in_a_statement(source: str, line: int) -> bool:
    return any(
        node.lineno <= line <= (node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt)
    )


def test_there_are_enough_programs_of_every_kind_and_a_third_is_held_out() -> None:
    groups = [p.group for p in PROGRAMS]
    held = [p for p in PROGRAMS if p.heldout]
    assert groups.count("guilty") >= 65
    assert groups.count("innocent") >= 25
    assert 30 <= len(held) <= 0.4 * len(PROGRAMS)
    assert {"guilty", "innocent"} <= {p.group for p in held}


def test_every_code_that_shows_on_a_cpu_has_at_least_two_programs() -> None:
    causes = [cause for p in PROGRAMS for cause in p.causes]
    for code in CODES_SHOWN_ON_A_CPU:
        assert sum(cause.codes[0] == code for cause in causes) >= 2, code


def test_the_suites_are_as_large_as_promised() -> None:
    assert len(OF_SUITE["hide"]) >= 25 and all(p.group == "hidden" for p in OF_SUITE["hide"])
    assert len(OF_SUITE["looks"]) >= 25 and all(p.verdicts == ("repeats",) for p in OF_SUITE["looks"])
    real = OF_SUITE["real"]
    assert sum(p.fixable for p in real) >= 20
    assert all(len(p.causes) >= 3 for p in real)
    imports = {p.name: "".join(f.read_text() for f in sources_of(p)) for p in real}
    assert sum("gymnasium" in text for text in imports.values()) >= 3
    assert sum("compat.v1" in text for text in imports.values()) >= 3


def test_what_a_hidden_program_delivers_and_what_stays_equal_are_given() -> None:
    for program in OF_SUITE["hide"]:
        assert program.delivers and program.steady, program.name
        assert "repeats" not in program.verdicts, program.name


def test_programs_of_the_suites_do_not_give_themselves_away() -> None:
    for programs in OF_SUITE.values():
        for program in programs:
            for path in sources_of(program):
                text = path.read_text(encoding="utf-8").lower()
                assert not [word for word in TELLING if word in text], path


def test_names_are_unique() -> None:
    names = [p.name for p in EVERY]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("program", EVERY, ids=lambda p: p.name)
def test_a_program_is_whole_and_its_label_points_into_it(program: Program, tmp_path: Path) -> None:
    folder = lay_out(program, tmp_path / "program")
    for path in sources(folder):
        text = path.read_text(encoding="utf-8")
        ast.parse(text)
        assert "twinrun" not in text.lower(), "a program of the zoo knows nothing of what checks it"
    assert bool(program.causes) == (program.group in {"guilty", "advisory"})
    for cause in program.causes:
        assert cause.fix, "a cause is proved by what removes it"
        for place in cause.lines:
            name, lines = parse_place(place)
            text = (folder / name).read_text(encoding="utf-8")
            assert all(lies_in_a_statement(text, line) for line in lines), place


@pytest.mark.parametrize("program", [p for p in EVERY if p.causes], ids=lambda p: p.name)
def test_every_fix_applies_and_leaves_valid_python(program: Program, tmp_path: Path) -> None:
    for number in range(len(program.causes)):
        folder = lay_out(program, tmp_path / str(number), fixed=(number,))
        for path in sources(folder):
            ast.parse(path.read_text(encoding="utf-8"))
