"""The base class of sources that draw from one seeded stream. It suspects draws without a seed, a seed that comes too
late, that differs between the runs or is lost by reseeding, and a seeded stream for which workers race."""

from __future__ import annotations

from collections.abc import Iterator

from twinrun.knowledge.library_seeds import seedless
from twinrun.protocol import Event, Evidence, Source, Suspect, Weight, differs, one
from twinrun.protocol.event import WORKER
from twinrun.protocol.evidence import Pair, in_library, is_direct
from twinrun.protocol.registry import frameworks, sources

_TOO_LATE, _HOST_DRAW, _RACE_IN_INPUT, _RACE = "TW106", "TW204", "TW205", "TW403"
_SHUFFLED = "TW201"
# Codes that say where a draw was made, and so what is wrong with it even where its stream is seeded.
_BY_PLACE = (_TOO_LATE, _HOST_DRAW, _RACE_IN_INPUT, _RACE)
LIBRARY = -3  # a library's draws are suspected after the program's own
_UNEXPECTED = -4  # a seeded stream that differs is more likely the effect of another source
_RESEEDED = 2  # reseeding is to blame before the draws that follow it


class StreamSource(Source):
    """Subclasses set the attributes below, and override `code_for`, `message`, `weight_for` and `is_own` where they
    know more about a draw. `code` is that of a draw without a seed."""

    stream: str = ""  # the source whose "seed" and "reseed" events count: often its own name
    title: str = ""  # as the subject of a sentence: "NumPy's global stream"
    draw_action: str = "draw"
    on_host: bool = False  # drawn by Python code, which input pipelines, loader workers and threads may run
    compares_values: bool = True  # False: no digest shows what was drawn, so only `seeded=False` is suspected

    # What subclasses may override.

    def code_for(self, evidence: Evidence, event: Event) -> str:
        """The code for a draw that its seed does not come too late for."""
        if by_shuffler(event):
            return _SHUFFLED
        if self.on_host:
            if event.context == WORKER:
                return _RACE_IN_INPUT
            if event.context in ("py_function", "generator"):
                return _HOST_DRAW
            if event.context == "loader" and evidence.of("loaders"):
                return _RACE_IN_INPUT
            if event.threads > 1 and self.is_seeded(evidence, event):
                return race_code(evidence)
        return self.code

    def message(self, code: str, event: Event) -> str:
        """What is wrong with a draw, where neither its place nor its seed says it."""
        known = seedless(event.via, event.entry)
        if known is not None:
            return f"{known.problem}, and {self.title} is not seeded"
        what = event.call if is_direct(event) or not event.entry else library(event)
        return f"{what} draws from {self.title}, which is not seeded"

    def weight_for(self, evidence: Evidence) -> Weight:
        return self.weight

    def seed_to_write(self, event: Event) -> str:
        """What to write so that this use gets a seed, where the line cannot be rewritten. Empty where nothing is known."""
        return seed_to_write(event)

    def is_own(self, event: Event) -> bool:
        """Whether the program's line is to blame as for a draw of its own, though a library may have made it."""
        return is_direct(event)

    # What was seeded, and when.

    def is_seeded(self, evidence: Evidence, event: Event) -> bool:
        """The same seed was set in both twins before the first draw, and the stream was not reseeded since."""
        if event.seeded is False:
            return False
        before = [seed.order for seed in self._seeds(evidence, event) if seed.order < event.order]
        lost = [one(pair).last for pair in evidence.of(self.stream, "reseed")]
        return bool(before) and not any(max(before) < order < event.last for order in lost)

    def seed_after(self, evidence: Evidence, event: Event) -> Event | None:
        """The call that seeds the stream, when it came after the first draw and none came before. A library that seeds
        the stream for itself with what it has just drawn seeds nothing."""
        seeds = self._seeds(evidence, event)
        if not seeds or any(seed.order < event.order for seed in seeds):
            return None
        return seeds[0]

    def _seeds(self, evidence: Evidence, event: Event) -> list[Event]:
        """The calls that seed the stream, alike in both twins, in the interpreter that this use was made in."""
        seeds = [one(pair) for pair in evidence.seeds(self.stream) if not differs(pair)]
        return [seed for seed in seeds if not set(seed.processes).isdisjoint(event.processes)]

    # Suspects.

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        events = list(self._suspected(evidence))
        own = [event for event in events if self.is_own(event)]
        yield from self._draws(evidence, own, 0)
        yield from self._draws(evidence, [e for e in events if e not in own and in_library(e)], LIBRARY)
        if self.stream == self.name:
            yield from self._reseeded(evidence)
            yield from self._differing_seeds(evidence)

    def _suspected(self, evidence: Evidence) -> Iterator[Event]:
        """Draws that differ. What was drawn after a seed that differs is the effect of that seed, and left out."""
        seeds = [event.order for event in evidence.differing_seeds(self.stream)]
        for pair in evidence.of(self.name, self.draw_action):
            event = one(pair)
            by_worker = self.on_host and event.context == WORKER  # seeded or not, who draws what is a race
            suspicious = event.seeded is False or (self.compares_values and differs(pair)) or by_worker
            if suspicious and not any(event.order > order for order in seeds):
                yield event

    def _draws(self, evidence: Evidence, events: list[Event], bonus: int) -> Iterator[Suspect]:
        """One for each line; those with the same code, and with or without a seed, share a fix."""
        for event in events:
            late_seed = self.seed_after(evidence, event)
            code = _TOO_LATE if late_seed is not None else self.code_for(evidence, event)
            seeded = self.is_seeded(evidence, event) and event.context != WORKER
            notes = [f"{drawn(event)} is drawn at {event.place}"]
            if late_seed is not None:
                notes.append(f"the seed is set at {late_seed.place}, after that")
            yield self.suspect(
                [event],
                self._message(code, event, seeded=seeded),
                code=code,
                weight=self.weight_for(evidence).plus(bonus + (_UNEXPECTED if seeded else 0)),
                notes=tuple(notes),
                experiment=f"with {drawn(event)} frozen there",
                advice=_advice(code, event),
                fix=f"{self.name}: {'seeded' if seeded else 'seed'}",
                in_words=self.seed_to_write(event) if code == self.code else "",
            )

    def _message(self, code: str, event: Event, *, seeded: bool) -> str:
        if seeded and code not in _BY_PLACE:
            return f"{drawn(event)} gave different values in each run, though its stream is seeded"
        if code == _SHUFFLED and code != self.code:
            return f"{event.entry} shuffles without a seed"
        return _message_by_place(code, event) or self.message(code, event)

    def _reseeded(self, evidence: Evidence) -> Iterator[Suspect]:
        """`random.seed()` seeds from the system's entropy, whatever was set before."""
        draws = _draws_from(self.stream, evidence)
        for pair in evidence.of(self.stream, "reseed"):
            event = one(pair)
            later = [d for p in draws if (d := one(p)).last > event.order and differs(p)]
            if not (differs(pair) and later):
                continue
            before = [seed for p in evidence.seeds(self.stream) if (seed := one(p)).order < event.order]
            notes = [f"{drawn(draw)} is drawn after that, at {draw.place}" for draw in later[:3]]
            if before:
                notes.insert(0, f"the seed set at {before[0].place} is lost")
            yield self.suspect(
                [event],
                f"{event.call}() without a value reseeds {self.title} with a new seed in every run",
                weight=self.weight_for(evidence).plus(_RESEEDED),
                notes=tuple(notes),
                experiment=f"with a fixed seed in place of {event.call}()",
            )

    def _differing_seeds(self, evidence: Evidence) -> Iterator[Suspect]:
        """A seed that differs, when nothing is known about where its value came from: the last resort."""
        through = {framework.module for framework in frameworks()}
        for event in evidence.differing_seeds(self.stream):
            if is_direct(event) or event.via in through:
                yield self.suspect(
                    [event],
                    f"{self.title} is seeded with a different value in each run",
                    weight=Weight(),
                    notes=(f"{event.call} is called at {event.place}",),
                    experiment=f"with a fixed seed given to {event.call}",
                )


def race_code(evidence: Evidence) -> str:
    """The code of a race between threads: in what feeds the step, or in the rest of the program."""
    return _RACE_IN_INPUT if evidence.first.phase == "batch" else _RACE


def drawn(event: Event) -> str:
    """What was drawn, with the library that did it where the call does not tell."""
    told = is_direct(event) or not event.entry or event.call.endswith(f"({event.entry})")
    return event.call if told else f"{event.call} (by {library(event)})"


def library(event: Event) -> str:
    return event.via if event.entry in ("__init__", "__call__") else f"{event.via}'s {event.entry}"


def seed_to_write(event: Event) -> str:
    """What to write so that the call of a library behind this event gets a seed. Empty where nothing is known."""
    known = seedless(event.via, event.entry)
    return known.write if known is not None else ""


def _draws_from(stream: str, evidence: Evidence) -> list[Pair]:
    """Draws by every source that draws from this stream."""
    return [
        pair
        for source in sources()
        if isinstance(source, StreamSource) and source.stream == stream
        for pair in evidence.of(source.name, source.draw_action)
    ]


def by_shuffler(event: Event) -> bool:
    """Drawn by a function of a framework that shuffles what it is given: one that takes a seed for it, or one that
    shuffles by the global streams, as `fit` does."""
    return any(
        event.via == framework.module
        and (event.entry.endswith(framework.shufflers) or event.call.rstrip(")").endswith("shuffle"))
        for framework in frameworks()
        if framework.shufflers
    )


def _message_by_place(code: str, event: Event) -> str:
    if code == _TOO_LATE:
        return f"{event.call} was used before the seed was set"
    if code == _HOST_DRAW:
        inside = "a generator" if event.context == "generator" else "a host function of the input pipeline"
        return f"{event.call} is drawn inside {inside}"
    if event.context == WORKER:
        return f"{event.call} is drawn by several worker processes, and which of them does what is a race"
    if code in (_RACE_IN_INPUT, _RACE):
        workers = "loader workers" if event.context == "loader" else "threads"
        return f"{event.call} is drawn by several {workers} from one stream"
    return ""


def _advice(code: str, event: Event) -> str:
    """What to write instead, where the catalogue's advice would not help."""
    if event.context == WORKER:
        return "in the function that the workers run, draw from a generator made of a seed and the number of the piece of work"
    module = event.context.removeprefix("import of ")
    if code != _TOO_LATE or module == event.context:
        return ""
    return f"{module} draws while it is imported: set the seed before that import, or draw in a function"
