"""From origins that reached training to findings: which of them hold, and their messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from twinrun.findings.catalogue import finding, lookup
from twinrun.findings.finding import Finding
from twinrun.knowledge.functions import STREAMS, TENSORFLOW
from twinrun.notebooks import is_notebook
from twinrun.source_audit.marks import Origin
from twinrun.source_audit.state import STREAM_NAMES, SeedEvent, State

# One missing seed is one finding per file, however many draws it leaves unseeded.
_ONE_SEED = frozenset({"TW101", "TW102", "TW104", "TW105"})
# tf.data keeps the order, and calls such functions one at a time, when op determinism is on.
_FIXED_BY_OP_DETERMINISM = frozenset({"TW202", "TW203", "TW204"})


@dataclass(frozen=True)
class Reported:
    """A finding with what is needed to merge it with others of the same cause."""

    finding: Finding
    group: tuple[str, str, str] | None
    when: int
    program: str | None = None  # the file that was started: a missing seed belongs there


def reported(state: State) -> Iterator[Reported]:
    """The findings of one program, in the order in which it comes to them."""
    program = state.entry.shown if state.entry is not None else None
    for origin in sorted(state.origins.values(), key=lambda each: each.when):
        if not _holds(state, origin):
            continue
        late = None if origin.deferred else _seed_after(state, origin)
        code = "TW106" if late is not None else origin.code
        message, evidence, advice = (
            _message(origin, late),
            _evidence(state, origin, late),
            lookup(code).advice,
        )
        made = finding(code, message, file=origin.file, line=origin.line, evidence=evidence, fix=advice)
        one_seed = origin.stream and (origin.code in _ONE_SEED or origin.part == "fit")
        yield Reported(made, (code, origin.code, origin.file) if one_seed else None, origin.when, program)


def fold(all_reported: Iterable[Reported]) -> list[Reported]:
    """Findings by place; draws that one seed would fix become one finding that names the other lines."""
    groups: dict[object, list[Reported]] = {}
    for each in all_reported:
        groups.setdefault(each.group or (each.finding.code, each.finding.place), []).append(each)
    folded: list[Reported] = []
    for members in groups.values():
        first, *others = sorted(members, key=lambda each: each.when)
        lines = sorted({each.finding.line or 0 for each in others} - {first.finding.line or 0})
        evidence = first.finding.evidence
        if lines:
            file = first.finding.file or ""
            named = [f"{file}:{line}" if is_notebook(file) else str(line) for line in lines[:8]]
            shown = ", ".join([*named, *(["…"] if len(lines) > 8 else [])])
            kind = "" if is_notebook(file) else "lines " if len(lines) > 1 else "line "
            evidence = (*evidence, f"the same goes for {kind}{shown}")
        folded.append(replace(first, finding=replace(first.finding, evidence=evidence)))
    return sorted(folded, key=lambda each: by_place(each.finding))


def by_place(finding: Finding) -> tuple[str, int, str]:
    """The order in which findings are shown."""
    return finding.file or "", finding.line or 0, finding.code


def _holds(state: State, origin: Origin) -> bool:
    """Whether an origin is worth a finding: it reached training, and nothing else in the program fixes it."""
    is_race = origin.code in _FIXED_BY_OP_DETERMINISM and (origin.raced or origin.code == "TW202")
    return not (
        origin.reached is None
        or origin.cancelled
        or (is_race and state.op_determinism is not None)
        or (origin.code == "TW301" and state.hash_seed_works)
        or (origin.covered_by is not None and _holds(state, origin.covered_by))
        or (origin.deferred and _seed_after(state, origin) is not None)
    )


def _seed_after(state: State, origin: Origin) -> SeedEvent | None:
    if origin.stream is None or state.library:
        return None
    later = (event for event in state.seeds if event.stream == origin.stream and event.when > origin.when)
    return next((event for event in later if origin not in event.origins), None)


# -- messages ----------------------------------------------------------------------------------------

# By code; of a code that has several, by code and variant.
_MESSAGES = {
    "TW101": "{what} draws from Python's global random stream, which is not seeded",
    "TW102": "{what} draws from NumPy's global random stream, which is not seeded",
    "TW103": "{what} makes a random generator without a seed",
    "TW104": "{what} draws with TensorFlow's generator, whose global seed is not set",
    "TW105": "{what} takes a seed from Python's random, which is not seeded",
    "TW107": "{what} stores random augmentation: every epoch replays that of the first",
    "TW108": "{what} gives a different value in every process",
    "TW201": "{what} shuffles without a seed, and {stream} is not set either",
    "TW201 fit": "{what} shuffles its data, and {stream} is not set",
    "TW201 no stream": "{what} shuffles without a seed",
    "TW202": "{what} returns elements in completion order",
    "TW203": "{what} runs a random op in parallel calls, which race for its state, seeded or not",
    "TW204": "{what} draws on the host while data is read, from {stream}, which is not seeded",
    "TW204 raced": "{what} runs Python or NumPy randomness in parallel calls, which race for one stream",
    "TW205": "{what} draws from a stream that several workers share",
    "TW205 completion": "{what} returns results in completion order",
    "TW205 queue": "{what} fills a queue from several threads, in no fixed order",
    "TW301": "{what} gives the elements of a set in a different order in every process",
    "TW301 hash": "{what} gives a different value in every process",
    "TW302": "{what} lists files in an order that the file system chooses",
    "TW303": "{what} reads the clock",
    "TW601": "{what} uses as many replicas as the machine has devices",
}


def _message(origin: Origin, late: SeedEvent | None) -> str:
    if late is not None:
        return f"{origin.what} comes before the seed is set at {late.site}"
    variants = {
        origin.part: True,
        "no stream": origin.stream is None,
        "raced": origin.raced,
    }
    keys = [f"{origin.code} {name}" for name, applies in variants.items() if applies]
    message = next((_MESSAGES[key] for key in keys if key in _MESSAGES), _MESSAGES[origin.code])
    return message.format(what=origin.what, stream=STREAM_NAMES.get(origin.stream or "", "a random stream"))


def _evidence(state: State, origin: Origin, late: SeedEvent | None) -> list[str]:
    lines = [*origin.evidence, f"it reaches {origin.reached}"]
    if origin.stream is not None and late is None:
        lines += _seeds(state, origin)
    if origin.code == "TW301" and state.hash_seed_sites:
        site = state.hash_seed_sites[0]
        lines.append(f"PYTHONHASHSEED is set at {site}, inside the process, where it has no effect")
    return lines


def _seeds(state: State, origin: Origin) -> list[str]:
    """Which streams are seeded, and what op determinism does about this draw."""
    seeded = {event.stream: event for event in reversed(state.seeds)}
    lines = [
        f"{STREAM_NAMES[stream]} is seeded at {seeded[stream].site}"
        for stream in STREAMS
        if stream in seeded and stream != origin.stream
    ]
    if lines and origin.code == "TW105":
        lines.append("seeding NumPy and TensorFlow does not seed Keras: it draws from Python's random")
    if state.op_determinism is not None:
        raises = origin.stream == TENSORFLOW and origin.code in ("TW104", "TW201")
        effect = "will raise here" if raises else "does not notice this"
        lines.append(f"op determinism, enabled at {state.op_determinism}, {effect}")
    return lines
