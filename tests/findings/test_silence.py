"""Silencing a finding in the source: by code, in one line, with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinrun.findings.catalogue import all_entries, finding
from twinrun.findings.silence import sift, silence


def silenced(code: str, line: str) -> str | None:
    """The reason for which this line silences this code."""
    found = silence(line)
    return found.reason if found is not None and found.names(code) else None


def ignored_without_reason(code: str, line: str) -> bool:
    found = silence(line)
    return found is not None and found.names(code) and found.reason is None


LINE = "files = os.listdir(d)  # twinrun: ignore[TW302] only counted"


def test_a_comment_with_a_reason_silences_its_code() -> None:
    assert silenced("TW302", LINE) == "only counted"
    assert silenced("file-order", LINE) == "only counted"


def test_a_comment_silences_no_other_code() -> None:
    assert silenced("TW301", LINE) is None
    assert not ignored_without_reason("TW301", LINE)


def test_a_comment_without_a_reason_silences_nothing() -> None:
    line = "files = os.listdir(d)  # twinrun: ignore[TW302]"
    assert silenced("TW302", line) is None
    assert ignored_without_reason("TW302", line)


def test_several_codes_and_names_can_be_silenced_at_once() -> None:
    found = silence("x = f()  # twinrun: ignore[tw302, hash-order]: sorted below")
    assert found is not None
    assert (found.codes, found.reason, found.unknown) == (("TW302", "TW301"), "sorted below", ())


def test_words_that_are_not_codes_are_kept_apart() -> None:
    found = silence("x = f()  # twinrun: ignore[TW999] because")
    assert found is not None
    assert (found.codes, found.unknown) == ((), ("TW999",))


@pytest.mark.parametrize(
    "line", ["x = '# twinrun: ignore[TW302] no comment'", "x = 1  # a comment", "x = 1", ""]
)
def test_text_in_a_string_and_other_comments_silence_nothing(line: str) -> None:
    assert silence(line) is None


def test_the_end_of_a_long_string_can_carry_the_comment() -> None:
    assert silenced("TW302", 'end of the text""", d)  # twinrun: ignore[TW302] fine') == "fine"


@given(
    st.sampled_from(all_entries()),
    st.text(alphabet="abcdefgh xyz.,()", min_size=1).filter(lambda t: t.strip(" ,")),
)
def test_any_code_and_any_reason_are_read_back(entry, reason: str) -> None:  # type: ignore[no-untyped-def]
    read = silenced(entry.code, f"run()  # twinrun: ignore[{entry.code}] {reason}")
    assert read is not None
    assert read == reason.strip(" \t-:,;")


SOURCE = """\
import os

a = os.listdir("a")
b = os.listdir("b")  # twinrun: ignore[TW302] only counted
c = sum(
    1
    for name in os.listdir("c")
)  # twinrun: ignore[TW302] only counted here too
# twinrun: ignore[TW302] the order is restored below
d = os.listdir("d")
e = os.listdir("e")  # twinrun: ignore[TW302]
for name in os.listdir("f"):  # twinrun: ignore[TW302] each file on its own
    g = os.listdir(name)
"""


def test_sifting_takes_out_what_the_source_silences_and_keeps_the_rest() -> None:
    lines = [3, 4, 7, 10, 11, 12, 13]
    findings = [finding("TW302", "unsorted", file="train.py", line=line) for line in lines]
    sifted = sift(findings, {"train.py": SOURCE}.get)
    assert [kept.line for kept in sifted.kept] == [3, 11, 13]
    assert [(each.line, reason) for each, reason in sifted.silenced] == [
        (4, "only counted"),
        (7, "only counted here too"),
        (10, "the order is restored below"),
        (12, "each file on its own"),
    ]


def test_a_silence_without_a_reason_is_noted_in_the_finding() -> None:
    kept = sift([finding("TW302", "unsorted", file="train.py", line=11)], {"train.py": SOURCE}.get).kept
    assert kept[0].evidence == ("ignore[TW302] has no reason here, so it is ignored",)


def test_findings_without_a_readable_place_are_kept() -> None:
    findings = [finding("TW302", "unsorted"), finding("TW302", "unsorted", file="gone.py", line=3)]
    assert sift(findings, lambda file: None).kept == tuple(findings)


def test_a_file_that_does_not_parse_is_still_silenced_line_by_line() -> None:
    broken = "def (:\nx = os.listdir(d)  # twinrun: ignore[TW302] fine\n"
    sifted = sift([finding("TW302", "unsorted", file="a.py", line=2)], lambda file: broken)
    assert [reason for _, reason in sifted.silenced] == ["fine"]
