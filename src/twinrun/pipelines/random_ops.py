"""TensorFlow's ops by name: which draw from a state of their own, from a generator, which are harmless."""

from __future__ import annotations

# Each op keeps its own counter, seeded by its `seed` and `seed2` attributes (0, 0: not seeded), read in race
# order.
STATEFUL = frozenset(
    {
        "Multinomial",
        "ParameterizedTruncatedNormal",
        "RandomCrop",
        "RandomGamma",
        "RandomPoisson",
        "RandomPoissonV2",
        "RandomShuffle",
        "RandomStandardNormal",
        "RandomUniform",
        "RandomUniformInt",
        "SampleDistortedBoundingBox",
        "SampleDistortedBoundingBoxV2",
        "TruncatedNormal",
        "AllCandidateSampler",
        "FixedUnigramCandidateSampler",
        "LearnedUnigramCandidateSampler",
        "LogUniformCandidateSampler",
        "ThreadUnsafeUnigramCandidateSampler",
        "UniformCandidateSampler",
    }
)
# They advance a tf.random.Generator, whose state is a variable outside the function.
GENERATOR = frozenset(
    {
        "RngReadAndSkip",
        "RngSkip",
        "StatefulRandomBinomial",
        "StatefulStandardNormal",
        "StatefulStandardNormalV2",
        "StatefulTruncatedNormal",
        "StatefulUniform",
        "StatefulUniformFullInt",
        "StatefulUniformInt",
    }
)
# Drawn from the machine, whatever the seeds say.
ENTROPY = frozenset({"NonDeterministicInts"})
HOST = frozenset({"PyFunc", "EagerPyFunc", "PyFuncStateless"})
READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd"})
WRITES = frozenset(
    {
        "AssignVariableOp",
        "AssignAddVariableOp",
        "AssignSubVariableOp",
        "ResourceScatterAdd",
        "ResourceScatterNdAdd",
        "ResourceScatterNdUpdate",
        "ResourceScatterUpdate",
        "ResourceStridedSliceAssign",
    }
)
HARMLESS = frozenset(
    {
        "AnonymousHashTable",
        "AnonymousMemoryCache",
        "AnonymousSeedGenerator",
        "Assert",
        "Case",
        "CheckNumerics",
        "CheckNumericsV2",
        "DatasetToSingleElement",
        "DebugIdentityV2",
        "DebugIdentityV3",
        "DeepCopy",
        "DummyMemoryCache",
        "DummySeedGenerator",
        "GuaranteeConst",
        "HashTable",
        "HashTableV2",
        "If",
        "InitializeTableFromTextFileV2",
        "InitializeTableV2",
        "LookupTableExportV2",
        "LookupTableFindV2",
        "LookupTableSizeV2",
        "MapDefun",
        "MutexLock",
        "MutexV2",
        "PartitionedCall",
        "Placeholder",
        "Print",
        "PrintV2",
        "ReduceDataset",
        "RestoreV2",
        "StatefulPartitionedCall",
        "StatelessRandomGetAlg",
        "StringFormat",
        "SummaryWriter",
        "VarHandleOp",
        "VarIsInitializedOp",
        "VariableShape",
        "While",
        "WriteFile",
        *READS,
    }
)


def is_harmless(op_type: str) -> bool:
    """Stateful for TensorFlow's scheduler, but the same answer however calls are interleaved."""
    return op_type in HARMLESS or op_type.startswith(("TensorArray", "Stack", "Write"))


def is_stateless_draw(op_type: str) -> bool:
    return op_type.startswith(
        (
            "StatelessRandom",
            "StatelessTruncated",
            "StatelessMultinomial",
            "StatelessParameterized",
            "StatelessSample",
            "StatelessShuffle",
            "RandomIndexShuffle",
        )
    )
