"""Every control there is, in the order in which they are applied. Imports no framework: what touches one
lives in `adapters/` and is loaded when the program has imported it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from twinrun.protocol.control import Actions, Control
from twinrun.protocol.pin import PinRequest
from twinrun.sources import settings

_INTERPRETER = "twinrun.sources.interpreter"
_TENSORFLOW = "twinrun.frameworks.tensorflow.tf_controls"
_KERAS = "twinrun.frameworks.keras.keras_controls"

CATALOGUE: tuple[Control, ...] = (
    Control(
        name="hash-seed",
        protects="the order of sets of strings, and everything built from hash()",
        moment="before the interpreter starts",
        how="start the program with PYTHONHASHSEED=0 (or any number); twinrun run --pin does",
        home=_INTERPRETER,
        wanted=settings.hash_seed,
        at_launch=settings.hash_variables,
    ),
    Control(
        name="python-random",
        protects="draws from Python's random module",
        moment="before a model or dataset is built",
        how="random.seed(42), or keras.utils.set_random_seed(42), right after the imports",
        home=_INTERPRETER,
        wanted=settings.python_seed,
    ),
    Control(
        name="numpy-random",
        protects="draws from NumPy's global stream (np.random.rand, shuffle, permutation, …)",
        moment="before a model or dataset is built",
        how="np.random.seed(42), or keras.utils.set_random_seed(42), right after the imports",
        home=_INTERPRETER,
        wanted=settings.numpy_seed,
        framework="numpy",
    ),
    Control(
        name="openmp-threads",
        protects="the order of sums in NumPy's and other libraries' own threads (OpenMP, MKL, OpenBLAS)",
        moment="before NumPy is imported",
        how="start the program with OMP_NUM_THREADS=1 (or another fixed number)",
        home=_INTERPRETER,
        wanted=settings.openmp_threads,
        at_launch=settings.openmp_variables,
    ),
    Control(
        name="tensorflow-seed",
        protects="tf.random ops, tf.data shuffles and samplers that are given no seed of their own",
        moment="before a model or dataset is built",
        how="tf.random.set_seed(42), or keras.utils.set_random_seed(42), right after the imports",
        home=_TENSORFLOW,
        wanted=settings.tensorflow_seed,
        framework="tensorflow",
    ),
    Control(
        name="tensorflow-generator",
        protects="draws from tf.random.get_global_generator()",
        moment="before a model or dataset is built",
        how="tf.random.set_global_generator(tf.random.Generator.from_seed(42))",
        home=_TENSORFLOW,
        wanted=settings.tensorflow_generator_seed,
        framework="tensorflow",
    ),
    Control(
        name="op-determinism",
        protects="ops whose kernels race: the same inputs then give the same bits, or the op refuses to run",
        moment="before the first op",
        how="tf.config.experimental.enable_op_determinism()",
        home=_TENSORFLOW,
        wanted=settings.switched_on,
        framework="tensorflow",
    ),
    Control(
        name="tf-data-order",
        protects="the order of elements where the program says deterministic=False",
        moment="before a model or dataset is built",
        how="leave deterministic=False out of map, interleave, batch and tf.data.Options",
        home=_TENSORFLOW,
        wanted=settings.tf_data_order,
        framework="tensorflow",
    ),
    Control(
        name="intra-op-threads",
        protects="the order of sums inside an op, which depends on the number of threads",
        moment="before the first op",
        how="tf.config.threading.set_intra_op_parallelism_threads(2) (or another fixed number)",
        home=_TENSORFLOW,
        wanted=settings.intra_op_threads,
        framework="tensorflow",
        at_launch=settings.intra_op_variables,
    ),
    Control(
        name="inter-op-threads",
        protects="how many independent ops run at the same time",
        moment="before the first op",
        how="tf.config.threading.set_inter_op_parallelism_threads(2) (or another fixed number)",
        home=_TENSORFLOW,
        wanted=settings.inter_op_threads,
        framework="tensorflow",
        at_launch=settings.inter_op_variables,
    ),
    Control(
        name="onednn",
        protects="the choice between oneDNN's and TensorFlow's own CPU kernels, which give different bits",
        moment="before TensorFlow is imported",
        how="start the program with TF_ENABLE_ONEDNN_OPTS=1 (or 0): left alone, the processor model decides",
        home=_TENSORFLOW,
        wanted=settings.onednn,
        framework="tensorflow",
        at_launch=settings.onednn_variables,
    ),
    Control(
        name="xla",
        protects="which parts of a graph XLA compiles without being asked (auto-clustering changes bits)",
        moment="before the first op",
        how="tf.config.optimizer.set_jit(False), and no --tf_xla_auto_jit in TF_XLA_FLAGS",
        home=_TENSORFLOW,
        wanted=settings.xla,
        framework="tensorflow",
        at_launch=settings.xla_variables,
    ),
    Control(
        name="tensor-float-32",
        protects="float32 products on newer NVIDIA GPUs, which TensorFloat-32 rounds to 10 bits",
        moment="before the first op",
        how="tf.config.experimental.enable_tensor_float_32_execution(False)",
        home=_TENSORFLOW,
        wanted=settings.tensor_float_32,
        framework="tensorflow",
    ),
    Control(
        name="cudnn-autotune",
        protects="the choice of convolution algorithm on a GPU, made by timing them",
        moment="before the first op",
        how="start the program with TF_CUDNN_USE_AUTOTUNE=0",
        home=_TENSORFLOW,
        wanted=settings.cudnn_autotune,
        framework="tensorflow",
        at_launch=settings.cudnn_variables,
    ),
    Control(
        name="cublas-workspace",
        protects="matrix products on a GPU that several streams share",
        moment="before the first op",
        how="start the program with CUBLAS_WORKSPACE_CONFIG=:4096:8",
        home=_TENSORFLOW,
        wanted=settings.cublas_workspace,
        framework="tensorflow",
        at_launch=settings.cublas_variables,
    ),
    Control(
        name="device",
        protects="where ops run: a CPU and a GPU give different bits",
        moment="before the first op",
        how="--pin=device=cpu, or start the program with CUDA_VISIBLE_DEVICES=-1",
        home=_TENSORFLOW,
        wanted=settings.device,
        framework="tensorflow",
        at_launch=settings.device_variables,
    ),
    Control(
        name="keras-seed",
        protects="Keras 3 initialisers, dropout, augmentation layers and keras.random without a seed",
        moment="before a model or dataset is built",
        how="keras.utils.set_random_seed(42) right after the imports",
        home=_KERAS,
        wanted=settings.keras_seed,
        framework="keras",
    ),
    Control(
        name="tf-keras-seed",
        protects="tf_keras (Keras 2) initialisers and layers without a seed",
        moment="before a model or dataset is built",
        how="tf_keras.utils.set_random_seed(42) right after the imports",
        home=_KERAS,
        wanted=settings.keras_seed,
        framework="tf_keras",
    ),
)

NAMES: tuple[str, ...] = tuple(control.name for control in CATALOGUE)
BY_NAME: dict[str, Control] = {control.name: control for control in CATALOGUE}


def actions(control: Control) -> Actions:
    """What the control does in this process. Loads its home: call it only once its framework is imported."""
    table: dict[str, Actions] = import_module(control.home).ACTIONS
    return table[control.name]


def wanted_controls(request: PinRequest) -> Iterator[Control]:
    """The controls that the request asks for, in order."""
    return (
        control
        for control in CATALOGUE
        if request.wants(control.name) and control.wanted(request) is not None
    )
