"""The sources of nondeterminism that TensorFlow brings along."""

from __future__ import annotations

from twinrun.frameworks.tensorflow.sources.assignments import Assignments
from twinrun.frameworks.tensorflow.sources.kernel_choice import Compiler, KernelChoice
from twinrun.frameworks.tensorflow.sources.kernels import Kernels
from twinrun.frameworks.tensorflow.sources.parallel_map import ParallelMap
from twinrun.frameworks.tensorflow.sources.session_order import SessionOrder
from twinrun.frameworks.tensorflow.sources.shards import Shards
from twinrun.frameworks.tensorflow.sources.shuffle import Shuffle
from twinrun.frameworks.tensorflow.sources.strategies import Strategies
from twinrun.frameworks.tensorflow.sources.tf_files import TfFiles
from twinrun.frameworks.tensorflow.sources.tf_listings import TfListings
from twinrun.frameworks.tensorflow.sources.tf_random import TfRandom
from twinrun.frameworks.tensorflow.sources.timestamp import Timestamp

# In the order in which controls are applied and suspects of equal rank are tried.
SOURCES = (
    TfRandom(),
    Shuffle(),
    Kernels(),
    KernelChoice(),
    Compiler(),
    ParallelMap(),
    TfFiles(),
    TfListings(),
    Timestamp(),
    SessionOrder(),
    Strategies(),
    Assignments(),
    Shards(),
)
