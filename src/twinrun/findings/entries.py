"""The table of codes. Codes are stable: one is added when a real case needs it, and never reused."""

from __future__ import annotations

from dataclasses import dataclass

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


ENTRIES: dict[str, Entry] = _entries(
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
        "call keras.utils.set_random_seed(42) right after the imports; it also sets TensorFlow's global seed. A graph that is "
        "run in a session has a seed of its own: call tf.compat.v1.set_random_seed(42) in it before anything is built",
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
        "read from a copy that nothing writes to; make going on from a last run an option",
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
