"""The arguments of a program as they are written down: what may be secret is masked, the rest can be read."""

from __future__ import annotations

import time

import pytest
from planted import DOUBTFUL, GIVEN, KINDS, NEEDLES

from twinrun.masking import MASK, mask_arguments


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("show", [False, True])
@pytest.mark.parametrize("frame", ["{}", "--option={}", "option={}"])
def test_a_credential_is_never_shown(kind: str, show: bool, frame: str) -> None:
    given = ["--epochs", "3", "--option", frame.format(KINDS[kind]), "last"]
    assert NEEDLES[kind] not in " ".join(mask_arguments(given, show=show)) or (kind, show) in _TOLD_BY_CONTEXT


# A digest without a word around it is data for whoever asked to see the arguments.
_TOLD_BY_CONTEXT = {("weights and biases", True)}


@pytest.mark.parametrize("option", GIVEN)
def test_the_value_of_an_option_that_takes_a_secret_is_masked(option: str) -> None:
    value = GIVEN[option]
    assert mask_arguments([option, value, "--epochs", "3"]) == (option, MASK, "--epochs", "3")
    if option.startswith("--"):
        assert mask_arguments([f"{option}={value}"]) == (f"{option}={MASK}",)


def test_a_password_may_begin_with_a_dash_and_not_with_two() -> None:
    assert mask_arguments(["--password", "-hunter2"]) == ("--password", MASK)
    assert mask_arguments(["--token", "--verbose"]) == ("--token", "--verbose")
    assert mask_arguments(["-pHunter2"]) == (f"-p{MASK}",)


@pytest.mark.parametrize("option", DOUBTFUL)
def test_what_cannot_be_told_from_data_is_shown_on_request_alone(option: str) -> None:
    value = DOUBTFUL[option]
    assert mask_arguments([option, value]) == (option, MASK)
    assert mask_arguments([value]) == (MASK,)
    assert mask_arguments([option, value], show=True) == (option, value)


def test_what_is_surely_a_credential_is_not_shown_on_request_either() -> None:
    assert mask_arguments(["--password", "swordfish", "--key", "name"], show=True) == (
        "--password", MASK, "--key", "name",
    )  # fmt: skip


def test_a_word_of_the_program_s_own_source_is_no_secret() -> None:
    assert mask_arguments(["--backbone", "tinynet-v9"], harmless={"tinynet"}) == ("--backbone", "tinynet-v9")


@pytest.mark.parametrize(
    "words",
    [
        "--epochs 3 --learning-rate 1e-3 -v --no-cache --momentum=0.9 --clip -1.5",
        "--data data/train/part-00001-of-00100.tfrecord --out ./runs/Model3 --cfg conf.yaml ../x ~/data /srv/data",
        "--optimizer adam --loss mse --dtype float32 --model resnet50 --device gpu:0 --mode train",
        "--size 64x64 --range 1,2,3 --date 2026-01-31 --mem 10GB --time 1h --split 0.8/0.2",
        "--commit 3f9c1a5b7e2d4c6f8a0b1c2d3e4f5a6b7c8d9e0f --steps 200000",
        "optimizer.lr=0.1 model=resnet50 +trainer=gpu --tokens 512 --tokenizer-path data/tokens.json",
        "tests/test_train.py::test_fit https://example.com/data.csv s3://bucket/key/file.npz",
    ],
)
def test_options_numbers_paths_and_common_words_can_be_read(words: str) -> None:
    assert mask_arguments(words.split()) == tuple(words.split())


def test_of_a_document_the_words_are_masked_that_may_be_secret() -> None:
    assert mask_arguments(['{"lr": 0.1, "name": "swordfish"}']) == (f'{{"lr": 0.1, "name": "{MASK}"}}',)
    assert mask_arguments(["admin:letmein99"]) == (f"admin:{MASK}",)


@pytest.mark.parametrize(
    "piece", ["1,", "1x", "1:", "1.", "1-", "a/", "a.", "a b", "-p", "a=", "{a:", "1e", "~", "/"]
)
def test_a_long_argument_takes_time_in_proportion_to_its_length(piece: str) -> None:
    started = time.process_time()
    mask_arguments([piece * (100_000 // len(piece)) + end for end in ("", "!")])
    assert time.process_time() - started < 20
