"""The pages tell the truth: their examples fail to repeat as they say, and what they recommend repeats."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from twinrun.findings.catalogue import all_entries, page

# The example prints something else in every run; what to write instead prints the same.
DIFFERS = ["TW101", "TW102", "TW103", "TW104", "TW105", "TW106", "TW108", "TW201", "TW303"]
# The same, by a race or by few possible outputs: equal ones happen, so the example gets so many runs that not all are.
RACES = ["TW202", "TW203", "TW204", "TW205", "TW401", "TW403", "TW602"]
# Both print a sentence that says what the page says.
SAYS = {
    "TW207": ("second epoch as it would have been: False", "second epoch as it would have been: True"),
    "TW405": (r"elements that differ: [1-9]\d*", "elements that differ: 0"),
    "TW604": ("replicas equal: False", "replicas equal: True"),
    "TW701": ("resumed equals uninterrupted: False", "resumed equals uninterrupted: True"),
}
# Examples that must fail: a file that is not there, an op that refuses.
FAILS = {("TW304", "Example"), ("TW304", "Instead"), ("TW406", "Example")}


def fragment(code: str, section: str) -> str | None:
    text = re.search(rf"^## {section}$(.*?)(?=^## |\Z)", page(code), re.MULTILINE | re.DOTALL)
    assert text is not None
    block = re.search(r"```python\n(.*?)```", text[1], re.DOTALL)
    return block and block[1]


def runs_of(code: str, section: str) -> int:
    if code in RACES and section == "Example":
        return 7
    return 2 if code in (*DIFFERS, *RACES) or section == "Instead" else 1


def run_all(sources: list[str], **environment: str) -> list[tuple[int, str]]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("fragments.py"))],
        input=json.dumps(sources),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
    )
    return [(exit_code, output) for exit_code, output in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def outputs() -> dict[tuple[str, str], list[tuple[int, str]]]:
    """What every fragment of every page printed, in one TensorFlow import's time."""
    jobs = [
        (entry.code, section, source)
        for entry in all_entries()
        for section in ("Example", "Instead")
        if (source := fragment(entry.code, section))
        for _ in range(runs_of(entry.code, section))
    ]
    results: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for (code, section, _), result in zip(jobs, run_all([source for _, _, source in jobs]), strict=True):
        results.setdefault((code, section), []).append(result)
    return results


@pytest.mark.parametrize("code", [*DIFFERS, *RACES])
def test_the_example_does_not_repeat_and_the_instead_does(code: str, outputs) -> None:  # type: ignore[no-untyped-def]
    example, instead = outputs[code, "Example"], outputs[code, "Instead"]
    assert {exit_code for exit_code, _ in (*example, *instead)} == {0}
    assert len({output for _, output in example}) > 1
    assert len({output for _, output in instead}) == 1
    assert instead[0][1].strip()


@pytest.mark.parametrize("code", SAYS)
def test_the_example_and_the_instead_print_what_the_page_says(code: str, outputs) -> None:  # type: ignore[no-untyped-def]
    for section, sentence in zip(("Example", "Instead"), SAYS[code], strict=True):
        for exit_code, output in outputs[code, section]:
            assert exit_code == 0
            assert re.fullmatch(sentence, output.strip())


def test_a_seeded_op_in_a_map_repeats_in_every_epoch_and_seeds_per_element_do_not(outputs) -> None:  # type: ignore[no-untyped-def]
    first, second = outputs["TW107", "Example"][0][1].splitlines()
    assert first == second
    (first, second), again = (output.splitlines() for _, output in outputs["TW107", "Instead"])
    assert first != second
    assert again == [first, second]


def test_every_fragment_runs(outputs) -> None:  # type: ignore[no-untyped-def]
    failed = {where for where, results in outputs.items() if any(code for code, _ in results)}
    assert failed == FAILS


def test_the_refused_op_is_refused_as_the_page_says(outputs) -> None:  # type: ignore[no-untyped-def]
    assert "FailedPreconditionError" in outputs["TW406", "Example"][0][1]


def test_the_order_of_a_set_follows_the_hash_seed_and_the_sorted_set_does_not() -> None:
    def printed(section: str) -> set[str]:
        source = fragment("TW301", section)
        assert source
        return {
            subprocess.run(
                [sys.executable, "-c", source],
                stdout=subprocess.PIPE,
                check=True,
                text=True,
                env={"PYTHONHASHSEED": seed},
            ).stdout
            for seed in ("1", "2", "3")
        }

    assert len(printed("Example")) > 1
    assert len(printed("Instead")) == 1


def test_a_thread_count_set_in_the_program_gives_the_same_bits_on_a_machine_with_other_cores(outputs) -> None:  # type: ignore[no-untyped-def]
    sources = [source for section in ("Example", "Instead") if (source := fragment("TW402", section))]
    (_, example), (_, instead) = run_all(sources, TF_NUM_INTRAOP_THREADS="8")
    assert instead == outputs["TW402", "Instead"][0][1]
    assert instead != example
