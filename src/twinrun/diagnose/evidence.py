"""Evidence: what the held twins tell, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from twinrun.comparison.frames import Difference
from twinrun.launch.twin_process import Twin
from twinrun.recording.frame import PHASES
from twinrun.result import CheckResult

Row = dict[str, Any]
Traces = tuple[list[Row], list[Row]]


@dataclass(frozen=True)
class Evidence:
    first: Difference
    rows: tuple[tuple[Row | None, Row | None], ...]  # of the ledger, the same site in both twins
    streams: tuple[str, ...] = ()  # random streams of Keras and TensorFlow whose state differs
    ops: Traces | None = None  # of the step at which they parted
    fed: Traces | None = None  # of the input pipeline, from its beginning

    @property
    def early(self) -> tuple[int, int]:
        """Where in the run, for telling whether an experiment moved the difference to later."""
        return (self.first.step, PHASES.index(self.first.phase))

    def of(self, *kinds: str) -> list[tuple[Row | None, Row | None]]:
        return [pair for pair in self.rows if any(row is not None and row["kind"] in kinds for row in pair)]


def evidence_of(result: CheckResult, traces: tuple[Traces, Traces] | None = None) -> Evidence | None:
    """What a check that diverged leaves behind. None when it does not say where."""
    if result.first_difference is None:
        return None
    ledgers = [ledger for ledger in result.ledgers if isinstance(ledger, list)]
    pair = (ledgers[0], ledgers[-1]) if len(ledgers) > 1 else ([], [])
    streams = tuple(row["stream"] for row in result.streams)
    return Evidence(result.first_difference, side_by_side(*pair), streams, *(traces or (None, None)))


def op_traces(twins: Sequence[Twin]) -> tuple[Traces, Traces] | None:
    """Asked of twins that stand still and trace their ops: those of the step, and those of the input pipeline."""
    if len(twins) < 2:
        return None
    a, b = (twin.ask("ops", timeout=120.0) for twin in (twins[0], twins[-1]))
    return (a.get("ops", []), b.get("ops", [])), (a.get("fed", []), b.get("fed", []))


def side_by_side(a: list[Row], b: list[Row]) -> tuple[tuple[Row | None, Row | None], ...]:
    keys = dict.fromkeys(_key(row) for row in [*a, *b])
    in_a, in_b = ({_key(row): row for row in rows} for rows in (a, b))
    return tuple((in_a.get(key), in_b.get(key)) for key in keys)


def differs(pair: tuple[Row | None, Row | None]) -> bool:
    """Whether this site gave something else in the one twin than in the other, as far as both got."""
    a, b = pair
    if a is None or b is None:
        return True
    shared = min(len(a["draws"]), len(b["draws"]))
    if a["draws"][:shared] != b["draws"][:shared]:
        return True
    return bool(a["count"] == b["count"] and a["digest"] != b["digest"])


def one(pair: tuple[Row | None, Row | None]) -> Row:
    row = pair[0] if pair[0] is not None else pair[1]
    assert row is not None
    return row


def _key(row: Row) -> tuple[str, str, int, str]:
    return (row["kind"], row["file"], row["line"], row["what"] if row["kind"] == "file" else "")
