"""Many checks in one process, under a load that changes: `python soak.py COUNT TENSORFLOW SEED FOLDER` prints what became of
them as JSON. Run by test_soak.py, apart from pytest, whose own memory is nobody's concern."""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import psutil

import twinrun


class Case(NamedTuple):
    text: str
    verdict: str
    about: str = ""  # the code of the cause, or the kind of the reason


PLAIN = {
    "seeded": Case("import random\nrandom.seed(3)\nP([random.random() for _ in range(50)])", "repeats"),
    "numpy": Case("import numpy as np\nP(np.random.default_rng(3).normal(size=500))", "repeats"),
    "sorted": Case("P([len(word) for word in sorted({'a', 'bcd', 'ef'})])", "repeats"),
    "draws and does not use it": Case("import random, time\nrandom.random(), time.time()\nP([1.5])", "repeats"),
    "threads that are joined": Case(
        "import threading\nsums = [0] * 4\n"
        "def work(n):\n    sums[n] = sum(range(n * 1000))\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
        "[t.start() for t in threads], [t.join() for t in threads]\nP(sums)",
        "repeats",
    ),
    "a child": Case(
        "import subprocess, sys\nP([float(subprocess.run([sys.executable, '-c', 'print(1.5)'], "
        "capture_output=True, text=True).stdout)])",
        "repeats",
    ),
    "writes files": Case(
        "import pathlib\npathlib.Path('out.txt').write_text('1.5')\nP([float(open('out.txt').read())])",
        "repeats",
    ),
    "many probes": Case("for n in range(300):\n    P([n, n * n])", "repeats"),
    "unseeded": Case("import random\nP([random.random()])", "diverges", "TW101"),
    "unseeded numpy": Case("import numpy as np\nP(np.random.rand(9))", "diverges", "TW102"),
    "unseeded generator": Case("import numpy as np\nP(np.random.default_rng().random(9))", "diverges", "TW103"),
    "entropy": Case("import os\nP(list(os.urandom(8)))", "diverges", "TW108"),
    "clock": Case("import time\nP([time.time()])", "diverges", "TW303"),
    "hash order": Case(
        "P([sum(map(ord, word)) for word in {f'name{n}' for n in range(40)}])", "diverges", "TW301"
    ),
    "late": Case(
        "import random\nrandom.seed(3)\nfor n in range(200):\n    P([random.random()])\n"
        "random.seed()\nP([random.random()])",
        "diverges",
    ),
    "crashes": Case("P([1])\nraise SystemExit(3)", "undecided", "crashed"),
    "killed": Case("import os, signal\nP([1])\nos.kill(os.getpid(), signal.SIGKILL)", "undecided", "crashed"),
    "nothing to see": Case("x = 1", "undecided", "no-step"),
    "leaves abruptly": Case(
        "import os, threading\nP([1])\nthreading.Thread(target=os._exit, args=(0,)).start()\nthreading.Event().wait()",
        "undecided",
        "abrupt-exit",
    ),
}  # fmt: skip
_FIT = (
    "import numpy as np, keras\nSEED\nx = np.arange(64.0).reshape(16, 4) / 64\n"
    "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])\n"
    "model.compile('sgd', 'mse')\nmodel.fit(x, x[:, :1], epochs=2, batch_size=4, shuffle=False, verbose=0)"
)
TENSORFLOW = {
    "keras, seeded": Case(_FIT.replace("SEED", "keras.utils.set_random_seed(3)"), "repeats"),
    "keras, unseeded": Case(_FIT.replace("SEED", ""), "diverges", "TW105"),
}
LOADS = (0, 0, 1, 2, 4)  # processes that do nothing but keep a core busy
_START = "import twinrun\ndef P(value):\n    twinrun.probe('x', value)\n"


def soak(count: int, tensorflow: int, chance: random.Random, folder: Path) -> dict[str, Any]:
    names = [chance.choice(list(PLAIN)) for _ in range(count - tensorflow)]
    names += [chance.choice(list(TENSORFLOW)) for _ in range(tensorflow)]
    chance.shuffle(names)
    kinds: Counter[str] = Counter()
    wrong: list[str] = []
    memory: list[int] = []
    own = psutil.Process()
    opened, threads, seconds = 0, 0, time.monotonic()
    for number, name in enumerate(names):
        case = TENSORFLOW[name] if name in TENSORFLOW else PLAIN[name]
        found, how = checked(folder / str(number), case, chance)
        if found.verdict == case.verdict:
            kinds[case.verdict] += 1
        else:
            wrong.append(f"{name}{how}: {found.verdict} ({found.reason}), not {case.verdict}")
        about = found.findings[0].code if found.findings else found.reason_kind
        if found.verdict == case.verdict and case.about not in ("", about):
            kinds[f"{case.verdict}, with another cause than {case.about}: {about}"] += 1
        gc.collect()
        memory.append(own.memory_info().rss)
        if number == 0:
            opened, threads = own.num_fds(), own.num_threads()
        print(f"{number + 1}/{count} {name}{how}: {found.label}", file=sys.stderr, flush=True)
    part = max(1, len(memory) // 10)
    alarms = [each for each in wrong if each.endswith("not repeats")]
    return {
        "checks": count,
        "of_tensorflow": tensorflow,
        "wrong_verdicts": len(wrong),
        "false_alarms": len(alarms),
        "wrong": wrong,
        "right": dict(kinds),
        "memory_mb": round(median(memory[-part:]) / 1e6, 1),
        "memory_growth_mb": round((median(memory[-part:]) - median(memory[part : 2 * part])) / 1e6, 1),
        "more_open_files": own.num_fds() - opened,
        "more_threads": more_threads(own, threads),
        "seconds": round(time.monotonic() - seconds),
    }


def more_threads(own: psutil.Process, before: int) -> int:
    """A thread that was joined may be there for another moment."""
    until = time.monotonic() + 5
    while own.num_threads() > before and time.monotonic() < until:
        time.sleep(0.05)
    return own.num_threads() - before


def checked(folder: Path, case: Case, chance: random.Random) -> tuple[Any, str]:
    folder.mkdir()
    program = folder / "train.py"
    program.write_text(_START + case.text)
    load, sequential, runs = chance.choice(LOADS), chance.random() < 0.2, chance.choice((2, 2, 2, 3))
    os.chdir(folder)
    busy = [subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"]) for _ in range(load)]
    try:
        found = twinrun.check(program, sequential=sequential, runs=runs, diagnose=bool(case.about))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return found, f" (load {load}, {runs} runs{', sequential' if sequential else ''})"


if __name__ == "__main__":
    chance = random.Random(sys.argv[3])
    print(json.dumps(soak(int(sys.argv[1]), int(sys.argv[2]), chance, Path(sys.argv[4]))))
