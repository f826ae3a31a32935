"""What Twinrun knows about functions of other libraries: one table from dotted name to what a call of it does.

Names are canonical (`tf.keras.layers.Dense` is `keras.layers.Dense`, see `canonical`). A method is written with
its class (`tensorflow.data.Dataset.shuffle`), with the package of its class (`pandas.*.sample`), or with a star
alone where any object that has it means the same by it (`*.fit`). The source audit, the diagnosis and the fixes
all read this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Any

PYTHON, NUMPY, TENSORFLOW = STREAMS = ("python", "numpy", "tensorflow")
"""The global random streams. Keras draws its default seeds from Python's."""


class Kind(Enum):
    """What a call does that matters for repeatability."""

    SEED = auto()  # sets the seed of `streams`
    DRAW = auto()  # draws from a global stream, unless it is given a seed
    GENERATOR = auto()  # makes a random generator
    SHUFFLE = auto()  # gives data in random order, or a random choice of it
    DATASET = auto()  # makes a dataset, or a stage of one, without randomness of its own
    LISTING = auto()  # lists files in the order of the file system
    WALK = auto()  # lists folders and their files
    CLOCK = auto()
    ENTROPY = auto()  # something else in every process
    SET = auto()  # makes a set
    SORT = auto()
    REDUCE = auto()  # one answer, whatever the order of its input
    SUM = auto()  # one answer, up to the rounding of floating-point sums
    ITERATE = auto()  # takes elements in the order they come
    LAYER = auto()
    INITIALIZER = auto()
    HOST_CALL = auto()  # a function that TensorFlow calls back in Python
    LOADER = auto()  # a class whose batches several workers may fetch
    POOL = auto()
    THREAD = auto()
    QUEUE = auto()
    TRAIN = auto()
    UPDATE = auto()  # writes values into a model
    DETERMINISM = auto()  # turns op determinism on


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call: its position (None: by keyword only) and its name."""

    position: int | None
    name: str = "seed"


@dataclass(frozen=True, slots=True)
class Switch:
    """An argument that turns shuffling on or off, and whether it is on by default."""

    position: int | None
    default: bool
    name: str = "shuffle"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about one function, class or method."""

    kind: Kind
    streams: tuple[str, ...] = ()
    seed: Argument | None = None
    switch: Switch | None = None
    makes: str = ""  # the class of what it returns, where that matters
    # The names of its arguments, in order, where a method is recognised by them.
    arguments: tuple[str, ...] = ()
    returns_list: bool = False  # of a listing: whether it is a list, which sorting leaves a list
    generator_method: str = ""  # of a draw: the method of a generator object that takes the same arguments
    # Of a NumPy draw: the shape is given as separate arguments, where the generator takes a tuple.
    by_dimension: bool = False
    # Of a layer: the arguments that name the initializers of its weights, random by default.
    initializers: tuple[str, ...] = ()
    draws_when_called: bool = False  # of a layer: whether it draws each time it is called on data
    rate: str = ""  # of a layer: its first argument, which turns the randomness off when it is 0
    parallel: int | None = None  # of a dataset method: the position of `num_parallel_calls`

    @property
    def deterministic(self) -> int | None:
        """The position of a dataset method's `deterministic`, right after `num_parallel_calls`."""
        return None if self.parallel is None else self.parallel + 1

    @property
    def stream(self) -> str | None:
        return self.streams[0] if self.streams else None


# -- the table ----------------------------------------------------------------------------------------

TABLE: dict[str, Known] = {}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _add(prefix: str, names: str, kind: Kind, *streams: str, **about: Any) -> None:
    known = Known(kind, streams, **about)
    TABLE.update({prefix + name: known for name in names.split()})


_FIRST, _KEYWORD = Argument(0), Argument(None)
_add("random.", "seed", Kind.SEED, PYTHON, seed=Argument(0, "a"))
_add("random.", "setstate", Kind.SEED, PYTHON, seed=Argument(0, "state"))
_add("numpy.random.", "seed", Kind.SEED, NUMPY, seed=_FIRST)
_add("numpy.random.", "set_state", Kind.SEED, NUMPY, seed=Argument(0, "state"))
_add("tensorflow.random.", "set_seed", Kind.SEED, TENSORFLOW, seed=_FIRST)
_add("keras.utils.", "set_random_seed", Kind.SEED, *STREAMS, seed=_FIRST)
_add("twinrun.", "pin pinned", Kind.SEED, *STREAMS, seed=_FIRST)
_add("tensorflow.config.experimental.", "enable_op_determinism", Kind.DETERMINISM)

# NumPy's functions, and the method of numpy.random.Generator in their place.
_SAME_METHOD = (
    "random choice shuffle permutation bytes beta binomial chisquare dirichlet exponential f gamma geometric"
    " gumbel hypergeometric laplace logistic lognormal logseries multinomial multivariate_normal"
    " negative_binomial noncentral_chisquare noncentral_f normal pareto poisson power rayleigh standard_cauchy"
    " standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises wald weibull zipf"
)
for _name in _SAME_METHOD.split():
    _add("numpy.random.", _name, Kind.DRAW, NUMPY, generator_method=_name)
_add("numpy.random.", "random_sample ranf sample", Kind.DRAW, NUMPY, generator_method="random")
_add("numpy.random.", "randint", Kind.DRAW, NUMPY, generator_method="integers")
for _name, _method in (("rand", "random"), ("randn", "standard_normal")):
    _add("numpy.random.", _name, Kind.DRAW, NUMPY, generator_method=_method, by_dimension=True)
_PYTHON_DRAWS = (
    "random uniform randint randrange choice choices shuffle sample gauss normalvariate lognormvariate"
    " expovariate betavariate gammavariate triangular vonmisesvariate paretovariate weibullvariate"
    " getrandbits randbytes"
)
for _name in _PYTHON_DRAWS.split():
    _add("random.", _name, Kind.DRAW, PYTHON, generator_method=_name)
_add("tensorflow.random.", "uniform normal truncated_normal", Kind.DRAW, TENSORFLOW, seed=Argument(4))
_add("tensorflow.random.", "categorical", Kind.DRAW, TENSORFLOW, seed=Argument(3))
_add("tensorflow.random.", "shuffle", Kind.DRAW, TENSORFLOW, seed=Argument(1))
_SAMPLERS = "random.uniform random.log_uniform random.learned_unigram nn.learned_unigram"
for _name in _SAMPLERS.split():
    _add("tensorflow.", f"{_name}_candidate_sampler", Kind.DRAW, TENSORFLOW, seed=Argument(5))
for _name in ("random.fixed_unigram", "nn.fixed_unigram"):
    _add("tensorflow.", f"{_name}_candidate_sampler", Kind.DRAW, TENSORFLOW, seed=Argument(11))
_OPS = "nn.dropout image.sample_distorted_bounding_box random_normal_initializer random_uniform_initializer"
_add("tensorflow.", _OPS, Kind.DRAW, TENSORFLOW, seed=_KEYWORD)

_NUMPY_GENERATORS = (
    ("default_rng", "Generator"),
    ("RandomState", "RandomState"),
    ("PCG64 PCG64DXSM MT19937 Philox SFC64", "BitGenerator"),
)
for _names, _class in _NUMPY_GENERATORS:
    _add("numpy.random.", _names, Kind.GENERATOR, seed=_FIRST, makes=f"numpy.random.{_class}")
_SEQUENCE = "numpy.random.SeedSequence"
_add("", _SEQUENCE, Kind.GENERATOR, seed=Argument(0, "entropy"), makes=_SEQUENCE)
_add("random.", "Random", Kind.GENERATOR, seed=Argument(0, "x"), makes="random.Random")
_SEEDS = "keras.random.SeedGenerator"
_add("", _SEEDS, Kind.GENERATOR, PYTHON, seed=_FIRST, makes=_SEEDS)
_GENERATOR = "tensorflow.random.Generator"
_add(_GENERATOR, ".from_non_deterministic_state", Kind.GENERATOR, makes=_GENERATOR)
_FROM = ".from_seed .from_state .from_key_counter"
_add(_GENERATOR, _FROM, Kind.GENERATOR, seed=_FIRST, makes=_GENERATOR)

_ON, _OFF = Switch(None, True), Switch(None, False)
_DATASET, _EXPERIMENTAL = "tensorflow.data.Dataset.", "tensorflow.data.experimental."
_ARGUMENTS: tuple[str, ...] = ("buffer_size", "seed", "reshuffle_each_iteration", "name")
_add(_DATASET, "shuffle", Kind.SHUFFLE, TENSORFLOW, seed=Argument(1), arguments=_ARGUMENTS)
_ARGUMENTS = ("class_func", "target_dist", "initial_dist", "seed", "name")
_add(_DATASET, "rejection_resample", Kind.SHUFFLE, TENSORFLOW, seed=Argument(3), arguments=_ARGUMENTS)
_add(_DATASET, "list_files", Kind.SHUFFLE, TENSORFLOW, seed=Argument(2), switch=Switch(1, True))
_add(_DATASET, "sample_from_datasets", Kind.SHUFFLE, TENSORFLOW, seed=Argument(2))
_add(_DATASET, "random", Kind.SHUFFLE, TENSORFLOW, seed=Argument(0))
_add(_EXPERIMENTAL, "shuffle_and_repeat", Kind.SHUFFLE, TENSORFLOW, seed=Argument(2))
_SHUFFLE_SEED = Argument(None, "shuffle_seed")
_add(_EXPERIMENTAL, "make_csv_dataset", Kind.SHUFFLE, TENSORFLOW, seed=_SHUFFLE_SEED, switch=_ON)
_FROM_FILES = "image_dataset_from_directory text_dataset_from_directory audio_dataset_from_directory"
_add("keras.utils.", _FROM_FILES, Kind.SHUFFLE, NUMPY, seed=_KEYWORD, switch=_ON)
_add("keras.utils.", "timeseries_dataset_from_array", Kind.SHUFFLE, NUMPY, seed=_KEYWORD, switch=_OFF)
_add("keras.utils.", "split_dataset", Kind.SHUFFLE, PYTHON, seed=_KEYWORD, switch=Switch(3, False))
_IMAGES = "keras.preprocessing.image.ImageDataGenerator."
_add(_IMAGES, "flow flow_from_directory flow_from_dataframe", Kind.SHUFFLE, NUMPY, seed=_KEYWORD, switch=_ON)
_add("datasets.*.", "shuffle train_test_split", Kind.SHUFFLE, NUMPY, seed=_KEYWORD)
_STATE = Argument(None, "random_state")
_SELECTION = "sklearn.model_selection."
_add(_SELECTION, "train_test_split", Kind.SHUFFLE, NUMPY, seed=_STATE, switch=_ON)
_add(_SELECTION, "KFold StratifiedKFold", Kind.SHUFFLE, NUMPY, seed=_STATE, switch=Switch(1, False))
_add(_SELECTION, "ShuffleSplit StratifiedShuffleSplit GroupShuffleSplit", Kind.SHUFFLE, NUMPY, seed=_STATE)
_add("", "sklearn.utils.shuffle sklearn.utils.resample pandas.*.sample", Kind.SHUFFLE, NUMPY, seed=_STATE)

# Methods of a dataset that may run calls in parallel; num_parallel_calls of the last two is a keyword.
for _name, _position in {"map": 1, "interleave": 3, "batch": 2}.items():
    _add(_DATASET, _name, Kind.DATASET, parallel=_position)
_add(_DATASET, "padded_batch ragged_batch", Kind.DATASET)
_add(_DATASET, "from_tensor_slices from_tensors load", Kind.DATASET)
_add("tensorflow.data.", "TFRecordDataset TextLineDataset FixedLengthRecordDataset", Kind.DATASET)
_add(_EXPERIMENTAL, "CsvDataset", Kind.DATASET)
_add("tensorflow.", "py_function numpy_function compat.v1.py_func", Kind.HOST_CALL)
_add(_DATASET, "from_generator", Kind.HOST_CALL)
_add("keras.utils.", "PyDataset Sequence", Kind.LOADER)

_add("", "os.listdir glob.glob", Kind.LISTING, returns_list=True)
_add("tensorflow.io.gfile.", "listdir glob ListDirectory", Kind.LISTING, returns_list=True)
_add("", "os.scandir glob.iglob *.iterdir *.glob *.rglob", Kind.LISTING)
_add("", "os.walk os.fwalk tensorflow.io.gfile.walk", Kind.WALK)
_add("time.", "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time", Kind.CLOCK)
_add("time.", "ctime localtime gmtime strftime", Kind.CLOCK)
_add("datetime.", "datetime.now datetime.utcnow datetime.today date.today", Kind.CLOCK)
_add("tensorflow.", "timestamp", Kind.CLOCK)
_add("", "os.urandom os.getrandom os.getpid os.getppid uuid.uuid1 uuid.uuid4", Kind.ENTROPY)
_add("", "random.SystemRandom secrets.SystemRandom", Kind.ENTROPY, makes="random.Random")

_add("builtins.", "set frozenset", Kind.SET)
_add("builtins.", "sorted", Kind.SORT)
_add("builtins.", "len min max any all", Kind.REDUCE)
_add("collections.", "Counter", Kind.REDUCE)
_add("builtins.", "sum", Kind.SUM)
_add("builtins.", "list tuple iter enumerate zip map filter reversed next", Kind.ITERATE)
_add("*.", "join extend fromkeys array asarray fromiter constant", Kind.ITERATE)
_add("*.", "from_tensor_slices StringLookup", Kind.ITERATE)

_add("*.", "fit fit_generator train_on_batch partial_fit", Kind.TRAIN)
_add("*.", "apply_gradients apply minimize set_weights assign assign_add assign_sub", Kind.UPDATE)

_FUTURES, _PROCESSES = "concurrent.futures.", "multiprocessing."
_add(_FUTURES, "ThreadPoolExecutor ProcessPoolExecutor", Kind.POOL)
_add(_FUTURES, "thread.ThreadPoolExecutor process.ProcessPoolExecutor", Kind.POOL)
_add(_PROCESSES, "Pool pool.Pool pool.ThreadPool dummy.Pool", Kind.POOL)
_add("", "threading.Thread multiprocessing.Process", Kind.THREAD)
_add("", "queue.Queue queue.SimpleQueue queue.LifoQueue", Kind.QUEUE)
_add(_PROCESSES, "Queue SimpleQueue", Kind.QUEUE)

# Keras layers (3.15): the arguments that name random initializers, and the position of the seed.
_KERNEL = ("kernel_initializer",)
_RECURRENT = (*_KERNEL, "recurrent_initializer")
_DEPTHWISE = ("depthwise_initializer",)
_WEIGHTED: tuple[tuple[str, tuple[str, ...], Argument | None], ...] = (
    ("Dense EinsumDense Conv1D Conv2D Conv3D Convolution1D Convolution2D Convolution3D", _KERNEL, None),
    ("Conv1DTranspose Conv2DTranspose Conv3DTranspose", _KERNEL, None),
    ("MultiHeadAttention", _KERNEL, Argument(17)),
    ("GroupQueryAttention GroupedQueryAttention", _KERNEL, Argument(15)),
    ("SeparableConv1D SeparableConv2D", (*_DEPTHWISE, "pointwise_initializer"), None),
    ("DepthwiseConv1D DepthwiseConv2D", _DEPTHWISE, None),
    ("LSTM", _RECURRENT, Argument(17)),
    ("GRU GRUCell LSTMCell", _RECURRENT, Argument(16)),
    ("SimpleRNN SimpleRNNCell CuDNNLSTM CuDNNGRU ConvLSTM1D ConvLSTM2D ConvLSTM3D", _RECURRENT, None),
    ("Embedding ReversibleEmbedding", ("embeddings_initializer",), None),
    ("Attention", (), Argument(3)),
    ("AdditiveAttention", (), None),
)
for _names, _initializers, _seed in _WEIGHTED:
    _add("keras.layers.", _names, Kind.LAYER, PYTHON, seed=_seed, initializers=_initializers)
for _names, _rate, _position in (
    ("GaussianDropout SpatialDropout1D", "rate", 1),
    ("GaussianNoise", "stddev", 1),
    ("AlphaDropout Dropout SpatialDropout2D SpatialDropout3D", "rate", 2),
    ("CutMix RandomFlip", "", 1),
    ("MixUp RandomBrightness RandomContrast RandomCrop RandomGrayscale RandomInvert", "", 2),
    ("RandomColorDegeneration RandomHue RandomPosterization RandomRotation RandomSaturation", "", 3),
    ("RandomSharpness Solarization", "", 3),
    ("RandAugment RandomErasing RandomPerspective RandomTranslation RandomZoom", "", 4),
    ("RandomColorJitter RandomGaussianBlur", "", 5),
    ("AugMix", "", 7),
):
    _at = Argument(_position)
    _add("keras.layers.", _names, Kind.LAYER, PYTHON, seed=_at, draws_when_called=True, rate=_rate)
for _names, _position in (
    ("GlorotNormal GlorotUniform HeNormal HeUniform LecunNormal LecunUniform", 0),
    ("glorot_normal glorot_uniform he_normal he_uniform lecun_normal lecun_uniform", 0),
    ("Orthogonal OrthogonalInitializer orthogonal", 1),
    ("RandomNormal RandomUniform TruncatedNormal random_normal random_uniform truncated_normal", 2),
    ("VarianceScaling variance_scaling", 3),
):
    _add("keras.initializers.", _names, Kind.INITIALIZER, PYTHON, seed=Argument(_position))

# -- names known by a rule ----------------------------------------------------------------------------

_TENSORFLOW_DRAW = Known(Kind.DRAW, (TENSORFLOW,), _KEYWORD)
_KERAS_DRAW = Known(Kind.DRAW, (PYTHON,), _KEYWORD)
_STATE_DRAW = Known(Kind.DRAW, (NUMPY,), _STATE)
_DRAWS_OF_MODULE = {
    "random": Known(Kind.DRAW, (PYTHON,)),
    "numpy.random": Known(Kind.DRAW, (NUMPY,)),
    "tensorflow.random": _TENSORFLOW_DRAW,
    "keras.random": _KERAS_DRAW,
}
_NOT_DRAWS = _words(
    "getstate get_state get_bit_generator set_bit_generator create_rng_state fold_in split index_shuffle"
    " get_global_generator set_global_generator"
)
_BY_PREFIX = {
    "secrets.": Known(Kind.ENTROPY),
    "tensorflow.image.random_": _TENSORFLOW_DRAW,
    "keras.backend.random_": _KERAS_DRAW,
    "keras.layers.Random": Known(Kind.LAYER, (PYTHON,), _KEYWORD, draws_when_called=True),
    "sklearn.datasets.make_": _STATE_DRAW,
}


@lru_cache(maxsize=20_000)
def known(path: str | None) -> Known | None:
    """What is known about a function or class, by its canonical dotted name."""
    if not path or path in TABLE:
        return TABLE.get(path or "")
    module, name = path.rpartition(".")[::2]
    if module in _DRAWS_OF_MODULE:
        draws = name[0].islower() and name not in _NOT_DRAWS and not name.startswith("stateless_")
        return _DRAWS_OF_MODULE[module] if draws else None
    if name == "rvs" and path.startswith("scipy.stats."):
        return _STATE_DRAW
    return next((each for prefix, each in _BY_PREFIX.items() if path.startswith(prefix)), None)


def known_method(name: str, owner: str = "") -> Known | None:
    """What is known about a method of this class, of a class of its package, or of whatever has such a method."""
    return TABLE.get(f"{owner}.{name}") or TABLE.get(f"{root(owner)}.*.{name}") or TABLE.get(f"*.{name}")


def is_kind(path: str | None, *kinds: Kind) -> bool:
    found = known(path)
    return found is not None and found.kind in kinds


def methods_of(*kinds: Kind) -> frozenset[str]:
    """The names of the methods that are of one of these kinds whatever object they belong to."""
    return frozenset(last(name) for name in names_of(*kinds) if name.startswith("*."))


def names_of(*kinds: Kind) -> frozenset[str]:
    """Every name in the table that is of one of these kinds."""
    return frozenset(name for name, each in TABLE.items() if each.kind in kinds)


DRAW_METHODS = _words(f"{_SAME_METHOD} {_PYTHON_DRAWS} random_sample rand randn integers permuted")
# Methods that draw from a generator object of Python or NumPy, without those that others have too.
DRAW_METHODS -= {"f", "power", "bytes"}
SET_METHODS = _words("union intersection difference symmetric_difference")
# What functions and methods that sort are called, whichever library they come from.
SORTS = _words("sort sorted natsorted os_sorted sort_values sort_index lexsort")
# The same for functions of NumPy and TensorFlow whose result does not depend on the order.
REDUCES = _words("unique sum mean std var max min median prod bincount count_nonzero any all")
SEEDS_EVERYTHING = _words(
    "seed_everything set_seed set_seeds set_all_seeds seed_all set_random_seed fix_seed set_global_seed"
    " set_determinism set_random_seeds make_deterministic fix_seeds setup_seed fix_random_seed seed_everywhere"
    " set_global_seeds init_seeds reset_seeds initialize_seed"
)
"""What functions that seed all streams are called, when they cannot be looked into."""

# -- names --------------------------------------------------------------------------------------------

# The spelling that the table uses, and the others that there are.
_SPELLINGS = {
    "keras.layers.": (
        "tensorflow.keras.layers.experimental.preprocessing. keras.layers.experimental.preprocessing."
        " keras.layers.experimental."
    ),
    "keras.": (
        "tensorflow.python.keras. tensorflow.compat.v1.keras. tensorflow.keras. tf_keras. keras.api."
        " keras._tf_keras.keras. keras.engine. keras.experimental."
    ),
    "tensorflow.": "tensorflow.compat.v2. tensorflow._api.v2.",
    "keras.utils.image_dataset_from_directory": (
        "keras.preprocessing.image.image_dataset_from_directory"
        " keras.preprocessing.image_dataset_from_directory"
    ),
    "keras.utils.text_dataset_from_directory": "keras.preprocessing.text_dataset_from_directory",
    "keras.utils.timeseries_dataset_from_array": "keras.preprocessing.timeseries_dataset_from_array",
    "keras.preprocessing.image.": "keras.src.legacy.preprocessing.image.",
    "keras.Sequential": "keras.models.Sequential",
    "keras.Model": "keras.models.Model",
    "keras.Layer": "keras.layers.Layer",
    "keras.Input": "keras.layers.Input",
    "keras.utils.PyDataset": "keras.utils.Sequence",
    "keras.initializers.": "tensorflow.initializers.",
    "keras.optimizers.": "tensorflow.optimizers.",
    "tensorflow.data.AUTOTUNE": "tensorflow.data.experimental.AUTOTUNE",
    "tensorflow.data.Dataset.sample_from_datasets": "tensorflow.data.experimental.sample_from_datasets",
    "tensorflow.data.Dataset.choose_from_datasets": "tensorflow.data.experimental.choose_from_datasets",
    "tensorflow.data.Dataset.random": "tensorflow.data.experimental.RandomDataset",
    "tensorflow.distribute.": "tensorflow.distribute.experimental.",
    "tensorflow.data.": "tensorflow.compat.v1.data.",
    "tensorflow.random.set_seed": (
        "tensorflow.compat.v1.set_random_seed tensorflow.compat.v1.random.set_random_seed"
        " tensorflow.set_random_seed tensorflow.random.set_random_seed"
    ),
    "tensorflow.random.shuffle": "tensorflow.compat.v1.random_shuffle",
    "tensorflow.random.uniform": "tensorflow.compat.v1.random_uniform",
    "tensorflow.random.normal": "tensorflow.compat.v1.random_normal",
    "tensorflow.random.truncated_normal": "tensorflow.compat.v1.truncated_normal",
    "tensorflow.random.": "tensorflow.compat.v1.random. tensorflow.random.experimental.",
    "tensorflow.io.gfile.": "tensorflow.gfile. tensorflow.compat.v1.gfile.",
    "numpy.random.": "numpy.random.mtrand.",
}
_SAME = {old: new for new, spellings in _SPELLINGS.items() for old in spellings.split()}
_LONGEST_FIRST = sorted(_SAME, key=len, reverse=True)


@lru_cache(maxsize=20_000)
def canonical(path: str) -> str:
    """The one spelling of a dotted name that has several."""
    for _ in range(4):  # a spelling may need several steps: compat.v2, then keras
        old = next((old for old in _LONGEST_FIRST if f"{path}.".startswith(old)), None)
        if old is None:
            return path
        path = f"{_SAME[old]}{path[len(old) :]}".rstrip(".")
    return path


def root(path: str) -> str:
    """The top package of a dotted name."""
    return path.partition(".")[0]


def last(path: str) -> str:
    return path.rpartition(".")[2]
