"""Stages of the input pipeline as suspects: randomness raced for in a parallel one, and order given up."""

from __future__ import annotations

from collections.abc import Iterator

from twinrun.diagnose.evidence import Evidence, Row, one
from twinrun.diagnose.places import relative
from twinrun.diagnose.suspect import Candidate

_RANDOM = ("tf-random", "tf-generator", "keras-draw")


def candidates(evidence: Evidence) -> Iterator[Candidate]:
    for pair in evidence.of("parallel"):
        row = one(pair)
        stage = row["what"].split("(")[0].removeprefix("Dataset.")
        here = (("parallel", row["file"], row["line"]),)
        random = [inner for inner in row["inside"] if inner[0] in _RANDOM]
        host = [inner for inner in row["inside"] if inner[0] == "host-function"]
        if random:
            kind, file, line, what = random[0]
            drawn = "a tf.random.Generator" if kind == "tf-generator" else what
            yield Candidate(
                "TW203", "parallel", f"a random op inside a parallel {stage}", here, row["file"], row["line"],
                notes=(f"{drawn} is drawn at {relative(file)}:{line}; parallel calls race for its state",),
                races=True, shown="with this stage run serially",
            )  # fmt: skip
        elif host:
            _, file, line, what = host[0]
            blamed = _host_draw(evidence) or row
            note = f"{what} runs on the host at {relative(file)}:{line}; parallel calls race for what it draws from"
            yield Candidate(
                "TW204", "parallel", f"host randomness inside a parallel {stage}", here, blamed["file"], blamed["line"],
                notes=(note,), races=True, shown="with this stage run serially",
            )  # fmt: skip
        if row["seeded"] == "False":
            said = row["what"].startswith("Options")
            message = f"{row['what']} gives elements in the order in which they get done"
            yield Candidate(
                "TW202", "order", message, (("order", row["file"], row["line"]),), row["file"], row["line"],
                races=True, shown="with it left True" if said else "with deterministic=True there",
            )  # fmt: skip


def _host_draw(evidence: Evidence) -> Row | None:
    drawn = (one(pair) for pair in evidence.of("numpy", "python-random"))
    return next((row for row in drawn if row["where"] == "py_function"), None)
