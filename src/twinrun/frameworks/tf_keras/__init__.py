"""The adapter of tf_keras, the Keras of the second generation. Its variables are TensorFlow's own and need no names."""

from __future__ import annotations

from twinrun.twin.recorder import Watch


def attach(watch: Watch) -> None:
    from twinrun.frameworks.keras.patches import (
        wrap_batch_end,
        wrap_epoch_end,
        wrap_layer_call,
        wrap_metric_variable,
        wrap_train_function,
    )
    from twinrun.frameworks.tensorflow.observer import observer_for
    from twinrun.frameworks.tensorflow.patches import _apply, patch

    observer = observer_for(watch)
    # The same reasons as for Keras 3 (adapters/keras/patches.py). Seen to work on tf_keras 2.18 to 2.21.
    patch("tf_keras.src.engine.training:Model.make_train_function", wrap_train_function(observer))
    patch("tf_keras.src.optimizers.optimizer:Optimizer.apply_gradients", _apply(observer))
    patch("tf_keras.src.optimizers.legacy.optimizer_v2:OptimizerV2.apply_gradients", _apply(observer))
    patch("tf_keras.src.engine.base_layer:Layer.__call__", wrap_layer_call(observer))
    patch("tf_keras.src.metrics.base_metric:Metric.add_weight", wrap_metric_variable(observer))
    patch("tf_keras.src.callbacks:CallbackList.on_train_batch_end", wrap_batch_end(observer))
    patch("tf_keras.src.callbacks:CallbackList.on_epoch_end", wrap_epoch_end(observer))
    if watch.spec.ledger:
        from twinrun.frameworks.tf_keras.made import where_made, wrap_layer_init
        from twinrun.twin.event_log import drawn_for

        # Where each layer was made: that line is to blame for weights that are drawn when it is first called.
        patch("tf_keras.src.engine.base_layer:Layer.__init__", wrap_layer_init)
        drawn_for["tf_keras"] = where_made
