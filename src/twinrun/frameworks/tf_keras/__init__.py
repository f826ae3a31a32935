"""tf_keras, the Keras of the second generation. Its variables are TensorFlow's own and need no names."""

from __future__ import annotations

from twinrun.frameworks.keras import SHUFFLERS
from twinrun.frameworks.keras.patches import training_points
from twinrun.frameworks.protocol import Framework


class TfKeras(Framework):
    """Its sources are those of Keras, which cover both."""

    name = "tf_keras"
    module = "tf_keras"
    packages = ("tf_keras",)
    shufflers = SHUFFLERS
    points = training_points(
        {
            "train function": "tf_keras.src.engine.training:Model.make_train_function",
            "apply_gradients": "tf_keras.src.optimizers.optimizer:Optimizer.apply_gradients",
            "legacy apply_gradients": "tf_keras.src.optimizers.legacy.optimizer_v2:OptimizerV2.apply_gradients",
            "layer call": "tf_keras.src.engine.base_layer:Layer.__call__",
            "metric variable": "tf_keras.src.metrics.base_metric:Metric.add_weight",
            "batch end": "tf_keras.src.callbacks:CallbackList.on_train_batch_end",
            "epoch end": "tf_keras.src.callbacks:CallbackList.on_epoch_end",
        },
        after="tf_keras",
        tested_on="tf_keras 2.18 to 2.21",
        entrances={
            "legacy apply_gradients": "tf_keras.src.optimizers.legacy.optimizer_v2:OptimizerV2.__init__"
        },
    )
