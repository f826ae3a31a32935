"""The order of sets of strings and the values of hash(), which Python seeds anew in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from twinrun.protocol import Freeze, PinRequest, Source, Suspect, Weight, derive, relative
from twinrun.protocol.control import Control, NotApplied, Reading
from twinrun.protocol.evidence import CodePlace, Evidence
from twinrun.protocol.variation import Setting, Variation
from twinrun.twin.callers import unseen
from twinrun.twin.session import current

FIXED = {"PYTHONHASHSEED": "0"}
_SAMPLE = "twinrun: which hash seed?"
_LAST = Weight().plus(-20)  # below everything that an event or the source supports


def effective_hash_seed(candidates: Iterable[int] = ()) -> int | None:
    """The seed that this interpreter runs with: 0 when randomisation is off, None when it is none of the candidates
    nor what PYTHONHASHSEED says, which was read only once, at the start."""
    if not sys.flags.hash_randomization:
        return 0
    text = os.environ.get("PYTHONHASHSEED", "")
    written = (int(text),) if text.isascii() and text.isdigit() else ()
    return next((seed for seed in (*written, *candidates) if _sample_hash(seed) == hash(_SAMPLE)), None)


@lru_cache(maxsize=16)
def _sample_hash(seed: int) -> int | None:
    """The hash of the sample in a bare interpreter that is started with this seed."""
    code = f"print(hash({_SAMPLE!r}))"
    try:
        with unseen():
            answer = subprocess.run(
                [sys.executable, "-S", "-c", code],
                env={**os.environ, "PYTHONHASHSEED": str(seed)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=30,
                check=True,
            )
        return int(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _wanted(request: PinRequest) -> int:
    """PYTHONHASHSEED takes a 32-bit number; 0, which is never derived, would switch randomisation off."""
    return derive(request.seed_of("hash-seed"), "hash order")


def _apply(request: PinRequest) -> None:
    wanted = _wanted(request)
    if effective_hash_seed((wanted,)) is None:  # any fixed seed will do: sets are ordered alike in every run
        raise NotApplied(
            "a running interpreter cannot change its hash seed; "
            f"start the program with `twinrun run --pin={request.seed}`, or with PYTHONHASHSEED={wanted}"
        )


def _read(request: PinRequest | None) -> Reading:
    wanted = None if request is None or not request.wants("hash-seed") else _wanted(request)
    found = effective_hash_seed(() if wanted is None else (wanted,))
    if found is None:
        return Reading("random", "default", False, "every process orders its sets of strings differently")
    ours = found == wanted and current().pins.launched
    return Reading(found, "twinrun" if ours else "environment", True)


def _vary(number: int) -> Setting:
    seed = str(number + 1)
    return seed, {"PYTHONHASHSEED": seed}


class HashOrder(Source):
    name = "hash-order"
    codes = ("TW301",)
    weight = Weight(init=5, batch=6, later=3)
    makes_seeds = True
    controls = (
        Control(
            name="hash-seed",
            protects="the order of sets of strings, and everything built from hash()",
            moment="before the interpreter starts",
            how="start the program with PYTHONHASHSEED=0 (or any number); twinrun run --pin does",
            wanted=_wanted,
            apply=_apply,
            read=_read,
            at_launch=lambda request: {"PYTHONHASHSEED": str(_wanted(request))},
            streams={"hash-seed": "the order of sets of strings"},
        ),
    )
    variations = (
        Variation(
            "hashseed",
            "PYTHONHASHSEED: the order of sets and the value of hash()",
            _vary,
            "TW301",
            "the order of a set, or a value of hash(), reaches training",
        ),
    )

    def suspects(self, evidence: Evidence) -> Iterator[Suspect]:
        """Without a place it is tried all the same, last: no event shows the order of a set."""
        if os.environ.get("PYTHONHASHSEED", "random") == "random":
            yield self._suspect(evidence.code.hash_order())

    def reached_by(self, variation: str, evidence: Evidence) -> Iterator[Suspect]:
        places = evidence.code.hash_order()
        if places:
            yield self._suspect(places)

    def _suspect(self, places: list[CodePlace]) -> Suspect:
        return suspect_code(
            self,
            places,
            "the order of a set, or a value of hash(), differs from process to process",
            weight=self.weight if places else _LAST,
            experiment="with PYTHONHASHSEED=0",
        )

    def freeze_environment(self, freeze: Freeze) -> Mapping[str, str]:
        return FIXED


def suspect_code(source: Source, places: list[CodePlace], message: str, **fields: Any) -> Suspect:
    """A suspect by what is written in the program: no event shows it, and it is frozen in the whole process. What is
    ordered at one line, by the hashes of strings or by addresses, is put in order by one change."""
    file, line, _ = places[0] if places else (None, None, "")
    notes = tuple(f"{text} at {relative(file)}:{line}" for file, line, text in places[:4])
    freeze = (Freeze(source.name),)
    fix = f"{file}:{line}" if places else ""
    return Suspect(source.name, source.code, message, freeze, file, line, notes=notes, fix=fix, **fields)
