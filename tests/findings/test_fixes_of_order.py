"""Fixes of order: directory listings, sets, hashes; and of ops that vary."""

from __future__ import annotations

import pytest
from proposing import fixed, program, proposed

from twinrun.findings.fixes import propose


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("files = os.listdir(d)", "files = sorted(os.listdir(d))"),
        ("for name in os.listdir(d):\n    read(name)", "for name in sorted(os.listdir(d)):\n    read(name)"),
        ("files = [f for f in os.listdir(d) if f]", "files = [f for f in sorted(os.listdir(d)) if f]"),
        ("files = glob.glob('*.png') + ['x']", "files = sorted(glob.glob('*.png')) + ['x']"),
        ("files = list(glob.iglob('*.png'))", "files = sorted(glob.iglob('*.png'))"),
        (
            "files = fnmatch.filter(os.listdir(d), '*.png')",
            "files = fnmatch.filter(sorted(os.listdir(d)), '*.png')",
        ),
        ("files = list(Path(d).iterdir())", "files = sorted(Path(d).iterdir())"),
        ("for p in root.rglob('*.png'):\n    read(p)", "for p in sorted(root.rglob('*.png')):\n    read(p)"),
        ("files = [*Path(d).glob('*')]", "files = [*sorted(Path(d).glob('*'))]"),
        ("first = next(Path(d).iterdir())", "first = next(iter(sorted(Path(d).iterdir())))"),
        ("files = tf.io.gfile.glob('*.png')", "files = sorted(tf.io.gfile.glob('*.png'))"),
        (
            "for e in os.scandir(d):\n    read(e)",
            "for e in sorted(os.scandir(d), key=lambda entry: entry.name):\n    read(e)",
        ),
        (
            "with os.scandir(d) as x:\n    for e in x:\n        r(e)",
            "with os.scandir(d) as x:\n    for e in sorted(x, key=lambda entry: entry.name):\n        r(e)",
        ),
        (
            "for root, dirs, files in os.walk(d):\n    read(files)",
            "for root, dirs, files in os.walk(d):\n    dirs.sort()\n    files.sort()\n    read(files)",
        ),
    ],
)
def test_a_listing_is_sorted_where_it_is_made(before: str, after: str) -> None:
    head = "import fnmatch, glob, os\nimport tensorflow as tf\nfrom pathlib import Path\n"
    fix = propose("TW302", "train.py", 4, f"{head}{before}\n")
    assert fix is not None and fix.safe
    assert fix.fixed == f"{head}{after}\n"


def test_an_iterator_that_is_kept_is_sorted_but_not_safely() -> None:
    fix = propose("TW302", "train.py", 3, "from pathlib import Path\n\nfiles = Path('d').iterdir()\n")
    assert fix is not None and not fix.safe
    assert fix.after == "files = sorted(Path('d').iterdir())"


def test_a_listing_by_an_imported_name_over_several_lines_is_sorted() -> None:
    source = """
        from os import listdir

        files = [
            name
            for name in listdir(  # all of them
                "data"
            )
        ]
    """
    assert fixed("TW302", source, "listdir(", safe=True) == program(
        """
        from os import listdir

        files = [
            name
            for name in sorted(listdir(  # all of them
                "data"
            ))
        ]
        """
    )


@pytest.mark.parametrize(
    "line",
    [
        "files = sorted(os.listdir(d))",
        "files = sorted(Path(d).glob('*'))",
        "files = store.listdir(d)",
        "for step in os.walk(d):\n    read(step)",
        "match = pattern.glob()",
    ],
)
def test_a_listing_that_is_sorted_or_not_known_is_left_alone(line: str) -> None:
    assert propose("TW302", "train.py", 3, f"import os\nfrom pathlib import Path\n{line}\n") is None


@pytest.mark.parametrize(
    ("before", "after", "safe"),
    [
        (
            "vocab = {w: i for i, w in enumerate(set(words))}",
            "vocab = {w: i for i, w in enumerate(sorted(set(words)))}",
            False,
        ),
        ("labels = list({'cat', 'dog'})", "labels = sorted({'cat', 'dog'})", True),
        ("for w in set(text.split()):\n    add(w)", "for w in sorted(set(text.split())):\n    add(w)", True),
        (
            "x = [len(w) for w in {w.lower() for w in ws}]",
            "x = [len(w) for w in sorted({w.lower() for w in ws})]",
            True,
        ),
        ("text = ' '.join({'a', 'b'})", "text = ' '.join(sorted({'a', 'b'}))", True),
        ("x = list(set(a) - set(b))", "x = sorted(set(a) - set(b))", False),
        ("x = np.array(list(frozenset(a)))", "x = np.array(sorted(frozenset(a)))", False),
        ("x = [*{'a', 'b'}]", "x = [*sorted({'a', 'b'})]", True),
    ],
)
def test_a_set_is_sorted_where_it_is_run_through(before: str, after: str, safe: bool) -> None:
    fix = propose("TW301", "train.py", 1, f"{before}\n")
    assert fix is not None
    assert (fix.fixed, fix.safe) == (f"{after}\n", safe)


@pytest.mark.parametrize("at", ["names = ", "enumerate"])
def test_a_set_with_a_name_is_sorted_where_it_is_run_through_and_stays_a_set(at: str) -> None:
    source = """
        names = {"b", "a"}
        if x in names:
            print("known")
        index = {name: i for i, name in enumerate(names)}
    """
    assert fixed("TW301", source, at, safe=True) == program(source).replace(
        "enumerate(names)", "enumerate(sorted(names))"
    )


def test_a_set_in_an_attribute_is_sorted_where_it_is_run_through() -> None:
    source = """
        class Vocabulary:
            def __init__(self, words):
                self.words = set(words)

            def index(self):
                return {word: i for i, word in enumerate(self.words)}
    """
    assert fixed("TW301", source, "enumerate", safe=False) == program(source).replace(
        "enumerate(self.words)", "enumerate(sorted(self.words))"
    )


@pytest.mark.parametrize(
    "more", ["names = names | {'c'}", "others = names | {'c'}\n        names = others | {'d'}"]
)
def test_a_set_that_is_made_from_itself_is_sorted(more: str) -> None:
    source = f"""
        names = {{"b", "a"}}
        {more}
        index = list(names)
    """
    assert fixed("TW301", source, "list", safe=True).endswith("index = sorted(names)\n")


def test_a_set_that_grows_is_not_known_to_be_sortable() -> None:
    source = """
        names = {"b", "a"}
        names.add(3)
        index = list(names)
    """
    assert fixed("TW301", source, "list", safe=False).endswith("index = sorted(names)\n")


@pytest.mark.parametrize(
    "line",
    [
        "found = x in set(words)",
        "first = {'a', 'b'}.pop()",
        "count = len(set(words))",
        "both = {w for w in set(words)}",
        "x = sorted(list(set(words)))",
        "x = list(words)",
        "def f(s):\n    return list(s)",
    ],
)
def test_a_set_whose_order_is_not_taken_is_left_alone(line: str) -> None:
    assert propose("TW301", "train.py", line.count("\n") + 1, f"{line}\n") is None


def test_hash_becomes_a_checksum_but_not_safely() -> None:
    source = """
        import tensorflow as tf

        bucket = hash(name) % 10
    """
    assert fixed("TW301", source, "hash", safe=False) == program(
        """
        import zlib
        import tensorflow as tf

        bucket = zlib.crc32(str(name).encode()) % 10
        """
    )


def test_an_op_that_varies_gets_op_determinism_after_the_imports() -> None:
    source = """
        import tensorflow as tf

        crops = tf.image.crop_and_resize(image, boxes, indices, [8, 8])
        train(crops)
    """
    assert fixed("TW401", source, "crop_and_resize", safe=False) == program(source).replace(
        "as tf\n", "as tf\n\ntf.config.experimental.enable_op_determinism()\n"
    )


def test_a_weighted_bincount_becomes_a_segment_sum() -> None:
    source = """
        import tensorflow as tf

        sums = tf.math.bincount(ids, weights=w, minlength=10, maxlength=10)
        train(sums)
    """
    assert "sums = tf.math.unsorted_segment_sum(w, ids, num_segments=10)\n" in fixed(
        "TW401", source, "bincount", safe=False
    )


def test_a_weighted_bincount_of_unknown_length_gets_no_fix_that_would_not_help() -> None:
    source = """
        import tensorflow as tf

        sums = tf.math.bincount(ids, weights=w)
        train(sums)
    """
    assert proposed("TW401", source, "bincount") is None


@pytest.mark.parametrize("code", ["TW107", "TW207", "TW304", "TW402", "TW501", "TW603", "TW701"])
def test_codes_that_no_rewrite_can_repair_have_no_fix(code: str) -> None:
    assert propose(code, "train.py", 1, "import keras\nprint(1)\n") is None


def test_a_set_that_a_function_is_given_is_sorted_where_it_is_iterated_over() -> None:
    source = "def number(kinds):\n    return {kind: i for i, kind in enumerate(kinds)}"
    assert fixed("TW301", source, "enumerate", safe=False).endswith(
        "for i, kind in enumerate(sorted(kinds))}"
    )
    source = "def number(kinds, more):\n    return [(a, b) for a in kinds for b in more]"
    line = program(source).split("\n").index("    return [(a, b) for a in kinds for b in more]") + 1
    assert propose("TW301", "train.py", line, program(source)) is None  # either may be the set
    source = "import os\n\ndef buckets(names):\n    return [hash(name) % 8 for name in names]"
    assert "crc32" in fixed("TW301", source, "hash", safe=False)
