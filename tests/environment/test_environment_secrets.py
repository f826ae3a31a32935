"""No credential gets into anything that is written, whatever it looks like and wherever it stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinrun.environment.secrets import MASK, announces_secret, mask, mask_arguments, strip_url

# Kinds of credentials, none of them real. Each is put together here so that no scanner takes it for a leak.
KINDS = {
    "github token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "github fine-grained": "github_pat_" + "11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz012345",
    "gitlab token": "glpat-" + "xY3zAb9Cd2Ef7Gh1Ij4K",
    "aws key id": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws secret": "wJalrXUtnFEMI" + "K7MDENGbPxRfiCYEXAMPLEKEY9zQ2",
    "openai": "sk-" + "proj-Abc123Def456Ghi789Jkl012",
    "stripe": "sk_live_" + "51H8a9bCdEfGhIjKlMn",
    "slack": "xoxb-" + "123456789012-abcdefGHIJKL",
    "google api key": "AIza" + "SyA1234567890abcdefGHIJKLMNOPqrstuv",
    "google oauth": "ya29." + "a0AfH6SMBxyz1234567890",
    "hugging face": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWx",
    "pypi": "pypi-" + "AgEIcHlwaS5vcmcCJDEyMzQ1Njc4",
    "npm": "npm_" + "a1b2c3d4e5f6g7h8i9j0k1l2",
    "digitalocean": "dop_v1_" + "0123456789abcdef0123456789abcdef",
    "sendgrid": "SG." + "abcdefghijkl1234" + ".mnopqrstuvwx5678",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.s5vTjWqk2yRk",
    "bearer": "Bearer " + "abc123def456ghi789",
    "private key": "-----BEGIN RSA "
    + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA "
    + "PRIVATE KEY-----",
    "url password": "https://alice:" + "s3cr3tpa55" + "@example.com/repo.git",
    "url token": "https://" + "tok3nTok3nTok3n" + "@example.com/simple",
    "query token": "https://example.com/data?token=" + "qu3ryS3cret",
    "named password": "password=" + "hunter2hunter2",
    "webhook": "https://hooks.slack.com/services/" + "T000/B000/XXXXsecretXXXX",
}
# What of each must never be seen again: the parts that are secret.
NEEDLES = {
    **KINDS,
    "bearer": "abc123def456ghi789",
    "private key": "MIIEowIBAAKCAQEA",
    "url password": "s3cr3tpa55",
    "url token": "tok3nTok3nTok3n",
    "query token": "qu3ryS3cret",
    "named password": "hunter2hunter2",
    "webhook": "XXXXsecretXXXX",
}


def test_there_are_at_least_twenty_kinds() -> None:
    assert len(KINDS) >= 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "frame", ["{}", "--flag {} --more", "a text ({}) around", 'x="{}"', "first\n{}\nlast"]
)
def test_a_credential_is_masked_wherever_it_stands(kind: str, frame: str) -> None:
    assert NEEDLES[kind] not in mask(frame.format(KINDS[kind]))


@pytest.mark.parametrize(
    "text",
    [
        "--epochs 3 --learning-rate 1e-3",
        "--tokens 512 --tokenizer bpe --max-token-length 77 --tokenizer-path data/tokens.json",
        "data/train/images/part-00001-of-00100.tfrecord",
        "3f9c1a5b7e2d4c6f8a0b1c2d3e4f5a6b7c8d9e0f",
        "--xla_cpu_enable_fast_math=true",
        "https://example.com/path/to/data.csv",
        "/home/me/Projects2024/some_quite_long_folder_name/another_long_folder/Model3.py",
        "v2.21.0-rc1-5-ga481b10260d, Clang 18.1.8",
        "git@example.com:group/repo.git",
    ],
)
def test_what_is_no_credential_is_left_alone(text: str) -> None:
    assert mask(text) == text


def test_the_value_behind_an_option_that_announces_a_secret_is_masked() -> None:
    given = ["train.py", "--password", "hunter2", "--epochs", "3", "--api-key=abcd", "--token", "--verbose"]
    assert mask_arguments(given) == [
        "train.py", "--password", MASK, "--epochs", "3", f"--api-key={MASK}", "--token", "--verbose",
    ]  # fmt: skip
    assert mask_arguments(["--password", "-hunter2"]) == ["--password", MASK], (
        "a password may begin with a dash"
    )


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "--password", "db.password", "client-secret"]
)
def test_names_that_announce_a_secret_are_known(name: str) -> None:
    assert announces_secret(name)


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "--tokens", "PATH", "--author", "--passes"])
def test_names_that_do_not_are_not(name: str) -> None:
    assert not announces_secret(name)


def test_an_address_keeps_its_host_and_path_alone() -> None:
    assert strip_url("https://bob:pw@example.com/a/b.git?token=zz#frag") == "https://example.com/a/b.git"


@given(st.text(max_size=200))
def test_masking_never_fails_and_masking_twice_changes_nothing_more(text: str) -> None:
    once = mask(text)
    assert mask(once) == once


def test_nothing_planted_in_a_machine_is_found_in_what_is_written(tmp_path: Path) -> None:
    """In variables, allowed ones too, in git's configuration, in installed metadata, in the arguments."""
    project = tmp_path / "project"
    project.mkdir()

    def git(*words: str) -> None:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words]
        subprocess.run(command, cwd=project, check=True, capture_output=True)

    git("init", "-q")
    remote = f"https://bot:{KINDS['gitlab token']}@example.com/group/project.git?private_token=qu3ryS3cret"
    git("remote", "add", "origin", remote)
    (project / "train.py").write_text(
        "import json, sys\n"
        "from twinrun.environment.capture import capture\n"
        "from twinrun.environment.lock import FORMATS, lock_of, write_lock\n"
        "from twinrun.environment.secrets import mask_arguments\n"
        "from pathlib import Path\n"
        "environment = capture()\n"
        "Path('environment.json').write_text(json.dumps(environment.as_json()))\n"
        "Path('arguments.json').write_text(json.dumps(mask_arguments(sys.argv)))\n"
        "for form, file in FORMATS.items(): write_lock(lock_of(environment), form, Path(file))\n"
    )
    git("add", "train.py")
    git("commit", "-qm", "x")
    site = tmp_path / "site"
    metadata = site / "leaky-1.0.dist-info"
    metadata.mkdir(parents=True)
    url = f"https://{KINDS['github token']}:x-oauth@example.com/leaky.git?token=qu3ryS3cret"
    (metadata / "direct_url.json").write_text(json.dumps({"url": url, "vcs_info": {"commit_id": "0" * 40}}))
    planted = {f"PLANTED_{number}": value for number, value in enumerate(KINDS.values())}
    planted |= {"AWS_SECRET_ACCESS_KEY": KINDS["aws secret"], "GITHUB_TOKEN": KINDS["github token"]}
    # Variables that are allowed, with values that they should not have.
    planted |= {
        "XLA_FLAGS": f"--token={KINDS['hugging face']}",
        "TZ": KINDS["url password"],
        "GLIBC_TUNABLES": KINDS["aws key id"],
        "KMP_AFFINITY": KINDS["jwt"],
        "NCCL_ALGO": KINDS["slack"],
        "TF_CONFIG": json.dumps({"cluster": {"worker": [KINDS["url token"]]}}),
    }
    paths = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, **planted, "PYTHONPATH": paths}
    arguments = [word for value in KINDS.values() for word in ("--option", value)] + [
        "--password",
        "hunter2hunter2",
    ]
    subprocess.run([sys.executable, "train.py", *arguments], cwd=project, env=environment, check=True)

    written = [path for path in project.rglob("*") if path.is_file() and ".git" not in path.parts]
    written = [path for path in written if path.name != "train.py"]
    assert len(written) == 4
    for path in written:
        text = path.read_text()
        for kind, needle in NEEDLES.items():
            assert needle not in text, f"{kind} in {path.name}"
    kept = json.loads((project / "environment.json").read_text())["facts"]
    assert kept["code"]["git"]["remote"] == "https://example.com/group/project.git"
    assert kept["packages"]["origins"]["leaky"] == f"https://example.com/leaky.git@{'0' * 40}"
    assert not any(name.startswith(("PLANTED", "AWS", "GITHUB", "TF_CONFIG")) for name in kept["variables"])
