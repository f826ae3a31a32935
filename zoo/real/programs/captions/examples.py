"""Invents captions word by word."""
import random

import numpy as np

LENGTH = 4
PATTERN = [
    ["a", "the"],
    ["red", "small", "happy", "tired"],
    ["dog", "cat", "bird", "child", "horse"],
    ["runs", "sits", "jumps", "sleeps"],
    ["on", "under", "near"],
    ["a", "the"],
    ["table", "river", "garden", "house"],
]


def caption():
    return [random.choice(options) for options in PATTERN]


def caption_stream(words, count):
    for _ in range(count):
        ids = [words[word] for word in caption()]
        start = np.random.randint(0, len(ids) - LENGTH)
        yield np.array(ids[start : start + LENGTH], "int32"), np.int32(ids[start + LENGTH])
