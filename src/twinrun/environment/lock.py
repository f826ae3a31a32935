"""The lock: one JSON file with the versions, variables and thread settings of an environment, from which
others are rendered."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from twinrun.environment.environment import Environment, EnvironmentKey
from twinrun.environment.secrets import mask
from twinrun.environment.variables import NUMERIC
from twinrun.errors import BadRecording, UsageError

SCHEMA = "twinrun/lock/1"

# Pip brings a new environment to life and is replaced there; pinning it would make the file unusable with
# another.
_NOT_PINNED = {"pip"}
# The cap that makes a stronger CPU behave as the one that was locked.
_CAP = {
    "sse4": "SSE41",
    "avx": "AVX",
    "avx2": "AVX2",
    "avx512": "AVX512_CORE",
    "avx512_vnni": "AVX512_CORE_VNNI",
    "avx512_bf16": "AVX512_CORE_BF16",
    "avx512_fp16": "AVX512_CORE_FP16",
    "amx": "AVX512_CORE_AMX",
}


@dataclass(frozen=True)
class Package:
    """A pinned distribution. `origin` says where it came from when no index has it; `hashes` are those of its
    archives."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()
    origin: str | None = None


@dataclass(frozen=True)
class Lock:
    """What must be the same for the key to be the same, and what the key was."""

    key: EnvironmentKey
    python: str
    platform: dict[str, Any]
    packages: tuple[Package, ...]
    variables: dict[str, str]
    hashes: str = "not asked for: run `twinrun env lock --hashes` where an index can be reached"
    notes: tuple[str, ...] = field(default=())

    @property
    def complete(self) -> bool:
        """Whether every package that comes from an index has a hash."""
        return all(package.hashes for package in self.packages if package.origin is None)

    def as_json(self) -> dict[str, Any]:
        document = asdict(self)
        document["key"] = self.key.as_json()
        return {"schema": SCHEMA, "name": self.key.name, **document}

    def text(self) -> str:
        return json.dumps(self.as_json(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def lock_of(environment: Environment, *, loaded_only: bool = False) -> Lock:
    """The lock of an environment; `loaded_only` leaves out what the program did not import."""
    packages = environment.facts.get("packages", {})
    chosen = packages.get("loaded" if loaded_only else "installed")
    if not isinstance(chosen, dict):
        raise UsageError(
            "this environment does not know its packages", hint="capture it anew with `twinrun env show`"
        )
    origins = packages.get("origins", {})
    platform = environment.facts.get("platform", {})
    return Lock(
        key=environment.key,
        python=str(environment.get("python", "version", "unknown")),
        platform={name: platform.get(name) for name in ("system", "machine", "distribution", "libc")},
        packages=tuple(
            Package(name, str(version), origin=origins.get(name))
            for name, version in sorted(chosen.items())
            if name not in _NOT_PINNED
        ),
        variables=variables_of(environment),
        notes=_notes(environment),
    )


def variables_of(environment: Environment) -> dict[str, str]:
    """The variables that give another process the same threads, instruction set and flags, as they were read
    back."""
    pinned: dict[str, str] = {"PYTHONHASHSEED": _hash_seed(environment)}
    for which in ("intra", "inter"):
        threads = environment.get("framework", f"{which}_op_threads")
        if isinstance(threads, int) and threads > 0:
            pinned[f"TF_NUM_{which.upper()}OP_THREADS"] = str(threads)
    onednn = environment.get("framework", "onednn")
    if isinstance(onednn, bool):
        pinned["TF_ENABLE_ONEDNN_OPTS"] = str(int(onednn))
    if environment.get("framework", "op_determinism") is True:
        pinned["TF_DETERMINISTIC_OPS"] = "1"
    cap = _CAP.get(str(environment.get("cpu", "vector_in_effect")))
    if cap and environment.get("framework", "name"):
        pinned["ONEDNN_MAX_CPU_ISA"] = cap
    # What the user had set stays, unless the line above says the same thing as it was read back.
    for name, value in environment.facts.get("variables", {}).items():
        if (
            name in NUMERIC
            and name not in pinned
            and name not in ("DNNL_MAX_CPU_ISA", "CUDA_VISIBLE_DEVICES")
        ):
            pinned[name] = str(value)
    return dict(sorted(pinned.items()))


def _hash_seed(environment: Environment) -> str:
    seed = str(environment.get("python", "hash_seed", "random"))
    return seed if seed.isdigit() else "0"


def _notes(environment: Environment) -> tuple[str, ...]:
    """What the lock cannot hold, said in the file."""
    notes = []
    if str(environment.get("python", "hash_seed", "random")) == "random":
        notes.append("the hash seed was random; the lock fixes it at 0")
    for name, origin in environment.facts.get("packages", {}).get("origins", {}).items():
        notes.append(f"{name} is not from an index ({origin}): install it yourself")
    device = environment.key.facts.get("device", "cpu")
    if device != "cpu":
        notes.append(f"the device ({device}) and its driver cannot be locked by a file")
    return tuple(notes)


def with_hashes(lock: Lock, timeout: float = 600.0) -> Lock:
    """Asks this interpreter's pip for the archives' hashes. Nothing is installed; addresses in the answer are
    dropped."""
    wanted = [package for package in lock.packages if package.origin is None]
    with tempfile.TemporaryDirectory() as folder:
        requirements, report = Path(folder) / "requirements.txt", Path(folder) / "report.json"
        requirements.write_text("".join(f"{package.name}=={package.version}\n" for package in wanted))
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--dry-run",
            "--ignore-installed",
            "--no-deps",
            "--quiet",
        ]
        command += ["--disable-pip-version-check", "--report", str(report), "-r", str(requirements)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
            found = _hashes_of(json.loads(report.read_text())) if done.returncode == 0 else {}
            problem = _without_addresses((done.stderr.strip().splitlines() or ["pip failed"])[-1])
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            found, problem = {}, _without_addresses(str(error))
    if not found:
        return replace(lock, hashes=f"unavailable: pip could not name the archives ({problem})")
    packages = tuple(replace(package, hashes=found.get(package.name, ())) for package in lock.packages)
    missing = [package.name for package in packages if package.origin is None and not package.hashes]
    said = (
        f"sha256, of the archives for {sys.platform} {lock.platform.get('machine')} and Python {lock.python}"
    )
    return replace(
        lock, packages=packages, hashes=said + (f"; none for {', '.join(missing)}" if missing else "")
    )


def _without_addresses(text: str) -> str:
    """What pip complained of, without the index it asked: where packages come from is the user's affair."""
    return mask(re.sub(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+", "[address]", text))


def _hashes_of(report: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    from twinrun.environment.packages import normalised

    found: dict[str, tuple[str, ...]] = {}
    for item in report.get("install", ()):
        archive = item.get("download_info", {}).get("archive_info", {})
        digests = archive.get("hashes") or dict([archive["hash"].split("=", 1)] if "hash" in archive else [])
        if "sha256" in digests:
            found[normalised(item["metadata"]["name"])] = (f"sha256:{digests['sha256']}",)
    return found


def read_lock(path: Path) -> Lock:
    """Reads a lock file; what is not one is named, never half believed."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadRecording(
            f"there is no {path}", hint="write one with `twinrun env lock -o twinrun.lock`"
        ) from None
    except (OSError, ValueError) as problem:
        raise BadRecording(f"{path} is not a lock: {problem}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise BadRecording(
            f"{path} is not a lock of this version of Twinrun", hint=f"its schema should be {SCHEMA}"
        )
    try:
        return Lock(
            key=EnvironmentKey(dict(document["key"])),
            python=str(document["python"]),
            platform=dict(document["platform"]),
            packages=tuple(_package(each) for each in document["packages"]),
            variables={str(name): str(value) for name, value in document["variables"].items()},
            hashes=str(document["hashes"]),
            notes=tuple(str(note) for note in document.get("notes", ())),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise BadRecording(f"{path} is damaged: {type(problem).__name__}: {problem}") from None


def _package(document: Mapping[str, Any]) -> Package:
    origin = document.get("origin")
    hashes = tuple(str(each) for each in document.get("hashes", ()))
    return Package(
        str(document["name"]), str(document["version"]), hashes, None if origin is None else str(origin)
    )
