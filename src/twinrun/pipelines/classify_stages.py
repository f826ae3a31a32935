"""Each stage's order (deterministic, nondeterministic, racing) and randomness (seeded, unseeded, racing)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from twinrun.pipelines.dataset_kinds import CACHES, RANDOM_SOURCES, SHUFFLES
from twinrun.pipelines.pipeline_stages import Pipeline, Stage, Stages
from twinrun.pipelines.python_draws import randomness_of, unseeded_streams
from twinrun.pipelines.stage_functions import Draw, FunctionFacts, HostCall

_WORST_FIRST = ("racing", "unseeded", "unknown", "seeded", "none")
_CHOOSES_ELEMENTS = ("filter", "take_while", "flat_map", "interleave")


@dataclass(frozen=True)
class Conditions:
    """What holds for the whole pipeline: Options, op determinism, whether interrupted runs are resumed."""

    deterministic: bool | None
    op_determinism: bool
    unseeded: frozenset[str]  # global streams that certainly nobody has seeded
    seed_is_set: bool = False
    resumes: bool = False

    @staticmethod
    def now(dataset: Any, *, resumes: bool = False) -> Conditions:
        from tensorflow.python.eager import context
        from tensorflow.python.framework import config, ops

        with ops.init_scope():
            eager = isinstance(dataset._variant_tensor, ops.EagerTensor)
            options = dataset.options() if eager else dataset._options_attr
        return Conditions(
            deterministic=options.deterministic,
            op_determinism=bool(config.is_op_determinism_enabled()),
            unseeded=unseeded_streams(),
            seed_is_set=context.global_seed() is not None,
            resumes=resumes,
        )

    def race_in(self, stage: Stage) -> bool:
        """Whether calls of a stage's functions run at the same time: op determinism runs them one by one."""
        return stage.parallel and not self.op_determinism


def classified(pipeline: Pipeline, conditions: Conditions) -> Stages:
    return tuple(_classify(stage, conditions) for stage in pipeline.stages)


def worst(found: list[str]) -> str:
    return min(found, key=_WORST_FIRST.index, default="none")


def _classify(stage: Stage, conditions: Conditions) -> Stage:
    if not stage.known:
        note = f"Twinrun does not know {stage.op}: its order and randomness are unknown"
        return replace(stage, notes=(*stage.notes, note))
    raced = conditions.race_in(stage)
    found = [_own_randomness(stage, raced)]
    for facts in stage.functions:
        found += _function_randomness(facts, raced, conditions)
    randomness, order = worst(found), _order(stage, conditions)
    if order == "deterministic" and randomness == "racing" and stage.kind in _CHOOSES_ELEMENTS:
        order = "racing"  # a race decides which elements come out
    notes = tuple(dict.fromkeys((*stage.notes, *_notes(stage, conditions))))
    return replace(stage, order=order, randomness=randomness, notes=notes)


def _order(stage: Stage, conditions: Conditions) -> str:
    if not conditions.race_in(stage):
        return "deterministic"
    asked = stage.attributes.get("deterministic")
    if stage.attributes.get("sloppy") is True:
        return "nondeterministic"
    if asked == "computed" or stage.attributes.get("unread"):
        return "unknown"
    if asked == "false" or (asked == "default" and conditions.deterministic is False):
        return "nondeterministic"
    return "deterministic"


def _own_randomness(stage: Stage, raced: bool) -> str:
    if stage.op not in SHUFFLES | RANDOM_SOURCES:
        return "none"
    if stage.seeds is None or "computed" in stage.seeds:
        return "unknown"
    if stage.seeds == (0, 0):
        return "unseeded"
    if stage.captured and raced and stage.attributes.get("reshuffle_each_iteration") is not False:
        return "racing"  # its iterators are started, and so seeded, in the order in which parallel calls run
    return "seeded"


def _function_randomness(facts: FunctionFacts, raced: bool, conditions: Conditions) -> Iterator[str]:
    if facts.stateless_draws:
        yield "seeded"
    yield from (_draw_randomness(draw, raced) for draw in facts.draws)
    if facts.updates and raced:
        yield "racing"
    yield from (host_randomness(call, raced, conditions) for call in facts.host)
    if facts.unknown:
        yield "unknown"


def _draw_randomness(draw: Draw, raced: bool) -> str:
    if draw.source == "entropy":
        return "unseeded"
    if raced:
        return "racing"
    if draw.source == "op" and draw.seeded is not None:
        return "seeded" if draw.seeded else "unseeded"
    return "unknown"  # a generator was seeded, or not, where it was made: the graph does not show that


def host_randomness(call: HostCall, raced: bool, conditions: Conditions) -> str:
    return randomness_of(call.draws, raced=raced, unseeded=conditions.unseeded) if call.found else "unknown"


def _notes(stage: Stage, conditions: Conditions) -> Iterator[str]:
    if stage.op in SHUFFLES:
        yield from _shuffle_notes(stage)
    if stage.kind == "interleave" and stage.attributes.get("cycle_length") == -1:
        yield "cycle_length is left to TensorFlow, which counts cores: the order changes with the machine"
    kept = "from run to run: the next run reads what this one wrote"
    if stage.op in CACHES and stage.attributes.get("filename"):
        yield f"kept in {stage.attributes['filename']} {kept}"
    if stage.kind == "snapshot":
        yield f"kept on disk {kept}"
    for facts in stage.functions:
        yield from _function_notes(stage, facts, conditions)


def _shuffle_notes(stage: Stage) -> Iterator[str]:
    if stage.attributes.get("reshuffle_each_iteration") is False:
        yield "every epoch has the same order (reshuffle_each_iteration=False)"
    elif stage.seeds != (0, 0):
        yield "a new order each epoch, counted by the process: after a restart it begins with the first epoch's again"
    buffer, elements = stage.attributes.get("buffer_size"), stage.attributes.get("elements")
    if isinstance(buffer, int) and isinstance(elements, int) and 0 < buffer < elements:
        yield f"a buffer of {buffer} over {elements} elements: it mixes neighbours, not the whole"


def _function_notes(stage: Stage, facts: FunctionFacts, conditions: Conditions) -> Iterator[str]:
    if facts.draws and stage.parallel and conditions.op_determinism:
        yield "op determinism is on: TensorFlow runs this stage one call at a time"
    if any(draw.source in ("generator", "seed state") for draw in facts.draws) and not stage.parallel:
        yield "draws from a generator outside the pipeline: repeats if it was seeded and nobody else draws"
    if facts.writes and stage.parallel:
        yield f"parallel calls write a shared variable ({', '.join(facts.writes)}) in no fixed order"
    for call in facts.host:
        if not call.found:
            yield "calls Python that can no longer be read"
        elif not call.draws:
            yield f"calls Python ({call.name}); no draw was found in its code"
    if facts.unknown:
        yield f"stateful ops that are not known to be harmless: {', '.join(facts.unknown)}"
