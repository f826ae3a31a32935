"""The TensorFlow adapter: variables, tf.function calls, gradient tapes and dataset iterators, seen from outside the step."""

from __future__ import annotations

from twinrun.twin.recorder import Watch


def attach(watch: Watch) -> None:
    from twinrun.frameworks.tensorflow.observer import observer_for

    observer_for(watch)
    if watch.spec.ledger:
        from twinrun.frameworks.tensorflow.randomness import install
        from twinrun.frameworks.tensorflow.readers import install as note_files
        from twinrun.twin.ledger_install import open_book

        install(open_book(watch))
        note_files(open_book(watch))
    if watch.spec.experiment.get("trace_ops"):
        from twinrun.frameworks.tensorflow.optrace import install as trace_ops

        trace_ops(watch)
    if watch.spec.experiment.get("audit_data"):
        from twinrun.frameworks.tensorflow.data.watch import told, watch_datasets

        watch_datasets()
        watch.answers["data"] = lambda _: told()
        watch.stop_at(watch.spec.experiment["audit_data"])
