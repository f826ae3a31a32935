"""The ledger in a process of its own, without a framework: what is noted, and what holding a site still does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

RUNNER = """
import json, runpy, sys
from types import SimpleNamespace
from twinrun.twin import ledger_install as ledger
settings = json.loads(sys.argv[2])
spec = SimpleNamespace(experiment=settings, varied={})
sys.path.insert(0, sys.argv[1].rpartition("/")[0])
watch = SimpleNamespace(alive=True, step=0, spec=spec, answers={})
ledger.install(watch)
result = runpy.run_path(sys.argv[1], run_name="__main__")["RESULT"]
print(json.dumps({"result": result, "rows": watch.answers["ledger"]({})}))
"""


def run(script: Path, **settings: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, str(script), json.dumps(settings)],
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


def held(script: Path, kind: str, line: int) -> list[Any]:
    """What two runs give with this site held still."""
    return [run(script, steady=[[kind, str(script), line]])["result"] for _ in range(2)]


def rows(answer: dict[str, Any], kind: str) -> list[tuple[int, str]]:
    return [(row["line"], row["what"]) for row in answer["rows"] if row["kind"] == kind]


UNSEEDED = """import random
random.seed(3)
random.seed()
RESULT = random.random()
"""


def test_a_seed_without_a_value_is_noted_apart_and_can_be_held_still(tmp_path: Path) -> None:
    script = written(tmp_path, UNSEEDED)
    answer = run(script)
    assert rows(answer, "unseed:python-random") == [(3, "random.seed")]
    assert rows(answer, "seed:python-random") == [(2, "random.seed")]
    first, second = held(script, "unseed:python-random", 3)
    assert first == second != answer["result"]


LIBRARY = """import numpy as np
np.random.seed(1)
first = np.random.normal()
shared = np.random.mtrand._rand
RESULT = [first, shared.normal(), shared.permutation(9).tolist(), np.random.normal()]
"""


def test_the_object_behind_numpys_functions_is_noted_and_is_the_same_stream(tmp_path: Path) -> None:
    script = written(tmp_path, LIBRARY)
    answer = run(script)
    assert (5, "np.random.normal") in rows(answer, "numpy")
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


def test_only_generators_without_a_seed_are_noted(tmp_path: Path) -> None:
    answer = run(written(tmp_path, GENERATORS))
    assert [line for line, _ in rows(answer, "generator")] == [9, 10, 11, 13]


NAMES = """import os, tempfile, uuid
made = tempfile.mkdtemp()
os.rmdir(made)
number = os.getpid()
RESULT = [made, number, str(uuid.uuid1())]
"""


def test_names_that_the_system_makes_up_can_be_held_still(tmp_path: Path) -> None:
    script = written(tmp_path, NAMES)
    assert rows(run(script), "name") == [(2, "tempfile.mkdtemp"), (4, "os.getpid"), (5, "uuid.uuid1")]
    steady = [["name", str(script), line] for line in (2, 4, 5)]
    first, second = (run(script, steady=steady)["result"] for _ in range(2))
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
    answer = run(script, steady=[["completion", str(script), 9], ["completion", str(script), 11]])
    assert answer["result"] == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert rows(answer, "completion") == [(9, "as_completed"), (11, "Pool.imap_unordered")]


ADDRESSES = """class Item:
    def __init__(self, n):
        self.n = n
spread = [object() for _ in range(__import__("os").getpid() % 97)]
items = [Item(n) for n in range(200)]
RESULT = [[item.n for item in set(items)], [id(items[3]), id(items[3]), id(items[4])]]
"""


def test_addresses_of_the_programs_own_objects_can_be_held_still(tmp_path: Path) -> None:
    script = written(tmp_path, ADDRESSES)
    first, second = (run(script, addresses=True)["result"] for _ in range(2))
    assert first == second
    three, again, four = first[1]
    assert three == again != four


IMPORTS = """import lines
RESULT = lines.DRAWN
"""


def test_a_draw_while_a_module_is_imported_says_so(tmp_path: Path) -> None:
    (tmp_path / "lines.py").write_text("import random\n\nDRAWN = random.random()\n")
    answer = run(written(tmp_path, IMPORTS))
    assert [row["where"] for row in answer["rows"] if row["kind"] == "python-random"] == ["import of lines"]
