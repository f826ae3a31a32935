"""Results, baselines, locks, environments and fingerprints that somebody else wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from asked import asked, refused, refused_cheaply
from fuzzing import ENVIRONMENT, FORMATS_OF_REPORTS, fingerprint_document, record, result_document
from support import twinrun
from twinrun.baselines.baseline import as_text, baseline_of
from twinrun.baselines.kept_run import from_recording
from twinrun.baselines.store import file_of
from twinrun.environment.lock import lock_of


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"{")
        file.truncate(2 << 30)


FILES: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
    "of two gigabytes": sparse,
    "deep": lambda path: path.write_bytes(b"[" * 1000 + b"]" * 1000),
    "deep inside": lambda path: path.write_bytes(b'{"schema": "twinrun/check/1", "a": ' + b'{"b":' * 900 + b"1" + b"}" * 901),
    "half a character": lambda path: path.write_bytes(b'{"schema": "twinrun/check/1", "program": "\\ud800"}'),
    "half a key": lambda path: path.write_bytes(b'{"schema": "twinrun/check/1", "\\ud800": "x"}'),
    "half a name": lambda path: path.write_bytes(b'{"schema": "twinrun/\\ud800"}'),
    "a long name": lambda path: path.write_bytes(b'{"schema": "twinrun/' + b"x" * 1_000_000 + b'"}'),
    "a long number": lambda path: path.write_bytes(b'{"schema": ' + b"9" * 10_000 + b"}"),
    "zeros": lambda path: path.write_bytes(bytes(1000)),
    "not text": lambda path: path.write_bytes(b"\xff\xfe\xfa"),
    "not there": lambda path: None,
}  # fmt: skip


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_a_file_that_is_no_document_is_refused_by_every_verb_that_reads_one(
    make: Callable[[Path], object], tmp_path: Path
) -> None:
    file = tmp_path / "file.json"
    make(file)
    refused("report", file)
    refused("env", "show", file) if not file.is_dir() else None
    refused("env", "check", file)
    refused("env", "lock", "--from", file, "-o", "-")
    refused("fingerprint", file, file)
    refused("check", "--resume-diagnosis", file, "nowhere.py")


def test_a_large_document_costs_little(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    sparse(file)
    assert "more than 16,777,216 bytes" in refused_cheaply("report", file)
    file.write_bytes(b'{"schema": "twinrun/check/1", "controls": {"a": [' + b'{"":0},' * 490_000 + b"0]}}")
    refused_cheaply("report", file)


def test_a_result_without_end_is_not_read_from_stdin_either(tmp_path: Path) -> None:
    answer = twinrun("report", "-", stdin="[" * 20_000_000)
    assert answer.code == 2 and "more than 16,777,216 bytes" in answer.message
    answer = twinrun("report", "-", stdin=json.dumps(result_document()))
    assert answer.code == 0 and answer.out.startswith("diverges")


def test_numbers_that_are_too_large_for_others_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    document = result_document()
    document["growth"] = [
        {"step": 10**38, "max_ulp": 10**38, "max_abs": 1e308},
        {"step": 1, "max_abs": 5e-324},
    ]
    document["first_difference"] |= {
        "step": 10**38,
        "span": -(10**38),
        "max_ulp": 10**38,
        "size": 0,
        "differing": 1e308,
    }
    document["timing"] = {"seconds": 1e308}
    document["experiments"][0]["seconds"] = -1e308
    file.write_text(json.dumps(document))
    for output_format in FORMATS_OF_REPORTS:
        answer = asked("report", file, "--output-format", output_format)
        assert answer.code == 0, answer.err


def test_a_name_that_is_no_text_for_a_file_is_shown_in_every_format(tmp_path: Path) -> None:
    """Half a character cannot be written; a report of it can."""
    file = tmp_path / "result.json"
    text = json.dumps(result_document()).replace("train.py", "\\ud800\\u0000")
    file.write_text(text)
    for output_format in FORMATS_OF_REPORTS:
        out = tmp_path / output_format
        assert asked("report", file, "--output-format", output_format, "--output-file", out).code == 0
        assert asked("report", file, "--output-format", output_format).code == 0
        assert out.read_text()


@pytest.mark.parametrize(
    "command",
    ["twinrun check 'x", "", "twinrun check --no-such", "twinrun check \0 \ud800", "\x1b[31m a b nowhere.py"],
)
def test_a_command_that_is_none_is_not_resumed(tmp_path: Path, command: str) -> None:
    document = result_document()
    document["diagnosis"]["command"] = command
    file = tmp_path / "result.json"
    file.write_text(json.dumps(document))
    answer = asked("check", "--resume-diagnosis", file)
    assert answer.code == 2 and answer.out == "" and "\x1b" not in answer.err


@pytest.fixture
def store(tmp_path: Path) -> Path:
    run = from_recording(record(tmp_path / "recording"))
    file = tmp_path / "store" / "kept" / file_of(ENVIRONMENT.key)
    file.parent.mkdir(parents=True)
    file.write_text(as_text(baseline_of("kept", "bitwise", run, "2026-01-01T00:00:00Z")))
    return file


@pytest.mark.parametrize("make", list(FILES.values())[:-1], ids=list(FILES)[:-1])
def test_a_baseline_that_is_none_is_named_and_passes_nothing(
    make: Callable[[Path], object], store: Path, tmp_path: Path
) -> None:
    root, recording = tmp_path / "store", tmp_path / "recording"
    check = ("baseline", "check", "--store", root, "--name", "kept", "--recording", recording)
    assert asked(*check).code == 0
    store.unlink()
    make(store)
    answer = asked("baseline", "list", "--store", root)
    assert answer.code == 2 and (answer.out.startswith("kept  DAMAGED") or answer.err.startswith("error: "))
    refused(*check)


@pytest.mark.parametrize("name", ["lock", "environment", "fingerprint"])
def test_documents_with_control_characters_everywhere_are_shown_without_them(
    name: str, tmp_path: Path
) -> None:
    documents = {
        "lock": json.loads(lock_of(ENVIRONMENT).text()),
        "environment": ENVIRONMENT.as_json(),
        "fingerprint": fingerprint_document(),
    }
    spoiled = _spoiled(documents[name])
    spoiled |= {key: documents[name][key] for key in ("schema",) if key in documents[name]}
    file = tmp_path / "file.json"
    file.write_text(json.dumps(spoiled))
    for words in (
        ("env", "show", "--all", file),
        ("env", "diff", "--all", file, file),
        ("env", "lock", "--from", file, "-o", "-"),
        ("env", "lock", "--from", file, "-o", "-", "--format", "requirements"),
        ("fingerprint", "--all", file, file),
    ):
        answer = asked(*words)
        assert "Traceback" not in answer.err and not set("\x1b\x07\x9b\u202e") & set(answer.out + answer.err)


def _spoiled(value: object) -> object:
    nasty = "\x1b]0;x\x07\x9b2J\u202e\n"
    if isinstance(value, dict):
        return {
            f"{key}{nasty}" if key in ("numpy", "x.csv", "device") else key: _spoiled(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_spoiled(inner) for inner in value]
    return f"{value}{nasty}" if isinstance(value, str) else value
