"""`make bench`: every measurement that docs/explanation/benchmarks.md reports, printed as Markdown.

    python benchmarks/run.py [recording] [check] [diff] [startup]

Every figure is a ratio, or stands beside what it is compared with, measured in turns in one run. On a busy machine the
figures of the small model suffer first.
"""

from __future__ import annotations

import os
import platform
import sys

import offline_diff
import recorded_steps
import startup
import whole_check

PARTS = {
    "recording": (
        "Recorded step over plain step",
        lambda: recorded_steps.report({"mlp": 30, "resnet50": 15, "transformer": 20}),
    ),
    "check": ("A whole check over two plain runs", whole_check.report),
    "diff": ("Offline diff of two recordings of 20 tensors a step", offline_diff.report),
    "startup": ("Start-up", startup.report),
}


def main() -> None:
    chosen = sys.argv[1:] or list(PARTS)
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        sys.exit(f"no such benchmark: {unknown[0]} (there are {', '.join(PARTS)})")
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    print(f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, load before: {load:.1f}")
    for part in chosen:
        title, report = PARTS[part]
        print(f"\n## {title}\n\n{report()}", flush=True)


if __name__ == "__main__":
    main()
