"""`twinrun spread` on a Keras program, one source at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import twinrun, write

PROGRAM = """
    import keras
    import numpy as np
    import tensorflow as tf
    import twinrun

    x = np.linspace(-1.0, 1.0, 32 * 4, dtype="float32").reshape(32, 4)
    ds = tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).shuffle(32).batch(8)
    layers = [keras.Input((4,)), keras.layers.Dense(6), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    begun = float(np.abs(model.get_weights()[0]).sum())
    model.compile("adam", "mse")
    model.fit(ds, epochs=2, verbose=0)
    kept = keras.layers.Dropout(0.5)(np.arange(64, dtype="float32"), training=True)
    twinrun.probe("initial weights", begun)
    twinrun.probe("first of the data", float(next(iter(ds))[0][0, 0]))
    twinrun.probe("kept by dropout", float(tf.reduce_sum(kept)))
"""


@pytest.mark.slow
def test_each_source_moves_what_comes_from_it_and_the_loss(tmp_path: Path) -> None:
    program = write(tmp_path, PROGRAM)
    words = ("spread", "--sources=weights,data,dropout", "--seeds=3", "--output-format=json", program)
    answer = twinrun(*words, cwd=tmp_path)
    assert answer.code == 0, answer.err
    metrics = {metric["name"]: metric for metric in answer.document["metrics"]}
    moved = {
        name: {source for source, each in metric["sources"].items() if each["sd"]}
        for name, metric in metrics.items()
    }
    assert moved == {
        "loss": {"seed", "weights", "data", "dropout"},
        "initial weights": {"seed", "weights"},
        "first of the data": {"seed", "data"},
        "kept by dropout": {"seed", "dropout"},
    }
    assert {each["runs"] for each in metrics["loss"]["sources"].values()} == {3}
    assert metrics["loss"]["strongest"]["source"] in ("weights", "data", "dropout")
    assert metrics["initial weights"]["strongest"] == {
        "source": "weights",
        "next": None,
        "p": None,
        "clear": True,
    }
    assert not any("does not repeat" in note for note in answer.document["notes"])
