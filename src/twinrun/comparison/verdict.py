"""What a comparison can say: the verdict, and the reason where there is no tensor to name."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, get_args

from msgspec import Struct

Verdict = Literal["repeats", "diverges", "undecided"]
REPEATS: Final = "repeats"
DIVERGES: Final = "diverges"
UNDECIDED: Final = "undecided"
EXIT: dict[str, int] = {REPEATS: 0, DIVERGES: 1, UNDECIDED: 2}

ReasonKind = Literal[
    "abrupt-exit",  # a twin left Python without running its exit handlers: its last steps are unknown
    "cannot-write",  # no room, or no permission, for a recording
    "crashed",  # a twin ended with an exit code other than 0, or by a signal
    "different-output",  # under the contract `output`
    "interrupted",  # a recording stops before its program ended
    "no-baseline",  # there is none for this environment
    "no-checkpoint",  # the program saves nothing that it could resume from
    "no-step",  # no training step was observed
    "not-comparable",  # the two sides cannot answer the question
    "not-repeating",  # the program does not repeat when it is left alone
    "not-instrumented",  # Twinrun failed inside the program's process
    "outside-band",  # a metric ended outside its band
    "patch-missing",  # a function that Twinrun must wrap is not there in this version
    "pin-missing",  # --pin=strict, and something could not be pinned
    "replica-drift",  # the twins agree, and inside them replicas that must be equal are not
    "timeout",
    "uneven",  # one twin took more steps than the other
    "unmeasured",  # the contract needs values that are not known
    "worker-count",  # with another number of workers the program trains something else
    "unwatched-output",  # the program writes results that Twinrun does not see
]
REASON_KINDS: tuple[str, ...] = get_args(ReasonKind)


class Reason(NamedTuple):
    """Why a check is undecided, or diverges without a tensor to name: the kind for programs, the message for people."""

    kind: ReasonKind
    message: str


class Growth(Struct, frozen=True):
    """How far apart the twins are at one step: over all tensors, or in one metric."""

    step: int
    max_ulp: int | None = None
    max_abs: float | None = None
    metric: str | None = None
