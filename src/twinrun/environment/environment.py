"""The environment as a value: facts by group, and the key made of those that may change bits."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from twinrun import untrusted
from twinrun.errors import BadRecording
from twinrun.masking import Masked

UNREAD = "could not read: "
T = TypeVar("T")


class EnvironmentKey(dict[str, Any]):
    """The small set of facts that may change bits. Two runs are comparable bit for bit when their keys are
    equal."""

    @property
    def digest(self) -> str:
        """A digest of the facts in canonical JSON, the same in every process and version of Python."""
        canonical = json.dumps(self, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]

    @property
    def name(self) -> str:
        """Short and readable, such as `tf2.21-cpu-avx2-2t-det-3f9c`. The digest at the end covers all facts."""
        framework, _, version = str(self.get("framework") or "none").partition(" ")
        short = {"tensorflow": "tf"}.get(framework, framework)
        parts = [short + ".".join(version.split(".")[:2]), str(self.get("device") or "cpu").split(" x ")[0]]
        if parts[1] == "cpu":
            parts.append(str(self.get("vector") or self.get("machine") or "unknown"))
        parts.append(f"{self.get('intra_op_threads') or '?'}t")
        if self.get("op_determinism"):
            parts.append("det")
        return "-".join(_plain(part) for part in parts if part) + f"-{self.digest[:4]}"

    @property
    def unread(self) -> list[str]:
        """The facts that could not be read: a key that has any matches no other."""
        return sorted(name for name, value in self.items() if value == "unread")


@dataclass(frozen=True)
class Environment(Masked):
    """What was read about one process. A field that could not be read holds a sentence that begins with
    UNREAD."""

    facts: dict[str, dict[str, Any]]
    key: EnvironmentKey

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
            if is_unread(value)
        )

    def get(self, group: str, name: str, default: Any = None) -> Any:
        """One fact, or the default where it is missing or could not be read."""
        value = self.facts.get(group, {}).get(name, default)
        return default if is_unread(value) else value

    def as_json(self) -> dict[str, Any]:
        return {"key": dict(self.key), "name": self.name, "facts": self.facts}

    @classmethod
    def from_json(cls, document: Any, where: str | None = None) -> Environment:
        """Reads what as_json wrote. The name is computed again: a name in a file is not trusted."""
        return typed(document, cls, "an environment", where)


def facts_of(document: dict[str, Any], group: str) -> dict[str, Any]:
    """One group of facts of an environment as JSON; empty where it could not be read."""
    found: dict[str, Any] = document.get("facts", {}).get(group, {})
    return found


def is_unread(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(UNREAD)


def typed(document: Any, kind: type[T], what: str, where: str | None = None, *, strict: bool = True) -> T:
    """A JSON document as that type; whatever does not fit is a BadRecording that names the field. Not being
    strict takes a text for a number, which is how JSON holds NaN and infinity."""
    try:
        return msgspec.convert(document, kind, strict=strict, dec_hook=_key)
    except ValueError as problem:  # also where a text cannot be encoded
        raise BadRecording(f"this is not {what}: {problem}", where=where) from None


def _key(kind: type, value: Any) -> Any:
    if not issubclass(kind, dict) or not isinstance(value, dict):
        raise TypeError(f"Expected `object`, got `{type(value).__name__}`")
    return kind(value)


def read_json(path: Path, what: str, hint: str) -> Any:
    try:
        return untrusted.read_json(path)
    except FileNotFoundError:
        raise BadRecording(f"there is no {path}", hint=hint) from None
    except (OSError, ValueError) as problem:
        raise BadRecording(f"{path} is not {what}: {problem}") from None


def _plain(text: str) -> str:
    """Fit for a file name on every system: the name of a key is part of a baseline's file name."""
    return re.sub(r"[^a-z0-9.]+", "_", text.lower()).strip("_.") or "unknown"
