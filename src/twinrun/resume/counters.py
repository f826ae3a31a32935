"""Variables that only count. One that begins anew with the process shows in what comes of it, or does no harm: in legacy Keras
every model has some that nothing restores."""

from __future__ import annotations

import numpy as np

from twinrun.recording.digest import digest_array
from twinrun.recording.frame import pack
from twinrun.recording.reader import Reader
from twinrun.recording.sum_digest import sum_digest
from twinrun.resume.alignment import Joined
from twinrun.resume.history import history


def counting_anew(whole: Reader, restarted: Reader, joined: Joined) -> frozenset[str]:
    """Counters that the restarted run counts from its own start, by their names in the uninterrupted one: after each of
    its steps they are what they were after as many steps of that one, or what they should be. One that never moves is
    not counted anew but lost."""
    counters = _counters(whole)
    known = {step.number: {name: step.state.get(name) for name in counters} for step in history(whole)}
    names = {renamed: name for name, renamed in joined.names.items()}
    seen: dict[str, set[bytes]] = {}
    others: set[str] = set()
    for step in history(restarted):
        expected = [known.get(number, {}) for number in (step.number, joined.after + step.number)]
        for name in counters - others:
            digest = step.state.get(names.get(name, name))
            if digest is None:
                continue
            seen.setdefault(name, set()).add(digest)
            if digest not in [each.get(name) for each in expected]:
                others.add(name)
    return frozenset(name for name, digests in seen.items() if len(digests) > 1) - others


def _counters(whole: Reader) -> frozenset[str]:
    """Counters by name: single integers that were never larger than the number of steps."""
    known = {
        pack([digest(np.asarray(number, kind))])
        for digest in (digest_array, sum_digest)
        for kind in (np.int32, np.int64)
        for number in range(-1, whole.last_step() + 1)
    }
    found: set[str] = set()
    others: set[str] = set()
    for step in history(whole):
        for name, digest in step.state.items():
            (found if digest in known else others).add(name)
    return frozenset(found - others)
