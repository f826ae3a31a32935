"""The environment as a value: facts by group, and the key made of those that may change bits."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from twinrun.errors import BadRecording

UNREAD = "could not read: "


@dataclass(frozen=True)
class EnvironmentKey:
    """The small set of facts that may change bits. Two runs are comparable bit for bit when their keys are
    equal."""

    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Of the facts in canonical JSON, so that it is the same in every process and version of Python."""
        canonical = json.dumps(self.facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]

    @property
    def name(self) -> str:
        """Short and readable, such as `tf2.21-cpu-avx2-2t-det-3f9c`. The digest at the end covers all the
        facts."""
        facts = self.facts
        framework, _, version = str(facts.get("framework") or "none").partition(" ")
        short = {"tensorflow": "tf"}.get(framework, framework)
        parts = [short + ".".join(version.split(".")[:2]), str(facts.get("device") or "cpu").split(" x ")[0]]
        if parts[1] == "cpu":
            parts.append(str(facts.get("vector") or facts.get("machine") or "unknown"))
        parts.append(f"{facts.get('intra_op_threads') or '?'}t")
        if facts.get("op_determinism"):
            parts.append("det")
        return "-".join(_plain(part) for part in parts if part) + f"-{self.digest[:4]}"

    def as_json(self) -> dict[str, Any]:
        return dict(self.facts)


@dataclass(frozen=True)
class Environment:
    """What was read about one process. A field that could not be read holds a sentence that begins with
    UNREAD."""

    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    key: EnvironmentKey = field(default_factory=EnvironmentKey)

    @property
    def name(self) -> str:
        return self.key.name

    @property
    def unread(self) -> list[str]:
        """The fields that could not be read, as `group.field`."""
        return sorted(
            f"{group}.{name}"
            for group, fields in self.facts.items()
            for name, value in fields.items()
            if isinstance(value, str) and value.startswith(UNREAD)
        )

    def get(self, group: str, name: str, default: Any = None) -> Any:
        """One fact, or the default where it is missing or could not be read."""
        value = self.facts.get(group, {}).get(name, default)
        return default if isinstance(value, str) and value.startswith(UNREAD) else value

    def as_json(self) -> dict[str, Any]:
        return {"key": self.key.as_json(), "name": self.name, "facts": self.facts}

    @classmethod
    def from_json(cls, document: Any, where: str | None = None) -> Environment:
        """Reads what as_json wrote. The name is worked out anew: a name in a file is not believed."""
        if not isinstance(document, dict) or not isinstance(document.get("key"), dict):
            raise BadRecording("this is not an environment: it has no key", where=where)
        facts = document.get("facts", {})
        if not isinstance(facts, dict) or not all(isinstance(group, dict) for group in facts.values()):
            raise BadRecording("this environment is damaged: its facts are not grouped fields", where=where)
        return cls(facts, EnvironmentKey(document["key"]))


def _plain(text: str) -> str:
    """Fit for a file name on every system: the name of a key is the name of a folder of baselines."""
    return re.sub(r"[^a-z0-9.]+", "_", text.lower()).strip("_.") or "unknown"
