"""The program's own source as the diagnosis reads it: where the order of a set may matter."""

from __future__ import annotations

from pathlib import Path

from twinrun.source_audit.program_source import ProgramSource

HASHED = """
words = open("w.txt").read().split()
known = {"a", "b"}
print("a" in known, len(known))
vocabulary = {w: i for i, w in enumerate(set(words))}
for w in sorted(known):
    print(w)
ordered = sorted(list(set(words)))
longest = max(len(w) for w in set(words))
print(list(known))
for size in {8, 16, 32}:
    print(size)
"""


def test_sets_are_found_where_their_order_is_used(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(HASHED)
    # What is only printed comes last.
    assert [line for _, line, _ in ProgramSource(script).hash_order()] == [5, 10]


PACKAGE = """
import keras
from parts.words import index, names

for name in {"shown", "only"}:
    log = name
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit([[i] for i in index(["a", "b"]).values()], [0, 1])
"""


def test_the_set_that_reaches_training_is_named_before_the_others(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(PACKAGE)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    words = "names = []\ndef index(words):\n    return {w: i for i, w in enumerate(set(words))}\n"
    (tmp_path / "parts" / "words.py").write_text(words)
    file, line, _ = ProgramSource(script).hash_order()[0]
    assert (Path(file).name, line) == ("words.py", 3)


def test_a_set_that_is_a_parameter_where_its_order_is_used_is_found_by_what_the_audit_follows(
    tmp_path: Path,
) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import keras\nimport numpy as np\nKINDS = {'spiral', 'ring', 'bar'}\n"
        "class Sky:\n"
        "    def __init__(self, kinds):\n"
        "        self.number = {kind: i for i, kind in enumerate(kinds)}\n"
        "sky = Sky(KINDS)\n"
        "y = np.array([sky.number[kind] for kind in ('ring', 'bar')])\n"
        "model = keras.Sequential([keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\nmodel.fit(np.ones((2, 3)), y)\n"
    )
    assert [line for _, line, _ in ProgramSource(script).hash_order()] == [6]
