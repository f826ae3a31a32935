"""No credential stays in a text, whatever it looks like and wherever it stands; what is none stays readable; and no text
takes longer than its length."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import GIVEN, KINDS, NEEDLES, SHAPED, VARIABLES

from twinrun.masking import MASK, Secrets, mask, names, strip_url
from twinrun.masking.names import grade, is_secret, mentions_secret


def test_there_are_at_least_forty_kinds() -> None:
    assert len(KINDS) >= 40


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "frame", ["{}", "--flag {} --more", "a text ({}) around", 'x="{}"', "first\n{}\nlast", "['{}', 3]"]
)
def test_a_credential_is_masked_wherever_it_stands(kind: str, frame: str) -> None:
    assert NEEDLES[kind] not in mask(frame.format(KINDS[kind]))


@pytest.mark.parametrize("kind", [kind for kind, text in SHAPED.items() if not set("/@") & set(text)])
@pytest.mark.parametrize(
    "frame", ["model_{}.h5", "out/run-{}/weights.npz", "a.{}.b", "http://example.com/{}"]
)
def test_a_token_is_masked_in_the_name_of_a_file(kind: str, frame: str) -> None:
    assert NEEDLES[kind] not in mask(frame.format(SHAPED[kind]))


@pytest.mark.parametrize(
    "text",
    [
        "--epochs 3 --learning-rate 1e-3",
        "--tokens 512 --tokenizer bpe --max-token-length 77 --tokenizer-path data/tokens.json",
        "data/train/images/part-00001-of-00100.tfrecord",
        "3f9c1a5b7e2d4c6f8a0b1c2d3e4f5a6b7c8d9e0f",
        "commit 3f9c1a5b7e2d4c6f8a0b1c2d3e4f5a6b7c8d9e0f, sha256:" + "0123456789abcdef" * 4,
        "d60fe57a-294c-056a-cb75-1573fbbc7bf7",
        "--xla_cpu_enable_fast_math=true",
        "https://example.com/path/to/data.csv?page=3#top",
        "/home/me/Projects2024/some_quite_long_folder_name/another_long_folder/Model3.py",
        "v2.21.0-rc1-5-ga481b10260d, Clang 18.1.8",
        "git@example.com:group/repo.git",
        "docker.io/library/python:3.11@sha256:" + "0123456789abcdef" * 4,
        "StatefulPartitionedCall/functional_1/conv2d_1/BiasAdd/ReadVariableOp",
        "cls_token:0, transformer/attention/key/kernel:0, pad_token='[PAD]'",
        "step 12: loss: 0.25, accuracy=0.5, key: dense_1, 3 tokens",
        "KeyError: 'layer_2'",
        "a basic classifier with a token of respect",
        "  File \"/srv/app/train.py\", line 12, in <module>",
        "tf2.21-cpu-avx512-2t-det-8d64",
        "/var/lib/twinrun/check-20260101-120000-4242/A",
        "login(password=None, token: str, secret='')",
        "first at [0, 3]: 0.48912 against 0.48913",
    ],
)  # fmt: skip
def test_what_is_no_credential_is_left_alone(text: str) -> None:
    assert mask(text) == text


def test_a_value_is_masked_up_to_its_end_and_no_further() -> None:
    assert mask("Namespace(token='it\\'s x', n=3)") == f"Namespace(token='{MASK}', n=3)"
    assert mask("f(password=abc1, n=3)") == f"f(password={MASK}, n=3)"
    assert mask('{"api_key":"x","n":3}') == f'{{"api_key":"{MASK}","n":3}}'
    assert mask('token: str = "abc"') == f'token: str = "{MASK}"'
    assert mask('f(token=ab,password="cd", n=3)') == f"f(token={MASK}, n=3)"
    assert mask('(passphrase: a b c password="cd"') == f'(passphrase: {MASK} password="{MASK}"'


def test_a_private_key_is_masked_where_its_beginning_or_its_end_was_cut_off() -> None:
    text = "MIIEowIBAAKCAQEA\nAbC9==\n-----END RSA " + "PRIVATE KEY-----\nafter"
    assert mask(text) == f"{MASK}\nafter"
    cut = "-----BEGIN " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nAbC9==\n(the rest was not printed)"
    assert mask(cut) == f"{MASK}(the rest was not printed)"


def test_an_address_keeps_its_host_and_path_alone() -> None:
    assert strip_url("https://bob:pw@example.com/a/b.git?token=zz#frag") == "https://example.com/a/b.git"


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "--password", "db.password", "client-secret", "apiKey", "GITHUBTOKEN", "token2"],
)  # fmt: skip
def test_names_that_announce_a_secret_are_known(name: str) -> None:
    assert grade(name) == "sure"


@pytest.mark.parametrize(
    "name", ["TOKENIZERS_PARALLELISM", "--tokens", "PATH", "PWD", "--author", "--passes", "monkey", "pad_token", "p", ""]
)  # fmt: skip
def test_names_that_do_not_are_not(name: str) -> None:
    assert grade(name) == "no"


def test_every_name_that_announces_one_is_looked_for() -> None:
    known = [
        *names._SURE,
        *names._MAYBE,
        *names._LOGIN,
        *names._GLUED,
        "client_key",
        "session_id",
        "conn_str",
        "seed_phrase",
    ]
    assert [name for name in known if grade(name) == "no" or not mentions_secret(name.upper())] == []


def test_where_a_name_may_announce_one_a_plain_word_is_none() -> None:
    assert is_secret("key", "hunter2") and not is_secret("key", "dense_1/kernel")
    assert is_secret("user", "me:pass9") and not is_secret("user", "me9")


def test_what_an_option_or_a_variable_gave_is_masked_wherever_it_turns_up() -> None:
    words = [word for pair in GIVEN.items() for word in pair]
    secrets = Secrets.of(words, VARIABLES)
    for value in (*GIVEN.values(), *VARIABLES.values()):
        assert value not in secrets.mask(f"ValueError: cannot log in with {value}!")
        assert value not in secrets.mask(f"saved model_{value}.h5")


def test_only_what_is_telling_is_masked_wherever_it_turns_up() -> None:
    given = {"API_KEY": "12345", "A_TOKEN": "adam", "B_TOKEN": "/etc/token", "C_SECRET": "abcdef12"}
    text = "12345 adam /etc/token 0abcdef120"
    assert Secrets.of((), given).mask(text) == text


# Pieces of which the expressions look for one another, and what they stop at.
_PIECES = st.sampled_from(
    ["token", "password", "key", "user", "=", ":", ": ", "'", '"', "\\", "\\\"", " ", "\n", "a", "B7", "://", "@", "/", "-",
     "--pw ", "[masked]", ")", "]", ",", "&", ">", "<", "Bearer ", "cookie: ", "wandb ", "ghp_" + "a1" * 12,
     "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "aB3dE7xQ9zY2wW4vV6uU", "str", "None", ";", "."]
)  # fmt: skip


@given(st.text(max_size=200) | st.lists(_PIECES, max_size=24).map("".join))
def test_masking_never_fails_and_masking_twice_changes_nothing_more(text: str) -> None:
    once = mask(text)
    assert mask(once) == once


_HOSTILE = (
    "a.", "a-", "a_", "a", "A1a", "-eyJ", "://a:b", ":@", ":aaaaa", "token=", 'token="', "token      ", " ", " --a", "-a",
    "ghp_", "-sk-", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "wandb ", "\\", "'\"", "password: x\n",
    "x/", "0123456789abcdef", "aB3/", "cookie: ", "token\\\\\\\"", "key>a", "@", "a:bbbb1@", "token=[masked]", "user:a:b ",
)  # fmt: skip


@pytest.mark.parametrize("piece", _HOSTILE)
def test_the_time_is_in_proportion_to_the_length(piece: str) -> None:
    """An expression that goes over a text again and again would need minutes."""
    text = piece * (300_000 // len(piece))
    started = time.process_time()
    mask(text)
    assert time.process_time() - started < 20
