"""The judgement of each stage: order (fixed, given up, racing), randomness (seeded, unseeded, racing)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from twinrun.pipelines.pipeline_stages import Pipeline, Stage
from twinrun.pipelines.seeding import unseeded_streams
from twinrun.pipelines.stage_functions import FunctionFacts, HostCall

SHUFFLES = (
    "ShuffleDataset",
    "ShuffleDatasetV2",
    "ShuffleDatasetV3",
    "ShuffleAndRepeatDataset",
    "ShuffleAndRepeatDatasetV2",
    "GlobalShuffleDataset",
)
RANDOM_SOURCES = ("RandomDataset", "RandomDatasetV2")
CACHES = ("CacheDataset", "CacheDatasetV2")
WORST = ("racing", "unseeded", "unknown", "seeded", "none")


@dataclass(frozen=True)
class Circumstances:
    """What holds for the whole pipeline: Options, op determinism, whether interrupted runs are resumed."""

    deterministic: bool | None
    op_determinism: bool
    unseeded: frozenset[str]  # global streams that certainly nobody has seeded
    seed_is_set: bool = False
    resumes: bool = False

    @staticmethod
    def now(dataset: Any, *, resumes: bool = False) -> Circumstances:
        from tensorflow.python.eager import context
        from tensorflow.python.framework import config, ops

        with ops.init_scope():
            eager = isinstance(dataset._variant_tensor, ops.EagerTensor)
            options = dataset.options() if eager else dataset._options_attr
        return Circumstances(
            deterministic=options.deterministic,
            op_determinism=bool(config.is_op_determinism_enabled()),
            unseeded=unseeded_streams(),
            seed_is_set=context.global_seed() is not None,
            resumes=resumes,
        )


def judged(pipeline: Pipeline, circumstances: Circumstances) -> tuple[Stage, ...]:
    return tuple(_judge(stage, circumstances) for stage in pipeline.stages)


def _judge(stage: Stage, circumstances: Circumstances) -> Stage:
    if not stage.known:
        note = f"{stage.op} is not a stage Twinrun knows: nothing is said about its order and randomness"
        return replace(stage, order="unknown", randomness="unknown", notes=(*stage.notes, note))
    raced = stage.parallel and not circumstances.op_determinism
    randomness = _worst(
        [
            _own_randomness(stage, raced),
            *(_function_randomness(facts, raced, circumstances) for facts in stage.functions),
        ]
    )
    order = _order(stage, circumstances)
    if (
        order == "deterministic"
        and randomness == "racing"
        and stage.kind in ("filter", "take_while", "flat_map", "interleave")
    ):
        order = "racing"  # a race decides which elements come out
    return replace(stage, order=order, randomness=randomness, notes=_notes(stage, circumstances))


def _order(stage: Stage, circumstances: Circumstances) -> str:
    if circumstances.op_determinism or not stage.parallel:
        return "deterministic"
    if stage.attributes.get("sloppy") is True:
        return "given up"
    asked = stage.attributes.get("deterministic")
    if asked == "computed" or stage.attributes.get("unread"):
        return "unknown"
    if asked == "false" or (asked == "default" and circumstances.deterministic is False):
        return "given up"
    return "deterministic"


def _own_randomness(stage: Stage, raced: bool) -> str:
    if stage.op not in SHUFFLES + RANDOM_SOURCES:
        return "none"
    if stage.seeds is None or "computed" in stage.seeds:
        return "unknown"
    if stage.seeds == (0, 0):
        return "unseeded"
    if stage.captured and raced and stage.attributes.get("reshuffle_each_iteration") is not False:
        return "racing"  # its iterators are begun, and so seeded, in the order in which parallel calls run
    return "seeded"


def _function_randomness(facts: FunctionFacts, raced: bool, circumstances: Circumstances) -> str:
    found = ["seeded"] if facts.stateless_draws else []
    for draw in facts.draws:
        if draw.source == "entropy":
            found.append("unseeded")
        elif raced:
            found.append("racing")
        elif draw.source == "op":
            found.append("unseeded" if draw.seeded is False else "seeded" if draw.seeded else "unknown")
        else:
            found.append(
                "unknown"
            )  # the generator was seeded, or not, where it was made: the graph cannot say
    if facts.updates and raced:
        found.append("racing")
    found += [_host_randomness(call, raced, circumstances) for call in facts.host]
    if facts.unknown:
        found.append("unknown")
    return _worst(found)


def _host_randomness(call: HostCall, raced: bool, circumstances: Circumstances) -> str:
    kinds = {draw.kind for draw in call.draws}
    if not call.found:
        return "unknown"
    if kinds & {"stream", "shared"} and raced:
        return "racing"
    if kinds & {"unseeded", "entropy"} or draws_unseeded(call, circumstances):
        return "unseeded"
    if kinds & {"stream", "shared"}:
        return "unknown"  # it depends on whether that stream was seeded, and on who else draws from it
    if "element" in kinds:
        return "seeded"
    return "none"


def draws_unseeded(call: HostCall, circumstances: Circumstances) -> bool:
    """Whether a call draws from a global stream that certainly nobody has seeded."""
    return any(draw.kind == "stream" and draw.stream in circumstances.unseeded for draw in call.draws)


def _worst(found: list[str]) -> str:
    return min(found, key=WORST.index, default="none")


def _notes(stage: Stage, circumstances: Circumstances) -> tuple[str, ...]:
    notes = list(stage.notes)
    if stage.op in SHUFFLES:
        notes += _shuffle_notes(stage)
    if stage.kind == "interleave" and stage.attributes.get("cycle_length") == -1:
        notes.append(
            "cycle_length is left to TensorFlow, which counts cores: the order changes with the machine"
        )
    if stage.op in CACHES and stage.attributes.get("filename"):
        notes.append(
            f"kept in {stage.attributes['filename']} from run to run: the next run reads what this one wrote"
        )
    if stage.kind == "snapshot":
        notes.append("kept on disk from run to run: the next run reads what this one wrote")
    for facts in stage.functions:
        notes += _function_notes(stage, facts, circumstances)
    return tuple(dict.fromkeys(notes))


def _shuffle_notes(stage: Stage) -> list[str]:
    notes = []
    if stage.attributes.get("reshuffle_each_iteration") is False:
        notes.append("every epoch comes in the same order (reshuffle_each_iteration=False)")
    elif stage.seeds != (0, 0):
        notes.append(
            "a new order each epoch, counted by the process: after a restart the first epoch's comes again"
        )
    buffer, elements = stage.attributes.get("buffer_size"), stage.attributes.get("elements")
    if isinstance(buffer, int) and isinstance(elements, int) and 0 < buffer < elements:
        notes.append(f"a buffer of {buffer} over {elements} elements: it mixes neighbours, not the whole")
    return notes


def _function_notes(stage: Stage, facts: FunctionFacts, circumstances: Circumstances) -> list[str]:
    notes = []
    if facts.draws and stage.parallel and circumstances.op_determinism:
        notes.append("op determinism is on: TensorFlow runs this stage one call at a time")
    if any(draw.source in ("generator", "seed state") for draw in facts.draws) and not stage.parallel:
        notes.append(
            "draws from a generator outside the pipeline: repeats if it was seeded and nobody else draws"
        )
    if facts.writes and stage.parallel:
        notes.append(f"its calls write a shared variable ({', '.join(facts.writes)}) as they happen to run")
    for call in facts.host:
        if not call.found:
            notes.append("calls Python that can no longer be read")
        elif not call.draws:
            notes.append(f"calls Python ({call.name}); no draw was found in its code")
    if facts.unknown:
        notes.append(f"stateful ops that are not known to be harmless: {', '.join(facts.unknown)}")
    return notes
