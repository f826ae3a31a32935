"""The event log in a process of its own, without a framework: what is recorded, and what freezing a line does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

RUNNER = """
import json, runpy, sys
import msgspec
from twinrun.protocol.intervention import Freeze
from twinrun.protocol.spec import Spec
from twinrun.twin.bootstrap import install_sources
from twinrun.twin.session import begin
freezes = tuple(Freeze.parse(text) for text in sys.argv[2:])
session = begin(Spec("", 0, 0, "train.py", interventions=freezes))
sys.path.insert(0, sys.argv[1].rpartition("/")[0])
install_sources(session)
result = runpy.run_path(sys.argv[1], run_name="__main__")["RESULT"]
print(json.dumps({"result": result, "events": msgspec.to_builtins(session.log.events())}))
"""


def run(script: Path, *freeze: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, str(script), *freeze],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def written(folder: Path, text: str) -> Path:
    script = folder / "train.py"
    script.write_text(text)
    return script


def frozen(script: Path, source: str, line: int) -> list[Any]:
    """What two runs give with this line frozen."""
    return [run(script, f"{source}:{script}:{line}")["result"] for _ in range(2)]


def events(answer: dict[str, Any], source: str, action: str) -> list[tuple[int, str]]:
    found = [event for event in answer["events"] if (event["source"], event["action"]) == (source, action)]
    return [(event["line"], event["call"]) for event in found]


UNSEEDED = """import random
random.seed(3)
random.seed()
RESULT = random.random()
"""


def test_a_seed_without_a_value_is_an_event_of_its_own_and_can_be_frozen(tmp_path: Path) -> None:
    script = written(tmp_path, UNSEEDED)
    answer = run(script)
    assert events(answer, "python-random", "reseed") == [(3, "random.seed")]
    assert events(answer, "python-random", "seed") == [(2, "random.seed")]
    first, second = frozen(script, "python-random.reseed", 3)
    assert first == second != answer["result"]


LIBRARY = """import numpy as np
np.random.seed(1)
first = np.random.normal()
shared = np.random.mtrand._rand
RESULT = [first, shared.normal(), shared.permutation(9).tolist(), np.random.normal()]
"""


def test_the_object_behind_numpys_functions_is_seen_and_is_the_same_stream(tmp_path: Path) -> None:
    script = written(tmp_path, LIBRARY)
    answer = run(script)
    assert (5, "np.random.normal") in events(answer, "numpy-random", "draw")
    plain = subprocess.run(
        [sys.executable, "-c", f"{LIBRARY}import json; print(json.dumps(RESULT))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer["result"] == json.loads(plain.stdout)


GENERATORS = """import numpy as np
class Args:
    seed, none = 5, None
args, nothing = Args(), None
np.random.RandomState(5)
np.random.RandomState(seed=args.seed)
np.random.RandomState(int("5"))
np.random.default_rng(5)
np.random.RandomState(nothing)
np.random.RandomState()
np.random.default_rng()
def made(seed=None):
    return np.random.RandomState(seed)
made()
RESULT = made(3).rand()
"""


def test_only_generators_without_a_seed_are_recorded(tmp_path: Path) -> None:
    answer = run(written(tmp_path, GENERATORS))
    assert [line for line, _ in events(answer, "generators", "make")] == [9, 10, 11, 13]


NAMES = """import os, tempfile, uuid
made = tempfile.mkdtemp()
os.rmdir(made)
number = os.getpid()
RESULT = [made, number, str(uuid.uuid1())]
"""


def test_names_that_the_system_makes_up_can_be_frozen(tmp_path: Path) -> None:
    script = written(tmp_path, NAMES)
    assert events(run(script), "names", "make") == [
        (2, "tempfile.mkdtemp"),
        (4, "os.getpid"),
        (5, "uuid.uuid1"),
    ]
    lines = [f"names:{script}:{line}" for line in (2, 4, 5)]
    first, second = (run(script, *lines)["result"] for _ in range(2))
    assert first == second


COMPLETION = """import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.pool import ThreadPool
def late(n):
    time.sleep(0.5 * (n == 0))
    return n
with ThreadPoolExecutor(4) as pool:
    work = {pool.submit(late, n) for n in range(4)}
    done = [future.result() for future in as_completed(work)]
with ThreadPool(4) as pool:
    RESULT = [done, list(pool.imap_unordered(late, range(4)))]
"""


def test_results_in_order_of_completion_can_be_taken_in_the_order_of_the_work(tmp_path: Path) -> None:
    script = written(tmp_path, COMPLETION)
    answer = run(script, f"completion-order:{script}:9", f"completion-order:{script}:11")
    assert answer["result"] == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert events(answer, "completion-order", "take") == [(9, "as_completed"), (11, "Pool.imap_unordered")]


ADDRESSES = """class Item:
    def __init__(self, n):
        self.n = n
spread = [object() for _ in range(__import__("os").getpid() % 97)]
items = [Item(n) for n in range(200)]
RESULT = [[item.n for item in set(items)], [id(items[3]), id(items[3]), id(items[4])]]
"""


def test_addresses_of_the_programs_own_objects_can_be_frozen(tmp_path: Path) -> None:
    script = written(tmp_path, ADDRESSES)
    first, second = (run(script, "addresses")["result"] for _ in range(2))
    assert first == second
    three, again, four = first[1]
    assert three == again != four


IMPORTS = """import lines
RESULT = lines.DRAWN
"""


def test_a_draw_while_a_module_is_imported_says_so(tmp_path: Path) -> None:
    (tmp_path / "lines.py").write_text("import random\n\nDRAWN = random.random()\n")
    answer = run(written(tmp_path, IMPORTS))
    drawn = [event for event in answer["events"] if event["source"] == "python-random"]
    assert [event["context"] for event in drawn] == ["import of lines"]
