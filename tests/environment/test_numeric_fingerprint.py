"""The numeric fingerprint: the same machine agrees with itself, and machines that are played disagree where
they should."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from twinrun.cli.fingerprint import fingerprint as verb
from twinrun.environment.difference import BITS, differences
from twinrun.environment.numeric_fingerprint import (
    Fingerprint,
    Probe,
    agreement,
    compare,
    from_json,
    read_fingerprint,
    sample_of,
)
from twinrun.environment.probing import take
from twinrun.errors import BadRecording

# Machines to play: the weaker instruction set and the library switched off are what another machine would have. Left
# alone, the processor decides whether the library is used: so those two are compared with one that must use it.
LIBRARY = {"TF_ENABLE_ONEDNN_OPTS": "1"}
MACHINES = {
    "here": {},
    "again": {},
    "library": LIBRARY,
    "weaker": {**LIBRARY, "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "plain": {"TF_ENABLE_ONEDNN_OPTS": "0"},
}
AGAINST = {"weaker": "library", "plain": "library", "one thread": "here"}


class Taken(dict[str, Fingerprint]):
    """Each when it is first asked for: it takes some seconds."""

    def __missing__(self, name: str) -> Fingerprint:
        threads = [1] if name == "one thread" else [2]
        self[name] = take(threads, environment={**os.environ, **MACHINES.get(name, {})})
        return self[name]


@pytest.fixture(scope="module")
def taken() -> dict[str, Fingerprint]:
    return Taken()


def by_name(found: list) -> dict[str, object]:
    return {each.probe: each for each in found}


def test_a_machine_agrees_with_itself_in_every_bit(taken: dict[str, Fingerprint]) -> None:
    here, again = taken["here"], taken["again"]
    assert here.digest == again.digest
    assert all(each.same for each in compare(here, again))
    assert all(probe.error is None and probe.repeats for probe in here.probes)


def test_the_probes_cover_what_training_is_made_of(taken: dict[str, Fingerprint]) -> None:
    groups = set(taken["here"].groups())
    assert groups >= {"matmul", "convolution", "convolution gradient", "reduction", "function", "softmax"}
    assert groups >= {"random stream", "training step", "NumPy"}


@pytest.mark.parametrize(
    "other", [pytest.param(name, marks=() if name == "one thread" else pytest.mark.slow) for name in AGAINST]
)
def test_a_played_machine_differs_in_some_operations_and_not_in_all(
    taken: dict[str, Fingerprint], other: str
) -> None:
    found = compare(taken[AGAINST[other]], taken[other])
    apart = [each for each in found if not each.same]
    assert 0 < len(apart) < len(found) / 2
    assert any(each.max_ulp for each in apart)
    found_by_name = by_name(found)
    assert found_by_name["convolutional network"].same is False
    # What does not depend on threads, instruction set or oneDNN must not be called different.
    for name in ("inputs", "Python", "NumPy matmul", "stateless uniform", "exp", "reduce_sum rows"):
        assert found_by_name[name].same, name


@pytest.mark.slow
def test_fingerprints_differ_where_the_keys_do(taken: dict[str, Fingerprint]) -> None:
    for other, code in (("weaker", "TW503"), ("plain", "TW504"), ("one thread", "TW505")):
        found = differences(taken[AGAINST[other]].environment, taken[other].environment)
        assert [each.code for each in found if each.group == BITS] == [code]


@pytest.mark.slow
def test_a_probe_that_takes_its_process_down_is_named_and_the_rest_are_run(
    taken: dict[str, Fingerprint],
) -> None:
    """On this CPU oneDNN aborts on bfloat16 under the cap; where it does not, all probes simply run."""
    weaker = taken["weaker"]
    assert [probe.name for probe in weaker.probes] == [probe.name for probe in taken["here"].probes]
    failed = [probe for probe in weaker.probes if probe.error]
    assert all(probe.name == "matmul bfloat16" for probe in failed)


def test_the_command_writes_and_compares_files(taken: dict[str, Fingerprint], tmp_path: Path) -> None:
    paths = {}
    for name in ("here", "again", "one thread"):
        paths[name] = tmp_path / f"{name}.json"
        paths[name].write_text(json.dumps(taken[name].as_json()))
        assert read_fingerprint(paths[name]) == taken[name]
    run = CliRunner().invoke
    same = run(verb, [str(paths["here"]), str(paths["again"])])
    assert same.exit_code == 0
    assert "are bit-identical: a bitwise baseline can be expected to hold" in same.stdout
    other = run(verb, [str(paths["here"]), str(paths["one thread"]), "--output-format", "json"])
    assert other.exit_code == 1
    document = json.loads(other.stdout)
    assert document["schema"] == "twinrun/fingerprint-diff/1"
    assert document["same"] is False
    in_text = run(verb, [str(paths["here"]), str(paths["one thread"])]).stdout
    assert "ULPs apart" in in_text
    assert "do not expect a bitwise baseline to hold" in in_text


def test_a_damaged_or_changed_file_is_named(taken: dict[str, Fingerprint], tmp_path: Path) -> None:
    whole = taken["here"].as_json()
    edited = copy.deepcopy(whole)
    edited["probes"][3]["digest"] = "0" * 16
    with pytest.raises(BadRecording, match="was changed"):
        from_json(edited)
    broken = copy.deepcopy(whole)
    broken["probes"][0]["values"] = "not base64!"
    with pytest.raises(BadRecording, match="damaged"):
        from_json(broken)
    path = tmp_path / "f.json"
    path.write_text(json.dumps(whole)[:5000])
    with pytest.raises(BadRecording, match="not a fingerprint"):
        read_fingerprint(path)


def _probe(values: np.ndarray, digest: str) -> Probe:
    import base64

    data = base64.b64encode(sample_of(values).tobytes()).decode()
    return Probe("p", "g", dtype=str(values.dtype), shape=values.shape, digest=digest, values=data)


def test_distances_are_counted_in_ulps_of_the_kept_values() -> None:
    values = np.linspace(1, 2, 100, dtype=np.float32)
    moved = values.copy()
    moved[7] = np.nextafter(np.nextafter(moved[7], np.float32(9)), np.float32(9))
    found = agreement(_probe(values, "a"), _probe(moved, "b"))
    assert (found.same, found.max_ulp, found.differing) == (False, 2, 0.01)


def test_other_shapes_and_probes_of_one_side_alone_are_not_comparable() -> None:
    a, b = _probe(np.zeros(3, np.float32), "a"), _probe(np.zeros(4, np.float32), "a")
    assert agreement(a, b).reason == "float32[3] against float32[4]"
    from twinrun.environment.environment import Environment, EnvironmentKey

    nowhere = Environment({}, EnvironmentKey())
    one = Fingerprint(nowhere, (a, Probe("q", "g", dtype="float32", digest="z")))
    assert [each.reason for each in compare(one, Fingerprint(nowhere, (a,)))] == [
        None,
        "only the first side ran it",
    ]


@pytest.mark.parametrize("option", ["-o", "--output-file", "--output"])
def test_the_result_goes_to_the_file_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    from twinrun.environment import probing
    from twinrun.environment.environment import Environment, EnvironmentKey

    one = Fingerprint(Environment({}, EnvironmentKey()), (_probe(np.zeros(3, np.float32), "a"),))
    monkeypatch.setattr(probing, "take", lambda *_, **__: one)
    run, here, answer = CliRunner().invoke, str(tmp_path / "here.json"), tmp_path / "answer"
    kept = run(verb, [option, here])
    assert (kept.exit_code, kept.stdout) == (0, "") and f"wrote {here}\n" in kept.stderr
    assert read_fingerprint(Path(here)) == one
    for files in ([here, here], [here]):
        compared = run(verb, [*files, option, str(answer)])
        assert (compared.exit_code, compared.stdout) == (0, "") and f"wrote {answer}\n" in compared.stderr
        assert "1 operation is bit-identical" in answer.read_text()
        answer.unlink()


@pytest.mark.parametrize("threads", ["0", "two", "-1", "1,,x"])
def test_thread_counts_that_make_no_sense_are_refused(threads: str) -> None:
    from twinrun.errors import UsageError

    result = CliRunner().invoke(verb, ["--threads", threads])
    assert isinstance(result.exception, UsageError)
