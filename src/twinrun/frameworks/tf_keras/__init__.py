"""tf_keras, the Keras of the second generation. Its variables are TensorFlow's own and need no names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinrun.frameworks.keras import SHUFFLERS, why_fit_made_no_step
from twinrun.frameworks.keras.patches import evaluation_points, training_points
from twinrun.frameworks.packages import TF_KERAS
from twinrun.frameworks.protocol import Framework

if TYPE_CHECKING:
    from twinrun.twin.recorder import Recorder


class TfKeras(Framework):
    """Its sources are those of Keras, which cover both."""

    name = "tf_keras"
    module = "tf_keras"
    packages = ("tf_keras",)
    shufflers = SHUFFLERS
    points = (
        *training_points(
            TF_KERAS,
            {
                "train function": "engine.training:Model.make_train_function",
                "apply_gradients": "optimizers.optimizer:Optimizer.apply_gradients",
                "legacy apply_gradients": "optimizers.legacy.optimizer_v2:OptimizerV2.apply_gradients",
                "layer": "engine.base_layer:Layer.__init__",
                "layer call": "engine.base_layer:Layer.__call__",
                "compile": "engine.training:Model._reset_compile_cache",
                "metric variable": "metrics.base_metric:Metric.add_weight",
                "batch end": "callbacks:CallbackList.on_train_batch_end",
                "epoch end": "callbacks:CallbackList.on_epoch_end",
            },
            {"legacy apply_gradients": "optimizers.legacy.optimizer_v2:OptimizerV2.__init__"},
        ),
        *evaluation_points(TF_KERAS, "engine.training:Model"),
        *evaluation_points(TF_KERAS, "engine.training_v1:Model", "engine.training_v1:Model.__init__"),
    )

    def why_no_step(self, recorder: Recorder) -> str | None:
        return why_fit_made_no_step(recorder)
