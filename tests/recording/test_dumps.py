"""Tensor dumps: what is written is what is read, whatever its type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from arrays import arrays, bools, strings
from hypothesis import given
from hypothesis import strategies as st

from twinrun.errors import BadRecording
from twinrun.recording.digest import digest_array
from twinrun.recording.dump import read_dump, write_dump

keys = st.tuples(st.sampled_from(["batch", "weights"]), st.text(max_size=8))


@given(st.dictionaries(keys, st.one_of(arrays(), bools(), strings()), max_size=4))
def test_a_dump_gives_back_the_tensors_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, tensors: dict[tuple[str, str], np.ndarray]
) -> None:
    file = tmp_path_factory.mktemp("dump") / "a.safetensors"
    write_dump(file, tensors)
    back = read_dump(file)
    assert list(back) == list(tensors)
    for key, array in tensors.items():
        assert back[key].dtype == array.dtype and back[key].shape == array.shape
        assert digest_array(back[key]) == digest_array(array)


@pytest.mark.parametrize("kind", ["S3", "U3", ">f4", ">i8"])
def test_numpy_text_and_foreign_byte_orders_survive(tmp_path: Path, kind: str) -> None:
    array = np.array(["ab", "c", ""], kind) if kind[0] in "SU" else np.array([1, 2, 3], kind)
    write_dump(tmp_path / "a", {("batch", "x"): array})
    back = read_dump(tmp_path / "a")["batch", "x"]
    assert digest_array(back) == digest_array(array)


def test_a_transposed_tensor_survives(tmp_path: Path) -> None:
    array = np.arange(6.0).reshape(2, 3).T
    write_dump(tmp_path / "a", {("weights", "w"): array})
    assert (read_dump(tmp_path / "a")["weights", "w"] == array).all()


@pytest.mark.parametrize("content", [b"", b"not a dump", b"\xff" * 64, b"\x08\0\0\0\0\0\0\0{}      "])
def test_a_damaged_dump_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(BadRecording, match="tensor dump"):
        read_dump(tmp_path / "a")


def test_a_dump_that_was_cut_is_refused_in_words(tmp_path: Path) -> None:
    write_dump(tmp_path / "a", {("weights", "w"): np.arange(100.0)})
    whole = (tmp_path / "a").read_bytes()
    for length in (3, 40, len(whole) // 2, len(whole) - 1):
        (tmp_path / "b").write_bytes(whole[:length])
        with pytest.raises(BadRecording, match="tensor dump"):
            read_dump(tmp_path / "b")
