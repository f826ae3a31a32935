"""Tests that need a GPU which TensorFlow can use. Where there is none, each is skipped and says so."""

from __future__ import annotations

from functools import cache

import pytest

from gpu import GPU
from support import python

_ASK = "import tensorflow as tf; print(len(tf.config.list_physical_devices('GPU')))"


@cache
def _gpus() -> int:
    answer = python("-c", _ASK, **GPU)
    return int(answer.out.split()[-1]) if answer.code == 0 else 0


@pytest.fixture(autouse=True)
def a_gpu() -> None:
    if not _gpus():
        pytest.skip("TensorFlow sees no GPU here")
