"""What Keras trains on beside datasets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tf_keras

import twinrun

RNG = np.random.default_rng(1)


def _codes(data: Any, **named: Any) -> list[str]:
    return [one.code for one in twinrun.audit(data, **named).findings]


class Plain(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return np.full((2, 3), index), np.zeros(2)


class Noisy(Plain):
    def __getitem__(self, index: int) -> Any:
        return self.noise(index), np.zeros(2)

    def noise(self, index: int) -> Any:
        return np.random.rand(2, 3)


class Shared(Plain):
    def __getitem__(self, index: int) -> Any:
        return RNG.random((2, 3)), np.zeros(2)


class ByElement(Plain):
    def __getitem__(self, index: int) -> Any:
        return twinrun.element_rng(index, seed=1).random((2, 3)), np.zeros(2)


class Reordered(Plain):
    def on_epoch_end(self) -> None:
        np.random.shuffle(np.arange(4))


def loaders_whose_workers_share_a_stream_are_found() -> None:
    assert _codes(Noisy(workers=3)) == ["TW205"]
    assert _codes(Shared(workers=2, use_multiprocessing=True)) == ["TW205"]
    finding = twinrun.audit(Noisy(workers=3)).findings[0]
    assert finding.file == __file__ and finding.line == Noisy.noise.__code__.co_firstlineno + 1


def loaders_that_draw_by_element_or_not_at_all_are_clean() -> None:
    assert _codes(Plain(workers=4)) == []
    assert _codes(ByElement(workers=4)) == []
    assert twinrun.audit(ByElement(workers=4)).stages[0].randomness == "seeded"


def element_rng_gives_each_element_of_a_loader_its_own_numbers() -> None:
    loader = ByElement(workers=2)
    first, second = loader[0][0], loader[1][0]
    assert not np.array_equal(first, second)
    assert np.array_equal(first, loader[0][0])


def one_worker_is_found_only_while_numpy_is_not_seeded() -> None:
    from twinrun.pipelines.python_draws import numpy_is_seeded

    if not numpy_is_seeded():
        assert _codes(Noisy()) == ["TW102"]
        assert _codes(Reordered(workers=2)) == ["TW102"]
    np.random.seed(1)
    assert _codes(Noisy()) == _codes(Reordered(workers=2)) == []
    assert twinrun.audit(Noisy()).stages[0].randomness == "unknown"


def generators_are_read_running_or_not() -> None:
    def unseeded(size: int) -> Iterator[Any]:
        while True:
            yield np.random.default_rng().random(size)

    def seeded(size: int) -> Iterator[Any]:
        rng = np.random.default_rng(3)
        while True:
            yield rng.random(size)

    assert _codes(unseeded(3)) == ["TW204"]
    assert _codes(unseeded) == ["TW204"]
    assert _codes(seeded(3)) == []


def arrays_are_audited_as_fit_would_feed_them() -> None:
    x, y = np.zeros((70, 3), np.float32), np.zeros(70)
    assert _codes((x, y)) == ["TW201"]
    assert _codes((x, y), shuffle=False) == []
    tf.random.set_seed(1)
    try:
        assert _codes({"a": x}) == []
    finally:
        tf.random.set_seed(None)


def image_loaders_of_tf_keras_are_read() -> None:
    images, labels = np.zeros((8, 4, 4, 3)), np.zeros(8)
    flips = tf_keras.preprocessing.image.ImageDataGenerator(horizontal_flip=True)
    plain = tf_keras.preprocessing.image.ImageDataGenerator()
    assert _codes(flips.flow(images, labels, seed=3)) == []
    assert twinrun.audit(flips.flow(images, labels, seed=3)).stages[0].randomness == "seeded"
    assert twinrun.audit(plain.flow(images, labels, shuffle=False)).stages[0].randomness == "none"
    assert _codes(flips.flow(images, labels, seed=3), workers=4) == ["TW205"]
    assert _codes(plain.flow(images, labels, seed=3), workers=4) == []
    assert twinrun.audit(flips.flow(images, labels)).stages[0].randomness in ("unknown", "unseeded")


def augmentation_layers_without_a_seed_are_found() -> None:
    keras.src.backend.common.global_state.set_global_attribute("global_random_seed", None)
    model = keras.Sequential([keras.layers.RandomFlip(), keras.layers.RandomRotation(0.1, seed=3)])
    assert _codes(model) == ["TW105"]
    assert [stage.randomness for stage in twinrun.audit(model).stages] == ["unseeded", "seeded"]
    assert _codes(keras.layers.RandomFlip(seed=1)) == []
    assert _codes(keras.layers.Dense(1)) == []


class Old(tf_keras.utils.Sequence):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return np.random.rand(2, 3), np.zeros(2)


def loaders_of_tf_keras_are_read_with_the_options_of_fit() -> None:
    from twinrun.pipelines import built_datasets

    assert _codes(Old(), workers=2) == ["TW205"]
    flips = tf_keras.preprocessing.image.ImageDataGenerator(horizontal_flip=True)
    flips.apply_transform = lambda image, _: image  # the real one wants scipy
    images = flips.flow(np.zeros((4, 2, 2, 3)), np.zeros(4), seed=3)
    built_datasets.stop_recording()
    recorder = built_datasets.record_datasets()
    try:
        model = tf_keras.Sequential([tf_keras.layers.Flatten(), tf_keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(Old(), workers=2, verbose=0)
        fresh = tf_keras.Sequential([tf_keras.layers.Flatten(), tf_keras.layers.Dense(1)])
        fresh.compile("sgd", "mse")
        fresh.fit(images, workers=2, verbose=0)
        report = recorder.report()
    finally:
        built_datasets.stop_recording()
    assert [one.code for one in report.findings] == ["TW205", "TW205"]
    # an iterator of the library's has no line of the user's: it is reported where it was passed to fit()
    assert all(one.file == __file__ and one.line for one in report.findings)
    assert report.failures == ()


def the_recorder_collects_what_a_program_trains_on() -> None:
    from twinrun.pipelines import built_datasets

    built_datasets.stop_recording()
    recorder = built_datasets.record_datasets()
    try:
        never_used = tf.data.Dataset.range(3).shuffle(3)
        used = tf.data.Dataset.range(12).shuffle(12).batch(4)
        for _ in range(3):
            for _ in used:
                pass
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(np.zeros((8, 3), np.float32), np.zeros(8), epochs=2, verbose=0)
        model.fit(Noisy(workers=2), verbose=0)
    finally:
        built_datasets.stop_recording()
    del never_used
    codes = [[one.code for one in audit.findings] for audit in recorder.audits]
    assert codes == [["TW201"], ["TW201"], ["TW205"], []]
    assert all(one.file == __file__ for audit in recorder.audits for one in audit.findings)
    assert recorder.failures == []


def a_recorder_that_waits_audits_what_is_being_iterated_when_it_is_asked() -> None:
    from twinrun.pipelines import built_datasets

    built_datasets.stop_recording()
    recorder = built_datasets.record_datasets(at_once=False)
    try:
        looked_at = tf.data.Dataset.range(4).shuffle(4)
        list(looked_at)
        for number in range(2):  # gone when it is asked
            list(tf.data.Dataset.range(4).shuffle(4 + number))
        before = list(recorder.audits)
        for _ in tf.data.Dataset.range(8).shuffle(8).batch(4):
            going_on = recorder.report()
            break
        after = recorder.report()
    finally:
        built_datasets.stop_recording()
    assert before == []
    lines = {one.line for one in going_on.findings}
    assert [one.code for one in going_on.findings] == ["TW201"], going_on
    assert {
        one.line for one in after.findings
    } > lines  # no loop goes on: whatever was iterated and is still there


def the_recorder_sees_a_loop_inside_a_tf_function_and_changes_nothing() -> None:
    from twinrun.pipelines import built_datasets

    def total(recorded: bool) -> tuple[float, list[str]]:
        tf.random.set_seed(4)
        built_datasets.stop_recording()
        recorder = built_datasets.record_datasets() if recorded else built_datasets.DatasetRecorder()
        try:
            ds = (
                tf.data.Dataset.range(8)
                .shuffle(8)
                .map(lambda x: tf.random.uniform([]) * tf.cast(x, tf.float32))
            )

            @tf.function
            def run() -> Any:
                found = tf.constant(0.0)
                for value in ds:
                    found = found * 0.5 + value
                return found

            answer = float(run()), float(run())
            assert recorder.failures == []
            return answer, [stage.kind for audit in recorder.audits for stage in audit.stages]
        finally:
            built_datasets.stop_recording()
            tf.random.set_seed(None)

    bare, nothing = total(False)
    seen, stages = total(True)
    assert bare == seen
    assert nothing == [] and stages[:3] == ["range", "shuffle", "map"]
