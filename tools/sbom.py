"""Writes a software bill of materials: what constraints.txt pins, as CycloneDX JSON. `python tools/sbom.py FILE`; run by
`make sbom`, in the environment that was set up from it. The same commit gives the same bytes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from lock import EXTRAS, ROOT
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

LOCK = "constraints.txt"
_PIN = re.compile(r"^([a-z0-9-]+)==(\S+)((?:.|\n(?= ))*)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def bill() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [item for extra in EXTRAS for item in project["optional-dependencies"][extra]]
    required = _closure(project["dependencies"])
    optional = _closure(extras) - required
    components = [_component(*found, required, optional) for found in _PIN.findall((ROOT / LOCK).read_text())]
    reference = f"pkg:pypi/{project['name']}@{project['version']}"
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": _committed(),
            "component": {
                "type": "application",
                "bom-ref": reference,
                "name": project["name"],
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": reference,
            },
        },
        "components": components,
        "dependencies": [
            {
                "ref": reference,
                "dependsOn": [each["bom-ref"] for each in components if each["scope"] != "excluded"],
            }
        ],
    }
    return {"serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document))}", **document}


def _component(name: str, version: str, rest: str, required: set[str], optional: set[str]) -> dict[str, Any]:
    """A package is pinned once for each version that some Python gets. Its hashes are those of its wheels."""
    reference = f"pkg:pypi/{name}@{version}"
    scope = "required" if name in required else "optional" if name in optional else "excluded"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": version,
        "scope": scope,
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in _HASH.findall(rest)],
        "purl": reference,
    }


def _closure(requirements: list[str]) -> set[str]:
    """The names of these packages, and of all that they need. What is not installed here is needed by another Python, and
    needs nothing more."""
    found: set[str] = set()
    waiting = [Requirement(item) for item in requirements]
    while waiting:
        name = canonicalize_name(waiting.pop().name)
        if name in found:
            continue
        found.add(name)
        try:
            needs = map(Requirement, metadata.requires(name) or ())
        except metadata.PackageNotFoundError:
            continue
        waiting += [need for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return found


def _committed() -> str:
    command = ["git", "log", "-1", "--format=%ct", "--", LOCK, "pyproject.toml"]
    seconds = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    return datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    Path(sys.argv[1]).parent.mkdir(parents=True, exist_ok=True)
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=1) + "\n")
