"""Variables that only count. One that begins anew with the process shows in what comes of it, or does no harm: in legacy Keras
every model has some that nothing restores."""

from __future__ import annotations

import numpy as np

from twinrun.recording.digest import digest_array
from twinrun.recording.frame import pack
from twinrun.recording.reader import Reader
from twinrun.recording.sum_digest import sum_digest
from twinrun.resume.history import history


def counters(whole: Reader) -> frozenset[str]:
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
