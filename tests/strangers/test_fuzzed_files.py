"""Some random changes of every format that is read. Many more of them are tried by `make hard`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from fuzzing import FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_was_changed_is_read_or_refused_in_words(name: str, tmp_path: Path) -> None:
    kind = FORMATS[name]
    kind.make(tmp_path)

    @given(kind.changes(tmp_path))
    @settings(
        max_examples=12 if name == "source" else 40,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    def each(change: object) -> None:
        kind.read(tmp_path, change)

    each()
