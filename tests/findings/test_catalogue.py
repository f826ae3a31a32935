"""The catalogue: its codes, how they are looked up, and the findings made from them."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from twinrun.cli.explain import explain
from twinrun.errors import TwinrunError
from twinrun.findings import catalogue
from twinrun.findings.catalogue import FAMILIES, Entry, all_entries, finding, lookup, page, register

ROOT = Path(__file__).parent.parent.parent
# Codes never change once they are out: a name that disappears from here is a broken promise.
RELEASED = {
    "TW101": "unseeded-python-random",
    "TW102": "unseeded-numpy",
    "TW103": "unseeded-generator",
    "TW104": "unseeded-tensorflow",
    "TW105": "unseeded-keras",
    "TW106": "seeded-too-late",
    "TW107": "repeated-stream",
    "TW108": "os-entropy",
    "TW201": "unseeded-shuffle",
    "TW202": "completion-order",
    "TW203": "random-op-in-parallel-map",
    "TW204": "host-random-in-map",
    "TW205": "loader-workers",
    "TW207": "order-not-restored",
    "TW301": "hash-order",
    "TW302": "file-order",
    "TW303": "clock",
    "TW304": "input-changed",
    "TW401": "nondeterministic-op",
    "TW402": "thread-count",
    "TW403": "thread-race",
    "TW404": "kernel-choice",
    "TW405": "compiler",
    "TW406": "no-deterministic-kernel",
    "TW407": "device",
    "TW501": "package-version",
    "TW502": "accelerator-stack",
    "TW503": "hardware",
    "TW504": "numeric-flags",
    "TW505": "thread-settings",
    "TW506": "code-or-data",
    "TW507": "process-settings",
    "TW601": "worker-count",
    "TW602": "sharding",
    "TW603": "reduction-order",
    "TW604": "replica-drift",
    "TW701": "state-not-restored",
}


def test_every_released_code_keeps_its_name() -> None:
    names = {entry.code: entry.name for entry in all_entries()}
    assert {code: names.get(code) for code in RELEASED} == RELEASED


def test_codes_and_names_are_unique_and_in_order() -> None:
    codes = [entry.code for entry in all_entries()]
    assert codes == sorted(set(codes))
    assert len({entry.name for entry in all_entries()}) == len(codes)


def test_every_entry_belongs_to_a_family_and_says_what_it_is_and_what_to_do() -> None:
    for entry in all_entries():
        assert entry.family == FAMILIES[entry.code[:3]]
        assert re.fullmatch(r"TW\d\d\d", entry.code)
        assert entry.summary.endswith(".") and entry.advice and not entry.advice.endswith(".")


@pytest.mark.parametrize(
    "spelling", ["TW203", "tw203", " tw203 ", "random-op-in-parallel-map", "Random_Op_In_Parallel_Map"]
)
def test_a_code_is_found_by_code_or_name_in_any_case(spelling: str) -> None:
    assert lookup(spelling).code == "TW203"


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("TW23", "TW203"),
        ("TW206", "TW205"),
        ("unseeded-suffle", "TW201"),
        ("clok", "TW303"),
        ("shuffle", "TW201"),
    ],
)
def test_an_unknown_code_is_refused_with_the_nearest_ones(wanted: str, near: str) -> None:
    with pytest.raises(TwinrunError) as caught:
        lookup(wanted)
    assert wanted in caught.value.message
    assert near in (caught.value.hint or "")


@pytest.mark.parametrize("wanted", ["zzzzzz", "TW999", ""])
def test_an_unknown_code_that_is_near_to_none_gets_the_listing_as_a_hint(wanted: str) -> None:
    with pytest.raises(TwinrunError) as caught:
        lookup(wanted)
    assert caught.value.hint == "`twinrun explain` lists every code"


def test_a_finding_takes_its_name_from_the_catalogue() -> None:
    made = finding(
        "tw302", "listed unsorted", file="train.py", line=3, confirmed=True, evidence=["seen"], fix="sort"
    )
    assert (made.code, made.name, made.evidence, made.place) == (
        "TW302",
        "file-order",
        ("seen",),
        "train.py:3",
    )
    assert made.confirmed and made.fix == "sort"


def test_a_finding_cannot_be_made_with_a_code_that_does_not_exist() -> None:
    with pytest.raises(TwinrunError):
        finding("TW999", "no such thing")


@pytest.mark.parametrize("entry", all_entries(), ids=lambda entry: entry.code)
def test_every_code_has_a_page_with_what_why_example_and_instead(entry: Entry) -> None:
    text = page(entry.code)
    assert text.startswith(f"# {entry.name} ({entry.code})\n")
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert sections == ["What it is", "Why it breaks repeatability", "Example", "Instead"]
    assert "```python" in text.split("## Example")[1].split("## Instead")[0]
    for linked in re.findall(r"\]\((\w+)\.md\)", text):
        assert lookup(linked)


def test_a_code_is_marked_as_not_emitted_exactly_when_nothing_in_the_source_emits_it() -> None:
    sources = set((ROOT / "src/twinrun").rglob("*.py")) - set((ROOT / "src/twinrun/findings").rglob("*.py"))
    texts = {
        node.value
        for path in sources
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    for entry in all_entries():
        assert entry.emitted is (entry.code in texts), entry.code
        assert ("This code is not emitted yet." in page(entry.code)) is not entry.emitted
        assert entry.listed_summary.endswith("(not emitted yet)") is not entry.emitted


@pytest.fixture
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(catalogue, "_registered", {})
    families = set(FAMILIES)
    yield
    for added in set(FAMILIES) - families:
        del FAMILIES[added]


OTHER = Entry("XY101", "cosmic-ray", "A cosmic ray flipped a bit.", "use memory with error correction")


@pytest.mark.usefixtures("empty_registry")
def test_another_package_can_register_a_code_of_its_own() -> None:
    register(OTHER)
    register(OTHER)
    assert lookup("xy101") is lookup("cosmic-ray") is OTHER
    assert all_entries()[-1] is OTHER
    assert OTHER.family == "from other packages"
    assert finding("XY101", "a bit flipped").name == "cosmic-ray"
    assert page("XY101") == (
        "# cosmic-ray (XY101)\n\nA cosmic ray flipped a bit.\n\nuse memory with error correction\n"
    )
    with pytest.raises(TwinrunError) as caught:
        lookup("cosmic")
    assert "XY101" in (caught.value.hint or "")


@pytest.mark.usefixtures("empty_registry")
def test_a_registered_code_may_bring_its_page_and_is_explained_with_it() -> None:
    register(replace(OTHER, page="# cosmic-ray (XY101)\n\nRare.\n"))
    done = CliRunner().invoke(explain, ["cosmic-ray"])
    assert (done.exit_code, done.output) == (0, "# cosmic-ray (XY101)\n\nRare.\n")
    assert "  XY101  cosmic-ray" in CliRunner().invoke(explain, []).output


@pytest.mark.usefixtures("empty_registry")
@pytest.mark.parametrize(
    ("code", "name", "why"),
    [
        (
            "TW101",
            "cosmic-ray",
            "TW101 is already registered as unseeded-python-random: codes are never reused",
        ),
        ("TW101", "unseeded-python-random", "codes are never reused"),
        ("XY101", "solar-wind", "XY101 is already registered as cosmic-ray"),
        ("XY102", "cosmic-ray", "the name cosmic-ray already belongs to XY101"),
        ("XY102", "hash-order", "the name hash-order already belongs to TW301"),
        ("xy102", "solar-wind", "a code looks like XX101"),
        ("XY102", "Solar wind", "a name like-this"),
    ],
)
def test_a_code_or_name_that_is_taken_or_malformed_cannot_be_registered(
    code: str, name: str, why: str
) -> None:
    register(OTHER)
    with pytest.raises(ValueError, match=why):
        register(replace(OTHER, code=code, name=name))


def test_there_is_no_page_without_a_code() -> None:
    pages = {path.stem for path in (ROOT / "src/twinrun/findings/pages").glob("*.md")}
    assert pages == {entry.code for entry in all_entries()}


def test_the_index_in_the_docs_is_current() -> None:
    index = runpy.run_path(str(ROOT / "tools/write_codes.py"))["index"]
    assert (ROOT / "docs/reference/codes.md").read_text(encoding="utf-8") == index()
