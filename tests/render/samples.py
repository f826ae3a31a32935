"""Results to render: a plain one, one with everything in it, and any that hypothesis can think of."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from twinrun.comparison.elements import Elements
from twinrun.comparison.frames import Difference
from twinrun.comparison.timeline import MOST_COLUMNS, STATES, Curve, Grid, Row, TensorGrowth, Timeline
from twinrun.findings.finding import Finding, SourceLine
from twinrun.fix.outcome import Change, FixResult
from twinrun.result import (
    REASON_KINDS,
    CheckResult,
    Conditions,
    Delivered,
    EnvironmentDifference,
    Experiment,
    Growth,
    OutputDifference,
    Quantity,
    Stream,
    WorkerCount,
)
from twinrun.resume.outcome import Files, ResumeResult, Stop
from twinrun.source_audit.audit_result import AuditResult

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
            "with everything frozen except this: Keras took a default seed from Python's random",
            "they still differ, at step 0, phase init",
            "diverges",
        ),
    ),
    notes=("the time for the diagnosis ran out; not tried: with shuffle frozen there",),
    timing={"seconds": 9.5},
    recordings=("/home/you/.local/state/twinrun/check-1/A", "/home/you/.local/state/twinrun/check-1/B"),
)
# The program failed in both twins, in the same way.
CRASHED = CheckResult(
    "train.py",
    "undecided",
    reason="the program ended with exit code 1",
    reason_kind="crashed",
    steps_compared=4,
    output_tail="""Traceback (most recent call last):
  File "train.py", line 31, in <module>
    raise ValueError("the loss is not finite, and training on would only waste the time of this machine")
ValueError: the loss is not finite, and training on would only waste the time of this machine
""",
    recordings=TYPICAL.recordings,
)
AUDITED = AuditResult(
    "train.py",
    TYPICAL.findings,
    ("train.py", "data/pipeline.py"),
    silenced=((Finding("TW303", "clock", "time() reaches training", "train.py", 30), "only in the log"),),
    datasets_audited=True,
    notes=("not known: augment() at data/pipeline.py:90: not a stage",),
)
_SEEDED = Change(
    "TW105", "train.py", 11, "seed everything once, right after the imports", safe=True, change=""
)
FIXED = FixResult.of(
    "train.py",
    "diverges",
    changes=(
        _SEEDED,
        Change("TW203", "data/pipeline.py", 90, "map in order", safe=False, change=""),
    ),
    not_needed=(Change("TW201", "data/pipeline.py", 108, "give the shuffle a seed", safe=True, change=""),),
    arguments=("--seed", "42"),
    left=(TYPICAL.findings[0],),
    notes=("the time ran out; not tried: the other order of the fixes",),
)
RESUMED = ResumeResult.of(
    "train.py",
    "diverges",
    steps=12,
    checkpoints=(4, 8),
    stops=(
        Stop(5, outcome="equal", resumed_after=4, steps=8, files=Files(2, texts=("log.txt",))),
        Stop(
            9, outcome="differs", resumed_after=8, steps=4, first_difference=Difference(9, "batch", "x", others=1),
            files=Files(1, ("model.npz",), ()), notes=("it wrote into the folder of the first run",),
        ),
    ),
    findings=(Finding("TW701", "not-restored", "the position in the data was not restored", confirmed=True, evidence=("note: it goes on with batch 1",)),),
    recordings=TYPICAL.recordings,
)  # fmt: skip
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
# The same program with 1, 2 and 4 workers.
COUNTED = CheckResult(
    "train.py",
    "repeats",
    contract="rtol=1e-4",
    runs=3,
    steps_compared=4,
    worker_counts=(
        WorkerCount(1, 4),
        *(
            WorkerCount(
                count,
                4,
                (
                    Quantity("seeds", "equal"),
                    Quantity("initial weights", "equal", judged=True),
                    Quantity("steps", "kept", note="4", judged=True),
                    Quantity("global batches", "equal", "as sets of elements", judged=True),
                    Quantity("loss", "within", "averaged over the workers", "", 2, "loss", 1, 1.2e-7),
                    Quantity("weights", "within", "", "", 1, "worker 0: dense/kernel", 2, 6e-8, judged=True),
                    Quantity(
                        "global batch size", "changed", "", f"1 worker: 8; {count} workers: {8 * count}"
                    ),
                    Quantity("learning rate", "unknown", "", "no variable of the optimizer holds it"),
                ),
            )
            for count in (2, 4)
        ),
    ),
)


def full(text: str = "dense/kernel", file: str | None = None) -> CheckResult:
    """Everything that a result can hold, with `text` wherever a program can put its own words."""
    first = Difference(
        7, "weights", text, others=1, differing=0.25, differing_count=8, size=32, max_ulp=3, max_abs=1.5e-7,
        first_index=(0, 1), first_values=(text, "1.0"), note=text, elements=Elements((8, 4), 1, ("0900",) * 8, ((0, 7), (1, 1))),
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
        worker_counts=(
            WorkerCount(1, 8),
            WorkerCount(2, 8, (Quantity(text, "different", text, text, 1, text),)),
        ),
        streams=(Stream(1, text),),
        findings=(finding, Finding("TW201", "unseeded-shuffle", text)),
        experiments=(Experiment(text, text, "repeats", 20, 2.0, text),),
        conditions=Conditions(stress=True, varied=(text,)),
        controls={text: control},
        varied=(text,),
        environment={"name": text, "key": {text: text}, "facts": {text: {text: [text, None]}}},
        environment_differences=(EnvironmentDifference(text, text, text, text, text),),
        timeline=drift(text, text),
        timing={"seconds": 2.5},
        recordings=(text,),
        notes=(f"noted: {text}",),
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


def drift(*layers: str, parted: int = 7, last: int = 31) -> Timeline:
    """Twins that differ in all of these layers from a step on, ever more, the first of them at first."""
    columns = range(1, last + 1)
    weights = "." + "".join("x" if step >= parted else "=" for step in columns)
    losses = "." + "".join("x" if step > parted else "=" for step in columns)
    phases = (Row("batch", "." + "=" * last), Row("loss", losses), Row("weights", weights))
    after = tuple(range(parted, last + 1))
    rows = [
        Row("weights", "=" + "".join("x" if step >= parted + number else "=" for step in after), layer, 2)
        for number, layer in enumerate(layers)
    ]
    loss = tuple(2.0 / step for step in columns)
    other = tuple(
        value * (1 + 0.01 * max(0, step - parted)) for step, value in zip(columns, loss, strict=True)
    )
    return Timeline(
        ("A", "B"),
        Grid(1, 1, phases),
        Grid(parted, 1, tuple(rows)),
        (Curve("loss", "loss", tuple(columns), (loss, other)), Curve("metric", "accuracy", (last,), ((0.5,), (None,)))),
        tuple(
            TensorGrowth(
                "weights",
                f"{layer}/kernel",
                after,
                tuple((number + 1) * 2**n for n in range(len(after))),
                tuple(1e-7 * (number + 1) * 1.5**n for n in range(len(after))),
                (0.5,) * len(after),
            )
            for number, layer in enumerate(layers)
        ),
        followed=last - parted,
        unmeasured=3,
    )  # fmt: skip


# A program whose weights drift apart, as a report shows it best.
DRIFTING = TYPICAL.replace(
    steps_compared=6,
    first_difference=Difference(
        7, "weights", "net/dense/kernel", others=5, differing=0.25, differing_count=128, size=512, max_ulp=3, max_abs=1.5e-7,
        first_index=(0, 8), first_values=("0.25", "0.25000015"), elements=Elements((16, 32), 1, (("0" * 8 + "9" * 8) * 2,) * 16, ((0, 15), (8, 31))),
    ),
    timeline=drift("net/dense", "net/dense_1", "adam", "net/norm", "net/embedding", "net/head", "net/attention"),
    environment_differences=(EnvironmentDifference("python.hash_seed", "can change metrics", "the hash seed differs", "1", "2"),),
)  # fmt: skip


def largest() -> CheckResult:
    """As much as a result can hold, however long the run and however large the model: every list is at its limit."""
    columns = MOST_COLUMNS + 1
    steps = tuple(range(0, 100_000, 391))[:MOST_COLUMNS]
    states = ("=~x" * columns)[:columns]
    name = "transformer/encoder/block_{}/attention/query_projection"
    timeline = Timeline(
        ("A", "B"),
        Grid(1, 512, tuple(Row(phase, states) for phase in ("init", "batch", "forward", "loss", "gradient", "weights", "metric", "final"))),
        Grid(1, 512, tuple(Row("weights", states, name.format(number), 12) for number in range(160))),
        tuple(
            Curve("metric", f"metric_{n}", steps, tuple(tuple((s + n) / 7 for s in steps) for _ in range(2)))
            for n in range(12)
        ),
        tuple(
            TensorGrowth(
                "weights", f"{name.format(n)}/kernel", steps, tuple(s + 1 for s in steps), tuple((s + 1) / 7e9 for s in steps), (1.0,) * len(steps)
            )
            for n in range(32)
        ),
        unmeasured=1968,
    )  # fmt: skip
    packages = {f"a-package-with-a-name-{number}": "1.2.3" for number in range(400)}
    return DRIFTING.replace(
        steps_compared=100_000,
        timeline=timeline,
        also_differing=tuple(f"weights: {name.format(number)}/kernel" for number in range(49)),
        growth=tuple(Growth(step, step, step * 1e-9) for step in range(1, 1001)),
        environment={"name": "large", "key": {"framework": "tensorflow 2.21"}, "facts": {"packages": packages}},
        environment_differences=tuple(
            EnvironmentDifference(f"packages.loaded.a-package-{n}", "can change metrics", "it differs", "1.2.3", "1.2.4")
            for n in range(100)
        ),
    )  # fmt: skip


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
_in_order = st.lists(st.integers(0, 2**40), min_size=1, max_size=5, unique=True).map(sorted).map(tuple)


@st.composite
def _grids(draw: st.DrawFn) -> Grid:
    columns = draw(st.integers(1, 9))
    states = st.text(STATES, min_size=columns, max_size=columns)
    rows = st.lists(st.builds(Row, st.text(), states, st.text(), st.integers(0, 9)), max_size=60)
    return Grid(draw(st.integers(0, 9)), draw(st.integers(1, 9)), tuple(draw(rows)))


@st.composite
def _curves(draw: st.DrawFn) -> Curve:
    steps = draw(_in_order)
    column = st.tuples(*[st.none() | st.floats(allow_nan=False)] * len(steps))
    return Curve(
        draw(st.text()), draw(st.text()), steps, tuple(draw(st.lists(column, min_size=1, max_size=3)))
    )


@st.composite
def _growths(draw: st.DrawFn) -> TensorGrowth:
    steps = draw(_in_order)
    ulps, gaps, shares = (
        draw(st.tuples(*[each] * len(steps)))
        for each in (st.none() | st.integers(0, 2**64), st.none() | st.floats(0), st.floats(0, 1))
    )
    return TensorGrowth(draw(st.text()), draw(st.text()), steps, ulps, gaps, shares)


_timelines = st.builds(
    Timeline,
    twins=st.lists(st.text(), max_size=3).map(tuple),
    phases=_grids(),
    layers=_grids(),
    curves=st.lists(_curves(), max_size=2).map(tuple),
    tensors=st.lists(_growths(), max_size=2).map(tuple),
    followed=st.integers(0, 9),
    unmeasured=st.integers(0, 9),
)
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
_quantities = st.builds(
    Quantity,
    name=st.text(),
    outcome=st.sampled_from(("equal", "within", "different", "kept", "changed", "unknown")),
    how=st.text(),
    note=st.text(),
    step=st.none() | st.integers(0, 9),
    tensor=st.text(),
    max_abs=st.none() | _number,
    judged=st.booleans(),
)
_counts = st.builds(
    WorkerCount, st.integers(1, 9), st.integers(0, 9), st.lists(_quantities, max_size=2).map(tuple)
)
results = st.builds(
    CheckResult,
    worker_counts=st.lists(_counts, max_size=2).map(tuple),
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
    environment_differences=st.none() | st.lists(
        st.builds(EnvironmentDifference, field=st.text(), group=st.text(), sentence=st.text(), a=st.text(), b=st.text()), max_size=2
    ).map(tuple),
    timeline=st.none() | _timelines,
    timing=st.fixed_dictionaries({"seconds": st.floats(0, 1e6)}),
    recordings=st.lists(st.text(), max_size=2).map(tuple),
    notes=st.lists(st.text(), max_size=2).map(tuple),
    output_tail=st.none() | st.text(),
    delivered=st.none() | st.builds(
        Delivered, output=st.sampled_from(("equal", "different")), files=st.integers(0, 9), views=st.text(),
        differences=st.lists(st.builds(OutputDifference, place=st.text(), a=st.text(), b=st.text()), max_size=3).map(tuple),
    ),
)  # fmt: skip
