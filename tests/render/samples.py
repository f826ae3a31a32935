"""Results to render: a plain one, one with everything in it, and any that hypothesis can think of."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from twinrun.comparison.frames import Difference
from twinrun.findings.finding import Finding, SourceLine
from twinrun.result import (
    REASON_KINDS,
    CheckResult,
    Conditions,
    Delivered,
    Experiment,
    Growth,
    OutputDifference,
    Stream,
)

# A name that would do harm wherever it is not escaped: markup, a closing tag, a terminal's escape, a line of its own.
NASTY = "</title></style><script>alert(1)</script>\x1b[31m\x00\u202e\nverdict: \"repeats\" & 'more'"

REPEATING = CheckResult("train.py", "repeats", steps_compared=32, timing={"seconds": 1.5})
UNJUDGED = CheckResult("train.py", "undecided", reason="no training step was observed", reason_kind="no-step")

_DATA = "train_ds = tf.data.Dataset.from_tensor_slices((x, y)).map(augment, num_parallel_calls=AUTOTUNE).shuffle(1000)"
# As a first check often ends: a cause that experiments confirmed, and another that is likely.
TYPICAL = CheckResult(
    program="train.py",
    verdict="diverges",
    steps_compared=0,
    first_difference=Difference(
        0,
        "init",
        "sequential/dense/kernel",
        others=1,
        differing=1.0,
        differing_count=320,
        size=320,
        max_ulp=2_106_655_667,
        max_abs=0.783,
        first_index=(0, 0),
        first_values=("0.014991462230682373", "-0.051370441913604736"),
    ),
    findings=(
        Finding(
            "TW105",
            "default-seed-from-random",
            "Keras took a default seed from Python's random, which is not seeded (and at 2 more places)",
            "train.py",
            11,
            True,
            (
                "note: random.randint (by keras) is drawn at train.py:11",
                "confirmed by: with random.randint (by keras) frozen there the twins repeat for 20 steps; without it they differ",
            ),
            "seed everything once, right after the imports\n+ keras.utils.set_random_seed(42)",
            (SourceLine(10, ""), SourceLine(11, "    keras.layers.Dense(16),  # hidden")),
        ),
        Finding(
            "TW201",
            "unseeded-shuffle",
            "shuffle() has no seed",
            "data/pipeline.py",
            108,
            False,
            ("note: the files are listed in order", "not tried: with shuffle frozen there"),
            f"- {_DATA}\n+ {_DATA[:-1]}, seed=42)",
            (SourceLine(108, _DATA),),
        ),
    ),
    experiments=(
        Experiment("with everything suspected frozen", "the twins repeat for 20 steps", "repeats", 20, 7.5),
        Experiment(
            "with all of it frozen but this: Keras took a default seed from Python's random",
            "they still differ, at step 0, phase init",
            "diverges",
        ),
    ),
    notes=("the time for the diagnosis was spent; not tried: with shuffle frozen there",),
    timing={"seconds": 9.5},
    recordings=("/home/you/.local/state/twinrun/check-1/A", "/home/you/.local/state/twinrun/check-1/B"),
)
# One number differs, by very little.
SCALAR = CheckResult(
    "train.py",
    "diverges",
    steps_compared=8,
    first_difference=Difference(
        9, "loss", "loss", differing=1.0, differing_count=1, size=1, max_ulp=3, max_abs=1.8e-7, first_index=(),
        first_values=("0.69314718", "0.69314736"),
    ),
    notes=("no cause found: there was nothing to try",),
)  # fmt: skip


def full(text: str = "dense/kernel", file: str | None = None) -> CheckResult:
    """Everything that a result can hold, with `text` wherever a program can put its own words."""
    first = Difference(
        7, "weights", text, others=1, differing=0.25, differing_count=8, size=32, max_ulp=3, max_abs=1.5e-7,
        first_index=(0, 1), first_values=(text, "1.0"), note=text,
    )  # fmt: skip
    finding = Finding(
        "TW105",
        "unseeded-keras",
        text,
        file or text,
        2,
        True,
        (text,),
        f"{text}\n+ seed(42)",
        () if file else (SourceLine(2, text), SourceLine(3, text)),
    )
    control = {
        "state": {text: 1},
        "set_by": "program",
        "place": text,
        "ok": False,
        "why_not": text,
        "how": text,
    }
    return CheckResult(
        program=text,
        verdict="diverges",
        contract="ulp=1",
        steps_compared=6,
        first_difference=first,
        first_bit_difference=first,
        growth=tuple(Growth(step, step, 1e-9 * 2**step) for step in range(5, 9)),
        also_differing=(text,),
        streams=(Stream(1, text),),
        findings=(finding, Finding("TW201", "unseeded-shuffle", text)),
        experiments=(Experiment(text, text, "repeats", 20, 2.0, text),),
        conditions=Conditions(stress=True, varied=(text,)),
        controls={text: control},
        varied=(text,),
        environment={"name": text, "key": {text: text}, "facts": {text: {text: [text, None]}}},
        timing={"seconds": 2.5},
        recordings=(text,),
        notes=(text,),
        output_tail=text,
        delivered=Delivered(
            "different",
            2,
            text,
            (OutputDifference(text, text, text),) * 3,
            only_shows=(text,),
            ignored=(text,),
        ),
    )


_number = st.floats(allow_nan=False, allow_infinity=False)
_facts: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.text(), st.none() | st.text() | _number | st.booleans(), max_size=3
)
_verdicts = st.sampled_from(("repeats", "diverges", "undecided"))
_places = {
    "step": st.integers(0, 2**40),
    "phase": st.sampled_from(("init", "batch", "weights", "final")),
    "tensor": st.text(),
    "span": st.integers(0, 9),
    "only_in": st.none() | st.text(),
    "others": st.integers(0, 9),
}
_distances = {
    "differing": st.floats(0, 1),
    "differing_count": st.integers(0, 9),
    "size": st.integers(0, 9),
    "max_ulp": st.none() | st.integers(0, 2**64),
    "max_abs": st.none() | _number,
    "first_index": st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
    "first_values": st.none() | st.tuples(st.text(), st.text()),
    "note": st.none() | st.text(),
}
_differences = st.builds(Difference, **_places) | st.builds(Difference, **_places, **_distances)
_findings = st.builds(
    Finding,
    code=st.text(),
    name=st.text(),
    message=st.text(),
    file=st.none() | st.text(),
    line=st.none() | st.integers(1, 10**6),
    confirmed=st.booleans(),
    evidence=st.lists(st.text(), max_size=2).map(tuple),
    fix=st.none() | st.text(),
    source=st.lists(st.builds(SourceLine, number=st.integers(1, 9), text=st.text()), max_size=2).map(tuple),
)
results = st.builds(
    CheckResult,
    program=st.text(),
    verdict=_verdicts,
    reason=st.none() | st.text(),
    reason_kind=st.none() | st.sampled_from(REASON_KINDS),
    contract=st.text(),
    runs=st.integers(2, 9),
    steps_compared=st.integers(0, 2**40),
    first_difference=st.none() | _differences,
    first_bit_difference=st.none() | _differences,
    growth=st.lists(
        st.builds(Growth, step=st.integers(0, 10**6), max_abs=st.none() | _number, metric=st.none() | st.text()), max_size=5
    ).map(tuple),
    also_differing=st.lists(st.text(), max_size=2).map(tuple),
    streams=st.lists(st.builds(Stream, step=st.integers(0, 9), stream=st.text()), max_size=2).map(tuple),
    findings=st.lists(_findings, max_size=2).map(tuple),
    experiments=st.lists(
        st.builds(Experiment, what=st.text(), outcome=st.text(), verdict=_verdicts, seconds=st.none() | _number, command=st.text()),
        max_size=2,
    ).map(tuple),
    conditions=st.builds(Conditions, sequential=st.booleans(), stress=st.booleans()),
    controls=_facts,
    varied=st.lists(st.text(), max_size=2).map(tuple),
    environment=_facts,
    timing=st.fixed_dictionaries({"seconds": st.floats(0, 1e6)}),
    recordings=st.lists(st.text(), max_size=2).map(tuple),
    notes=st.lists(st.text(), max_size=2).map(tuple),
    output_tail=st.none() | st.text(),
    delivered=st.none() | st.builds(
        Delivered, output=st.sampled_from(("equal", "different")), files=st.integers(0, 9), views=st.text(),
        differences=st.lists(st.builds(OutputDifference, place=st.text(), a=st.text(), b=st.text()), max_size=3).map(tuple),
    ),
)  # fmt: skip
