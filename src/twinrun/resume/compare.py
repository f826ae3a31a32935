"""The restarted run against the rest of the uninterrupted one: the first step that differs, and what was not restored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, zip_longest

from twinrun.comparison.frames import STEP_COUNT, Difference
from twinrun.recording.frame import PHASES
from twinrun.recording.reader import Reader
from twinrun.resume.alignment import Joined, join, state_after
from twinrun.resume.counters import counting_anew
from twinrun.resume.history import OF_METRIC, Key, Step, history
from twinrun.resume.outcome import Hole, Part

_STATE = ("weights", "final")
_REPORTED = ("loss", "metric", "forward", "probe")  # what a step reports of itself
_SHOWN = 3  # names of tensors in a sentence
_NOWHERE = "as after no step of the uninterrupted run"
Roles = Mapping[str, str]  # of variables, by name: optimizer, iteration or learning-rate; others are weights
_PARTS: dict[str | None, Part] = {
    "optimizer": "optimizer",
    "iteration": "iteration",
    "learning-rate": "learning-rate",
}


@dataclass(frozen=True)
class Compared:
    joined: Joined | None
    steps: int  # that the restarted run took
    first: Difference | None = None  # None: equal to the end
    holes: tuple[Hole, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: Difference | None = None  # a tensor whose digests are of different kinds: it may differ or not

    @property
    def started_over(self) -> bool:
        return self.joined is not None and self.joined.after == 0


def compare(whole: Reader, restarted: Reader, stopped_at: int, roles: Roles) -> Compared:
    steps = restarted.last_step()
    if (unknown := _unlike_state(whole, restarted)) is not None:
        return Compared(None, steps, unknown=unknown)
    joined = join(whole, restarted, stopped_at)
    if joined is None:
        return Compared(None, steps, _nowhere(), (_lost(whole, restarted),))
    counting = counting_anew(whole, restarted, joined) - roles.keys()
    try:
        first, training = _first_differences(whole, restarted, joined, counting)
    except _Unlike as found:
        return Compared(joined, steps, unknown=found.difference)
    if first is None:
        anew, _ = _first_differences(whole, restarted, joined)
        notes = [f"{anew.tensor} counts anew after the restart, and nothing else differs"] if anew else []
        return Compared(joined, steps, notes=(*notes, *_unused_seeds(whole, restarted)))
    holes = [*_state_holes(whole, restarted, joined, roles, counting)] if training is not None else []
    holes += _data_holes(whole, restarted, joined)
    if not holes and training is not None:
        holes += _state_holes(whole, restarted, joined, roles)
    if training is not None and training.uneven:
        holes.append(Hole("steps", _uneven(whole, restarted, joined)))
    elif not holes and training is not None:
        role = roles.get(training.tensor, "")
        what = f"{training.tensor} differs at step {training.step}, and all that is seen before it was equal"
        holes.append(Hole("learning-rate" if role == "learning-rate" else "unseen", what, (training.tensor,)))
    elif _before_optimizer(first, holes, whole, joined, roles):
        what = f"{first.tensor} of step {first.step} differs, in which the optimizer has had no part yet"
        holes.append(Hole("unseen", what, (first.tensor,)))
    if _is_reported(first.phase, first.tensor) and (training is None or first.step < training.step):
        what = f"{first.tensor} of step {first.step} is not that of the uninterrupted run"
        holes.append(Hole("metrics", what, (first.tensor,)))
    return Compared(joined, steps, first, tuple(holes))


def _unused_seeds(whole: Reader, restarted: Reader) -> Iterator[str]:
    """Seed generators that end in another state, where nothing that was trained shows it."""
    wanted, found = (state_after(reader, reader.last_step()).seeds for reader in (whole, restarted))
    names = tuple(name for name in wanted if name in found and wanted[name] != found[name])
    if names:
        yield f"ends in another state than in the uninterrupted run, and no step was another for it: {_some(names)}"


class _Unlike(Exception):
    """Digests of different kinds, which say nothing."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(difference.tensor)
        self.difference = difference


def _unlike_state(whole: Reader, restarted: Reader) -> Difference | None:
    """The first variable that the two runs digested in different ways: where they join cannot be found by it."""
    known: dict[str, set[str]] = {}
    for reader in (whole, restarted):
        for step in history(reader):
            for (phase, name), kinds in step.kinds.items():
                if phase in ("init", *_STATE) and known.setdefault(name, kinds) != kinds:
                    return Difference(step.number, phase, name)
    return None


def _before_optimizer(
    first: Difference, holes: list[Hole], whole: Reader, joined: Joined, roles: Roles
) -> bool:
    """Whether the first difference is one that a lost state of the optimizer cannot explain, and nothing else was lost. In
    `fit` what is reported is an average; where several optimizers take turns, one has had its part."""
    return (
        bool(holes)
        and {hole.part for hole in holes} <= set(_PARTS.values())
        and first.step == joined.after + 1
        and first.phase in ("forward", "loss", "gradient")
        and list(roles.values()).count("iteration") == 1
        and not any(name.startswith("epoch/") for step in history(whole) for _, name in step.seen)
    )


def _nowhere() -> Difference:
    return Difference(1, "init", "state")


def _lost(whole: Reader, restarted: Reader) -> Hole:
    """The restarted run began with the state of no step."""
    start = next(iter(history(restarted))).state
    known = state_after(whole, 0).state
    names = tuple(name for name in start if name in known and start[name] != known[name])
    return Hole("weights", f"{_some(names) or 'its state'}: of no step of the uninterrupted run", names)


# the steps


def _first_differences(
    whole: Reader, restarted: Reader, joined: Joined, ignored: frozenset[str] = frozenset()
) -> tuple[Difference | None, Difference | None]:
    """But for variables that are ignored: the first difference of all, and the first in what is trained on and what comes of it: where that is another one,
    or there is none, the first is one of averages that began anew with the restart."""
    rest = (step for step in history(whole) if step.number > joined.after)
    base = state_after(whole, joined.after).state
    first = training = None
    for wanted, found in zip_longest(rest, islice(history(restarted), 1, None)):
        if wanted is None or found is None:
            number, only_in = (
                (wanted.number, "uninterrupted") if wanted else (joined.after + found.number, "resumed")
            )
            uneven = Difference(number, "weights", STEP_COUNT, only_in=only_in)
            return first or uneven, training or uneven
        differing = [
            (phase, name)
            for phase, name in _differing(wanted, found, joined, base)
            if phase not in _STATE or name not in ignored
        ]
        for key in differing:
            if key in wanted.kinds and key in found.kinds and wanted.kinds[key] != found.kinds[key]:
                raise _Unlike(Difference(wanted.number, *key))
        first = first or _blamed(differing, wanted.number)
        training = _blamed([key for key in differing if not _is_reported(*key)], wanted.number)
        if training is not None:
            return first, training
    return first, None


def _is_reported(phase: str, name: str) -> bool:
    """Whether nothing is trained on it: what a step reports, and in the end the variables of metrics, which may be averages of
    the whole run."""
    return phase in _REPORTED or name.startswith(OF_METRIC)


def _differing(wanted: Step, found: Step, joined: Joined, base: dict[str, bytes]) -> list[Key]:
    """`base` is the state that the uninterrupted run had where the other one joined it."""
    stands_for = {renamed: name for name, renamed in joined.names.items()}
    seen: dict[Key, bytes] = {}
    for (phase, name), digest in found.seen.items():
        if phase not in _STATE:
            seen[phase, name] = digest
        elif (phase, stands_for.get(name, "")) not in found.seen:  # else another variable stands for it here
            seen[phase, joined.names.get(name, name)] = digest
    differing = [key for key in wanted.seen if key in seen and not _same(key[1], wanted.seen[key], seen[key])]
    # A variable that only one of them has may be one that saving or loading has made; not so where steps change it.
    only = [key for key in wanted.seen.keys() ^ seen.keys() if key[0] not in _STATE]
    only += [
        (phase, name)
        for phase, name in wanted.seen.keys() - seen.keys()
        if phase == "weights" and name in base and wanted.state.get(name) != base[name]
    ]
    return sorted([*differing, *sorted(only)], key=lambda key: PHASES.index(key[0]))


def _same(name: str, wanted: bytes, found: bytes) -> bool:
    """A model that is built, and then replaced by the one that is loaded, leaves metrics of its own."""
    if not name.startswith(OF_METRIC):
        return wanted == found
    pieces = [Counter(each[at : at + 8] for at in range(0, len(each), 8)) for each in (wanted, found)]
    return pieces[0] <= pieces[1]


def _blamed(differing: list[Key], step: int) -> Difference | None:
    if not differing:
        return None
    phase, name = differing[0]
    return Difference(step, phase, name, others=len(differing) - 1)


def _uneven(whole: Reader, restarted: Reader, joined: Joined) -> str:
    ended = joined.after + restarted.last_step()
    return f"the resumed run ended after step {ended}, the uninterrupted one after step {whole.last_step()}"


# the state


def _state_holes(
    whole: Reader, restarted: Reader, joined: Joined, roles: Roles, ignored: frozenset[str] = frozenset()
) -> Iterator[Hole]:
    """What the restarted run held where it went on, against what the uninterrupted one held there."""
    number = joined.after if joined.held else joined.after + 1
    wanted, start = state_after(whole, number), state_after(whole, 0)
    found = next(islice(history(restarted), 0 if joined.held else 1, None))
    back = {renamed: name for name, renamed in joined.names.items()}
    by_part: dict[Part, list[tuple[str, str]]] = {}
    for name, digest in wanted.state.items():
        held = found.state.get(back.get(name, name))
        stands_for_another = name in joined.names and name not in back
        if held is None or held == digest or stands_for_another or name in ignored:
            continue
        origin = _origin(whole, name, held, start.state)
        if not joined.held and origin == _NOWHERE:  # by now the other differences may have made it so
            continue
        by_part.setdefault(_PARTS.get(roles.get(name), "weights"), []).append((name, origin))
    for name, digest in wanted.seeds.items():
        held = found.seeds.get(name)
        if held is not None and held != digest:
            by_part.setdefault("seeds", []).append(
                (name, _origin(whole, name, held, start.seeds, seeds=True))
            )
    if "iteration" in by_part:  # with the optimizer itself: what it makes in its first step begins anew
        late = [name for name in wanted.state if roles.get(name) == "optimizer" and name not in found.state]
        made = [(name, "made anew") for name in late if wanted.state[name] != start.state.get(name)]
        by_part.setdefault("optimizer", []).extend(made)
    for part in ("weights", "optimizer", "iteration", "learning-rate", "seeds"):
        if by_part.get(part):
            names = tuple(name for name, _ in by_part[part])
            yield Hole(part, f"{_some(names)}: {_together(by_part[part])}", names)


def _origin(whole: Reader, name: str, held: bytes, start: dict[str, bytes], *, seeds: bool = False) -> str:
    """Where the uninterrupted run had this value, in words."""
    if start.get(name) == held:
        return "as at the start"
    for step in history(whole):
        if (step.seeds if seeds else step.state).get(name) == held:
            return f"as after step {step.number}"
    return _NOWHERE


def _together(found: list[tuple[str, str]]) -> str:
    origins = list(dict.fromkeys(origin for _, origin in found))
    return " or ".join(origins[:2]) + (" or others" if len(origins) > 2 else "")


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


# the data


def _data_holes(whole: Reader, restarted: Reader, joined: Joined) -> Iterator[Hole]:
    """Whether the batches after the restart are those that would have come."""
    steps = [frame.step for frame in whole.frames()]
    fed = [(steps[seq], digest) for seq, digest in whole.column("batch")]
    first = next((place for place, (step, _) in enumerate(fed) if step > joined.after), len(fed))
    wanted = [digest for _, digest in fed[first:]]
    found = [digest for _, digest in restarted.column("batch")]
    shared = min(len(wanted), len(found))
    place = next((place for place in range(shared) if wanted[place] != found[place]), None)
    if place is None:
        return
    step = fed[first + place][0]
    all_fed = [digest for _, digest in fed]
    if found[place] not in all_fed:
        known = sum(digest in set(all_fed) for digest in found[place:])
        which = "none of them" if not known else f"{known} of its {len(found) - place} batches"
        detail = (
            f"from step {step} on it was fed other batches, of which the uninterrupted run was fed {which}"
        )
        yield Hole("data" if not known else "data-order", detail)
        return
    elsewhere = all_fed.index(found[place])
    length = _equal_run(all_fed[elsewhere:], found[place:])
    if sorted(wanted[place:shared]) == sorted(found[place:shared]) and length < shared - place:
        yield Hole("data-order", f"from step {step} on it was fed the same batches in another order")
    elif length > 1 or shared - place == 1:
        yield Hole("data-position", f"at step {step} it was fed the batch of step {fed[elsewhere][0]}")
    else:
        yield Hole(
            "data-order",
            f"at step {step} it was fed the batch of step {fed[elsewhere][0]}, then those of others",
        )


def _equal_run(one: list[bytes], other: list[bytes]) -> int:
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
