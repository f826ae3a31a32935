"""The manifest of a recording is read with suspicion."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinrun.errors import BadRecording
from twinrun.recording.manifest import FILE, SCHEMA, Manifest, Status, checksum, read_manifest


@given(
    st.text(),
    st.lists(st.text(), max_size=3),
    st.sampled_from(["running", "ended", "failed"]),
    st.none() | st.integers(),
)
def test_a_manifest_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    program: str,
    arguments: list[str],
    status: Status,
    code: int | None,
) -> None:
    folder = tmp_path_factory.mktemp("m")
    written = Manifest(
        program, tuple(arguments), status, code, notes=("a note",), controls={"seed": {"state": 1}}
    )
    written.write(folder)
    assert read_manifest(folder) == written
    assert [entry.name for entry in folder.iterdir()] == [FILE]


def test_the_page_on_recordings_names_the_schema_that_is_written() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "recording.md").read_text(encoding="utf-8")
    named = re.findall(r"Schema version: \*\*(\d+)|`schema` \| (\d+) \||those of schema (\d+)\.", page)
    assert [int("".join(each)) for each in named] == [SCHEMA] * 3


def test_a_newer_schema_is_refused_with_the_way_out(tmp_path: Path) -> None:
    Manifest("train.py", schema=SCHEMA + 1).write(tmp_path)
    with pytest.raises(BadRecording, match="newer Twinrun") as caught:
        read_manifest(tmp_path)
    assert "upgrade" in str(caught.value.hint)


def test_fields_of_later_versions_of_the_same_schema_are_passed_over(tmp_path: Path) -> None:
    Manifest("train.py").write(tmp_path)
    document = json.loads((tmp_path / FILE).read_text()) | {"added later": 1}
    (tmp_path / FILE).write_text(json.dumps(document | {"checksum": checksum(document)}))
    assert read_manifest(tmp_path).program == "train.py"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"{}", b'{"schema": "1"}', b'{"schema": true}', b'{"schema": 1}', b"\xff\xfe", b"\0" * 50,
        b'{"schema": 0, "program": "x"}',
        b'{"schema": 1, "program": 5}',
        b'{"schema": 1, "program": "x", "environment": []}',
        b'{"schema": 1, "program": "x", "controls": "y"}',
        b'{"schema": 1, "program": "x", "arguments": 7}',
        b'{"schema": 1, "program": "x", "notes": null}',
        b'{"schema": 1, "program": "x", "status": ["ended"]}',
        b'{"schema": 1, "program": "x", "exit_code": "0"}',
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_manifest_that_makes_no_sense_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(BadRecording):
        read_manifest(tmp_path)


def test_a_folder_without_one_is_no_recording(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(BadRecording, match="not a recording"):
            read_manifest(place)
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadRecording):
        read_manifest(tmp_path / "file")
