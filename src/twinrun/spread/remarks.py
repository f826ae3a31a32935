"""What is worth knowing beside the numbers of a spread, each in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from twinrun.launch.run import RunResult
from twinrun.protocol.event import Event, relative
from twinrun.protocol.evidence import in_library, is_direct
from twinrun.protocol.registry import frameworks
from twinrun.spread.numbers import Numbers
from twinrun.spread.plan import DATA, SpreadOptions
from twinrun.spread.report import Run

_MOST_PLACES = 5
_GLOBAL = {"numpy-random": "NumPy's", "python-random": "Python's"}


def on_first_run(options: SpreadOptions, result: RunResult, numbers: Numbers) -> Iterator[str]:
    facts = result.facts
    yield from facts.notes
    own = {state.place for state in facts.controls.values() if state.set_by == "twinrun" and state.place}
    if own:
        places = ", ".join(sorted(relative(place) for place in own))
        yield f"seeds that the program sets itself were replaced by those of each run: {places}"
    if numbers.children:
        yield f"the numbers are those of a process that the program starts: {numbers.children[0]}"
    elif result.children:
        processes = "a process" if result.children == 1 else f"{result.children} processes"
        yield f"only the program's own numbers are measured, not those of {processes} that it starts and that train"
    if DATA in options.sources:
        yield from _undivided(facts.events)


def _undivided(events: Iterable[Event]) -> Iterator[str]:
    """A global stream may serve anything, and nothing shows what for."""
    lines: dict[str, set[tuple[str, int]]] = {}
    for event in events:
        if event.source in _GLOBAL and event.action == "draw" and _is_the_programs(event):
            lines.setdefault(event.source, set()).add((relative(event.file), event.line))
    for source, found in lines.items():
        places = [f"{file}:{line}" for file, line in sorted(found)]
        shown = ", ".join(places[:_MOST_PLACES]) + (", …" if len(places) > _MOST_PLACES else "")
        yield (
            f"data covers everything drawn from {_GLOBAL[source]} global stream ({shown}): whether it orders data or "
            "serves something else cannot be told apart"
        )


def _is_the_programs(event: Event) -> bool:
    """Not a framework's own draw, which has a stream of its own, nor one while a library is being imported."""
    by_framework = any(event.via == framework.module for framework in frameworks())
    return is_direct(event) or (in_library(event) and bool(event.entry) and not by_framework)


def not_used(unused: dict[str, int]) -> str:
    shown = ", ".join(f"{source} ({runs} runs)" for source, runs in unused.items())
    return f"no number changed at all, so no further runs were made: {shown}"


def not_repeated(first: Run | None, again: Run | None) -> Iterator[str]:
    """Two runs with the same seed."""
    if first is None or again is None or first.same_numbers(again):
        return
    name = next(
        (name for name in first.metrics if first.metrics[name] != again.metrics.get(name)), "a metric"
    )
    yield (
        f"the program does not repeat though it is pinned ({name} was {first.metrics.get(name)} and "
        f"{again.metrics.get(name)} with the same seed): part of every figure here is not the seed's; "
        "`twinrun check --pin` names the cause"
    )
