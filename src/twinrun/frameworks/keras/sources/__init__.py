"""The sources of nondeterminism that Keras 3 and tf_keras bring along."""

from __future__ import annotations

from twinrun.frameworks.keras.sources.keras_seeds import KerasSeeds
from twinrun.frameworks.keras.sources.loaders import Loaders

SOURCES = (KerasSeeds(), Loaders())
