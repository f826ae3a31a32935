"""The Keras 3 adapter, on its TensorFlow backend: fit, train_on_batch, optimizers, and names for variables."""

from __future__ import annotations

from twinrun.twin.recorder import Watch


def attach(watch: Watch) -> None:
    import keras

    if keras.backend.backend() != "tensorflow":
        watch.notes.append(f"Keras runs on {keras.backend.backend()}; only its TensorFlow backend is watched")
        return
    from twinrun.frameworks.keras.patches import install
    from twinrun.frameworks.tensorflow.observer import observer_for

    install(observer_for(watch))
    if watch.spec.ledger:
        from twinrun.frameworks.keras.loaders import install as install_ledger
        from twinrun.twin.ledger_install import open_book

        install_ledger(open_book(watch))
