"""`make bench`: every measurement that docs/explanation/benchmarks.md reports.

    python benchmarks/run.py [--dry] [recording] [check] [diagnosis] [diff] [startup] [report]

Every figure is a ratio, or stands beside what it is compared with, measured in turns in one run. The first three are
written to the page, between its markers, unless `--dry` is given: what cannot be measured here (without a GPU, say)
stays there as it was. On a busy machine the figures of the small model suffer first.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable

import offline_diff
import recorded_steps
import report_page
import startup
import whole_check
from figures import PAGE, Figures, Row
from measure import load_in_words, machine, taken_by_others

KEPT: dict[str, tuple[str, Callable[[], list[Row]]]] = {
    "recording": ("A watched step over a plain step", recorded_steps.rows),
    "check": ("A whole check over plain runs", whole_check.rows),
    "diagnosis": ("A check and its diagnosis over a plain run", whole_check.diagnosis_rows),
}
PRINTED: dict[str, tuple[str, Callable[[], str]]] = {
    "diff": ("Offline diff of two recordings of 20 tensors a step", offline_diff.report),
    "startup": ("Start-up", startup.report),
    "report": ("The HTML report in a browser", report_page.report),
}


def main() -> None:
    dry = "--dry" in sys.argv[1:]
    chosen = [word for word in sys.argv[1:] if word != "--dry"] or [*KEPT, *PRINTED]
    unknown = [part for part in chosen if part not in (*KEPT, *PRINTED)]
    if unknown:
        sys.exit(f"no such benchmark: {unknown[0]} (there are {', '.join((*KEPT, *PRINTED))})")
    where = machine()
    print(f"{where}; {load_in_words(taken_by_others())}", flush=True)
    figures = Figures()
    for part in chosen:
        if part in PRINTED:
            title, report = PRINTED[part]
            print(f"\n## {title}\n\n{report()}", flush=True)
            continue
        title, measure = KEPT[part]
        before = taken_by_others()
        rows = measure()
        load = load_in_words(max(before, taken_by_others()))  # it may have changed meanwhile
        figures.add(part, rows, f"{datetime.date.today()}, {where}; {load}")
        print(f"\n## {title}\n\n{figures.markdown(part)}", flush=True)
        if not dry:  # at once: the next part may take long
            figures.save()
            missing = figures.write_page()
            if missing:
                sys.exit(f"{PAGE} has no place for: {', '.join(missing)}")


if __name__ == "__main__":
    main()
