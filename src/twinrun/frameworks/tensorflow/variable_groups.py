"""Variables that go into a frame, as blocks: one for each phase that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from twinrun.frameworks.tensorflow.variable_plan import Tracked
from twinrun.recording.frame import DEVICE, HOST, joined_kinds
from twinrun.twin.block import Block

Group = tuple[str, tuple[str, ...], list[Tracked]]  # phase, names, members


def grouped(tracked: Sequence[Any]) -> list[Group]:
    kinds = dict.fromkeys(one.phase for one in tracked)
    members = {kind: [one for one in tracked if one.phase == kind] for kind in kinds}
    return [(kind, tuple(one.name for one in members[kind]), members[kind]) for kind in kinds]


def blocks_of(phase: str, members: Sequence[Any], arrays: Sequence[Any]) -> list[Block]:
    """The values of variables that have a name and a phase. States of random streams go under `seed`."""
    values = dict(zip(members, arrays, strict=True))
    return [
        Block.of(
            "seed" if kind == "seed" else phase, [(one.name, np.asarray(values[one])) for one in of_kind]
        )
        for kind, _, of_kind in grouped(members)
    ]


def block_of_group(phase: str, names: tuple[str, ...], members: list[Tracked]) -> Block:
    digests = [one.digest for one in members]
    return Block(phase, names, digests, lambda number: members[number].value(), kinds=kinds_of(members))


def kinds_of(members: list[Tracked]) -> str:
    """The kinds of their digests, as in a Layout."""
    return joined_kinds(DEVICE if one.on_device else HOST for one in members)
