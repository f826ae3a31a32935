"""What pinning adds to the result of a run: what could not be pinned, what the program changed, and what was
noticed inside. Framework-free: works on what a twin told of itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from twinrun.findings.finding import Finding
from twinrun.protocol.pin import PinRequest
from twinrun.twin.pins import current
from twinrun.twin.readback import changes, shortfalls

# Ends the program by itself: no comparison is needed to know it.
_FATAL = ("TW104", "TW406")


def told() -> list[dict[str, Any]]:
    """Inside a twin: what was noticed while pinned."""
    return [finding.as_json() for finding in current().notes]


def noticed(facts: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """In the parent: what the twins noticed, each once."""
    documents = [document for each in facts for document in each.get("pinning", ())]
    found = [Finding(**{**document, "evidence": tuple(document["evidence"])}) for document in documents]
    return tuple(dict.fromkeys(found))


def refusals(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if finding.code in _FATAL)


def remarks(request: PinRequest | None, controls: Mapping[str, Any]) -> list[str]:
    """For the screen: what was asked for and is not there, and what the program set itself."""
    if request is None or not _readable(controls):
        return []
    return [
        *(f"not pinned: {line}" for line in shortfalls(controls)),
        *(f"set by the program: {line}" for line in changes(controls)),
    ]


def strictly_missing(request: PinRequest | None, controls: Mapping[str, Any]) -> str | None:
    """The reason why a strict request cannot be judged; None where it holds or was not strict."""
    if request is None or not request.strict:
        return None
    if not controls or not _readable(controls):
        return "pinning was to be strict, and the controls could not be read back"
    missing = shortfalls(controls)
    return (
        f"pinning was to be strict, and not everything is pinned: {'; '.join(missing)}" if missing else None
    )


def _readable(controls: Mapping[str, Any]) -> bool:
    return all(isinstance(entry, Mapping) and "requested" in entry for entry in controls.values())
