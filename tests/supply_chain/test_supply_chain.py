"""What a release is made of: dependencies with hashes, a bill of materials, and builds that repeat."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / ".git").exists() or not (ROOT / "tools").is_dir():
    pytest.skip("only in a clone of the repository", allow_module_level=True)


def tool(name: str, *words: str | Path, umask: int = 0o022, **env: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / name), *map(str, words)]
    subprocess.run(command, env={**os.environ, **env}, umask=umask, check=True, capture_output=True)


@pytest.mark.parametrize("file", sorted(path.name for path in ROOT.glob("constraints*.txt")))
def test_every_dependency_is_pinned_with_hashes(file: str) -> None:
    text = re.sub(r" \\\n\s+", " ", (ROOT / file).read_text())
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[a-z0-9-]+==\S+( ; [^#]+?)?( --hash=sha256:[0-9a-f]{64})+", line), line


def test_building_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    """By people with other habits, in other places, at other times of the day."""
    ways = {
        "one": {"TZ": "UTC", "PYTHONHASHSEED": "1", "LC_ALL": "C"},
        "other": {
            "TZ": "Asia/Tokyo",
            "PYTHONHASHSEED": "2",
            "LC_ALL": "C.UTF-8",
            "TMPDIR": str(tmp_path / "deep"),
        },
    }
    (tmp_path / "deep").mkdir()
    built = {}
    for number, (name, env) in enumerate(ways.items()):
        tool("dist.py", tmp_path / name, umask=(0o022, 0o077)[number], **env)
        built[name] = {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()}
    assert sorted(name.rpartition(".")[2] for name in built["one"]) == ["gz", "whl"]
    assert built["one"] == built["other"]
    _holds_what_is_committed(next((tmp_path / "one").glob("*.whl")))


RELEASE = Path(sys.prefix) / "release" / "site-packages"


@pytest.mark.slow  # its tools are installed by `make check-dist`
@pytest.mark.skipif(not RELEASE.is_dir(), reason="twine is not there (make check-dist installs it)")
def test_what_is_built_is_fit_for_an_index(tmp_path: Path) -> None:
    tool("dist.py", tmp_path)
    wheel, sdist = next(tmp_path.glob("*.whl")), next(tmp_path.glob("*.tar.gz"))
    for command in (["twine", "check", "--strict", wheel, sdist], ["check_wheel_contents", wheel]):
        done = subprocess.run(
            [sys.executable, "-m", *map(str, command)],
            env={**os.environ, "PYTHONPATH": str(RELEASE)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def _holds_what_is_committed(wheel: Path) -> None:
    held = {
        name.partition("/")[2] for name in zipfile.ZipFile(wheel).namelist() if name.startswith("twinrun/")
    }
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "HEAD", "src/twinrun"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert held == {line.removeprefix("src/twinrun/") for line in listed.stdout.splitlines()}


def test_the_bill_of_materials_has_every_pinned_package_with_its_hashes(tmp_path: Path) -> None:
    """The fields that CycloneDX 1.6 asks for, in the forms that it asks for."""
    file = tmp_path / "sbom.json"
    tool("sbom.py", file)
    first = file.read_bytes()
    tool("sbom.py", file, TZ="Asia/Tokyo", PYTHONHASHSEED="3")
    assert file.read_bytes() == first
    document = json.loads(first)
    assert (document["bomFormat"], document["specVersion"], document["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", document["serialNumber"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["metadata"]["timestamp"])
    assert document["metadata"]["component"]["name"] == "twinrun"
    components = document["components"]
    pins = re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert [(each["name"], each["version"]) for each in components] == pins
    for each in components:
        assert each["type"] == "library" and each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"
        assert each["scope"] in ("required", "optional", "excluded")
        assert each["hashes"] and all(
            one["alg"] == "SHA-256" and len(one["content"]) == 64 for one in each["hashes"]
        )
    references = [each["bom-ref"] for each in components]
    assert len(set(references)) == len(references)
    scopes = {each["name"]: each["scope"] for each in components}
    assert (scopes["numpy"], scopes["tensorflow"], scopes["pytest"]) == ("required", "optional", "excluded")
    (depends,) = document["dependencies"]
    assert set(depends["dependsOn"]) == {
        each["bom-ref"] for each in components if each["scope"] != "excluded"
    }
