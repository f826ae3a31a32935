"""What of a result goes to a tracker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import PurePath

from twinrun.render import rendered
from twinrun.render.text import as_text
from twinrun.result import CheckResult
from twinrun.trackers import TrackedRun

_LONGEST_LABEL = 500


@dataclass(frozen=True)
class Entry:
    """`numbers` are by step, those of the whole check at step 0."""

    title: str
    labels: Mapping[str, str]
    numbers: Mapping[int, Mapping[str, float]]
    text: str
    files: Mapping[str, str]

    @classmethod
    def of(cls, result: CheckResult, name: str = "") -> Entry:
        """`name` is that of a configured program."""
        return cls(
            name or PurePath(result.program.partition(" ")[0] or "twinrun").name,
            {label: text[:_LONGEST_LABEL] for label, text in _labels(result).items() if text},
            _by_step(_numbers(result)),
            f"```text\n{as_text(result).replace('```', chr(39) * 3).rstrip()}\n```\n",
            {
                "twinrun/result.json": rendered([("", result)], "json"),
                "twinrun/report.html": rendered([("", result)], "html"),
            },
        )

    def log(self, run: TrackedRun) -> None:
        run.labels(self.labels)
        run.numbers(self.numbers)
        run.text("twinrun/summary", self.text)
        for name, content in self.files.items():
            run.file(name, content)


def _labels(result: CheckResult) -> dict[str, str]:
    first = result.first_difference
    return {
        "twinrun.verdict": result.verdict,
        "twinrun.program": result.program,
        "twinrun.contract": result.contract,
        "twinrun.environment": str(result.environment.get("name", "")),
        "twinrun.reason": result.reason or "",
        "twinrun.first_difference": f"step {first.step}, {first.phase}: {first.tensor}" if first else "",
        "twinrun.codes": " ".join(sorted({finding.code for finding in result.findings})),
    }


def _numbers(result: CheckResult) -> Iterable[tuple[int, str, float | None]]:
    """The check as a whole, how far the twins are apart, and what each of them reported. None: not known at that step."""
    yield 0, "twinrun/exit_code", result.exit_code
    yield 0, "twinrun/steps_compared", result.steps_compared
    yield 0, "twinrun/findings", len(result.findings)
    for growth in result.growth:
        what = growth.metric or "all"
        yield growth.step, f"distance/{what}/max_abs", growth.max_abs
        yield growth.step, f"distance/{what}/max_ulp", growth.max_ulp
    if result.timeline is None:
        return
    for tensor in result.timeline.tensors:
        name = f"tensors/{tensor.phase}/{tensor.tensor}"
        for at, step in enumerate(tensor.steps):
            yield step, f"{name}/max_abs", tensor.max_abs[at]
            yield step, f"{name}/max_ulp", tensor.max_ulp[at]
            yield step, f"{name}/differing", tensor.differing[at]
    for curve in result.timeline.curves:
        for twin, values in zip(result.timeline.twins, curve.values, strict=False):
            for step, value in zip(curve.steps, values, strict=True):
                yield step, f"twins/{curve.phase}/{curve.name}/{twin}", value


def _by_step(numbers: Iterable[tuple[int, str, float | None]]) -> dict[int, dict[str, float]]:
    """In the order of the steps. Trackers differ in what they make of infinity, and show none of it."""
    found: dict[int, dict[str, float]] = {}
    for step, name, value in numbers:
        if value is not None and isfinite(value):
            found.setdefault(step, {})[name] = float(value)
    return dict(sorted(found.items()))
