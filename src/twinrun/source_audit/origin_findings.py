"""From origins that reached training to findings: which of them stand, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from twinrun.findings.catalogue import finding, lookup
from twinrun.findings.finding import Finding
from twinrun.knowledge import PYTHON, STREAMS
from twinrun.source_audit.marks import Origin
from twinrun.source_audit.state import STREAM_NAMES, SeedEvent, State

# One missing seed is one finding per file, however many draws it leaves unseeded.
_ONE_SEED = frozenset({"TW101", "TW102", "TW104", "TW105"})
# tf.data keeps the order, and calls such functions one at a time, when op determinism is on.
_CURED_BY_OP_DETERMINISM = frozenset({"TW202", "TW203", "TW204"})


@dataclass(frozen=True)
class Reported:
    """A finding with what is needed to fold it together with its like."""

    finding: Finding
    group: tuple[str, str, str] | None
    when: int
    program: str | None = None
    """The file that was started: a missing seed belongs there."""


def reported(state: State) -> list[Reported]:
    """The findings of one program, one for each place."""
    found: dict[tuple[str, str, int], Reported] = {}
    program = state.entry.shown if state.entry is not None else None
    for origin in sorted(state.origins.values(), key=lambda each: each.when):
        if not _stands(state, origin):
            continue
        late = _seeded_later(state, origin)
        code = "TW106" if late is not None else origin.code
        made = finding(
            code,
            _message(state, origin, late),
            file=origin.file,
            line=origin.line,
            evidence=_evidence(state, origin, late),
            fix=lookup(code).advice,
        )
        one_seed = origin.stream and (origin.code in _ONE_SEED or origin.part == "fit")
        group = (code, origin.code, origin.file) if one_seed else None
        found.setdefault((code, origin.file, origin.line), Reported(made, group, origin.when, program))
    return list(found.values())


def fold(all_reported: Iterable[Reported]) -> list[Reported]:
    """Findings by place; draws that one seed would mend become one finding that names the other lines."""
    groups: dict[object, list[Reported]] = {}
    for each in all_reported:
        key: object = each.group if each.group is not None else (each.finding.code, each.finding.place)
        groups.setdefault(key, []).append(each)
    folded: list[Reported] = []
    for members in groups.values():
        first, *others = sorted(members, key=lambda each: each.when)
        lines = sorted({each.finding.line or 0 for each in others} - {first.finding.line or 0})
        evidence = first.finding.evidence
        if lines:
            shown = ", ".join(str(line) for line in lines[:8]) + (", …" if len(lines) > 8 else "")
            evidence = (*evidence, f"the same goes for line{'s' if len(lines) > 1 else ''} {shown}")
        folded.append(replace(first, finding=replace(first.finding, evidence=evidence)))
    return sorted(
        folded, key=lambda each: (each.finding.file or "", each.finding.line or 0, each.finding.code)
    )


# -- what stands --------------------------------------------------------------------------------------


def _stands(state: State, origin: Origin) -> bool:
    if origin.reached is None or origin.cancelled:
        return False
    if (
        state.op_determinism is not None
        and origin.code in _CURED_BY_OP_DETERMINISM
        and (origin.raced or origin.code == "TW202")
    ):
        return False
    if origin.code == "TW301" and state.hash_seed_works:
        return False
    if origin.covered_by is not None and _stands(state, origin.covered_by):
        return False
    return not (origin.deferred and _seed_after(state, origin) is not None)


def _seed_after(state: State, origin: Origin) -> SeedEvent | None:
    if origin.stream is None or state.library:
        return None
    for event in state.seeds:
        if event.stream == origin.stream and event.when > origin.when and origin not in event.origins:
            return event
    return None


def _seeded_later(state: State, origin: Origin) -> SeedEvent | None:
    return None if origin.deferred else _seed_after(state, origin)


# -- what it says -------------------------------------------------------------------------------------


def _message(state: State, origin: Origin, late: SeedEvent | None) -> str:
    if late is not None:
        return f"{origin.what} comes before the seed is set at {late.site.file}:{late.site.line}"
    return _MESSAGES[origin.code](origin)


def _stream(origin: Origin) -> str:
    return STREAM_NAMES.get(origin.stream or "", "a random stream")


def _tw201(origin: Origin) -> str:
    if origin.part == "fit":
        return f"{origin.what} shuffles its data, and {_stream(origin)} is not set"
    if origin.stream is None:
        return f"{origin.what} shuffles without a seed"
    return f"{origin.what} shuffles without a seed, and {_stream(origin)} is not set either"


def _tw204(origin: Origin) -> str:
    if origin.raced:
        return f"{origin.what} runs Python or NumPy randomness in parallel calls, which race for one stream"
    return f"{origin.what} draws on the host while data is read, from {_stream(origin)}, which is not seeded"


def _tw205(origin: Origin) -> str:
    if origin.part == "completion":
        return f"{origin.what} gives results in the order in which the workers happen to finish"
    if origin.part == "queue":
        return f"{origin.what} fills a queue from several threads, in the order they happen to come"
    return f"{origin.what} draws from a stream that several workers share"


def _tw301(origin: Origin) -> str:
    if origin.what.startswith("hash("):
        return f"{origin.what} gives another value in every process"
    return f"going through the set {origin.what} gives another order in every process"


_MESSAGES: dict[str, Callable[[Origin], str]] = {
    "TW101": lambda o: f"{o.what} draws from Python's global random stream, which is not seeded",
    "TW102": lambda o: f"{o.what} draws from NumPy's global random stream, which is not seeded",
    "TW103": lambda o: f"{o.what} makes a random generator without a seed",
    "TW104": lambda o: f"{o.what} draws with TensorFlow's generator, whose global seed is not set",
    "TW105": lambda o: f"{o.what} takes a seed from Python's random, which is not seeded",
    "TW107": lambda o: f"{o.what} keeps random augmentation: every epoch replays that of the first",
    "TW108": lambda o: f"{o.what} gives something else in every process",
    "TW201": _tw201,
    "TW202": lambda o: f"{o.what} lets elements arrive in the order their work happens to finish",
    "TW203": lambda o: (
        f"{o.what} runs a random op in parallel calls, which race for its state, seeded or not"
    ),
    "TW204": _tw204,
    "TW205": _tw205,
    "TW301": _tw301,
    "TW302": lambda o: f"{o.what} lists files in an order that the file system chooses",
    "TW303": lambda o: f"{o.what} reads the clock",
    "TW601": lambda o: f"{o.what} uses as many replicas as it finds where it runs",
}


def _evidence(state: State, origin: Origin, late: SeedEvent | None) -> list[str]:
    lines = [*origin.evidence]
    if origin.reached:
        lines.append(f"it reaches {origin.reached}")
    if origin.stream is not None and late is None:
        lines.extend(_seeds(state, origin))
    if origin.code == "TW301":
        lines.extend(
            f"PYTHONHASHSEED is set at {site.file}:{site.line}, inside the process, where it does nothing"
            for site in state.hash_seed_sites[:1]
        )
    return lines


def _seeds(state: State, origin: Origin) -> list[str]:
    """Which streams are seeded, and what op determinism has to say about this draw."""
    seeded: dict[str, SeedEvent] = {}
    for event in state.seeds:
        seeded.setdefault(event.stream, event)
    lines = [
        f"{STREAM_NAMES[stream]} is seeded at {seeded[stream].site.file}:{seeded[stream].site.line}"
        for stream in STREAMS
        if stream in seeded and stream != origin.stream
    ]
    if lines and origin.code == "TW105":
        lines.append("seeding NumPy and TensorFlow does not seed Keras: it draws from Python's random")
    if state.op_determinism is not None:
        site = f"{state.op_determinism.file}:{state.op_determinism.line}"
        says = (
            "does not notice this" if origin.stream == PYTHON or origin.code != "TW104" else "will raise here"
        )
        if origin.code == "TW201" and origin.stream == "tensorflow":
            says = "will raise here"
        lines.append(f"op determinism, asked for at {site}, {says}")
    return lines
