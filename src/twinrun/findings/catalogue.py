"""Every code Twinrun can report: its name, its family, one sentence on what it is, and one on what to do.

Codes are stable: a code is added when a real case needs one and is never reused. This module imports
nothing but the standard library, so that the audits, the twins and the command line can all afford it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files

from twinrun.errors import UnknownCode
from twinrun.findings.finding import Finding

FAMILIES: dict[str, str] = {
    "TW1": "randomness",
    "TW2": "input pipeline",
    "TW3": "Python and the outside",
    "TW4": "computation",
    "TW5": "environment",
    "TW6": "distributed",
    "TW7": "resume",
}


@dataclass(frozen=True)
class Entry:
    """One code: `summary` says what it is, `advice` what to do when no rewrite can be made."""

    code: str
    name: str
    summary: str
    advice: str

    @property
    def family(self) -> str:
        """The family's title: `randomness`, `input pipeline`, …"""
        return FAMILIES[self.family_code]

    @property
    def family_code(self) -> str:
        return self.code[:3]


def _entries(*rows: tuple[str, str, str, str]) -> dict[str, Entry]:
    return {row[0]: Entry(*row) for row in rows}


_ENTRIES: dict[str, Entry] = _entries(
    (
        "TW101",
        "unseeded-python-random",
        "Python's global `random` stream feeds training and is not seeded.",
        "call keras.utils.set_random_seed(42) right after the imports; it also seeds Python's random",
    ),
    (
        "TW102",
        "unseeded-numpy",
        "NumPy's global random stream feeds training and is not seeded.",
        "call keras.utils.set_random_seed(42) right after the imports; it also seeds NumPy's global stream",
    ),
    (
        "TW103",
        "unseeded-generator",
        "A random generator object was made without a seed.",
        "give the generator a seed where it is made",
    ),
    (
        "TW104",
        "unseeded-tensorflow",
        "TensorFlow's global seed is not set and an op draws from it.",
        "call keras.utils.set_random_seed(42) right after the imports; it also sets TensorFlow's global seed",
    ),
    (
        "TW105",
        "unseeded-keras",
        "A Keras initialiser, dropout or `keras.random` call takes its seed from an unseeded stream.",
        "call keras.utils.set_random_seed(42) right after the imports, before any layer is built",
    ),
    (
        "TW106",
        "seeded-too-late",
        "Something was drawn or built before the seed was set.",
        "move the seed call up, right after the imports",
    ),
    (
        "TW107",
        "repeated-stream",
        "Workers or epochs replay the same random stream: too little randomness.",
        "derive each worker's or epoch's seed from one seed and the worker or epoch number",
    ),
    (
        "TW108",
        "os-entropy",
        "Entropy of the operating system (`os.urandom`, `secrets`, `uuid4`) reaches training.",
        "draw from a seeded generator instead; keep os.urandom, secrets and uuid4 for names and tokens",
    ),
    (
        "TW201",
        "unseeded-shuffle",
        "A dataset is shuffled without a seed.",
        "pass seed= to the shuffle, or set the global seed before the dataset is built",
    ),
    (
        "TW202",
        "completion-order",
        "`deterministic=False` lets elements arrive in the order their work happens to finish.",
        "leave deterministic at its default, True",
    ),
    (
        "TW203",
        "random-op-in-parallel-map",
        "Parallel calls of a mapped function race for one random state.",
        "draw with tf.random.stateless_* or tf.image.stateless_random_*, keyed by a seed per element",
    ),
    (
        "TW204",
        "host-random-in-map",
        "Python or NumPy randomness is drawn inside `py_function`, `numpy_function` or a generator.",
        "pass a seed per element into the function and draw from a generator made of it",
    ),
    (
        "TW205",
        "loader-workers",
        "Loader threads or processes race for one random stream.",
        "make a generator from (seed, epoch, index) inside __getitem__ and draw from that",
    ),
    (
        "TW207",
        "order-not-restored",
        "The data order after a restart is not the order it would have been.",
        "save the iterator with the checkpoint, or derive the order from a seed and the epoch number",
    ),
    (
        "TW301",
        "hash-order",
        "The order of a set, or a value of `hash()`, reaches training and changes with PYTHONHASHSEED.",
        "iterate over sorted(the_set), and use a hash from hashlib or zlib instead of hash()",
    ),
    (
        "TW302",
        "file-order",
        "The order in which a directory is listed reaches training.",
        "sort the listing",
    ),
    (
        "TW303",
        "clock",
        "The time or date reaches training.",
        "make it a constant or an argument of the program; keep the clock for logs and file names",
    ),
    (
        "TW304",
        "input-changed",
        "An input file was not the same in both runs.",
        "read from a copy that nothing writes to, and check its digest before training",
    ),
    (
        "TW401",
        "nondeterministic-op",
        "The same inputs gave different outputs: the op itself varies.",
        "turn on tf.config.experimental.enable_op_determinism(), or compute it with an op that does not race",
    ),
    (
        "TW402",
        "thread-count",
        "The bits depend on the number of threads.",
        "fix the number of intra-op threads in the program, the same on every machine",
    ),
    (
        "TW403",
        "thread-race",
        "Threads of the program update the same values without synchronisation.",
        "let one thread do the updates, or give every thread its own state and combine it in a fixed order",
    ),
    (
        "TW404",
        "kernel-choice",
        "Autotuning or algorithm choice picked another kernel.",
        "turn on op determinism, which also stops autotuning from choosing",
    ),
    (
        "TW405",
        "compiler",
        "Compiled and uncompiled code, or two compilations, give different bits.",
        "compile in every run or in none, and say so in the program (jit_compile=True or False)",
    ),
    (
        "TW406",
        "no-deterministic-kernel",
        "Op determinism is on and this op has no deterministic implementation here.",
        "compute it with another op, or run this op on a device that has a deterministic implementation",
    ),
    (
        "TW501",
        "package-version",
        "A package that can change bits has another version.",
        "install the same versions in both environments from one lock file",
    ),
    (
        "TW502",
        "accelerator-stack",
        "The driver, CUDA, cuDNN or another part of the accelerator stack differs.",
        "use the same container image and driver branch in both places",
    ),
    (
        "TW503",
        "hardware",
        "The processor's instruction set or the accelerator model differs.",
        "compare on the same kind of machine, or use a contract with a tolerance",
    ),
    (
        "TW504",
        "numeric-flags",
        "A setting that changes arithmetic differs (oneDNN, TF32, XLA, mixed precision).",
        "set these flags explicitly, to the same values, in both environments",
    ),
    (
        "TW505",
        "thread-settings",
        "The thread settings differ.",
        "set the intra-op and inter-op thread counts explicitly, to the same values, in both environments",
    ),
    (
        "TW506",
        "code-or-data",
        "The program, its arguments or its data differ between the two runs.",
        "compare runs of the same commit, arguments and data",
    ),
    (
        "TW507",
        "process-settings",
        "A setting of the process that programs follow differs: hash seed, locale, encoding or time zone.",
        "set PYTHONHASHSEED, LC_ALL and TZ to the same values in both environments, before Python starts",
    ),
    (
        "TW601",
        "worker-count",
        "The result depends on the number of workers or replicas.",
        "train with the same number of replicas, and derive batch sizes and seeds from the global batch",
    ),
    (
        "TW602",
        "sharding",
        "Workers do not share the data out cleanly: elements are seen twice, or never.",
        "shard before shuffling, by the worker's index, and check that the shards cover the data once",
    ),
    (
        "TW603",
        "reduction-order",
        "Gradients of the workers are summed in another order or by another algorithm.",
        "fix the collective implementation explicitly instead of AUTO",
    ),
    (
        "TW604",
        "replica-drift",
        "Replicas that must stay equal hold different weights.",
        "initialise every replica from the same seed or broadcast, and update variables through the strategy",
    ),
    (
        "TW701",
        "state-not-restored",
        "Optimizer, seed-generator or step state is lost on resume.",
        "save and restore the whole state: weights, optimizer, seed generators, step and data position",
    ),
)

_CODES_BY_NAME = {entry.name: entry.code for entry in _ENTRIES.values()}


def all_entries() -> tuple[Entry, ...]:
    """Every code, in order."""
    return tuple(_ENTRIES.values())


def lookup(code: str) -> Entry:
    """The entry of a code (`TW203`, `tw203`) or a name (`random-op-in-parallel-map`)."""
    wanted = code.strip()
    entry = _ENTRIES.get(wanted.upper()) or _ENTRIES.get(_CODES_BY_NAME.get(_as_name(wanted), ""))
    if entry is None:
        raise UnknownCode(f"there is no code {wanted!r} in the catalogue", hint=_hint(wanted))
    return entry


def finding(
    code: str,
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    confirmed: bool = False,
    evidence: Iterable[str] = (),
    fix: str | None = None,
) -> Finding:
    """A finding whose name comes from the catalogue, so that nobody types a name twice."""
    entry = lookup(code)
    return Finding(entry.code, entry.name, message, file, line, confirmed, tuple(evidence), fix)


def page(code: str) -> str:
    """The page of a code, in Markdown."""
    entry = lookup(code)
    return files("twinrun.findings").joinpath("pages", f"{entry.code}.md").read_text(encoding="utf-8")


def nearest(code: str) -> tuple[Entry, ...]:
    """The entries whose code or name looks most like this one, best first, three at most."""
    number = re.fullmatch(r"(?:TW)?(\d{1,4})", code.strip().upper())
    if number:
        near = [(_distance(number[1], known[2:]), known) for known in _ENTRIES]
        found = [known for distance, known in sorted(near) if distance < (True, True, 0)]
    else:
        word = _as_name(code)
        found = [_CODES_BY_NAME[name] for name in _CODES_BY_NAME if len(word) > 2 and word in name]
        found += [_CODES_BY_NAME[name] for name in get_close_matches(word, _CODES_BY_NAME, n=3, cutoff=0.5)]
    return tuple(_ENTRIES[found_code] for found_code in list(dict.fromkeys(found))[:3])


def _distance(wanted: str, known: str) -> tuple[bool, bool, int]:
    """Nearest: the same digits swapped, or one left out; then the same family, by number."""
    left_out = any(wanted == known[:i] + known[i + 1 :] for i in range(len(known)))
    slipped = left_out or sorted(wanted) == sorted(known)
    return not slipped, wanted[0] != known[0], abs(int(wanted) - int(known))


def _as_name(text: str) -> str:
    return text.strip().lower().replace("_", "-").replace(" ", "-")


def _hint(wanted: str) -> str:
    near = ", ".join(f"{entry.code} ({entry.name})" for entry in nearest(wanted))
    listing = "`twinrun explain` lists every code"
    return f"did you mean {near}? {listing}" if near else listing
