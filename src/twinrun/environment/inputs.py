"""Digests of the data files a program read. Which files those were is the recorder's to know; this only reads
them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import xxhash

WHOLE = 32 << 20  # a file up to this size is read whole …
BUDGET = 192 << 20  # … until this much has been read in all, about 0.1 s from the page cache
SAMPLES = 64
SAMPLE = 16 << 10
MOST_FILES = 2000


def read_inputs(paths: Iterable[Path | str], base: Path) -> dict[str, Any]:
    """`{path: {"bytes": …, "digest": …, "sampled": bool}}`; a sampled digest covers the size and evenly
    spread pieces."""
    digests: dict[str, Any] = {}
    spent = 0
    for given in sorted({str(path) for path in paths}):
        if len(digests) >= MOST_FILES:
            digests["…"] = {"digest": f"could not read: more than {MOST_FILES} files"}
            break
        path = Path(given)
        try:
            if not path.is_file():
                continue
            size = path.stat().st_size
            whole = size <= WHOLE and spent + size <= BUDGET
            digest = _whole(path) if whole else _sampled(path, size)
            spent += size if whole else min(size, SAMPLES * SAMPLE)
            digests[_shown(path, base)] = {"bytes": size, "digest": digest, "sampled": not whole}
        except OSError as problem:
            digests[_shown(path, base)] = {"digest": f"could not read: {problem.strerror or problem}"}
    return digests


def _whole(path: Path) -> str:
    return xxhash.xxh3_64(path.read_bytes()).hexdigest()


def _sampled(path: Path, size: int) -> str:
    digest = xxhash.xxh3_64(str(size).encode())
    with path.open("rb") as file:
        for piece in range(SAMPLES):
            file.seek((size - SAMPLE) * piece // (SAMPLES - 1) if size > SAMPLE else 0)
            digest.update(file.read(SAMPLE))
    return digest.hexdigest()


def _shown(path: Path, base: Path) -> str:
    resolved = path.resolve()
    try:
        return resolved.relative_to(base).as_posix()
    except ValueError:
        return f"…/{resolved.parent.name}/{resolved.name}"
