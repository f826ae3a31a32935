"""Which settings change the bits of a seeded, deterministic training run? The key is made of those.

Each row starts the same small programs in a fresh process with one thing changed, and compares the digests of
what they end with. `python benchmarks/environment_key.py` prints the table of
docs/explanation/environment-key.md; `--only WORD` runs a part of it, `--python PATH` and `--path FOLDER` add
rows for another interpreter and for other packages.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

WORKLOADS = ("convnet", "mlp", "bfloat16", "numpy")


@dataclass(frozen=True)
class Variant:
    """One row: what is changed, in the environment, in the program's own settings, or around the process."""

    field: str
    setting: str
    env: dict[str, str] = field(default_factory=dict)
    options: dict[str, object] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    python: str = sys.executable
    against: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The digests a variant ended with, or why it has none."""

    variant: Variant
    digests: dict[str, str]
    error: str = ""


LOOSE: dict[str, object] = {"determinism": False}
COMPILED: dict[str, object] = {**LOOSE, "jit": True}
FAST = "--xla_cpu_enable_fast_math=true"
ONE_CPU = ("taskset", "-c", "0")


def variable(field: str, name: str, *values: str) -> list[Variant]:
    """A row for each value of an environment variable."""
    return [Variant(field, f"{name}={value}", {name: value}) for value in values]


def variants(pythons: list[str], folders: list[str]) -> list[Variant]:
    """Every row of the table, after the reference. What needs a program that is not installed is left out."""
    library = other_libm() or ""
    rows = [
        Variant("nothing", "the same again"),
        *(Variant("intra-op threads", str(n), options={"intra": n}) for n in (1, 3, 4, 8)),
        *(
            replace(each, options={"intra": 0})
            for each in variable("intra-op threads", "TF_NUM_INTRAOP_THREADS", "1", "2")
        ),
        *(Variant("inter-op threads", str(n), options={"inter": n}) for n in (1, 8)),
        *variable(
            "instruction set", "ONEDNN_MAX_CPU_ISA", "SSE41", "AVX2", "AVX512_CORE", "AVX512_CORE_BF16"
        ),
        *variable("oneDNN", "TF_ENABLE_ONEDNN_OPTS", "0"),
        Variant(
            "oneDNN and instruction set",
            "off, ONEDNN_MAX_CPU_ISA=SSE41",
            {"TF_ENABLE_ONEDNN_OPTS": "0", "ONEDNN_MAX_CPU_ISA": "SSE41"},
        ),
        *variable("oneDNN math mode", "ONEDNN_DEFAULT_FPMATH_MODE", "BF16"),
        *variable("oneDNN math mode", "TF_SET_ONEDNN_FPMATH_MODE", "BF16"),
        *variable("oneDNN caches", "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0"),
        Variant("op determinism", "off", options=LOOSE),
        Variant("XLA", "jit_compile=True (op determinism makes Keras ignore it)", options={"jit": True}),
        Variant("XLA", "jit_compile=True, op determinism off in both", options=COMPILED, against=LOOSE),
        *(
            Variant(
                "XLA", f"XLA_FLAGS={flag}, compiled in both", {"XLA_FLAGS": flag}, COMPILED, against=COMPILED
            )
            for flag in (FAST, "--xla_cpu_max_isa=AVX2")
        ),
        Variant(
            "XLA",
            "TF_XLA_FLAGS=--tf_xla_auto_jit=2 with CPU",
            {"TF_XLA_FLAGS": "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"},
        ),
        Variant("XLA", "XLA_FLAGS alone, nothing compiled", {"XLA_FLAGS": FAST}),
        Variant("graph optimiser", "remapping off", options={"optimizer": {"remapping": False}}),
        Variant("graph optimiser", "all off", options={"optimizer": {"disable_meta_optimizer": True}}),
        Variant("TensorFloat-32", "off", options={"tf32": False}),
        *variable("OpenMP threads", "OMP_NUM_THREADS", "1", "8"),
        *variable("BLAS threads", "OPENBLAS_NUM_THREADS", "1", "8"),
        *variable("BLAS kernels", "OPENBLAS_CORETYPE", "Haswell", "Prescott"),
        Variant("NumPy kernels", "NPY_DISABLE_CPU_FEATURES", {"NPY_DISABLE_CPU_FEATURES": numpy_features()}),
        Variant(
            "C library kernels",
            "GLIBC_TUNABLES without FMA and AVX2",
            {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"},
        ),
        *variable("hash seed", "PYTHONHASHSEED", "1", "random"),
        Variant("locale", "LC_ALL=C", {"LC_ALL": "C", "LANG": "C"}),
        *variable("time zone", "TZ", "Asia/Tokyo"),
        *variable("memory", "MALLOC_PERTURB_", "165"),
        Variant(
            "memory",
            "PYTHONMALLOC=malloc, MALLOC_ARENA_MAX=1",
            {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1"},
        ),
        *variable("interpreter", "PYTHONOPTIMIZE", "2"),
        *variable("GPU visibility", "CUDA_VISIBLE_DEVICES", ""),
        Variant("CPU affinity", "one CPU, threads set to 2", prefix=ONE_CPU),
        Variant(
            "CPU affinity",
            "one CPU, threads left to TensorFlow",
            options={"intra": 0, "inter": 0},
            prefix=ONE_CPU,
        ),
        Variant("CPU affinity", "all CPUs, threads left to TensorFlow", options={"intra": 0, "inter": 0}),
        Variant("memory", "address randomisation off", prefix=("setarch", platform.machine(), "-R")),
        Variant("priority", "nice 19", prefix=("nice", "-n", "19")),
        Variant("C library", "powf and pow moved by one ULP", {"LD_PRELOAD": library, "NUDGE": "pow"}),
        Variant(
            "C library", "expf, logf, tanhf … moved by one ULP", {"LD_PRELOAD": library, "NUDGE": "rest"}
        ),
        *(Variant("interpreter and packages", path, python=path) for path in pythons),
        *(Variant("packages", path, {"PYTHONPATH": path}) for path in folders),
    ]
    return [
        row
        for row in rows
        if row.env.get("LD_PRELOAD") != "" and (not row.prefix or shutil.which(row.prefix[0]))
    ]


def numpy_features() -> str:
    """The instruction sets NumPy found here, to be switched off."""
    script = (
        "import numpy._core._multiarray_umath as m;"
        "print(' '.join(k for k in m.__cpu_dispatch__ if m.__cpu_features__.get(k)))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return found.stdout.strip()


NUDGE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
static int on(const char *which) { const char *v = getenv("NUDGE"); return v && strcmp(v, which) == 0; }
#define ONE(t, f, w, next) \
  t f(t x) { \
    static t (*real)(t); \
    if (!real) real = dlsym(RTLD_NEXT, #f); \
    t y = real(x); \
    return on(w) ? next(y, (t)INFINITY) : y; \
  }
#define TWO(t, f, w, next) \
  t f(t x, t e) { \
    static t (*real)(t, t); \
    if (!real) real = dlsym(RTLD_NEXT, #f); \
    t y = real(x, e); \
    return on(w) ? next(y, (t)INFINITY) : y; \
  }
#define ONEF(f) ONE(float, f, "rest", nextafterf)
TWO(float, powf, "pow", nextafterf) TWO(double, pow, "pow", nextafter)
ONEF(expf) ONEF(logf) ONEF(tanhf) ONEF(log1pf) ONEF(expm1f) ONEF(erff) ONEF(sinf) ONEF(cosf)
ONE(double, exp, "rest", nextafter) ONE(double, log, "rest", nextafter)
"""


def other_libm() -> str | None:
    """A stand-in for another C library: the same functions, the last bit moved. Needs a C compiler."""
    if not shutil.which("cc"):
        return None
    folder = Path(tempfile.mkdtemp(prefix="twinrun-libm-"))
    (folder / "nudge.c").write_text(NUDGE)
    command = ["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", "nudge.c", "-o", "nudge.so", "-ldl", "-lm"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return str(folder / "nudge.so") if built.returncode == 0 else None


REFERENCE = {"intra": 2, "inter": 2, "determinism": True, "jit": False}


def run(variant: Variant) -> Outcome:
    """Start the workloads in a fresh process and read their digests."""
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C.UTF-8",
        **variant.env,
    }
    options = json.dumps({**REFERENCE, **variant.options})
    command = [*variant.prefix, variant.python, __file__, "--child", options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    digests: dict[str, str] = {}
    for line in done.stdout.splitlines():
        if line.startswith('{"'):
            digests.update(json.loads(line))
    return Outcome(variant, digests, (done.stderr.strip().splitlines() or ["no output"])[-1][:160])


def child(options: dict[str, object]) -> None:
    """The workloads, one after the other, in this process."""
    import tensorflow as tf

    threading = tf.config.threading
    threading.set_intra_op_parallelism_threads(options["intra"])
    threading.set_inter_op_parallelism_threads(options["inter"])
    if options["determinism"]:
        tf.config.experimental.enable_op_determinism()
    if "optimizer" in options:
        tf.config.optimizer.set_experimental_options(options["optimizer"])
    if "tf32" in options:
        tf.config.experimental.enable_tensor_float_32_execution(options["tf32"])
    # One line for each: what was learnt is not lost when a later one takes the process down.
    print(json.dumps({"versions": versions(tf)}), flush=True)
    for kind in ("convnet", "mlp", "numpy", "bfloat16"):
        print(json.dumps({kind: numpy_digest() if kind == "numpy" else train(tf, kind, options)}), flush=True)


def train(tf: object, kind: str, options: dict[str, object]) -> str:
    """Ten seeded steps; the digest of the weights and losses they end with."""
    import keras
    import numpy as np
    import xxhash

    keras.utils.set_random_seed(7)
    keras.config.set_dtype_policy("mixed_bfloat16" if kind == "bfloat16" else "float32")
    layers = keras.layers
    draw = np.random.default_rng(7)
    x = draw.random((160, 20, 20, 3), dtype=np.float32)
    y = draw.integers(0, 10, 160)
    if kind == "convnet":
        body = [
            layers.Conv2D(16, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.Conv2D(24, 3, strides=2),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Flatten(),
        ]
    else:
        body = [
            layers.Flatten(),
            layers.Dense(96, activation="gelu"),
            layers.LayerNormalization(),
            layers.Dropout(0.2),
            layers.Dense(64, activation="tanh"),
        ]
    model = keras.Sequential([keras.Input((20, 20, 3)), *body, layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-2), loss, jit_compile=bool(options["jit"]))
    history = model.fit(x, y, batch_size=32, epochs=2, verbose=0)
    digest = xxhash.xxh3_64(np.asarray(history.history["loss"], np.float64).tobytes())
    for weight in model.get_weights():
        digest.update(np.ascontiguousarray(weight).tobytes())
    return digest.hexdigest()


def numpy_digest() -> str:
    """What a program does to its data before training: draws, a product, sums, transcendental functions."""
    import numpy as np
    import xxhash

    draw = np.random.default_rng(3)
    a, b = (
        draw.standard_normal((300, 400)).astype(np.float32),
        draw.standard_normal((400, 200)).astype(np.float32),
    )
    parts = [
        a @ b,
        (a @ b).astype(np.float64) @ draw.random((200, 50)),
        a.sum(axis=0),
        a.sum(axis=1),
        a.mean(),
        a.std(),
        np.exp(a),
        np.log(np.abs(a) + 1),
        np.sin(a),
        a**1.5,
    ]
    return xxhash.xxh3_64(b"".join(np.ascontiguousarray(p).tobytes() for p in parts)).hexdigest()


def versions(tf: Any) -> str:
    import keras
    import numpy as np

    packages = f"TensorFlow {tf.__version__}, Keras {keras.__version__}, NumPy {np.__version__}"
    return f"Python {platform.python_version()}, {packages}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="run the rows whose field or setting contains this")
    parser.add_argument("--python", action="append", default=[], help="also run with this interpreter")
    parser.add_argument(
        "--path", action="append", default=[], help="also run with other packages from this folder"
    )
    given = parser.parse_args()
    if given.child:
        child(json.loads(given.child))
        return
    reference = run(Variant("reference", "2 threads"))
    if "numpy" not in reference.digests:
        sys.exit(f"the reference did not run: {reference.error}")
    where = f"{platform.machine()}, {os.cpu_count()} CPUs, 2 threads"
    print(f"reference: {reference.digests['versions']}, {where}\n")
    print(
        "| field | setting | convnet | MLP | MLP in bfloat16 | NumPy |\n|---|---|---|---|---|---|", flush=True
    )
    references = {"{}": reference}
    for variant in variants(given.python, given.path):
        if given.only.lower() not in f"{variant.field} {variant.setting}".lower():
            continue
        name = json.dumps(variant.against)
        if name not in references:
            references[name] = run(Variant("reference", name, options=variant.against))
        print(row(run(variant), references[name].digests), flush=True)


def row(outcome: Outcome, reference: dict[str, str]) -> str:
    """One line of the table: `same` or `other bits`, workload by workload."""
    variant, digests = outcome.variant, outcome.digests
    if "versions" not in digests:
        return f"| {variant.field} | {variant.setting} | did not run: {outcome.error} | | | |"
    by_version = variant.setting in (variant.python, variant.env.get("PYTHONPATH"))
    cells = [digests["versions"] if by_version else f"`{variant.setting}`"]
    for workload in WORKLOADS:
        if workload not in digests:
            cells.append("the process died")
        else:
            same = digests[workload] == reference.get(workload)
            cells.append("same" if same else f"other bits (`{digests[workload][:4]}`)")
    return f"| {variant.field} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
