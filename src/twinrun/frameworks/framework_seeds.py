"""The seeds that frameworks get, each for a purpose of its own, within the range that they take."""

from __future__ import annotations

from twinrun.protocol.seeds import derive


def tensorflow_seed(seed: int) -> int:
    return derive(seed, "tensorflow ops", below=2**31 - 1)


def tensorflow_generator_seed(seed: int) -> int:
    return derive(seed, "tensorflow global generator", below=2**31 - 1)


def keras_seed(seed: int, purpose: str, owner: str, turn: int) -> int:
    """The seed for the `turn`-th time that `owner` (a layer, say) asks Keras for a default one."""
    return derive(seed, f"keras {purpose}\n{owner}\n{turn}", below=10**9)


def data_seed(seed: int, turn: int) -> int:
    return derive(seed, f"tf.data\n{turn}", below=2**31 - 1)


def augmentation_seed(seed: int, op: str, turn: int) -> int:
    return derive(seed, f"tensorflow augmentation\n{op}\n{turn}", below=2**31 - 1)
