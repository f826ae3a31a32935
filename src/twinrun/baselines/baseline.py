"""A baseline and its file: a kept run under a name and a contract, as JSON with a checksum and one line to a
step, so that a reviewer sees what changed."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import msgspec

from twinrun import __version__, untrusted
from twinrun.baselines.kept_run import KeptRun, KeptSteps
from twinrun.environment.environment import Environment, typed
from twinrun.errors import BadBaseline, BadRecording
from twinrun.recording.manifest import checksum

SCHEMA: Literal["twinrun/baseline/2"] = "twinrun/baseline/2"
# Fields that are written with one line to an item.
_LONG = ("children", "environment", "facts", "layouts", "recording", "rows", "samples")


@dataclass(frozen=True, kw_only=True)
class Baseline(KeptRun):
    """What a program of this name gave in this environment."""

    AS_IS: ClassVar[tuple[str, ...]] = (*KeptRun.AS_IS, "name", "contract", "schema")
    name: str
    contract: str
    recorded: str
    history: tuple[dict[str, Any], ...] = ()
    twinrun: str = __version__
    schema: Literal["twinrun/baseline/2"] = SCHEMA


def baseline_of(
    name: str, contract: str, run: KeptRun, recorded: str, history: tuple[dict[str, Any], ...] = ()
) -> Baseline:
    about = {**vars(run), "environment": without_installed(run.environment), "recording": None}
    return Baseline(**about, name=name, contract=contract, recorded=recorded, history=history)


def without_installed(environment: Environment) -> Environment:
    """The environment less what is merely installed: that would be most of the file and explains nothing."""
    facts = {group: dict(fields) for group, fields in environment.facts.items()}
    facts.get("packages", {}).pop("installed", None)
    return Environment(facts, environment.key)


def as_text(baseline: Baseline) -> str:
    document = finite(msgspec.to_builtins(baseline))
    # As a reader wants it: whose baseline it is first, the long lists last.
    order = sorted(document, key=lambda name: (name in _LONG, name != "schema", name != "name"))
    document = {name: document[name] for name in order if name != "recording"}
    document["environment"] |= {"name": baseline.environment.name}
    document["checksum"] = checksum(document)
    fields = (f'"{name}": {_value_text(name, value)}' for name, value in document.items())
    return "{\n " + ",\n ".join(fields) + "\n}\n"


def _value_text(name: str, value: Any, indent: str = " ") -> str:
    if name not in _LONG or not value:
        return json.dumps(value, sort_keys=True)
    inner = f"\n{indent} "
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {_value_text(key, each, indent + ' ')}" for key, each in value.items()]
    else:
        items = [_item_text(name, each, indent + " ") for each in value]
    left, right = "{}" if isinstance(value, dict) else "[]"
    return left + inner + f",{inner}".join(items) + f"\n{indent}{right}"


def _item_text(name: str, item: Any, indent: str) -> str:
    return _value_text(name, item, indent) if isinstance(item, dict) else json.dumps(item)


def finite(value: Any) -> Any:
    """Write NaN and infinity as text: JSON has neither."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def from_text(text: str, where: str) -> Baseline:
    """Reads a baseline. A file that is damaged, cut short or edited by hand is an error that names it."""
    try:
        document = untrusted.parse_json(text.encode())
    except ValueError as problem:
        raise _bad(where, f"it is not complete ({problem})") from None
    if not isinstance(document, dict) or "schema" not in document:
        raise _bad(where, "it is not a baseline")
    if document["schema"] != SCHEMA:
        raise BadBaseline(
            f"{where} was written by another version of Twinrun ({str(document['schema'])[:40]})",
            hint="upgrade twinrun, or accept the baseline again",
        )
    if document.get("checksum") != checksum(document):
        raise _bad(where, "its checksum does not match: it was edited by hand, merged, or damaged")
    try:
        baseline = typed(document, Baseline, "a baseline", strict=False)
        for kept in (baseline, *(child.recording for child in baseline.children)):
            _must_fit(kept)
        if not (baseline.frames or baseline.children):
            raise ValueError("it keeps nothing")
    except BadRecording as problem:
        raise _bad(where, problem.message) from None
    except (TypeError, ValueError, IndexError) as problem:
        raise _bad(where, str(problem)) from None
    return baseline


def _must_fit(kept: KeptSteps) -> None:
    numbers = [row.seq for row in kept.rows]
    if [*numbers[:1], *numbers[-1:]] != ([0, kept.frames - 1] if kept.frames else []):
        raise ValueError(f"it does not keep the first and the last of its {kept.frames} frames")
    if numbers != sorted(set(numbers)) or kept.last_step != (kept.rows[-1].step if kept.rows else 0):
        raise ValueError("its steps are not in order")
    for row in kept.rows:
        kept.frame(row)
    for sample in kept.samples:
        sample.array()


def _bad(where: str, why: str) -> BadBaseline:
    return BadBaseline(
        f"the baseline {where} cannot be used: {why}",
        hint="restore it from version control, or replace it with `twinrun baseline accept … --reason …`",
    )
