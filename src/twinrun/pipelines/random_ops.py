"""TensorFlow's ops by name: which draw and from what, which read and write variables, which are harmless."""

from __future__ import annotations

# Each op keeps a counter of its own, seeded by its `seed` and `seed2` attributes (0, 0: not seeded). Parallel
# calls advance it in whatever order they run.
_STATEFUL = """
    Multinomial ParameterizedTruncatedNormal RandomCrop RandomGamma RandomPoisson RandomPoissonV2 RandomShuffle
    RandomStandardNormal RandomUniform RandomUniformInt SampleDistortedBoundingBox SampleDistortedBoundingBoxV2
    TruncatedNormal AllCandidateSampler FixedUnigramCandidateSampler LearnedUnigramCandidateSampler
    LogUniformCandidateSampler ThreadUnsafeUnigramCandidateSampler UniformCandidateSampler
"""
# They advance a tf.random.Generator, whose state is a variable outside the function.
_GENERATOR = """
    RngReadAndSkip RngSkip StatefulRandomBinomial StatefulStandardNormal StatefulStandardNormalV2
    StatefulTruncatedNormal StatefulUniform StatefulUniformFullInt StatefulUniformInt
"""
# What an op draws from: `op` (a state of its own), `generator`, or `entropy` (the machine, whatever the seeds).
DRAWS = {
    **dict.fromkeys(_STATEFUL.split(), "op"),
    **dict.fromkeys(_GENERATOR.split(), "generator"),
    "NonDeterministicInts": "entropy",
}
HOST = frozenset({"PyFunc", "EagerPyFunc", "PyFuncStateless"})
READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd"})
_WRITES = """
    AssignVariableOp AssignAddVariableOp AssignSubVariableOp ResourceScatterAdd ResourceScatterNdAdd
    ResourceScatterNdUpdate ResourceScatterUpdate ResourceStridedSliceAssign
"""
WRITES = frozenset(_WRITES.split())
_HARMLESS = """
    AnonymousHashTable AnonymousMemoryCache AnonymousSeedGenerator Assert Case CheckNumerics CheckNumericsV2
    DatasetToSingleElement DebugIdentityV2 DebugIdentityV3 DeepCopy DummyMemoryCache DummySeedGenerator
    GuaranteeConst HashTable HashTableV2 If InitializeTableFromTextFileV2 InitializeTableV2 LookupTableExportV2
    LookupTableFindV2 LookupTableSizeV2 MapDefun MutexLock MutexV2 PartitionedCall Placeholder Print PrintV2
    ReduceDataset RestoreV2 StatefulPartitionedCall StatelessRandomGetAlg StringFormat SummaryWriter VarHandleOp
    VarIsInitializedOp VariableShape While WriteFile
"""
HARMLESS = READS | frozenset(_HARMLESS.split())
_STATELESS_DRAWS = """
    StatelessRandom StatelessTruncated StatelessMultinomial StatelessParameterized StatelessSample StatelessShuffle
    RandomIndexShuffle
"""


def is_harmless(op_type: str) -> bool:
    """Stateful to TensorFlow's scheduler, but with the same result however calls are interleaved."""
    return op_type in HARMLESS or op_type.startswith(("TensorArray", "Stack", "Write"))


def is_stateless_draw(op_type: str) -> bool:
    return op_type.startswith(tuple(_STATELESS_DRAWS.split()))
