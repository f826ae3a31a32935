"""The file of a baseline: JSON with a checksum, one line to a step, so that a reviewer sees what changed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from twinrun.baselines.baseline import Baseline, Row
from twinrun.baselines.observed import Place
from twinrun.environment.environment import Environment
from twinrun.errors import BadBaseline, BadRecording

SCHEMA = "twinrun/baseline/1"


def as_text(baseline: Baseline) -> str:
    places = _places(baseline)
    numbers = {where: place for place, where in enumerate(places)}
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "name": baseline.name,
        "environment": baseline.environment.name,
        "contract": baseline.contract,
        "recorded": baseline.recorded,
        "twinrun": baseline.twinrun,
        "program": baseline.program,
        "arguments": list(baseline.arguments),
        "steps": baseline.steps,
        "pin": baseline.pin,
        "frames": baseline.frames,
        "last_step": baseline.last_step,
        "metrics": {name: number(value) for name, value in baseline.metrics.items()},
        "history": list(baseline.history),
        "key": baseline.environment.key.as_json(),
    }
    lines = [f'"{name}": {json.dumps(value, sort_keys=True)}' for name, value in head.items()]
    facts = baseline.environment.facts.items()
    lines.append(
        _block(
            "facts",
            "{}",
            [f"{json.dumps(group)}: {json.dumps(each, sort_keys=True)}" for group, each in facts],
        )
    )
    lines.append(_block("tensors", "[]", [json.dumps(list(where)) for where in places]))
    lines.append(_block("rows", "[]", [_row_text(row, numbers) for row in baseline.rows]))
    samples = baseline.samples.items()
    lines.append(_block("samples", "[]", [_sample_text(numbers[where], array) for where, array in samples]))
    body = "{\n " + ",\n ".join(lines)
    document = json.loads(body + "}")
    return f'{body},\n "checksum": "{checksum(document)}"\n}}\n'


def _block(name: str, brackets: str, items: list[str]) -> str:
    inside = "".join(f"\n  {item}," for item in items).removesuffix(",") + "\n " if items else ""
    return f'"{name}": {brackets[0]}{inside}{brackets[1]}'


def checksum(document: Mapping[str, Any]) -> str:
    """Of everything but the checksum, in canonical form: spaces and line ends may change, content may not."""
    rest = {name: value for name, value in document.items() if name != "checksum"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def from_text(text: str, where: str) -> Baseline:
    """Reads a baseline. A file that is damaged, cut short or edited by hand is named, and never read as
    one."""
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise _bad(where, f"it is not whole ({problem})") from None
    if not isinstance(document, dict) or "schema" not in document:
        raise _bad(where, "it is not a baseline")
    if document["schema"] != SCHEMA:
        raise BadBaseline(
            f"{where} was written by another version of Twinrun ({str(document['schema'])[:40]})",
            hint="upgrade twinrun, or accept the baseline anew",
        )
    if document.get("checksum") != checksum(document):
        raise _bad(
            where, "its checksum does not match what it says: it was edited by hand, merged, or damaged"
        )
    try:
        return _parsed(document, where)
    except BadRecording as problem:
        raise _bad(where, problem.message) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, binascii.Error) as problem:
        raise _bad(where, f"{type(problem).__name__}: {problem}") from None


def _parsed(document: Mapping[str, Any], where: str) -> Baseline:
    places = [(str(phase), str(name)) for phase, name in document["tensors"]]
    rows = tuple(_row(each, places) for each in document["rows"])
    if not rows:
        raise ValueError("it keeps no step")
    environment = Environment.from_json({"key": document["key"], "facts": document["facts"]}, where)
    return Baseline(
        name=str(document["name"]),
        contract=str(document["contract"]),
        environment=environment,
        rows=rows,
        frames=int(document["frames"]),
        last_step=int(document["last_step"]),
        metrics={str(name): _float(value) for name, value in document["metrics"].items()},
        program=str(document["program"]),
        arguments=tuple(str(each) for each in document["arguments"]),
        steps=None if document["steps"] is None else int(document["steps"]),
        pin=None if document["pin"] is None else str(document["pin"]),
        samples=dict(_sample(each, places) for each in document["samples"]),
        recorded=str(document["recorded"]),
        twinrun=str(document["twinrun"]),
        history=tuple(dict(each) for each in document["history"]),
    )


def _bad(where: str, why: str) -> BadBaseline:
    return BadBaseline(
        f"the baseline {where} cannot be used: {why}",
        hint="restore it from version control, or replace it with `twinrun baseline accept … --reason …`",
    )


def _places(baseline: Baseline) -> list[Place]:
    seen: dict[Place, None] = {}
    for row in baseline.rows:
        seen.update(dict.fromkeys(row.digests or {}))
        seen.update(dict.fromkeys(row.values))
    seen.update(dict.fromkeys(baseline.samples))
    return list(seen)


def _row_text(row: Row, numbers: Mapping[Place, int]) -> str:
    """`[seq, step, span, chain, "entry:digest …", {entry: value}]`."""
    digests = None if row.digests is None else " ".join(f"{numbers[p]}:{d}" for p, d in row.digests.items())
    values = {str(numbers[where]): number(value) for where, value in row.values.items()}
    return json.dumps([row.seq, row.step, row.span, row.chain, digests, values])


def _row(document: list[Any], places: list[Place]) -> Row:
    seq, step, span, chain, digests, values = document
    parted = None if digests is None else dict(pair.split(":") for pair in str(digests).split())
    return Row(
        int(seq),
        int(step),
        int(span),
        str(chain),
        None if parted is None else {places[int(number)]: digest for number, digest in parted.items()},
        {places[int(number)]: _float(value) for number, value in values.items()},
    )


def _sample_text(number: int, array: np.ndarray) -> str:
    return json.dumps([number, str(array.dtype), base64.b64encode(array.tobytes()).decode()])


def _sample(document: list[Any], places: list[Place]) -> tuple[Place, np.ndarray]:
    number, dtype, data = document
    if dtype == "bfloat16":
        import ml_dtypes

        kind: Any = ml_dtypes.bfloat16
    else:
        kind = np.dtype(str(dtype))
    return places[int(number)], np.frombuffer(base64.b64decode(data, validate=True), dtype=kind)


def number(value: float) -> float | str:
    """JSON has no NaN and no infinity; a diverged loss is worth keeping all the same."""
    return value if np.isfinite(value) else str(value)


def _float(value: Any) -> float:
    return float(value)
