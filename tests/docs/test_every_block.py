"""Every block of commands and of Python in the README, the tutorial and the how-to pages is run by a test, or has a reason
here why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_lines import ROOT, blocks_of

TESTS = ROOT / "tests"
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("tutorial/*.md")),
    *sorted((ROOT / "docs").glob("how-to/*.md")),
]

_COMMANDS = "docs/test_command_lines.py::test_the_commands_of_a_page_work_one_after_the_other"
_PROGRAMS = "docs/test_command_lines.py::test_the_programs_of_a_page_give_the_answers_that_it_shows"
_PAGES = "docs/test_pages_run.py::test_"
# By page: how many blocks are run, and by what. Whoever adds one sees to it that it is run, too.
RUN = {
    "README": (2, ["docs/test_pages_run.py::test_the_commands_of_the_readme_give_what_it_shows"]),
    "first-check": (6, [
        "docs/test_command_lines.py::test_the_tutorial_does_what_it_says",
        "docs/test_command_lines.py::test_the_commands_of_the_tutorial_give_what_it_shows",
    ]),
    "add-a-framework": (5, ["frameworks/test_toy_framework.py::test_its_steps_are_compared"]),
    "add-a-source": (6, ["sources/test_add_a_source.py::test_it_is_logged_suspected_and_confirmed"]),
    "audit-source": (1, [_COMMANDS, f"{_PAGES}the_audit_of_the_page_answers_as_it_shows"]),
    "baselines-in-ci": (4, [_COMMANDS]),
    "check-a-cluster": (2, [f"{_PAGES}the_clusters_of_the_page_answer_as_it_shows"]),
    "check-a-program": (6, [_COMMANDS]),
    "compare-two-machines": (1, [f"{_PAGES}the_fingerprints_of_the_page_are_compared"]),
    "custom-loops": (4, [_PROGRAMS]),
    "debug-an-op": (3, [_COMMANDS]),
    "from-one-gpu-to-a-cluster": (4, [
        "docs/test_cluster_recipes.py::test_a_recipe_records_every_worker",
        "docs/test_cluster_recipes.py::test_the_resolver_of_tensorflow_finds_the_tasks_of_slurm",
        "docs/test_cluster_recipes.py::test_ray_under_slurm_starts_a_head_the_others_and_the_check",
    ]),
    "input-pipeline": (11, ["docs/test_command_lines.py::test_the_blocks_of_the_page_on_pipelines_run_one_after_the_other"]),
    "measure-the-spread": (7, [f"{_PAGES}the_commands_of_the_page_on_spread_work_one_after_the_other"]),
    "notebooks": (4, [_COMMANDS, f"{_PAGES}the_cells_of_the_page_on_notebooks_have_options_that_there_are"]),
    "pin": (5, [_COMMANDS, f"{_PAGES}pinning_from_inside_as_on_the_page"]),
    "probe": (1, [f"{_PAGES}the_probe_of_the_page_is_compared"]),
    "rebuild-an-environment": (2, [_COMMANDS]),
    "record-and-compare": (1, [_COMMANDS]),
    "reinforcement-learning": (2, [_PROGRAMS]),
    "reports": (1, [_COMMANDS]),
    "resume": (3, [f"{_PAGES}the_command_of_the_page_on_resuming_works", f"{_PAGES}the_loops_of_the_page_on_resuming_train"]),
    "test-with-pytest": (3, [f"{_PAGES}the_tests_of_the_page_on_pytest_pass"]),
    "trackers": (1, [f"{_PAGES}the_checks_of_the_page_on_trackers_are_logged"]),
    "use-the-fixes": (2, [_COMMANDS]),
}  # fmt: skip

_INSTALLS = "installs from an index"
_PART = "a part of a program that the page leaves to its reader"
# By page: how a block begins that no test runs, and why.
NOT_RUN = {
    "README": {'pip install "twinrun': _INSTALLS, "make demo": "sets up an environment like the one that runs the tests"},
    "first-check": {'pip install "twinrun': _INSTALLS},
    "check-a-program": {"eval ": "needs a shell with completion; tests/check/test_first_hour.py asks it for words"},
    "custom-loops": {"gradients = tape": _PART},
    "debug-an-op": {
        "tf.config": "one line, which programs of tests/pinning and tests/pipelines have",
        "import numpy as np": "varies on two cores and more, and then only often",
    },
    "from-one-gpu-to-a-cluster": {"pip install 'twinrun[ray]'": "needs Ray, and several nodes; `make test-ray` checks on one"},
    "gpu": {"twinrun check": "needs a GPU; `make test-gpu` checks such programs"},
    "measure-the-spread": {"pip install": _INSTALLS},
    "notebooks": {'pip install "twinrun': _INSTALLS},
    "reinforcement-learning": {"import gymnasium as gym\n\nif": _PART, "action = ": _PART},
    "silence-a-finding": {"count = len": "one line; tests/findings/test_silence.py reads such comments"},
    "trackers": {
        'pip install "twinrun': _INSTALLS,
        "model.fit(": "needs MLflow; `make test-trackers` trains with this callback",
        "twinrun diff mlflow:": "needs runs in a tracker; `make test-trackers` compares two",
    },
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_block_is_run_or_there_is_a_reason(page: Path) -> None:
    found = list(blocks_of(page))
    reasons = NOT_RUN.get(page.stem, {})
    for start in reasons:
        assert any(block.startswith(start) for block in found), f"no block begins with {start!r} any more"
    left = [block for block in found if not block.startswith(tuple(reasons))]
    if page.stem not in RUN:
        assert not left, f"give a test or a reason: {left}"
        return
    count, tests = RUN[page.stem]
    assert len(left) == count, f"see to it that these are run, or give a reason: {left}"
    for test in tests:
        file, _, name = test.partition("::")
        assert re.search(rf"^def {name}\(", (TESTS / file).read_text(), re.MULTILINE), test


def test_no_page_is_named_that_is_not_there() -> None:
    assert RUN.keys() | NOT_RUN.keys() <= {page.stem for page in PAGES}
