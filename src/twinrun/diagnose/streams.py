"""The global streams as suspects: drawn from unseeded, seeded too late, seeded with another value in each run, or
seeded well and then taken back."""

from __future__ import annotations

from collections.abc import Iterator

from twinrun.diagnose.evidence import Evidence, Row, differs, one
from twinrun.diagnose.places import by_library, by_own_road, place, site
from twinrun.diagnose.suspect import Candidate

_KINDS = ("keras-seed", "tf-random", "numpy", "python-random", "shuffle")
_STREAM_OF = {"python-random": "python-random", "keras-seed": "python-random", "numpy": "numpy",
              "tf-random": "tensorflow", "shuffle": "tensorflow"}  # fmt: skip
_CODES = {
    "keras-seed": "TW105",
    "tf-random": "TW104",
    "numpy": "TW102",
    "python-random": "TW101",
    "shuffle": "TW201",
}
_SEEDED = {"python-random": ("TW101", "Python's global stream"), "numpy": ("TW102", "NumPy's global stream"),
           "tensorflow": ("TW104", "TensorFlow")}  # fmt: skip
_BEHIND = -3  # a library's draws are suspected after the program's own
_UNEXPECTED = -4  # a seeded stream that differs is more likely another source's doing
_INSTEAD = 2  # a seed taken back is to blame before the draws that follow it
# Functions of libraries that shuffle what they are given, and take a seed for it.
_SHUFFLERS = ("split_dataset", "dataset_from_directory", "dataset_from_array")


def candidates(evidence: Evidence) -> Iterator[Candidate]:
    for kind in _KINDS:
        rows = list(_suspected(evidence, kind))
        own = [row for row in rows if by_own_road(row) or kind in ("keras-seed", "tf-random", "shuffle")]
        yield from _grouped(evidence, kind, own, 0)
        yield from _grouped(evidence, kind, [r for r in rows if r not in own and by_library(r)], _BEHIND)
    yield from _taken_back(evidence)
    yield from _fed_by_something(evidence)


def tainted(evidence: Evidence) -> list[Row]:
    """Calls that seeded a stream, with another value in each twin."""
    kinds = {f"seed:{stream}" for stream in _STREAM_OF.values()}
    return [one(pair) for pair in evidence.of(*kinds) if differs(pair)]


def _suspected(evidence: Evidence, kind: str) -> Iterator[Row]:
    """Rows that differ. What was drawn after a seed that differs is that seed's doing, and not looked at here."""
    bad = [row["order"] for row in tainted(evidence) if row["kind"] == f"seed:{_STREAM_OF[kind]}"]
    for pair in evidence.of(kind):
        row = one(pair)
        unseeded = row["seeded"] == "no"
        if (unseeded or (kind != "shuffle" and differs(pair))) and not any(row["order"] > at for at in bad):
            yield row


def _grouped(evidence: Evidence, kind: str, rows: list[Row], bonus: int) -> Iterator[Candidate]:
    """Apart by what a fix would be: too late a seed, none at all, and where it is drawn."""
    groups: dict[tuple[str, bool], list[Row]] = {}
    for row in rows:
        groups.setdefault((_code(evidence, kind, row), _is_seeded(evidence, kind, row)), []).append(row)
    for (code, seeded), members in groups.items():
        first = members[0]
        notes = [f"{_drawn(row)} is drawn at {place(row)}" for row in members[:4]]
        late = _seed_after(evidence, kind, first)
        if late is not None:
            notes.append(f"the seed is set at {place(late)}, after that")
        message = _message(code, kind, first, len(members))
        if seeded and code in _CODES.values():
            message = f"{_drawn(first)} gave something else in each run, though its stream is seeded"
        yield Candidate(
            code, kind, message, tuple(site(row) for row in members),
            first["file"], first["line"], notes=tuple(notes), shown=f"with {_drawn(first)} held still there",
            bonus=bonus + (_UNEXPECTED if seeded else 0), advice=_advice(code, first),
        )  # fmt: skip


def _code(evidence: Evidence, kind: str, row: Row) -> str:
    if _seed_after(evidence, kind, row) is not None:
        return "TW106"
    if kind in ("numpy", "python-random"):
        if row["where"] in ("py_function", "generator"):
            return "TW204"
        if row["where"] == "pydataset" and evidence.of("loader"):
            return "TW205"
        if row["threads"] > 1 and _is_seeded(evidence, kind, row):
            return "TW205" if evidence.first.phase == "batch" else "TW403"
    if kind == "tf-random" and row["via"] == "tf_keras":
        return "TW105"
    if row["via"] in ("keras", "tf_keras") and row.get("entry", "").endswith(_SHUFFLERS):
        return "TW201"
    return _CODES[kind]


def _is_seeded(evidence: Evidence, kind: str, row: Row) -> bool:
    """The same seed was set in both twins before the first draw, and not taken back since."""
    stream = _STREAM_OF[kind]
    if row["seeded"] == "no":
        return False
    seeds = [one(pair)["order"] for pair in evidence.of(f"seed:{stream}") if not differs(pair)]
    before = [order for order in seeds if order < row["order"]]
    lost = [one(pair)["last"] for pair in evidence.of(f"unseed:{stream}")]
    return bool(before) and not any(max(before) < order < row["last"] for order in lost)


def _seed_after(evidence: Evidence, kind: str, row: Row) -> Row | None:
    """The call that seeds this stream, when it came after the first draw and none came before. A library that seeds
    the stream for itself with what it has just drawn seeds nothing."""
    seeds = [one(pair) for pair in evidence.of(f"seed:{_STREAM_OF[kind]}") if not differs(pair)]
    if not seeds or any(seed["order"] < row["order"] for seed in seeds):
        return None
    return seeds[0]


def _taken_back(evidence: Evidence) -> Iterator[Candidate]:
    """`random.seed()` seeds from the system's entropy, whatever was set before."""
    for kind in ("python-random", "numpy"):
        for pair in evidence.of(f"unseed:{kind}"):
            row = one(pair)
            later = [r for p in evidence.of(kind, "keras-seed") if _STREAM_OF[(r := one(p))["kind"]] == kind
                     and r["last"] > row["order"] and differs(p)]  # fmt: skip
            if not (differs(pair) and later):
                continue
            code, stream = _SEEDED[kind]
            before = [s for p in evidence.of(f"seed:{kind}") if (s := one(p))["order"] < row["order"]]
            notes = [f"{_drawn(r)} is drawn after that, at {place(r)}" for r in later[:3]]
            if before:
                notes.insert(0, f"the seed that was set at {place(before[0])} is lost by it")
            yield Candidate(
                code, f"unseed:{kind}", f"{row['what']}() without a value seeds {stream} anew in every run", (site(row),),
                row["file"], row["line"], notes=tuple(notes), shown=f"with a fixed seed in place of {row['what']}()",
                bonus=_INSTEAD,
            )  # fmt: skip


def _fed_by_something(evidence: Evidence) -> Iterator[Candidate]:
    """A seed that differs, when nothing is known of where its value came from: last resort, and still the place."""
    for row in tainted(evidence):
        code, stream = _SEEDED[row["kind"].removeprefix("seed:")]
        if by_own_road(row) or row["via"] in ("keras", "tf_keras", "tensorflow"):
            yield Candidate(
                code, f"{row['kind']}-value", f"{stream} is seeded with another value in each run", (site(row),),
                row["file"], row["line"], notes=(f"{row['what']} is called at {place(row)}",),
                shown=f"with a fixed seed given to {row['what']}",
            )  # fmt: skip


def _drawn(row: Row) -> str:
    return row["what"] if by_own_road(row) or not row.get("entry") else f"{row['what']} (by {_library(row)})"


def _library(row: Row) -> str:
    return f"{row['via']}'s {row['entry']}"


def _advice(code: str, row: Row) -> str:
    """What to write instead, where the catalogue's advice would not help."""
    if code == "TW106" and row["where"].startswith("import of "):
        module = row["where"].removeprefix("import of ")
        return f"{module} draws while it is imported: set the seed before that import, or draw in a function"
    return ""


def _message(code: str, kind: str, row: Row, sites: int) -> str:
    more = f" (and at {sites - 1} more places)" if sites > 1 else ""
    if code == "TW106":
        return f"{row['what']} was used before the seed was set{more}"
    if code == "TW204":
        inside = "a generator" if row["where"] == "generator" else "a host function of the input pipeline"
        return f"{row['what']} is drawn inside {inside}{more}"
    if code in ("TW205", "TW403"):
        who = "loader workers" if row["where"] == "pydataset" else "threads"
        return f"{row['what']} is drawn by several {who} from one stream{more}"
    if code == "TW201" and kind != "shuffle":
        return f"{row['entry']} shuffles without a seed{more}"
    if by_library(row) and kind in ("numpy", "python-random"):
        stream = _SEEDED[kind][1]
        return f"{_library(row)} draws from {stream}, which is not seeded{more}"
    return {
        "keras-seed": f"Keras took a default seed from Python's random, which is not seeded{more}",
        "tf-random": f"a TensorFlow random op runs without a seed{more}",
        "numpy": f"{row['what']} draws from NumPy's global stream, which is not seeded{more}",
        "python-random": f"{row['what']} draws from Python's global stream, which is not seeded{more}",
        "shuffle": f"{row['what']} has no seed{more}",
    }[kind]
