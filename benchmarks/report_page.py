"""The HTML report: how large it is, how long a browser takes to open it over an empty page, and what keeping its timeline
costs at each step. Needs Chromium.

    python benchmarks/report_page.py
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import HERE, in_turns, ratio, table

sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "render")]

from samples import DRIFTING, largest  # noqa: E402

from browser import chromium, missing  # noqa: E402
from twinrun.comparison.frames import Distance  # noqa: E402
from twinrun.comparison.tracking import Mark, Tracker  # noqa: E402
from twinrun.recording.frame import Frame, Layout  # noqa: E402
from twinrun.render.html import as_html  # noqa: E402
from twinrun.result import CheckResult  # noqa: E402

STEPS, TENSORS, DIFFERING = 100_000, 2_000, 200
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def report(repetitions: int = 9) -> str:
    if (problem := missing()) is not None:
        return f"not measured: {problem}"
    long, each, differing = long_run()
    pages = {
        "an empty page": "<!doctype html><title>empty</title>",
        "an ordinary check": as_html(DRIFTING),
        f"{STEPS:,} steps of {TENSORS:,} tensors": as_html(long),
        "every list at its limit": as_html(largest()),
    }
    times = opened(pages, repetitions)
    base = "an empty page"
    rows = [
        [
            name, f"{len(text.encode()) / 1000:,.0f} kB", f"{statistics.median(times[name]) * 1000:.0f} ms",
            f"{ratio(times, name, base):.1f}", f"{max(times[name]):.2f} s",
        ]
        for name, text in pages.items()
    ]  # fmt: skip
    shown = table(["page", "size (goal: 5 MB)", "opened and drawn", "ratio", "slowest (goal: 2 s)"], rows)
    return f"{shown}\n\nKeeping the timeline: {each * 1e6:.0f} µs a step that is equal, {differing * 1e3:.1f} ms a step where all tensors differ."


def opened(pages: dict[str, str], repetitions: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        files = {name: Path(place) / f"{number}.html" for number, name in enumerate(pages)}
        for name, file in files.items():
            file.write_text(pages[name], encoding="utf-8")

        def seconds(file: Path) -> float:
            page = browser.new_page()
            start = time.perf_counter()
            page.goto(file.as_uri())
            page.evaluate(DRAWN)
            taken = time.perf_counter() - start
            page.close()
            return taken

        return in_turns({name: lambda file=file: seconds(file) for name, file in files.items()}, repetitions)


def long_run() -> tuple[CheckResult, float, float]:
    """A long run of a large model whose last steps differ in every tensor; seconds for a step of each kind."""
    names = [f"net/block_{n // 20}/layer_{n // 4}/tensor_{n}" for n in range(TENSORS - 1)]
    layout = Layout(("loss", *["weights"] * len(names)), ("loss", *names))
    digests = bytes(8 * TENSORS)
    tracker = Tracker("AB")

    def step(number: int, marks: dict[Any, Mark]) -> None:
        tracker.add([Frame(number, 1, layout, digests, ((0, 1 / number),))] * 2, marks)

    start = time.perf_counter()
    for number in range(1, STEPS - DIFFERING + 1):
        step(number, {})
    each = (time.perf_counter() - start) / (STEPS - DIFFERING)
    distance = Distance(differing=1.0, differing_count=1, size=1, max_ulp=3, max_abs=1e-7)
    marks = {("weights", name): Mark(True, distance) for name in names}
    start = time.perf_counter()
    for number in range(STEPS - DIFFERING + 1, STEPS + 1):
        step(number, marks)
    differing = (time.perf_counter() - start) / DIFFERING
    result = CheckResult(
        "train.py", "repeats", contract="rtol=1e-4", steps_compared=STEPS, timeline=tracker.timeline()
    )
    return result, each, differing


if __name__ == "__main__":
    print(report())
