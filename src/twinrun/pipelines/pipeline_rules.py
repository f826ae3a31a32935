"""From judged stages to findings: which code, which line, what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.pipelines.build_sites import Site
from twinrun.pipelines.file_names import files_in_listing_order
from twinrun.pipelines.judge import (
    CACHES,
    RANDOM_SOURCES,
    SHUFFLES,
    Circumstances,
    draws_unseeded,
)
from twinrun.pipelines.pipeline_stages import Pipeline, Stage
from twinrun.pipelines.stage_functions import Draw, HostCall

_SEEDLESS = "its seeds are (0, 0) in the graph: a new seed is taken from the machine each run"


def findings_of(
    stages: tuple[Stage, ...], pipeline: Pipeline, circumstances: Circumstances
) -> tuple[Finding, ...]:
    """All findings, in the order of the stages, each told once."""
    found: list[Finding] = []
    for stage in stages:
        if stage.known:
            found += _timed(_shuffles(stage, stages), circumstances)
            found += _order(stage)
            found += _timed(_draws(stage), circumstances)
            found += _updates(stage, circumstances)
            found += _host(stage, circumstances)
            found += _frozen(stage, stages)
            if circumstances.resumes:
                found += _restart(stage)
    found += _options(stages, pipeline, circumstances)
    found += _files(stages, pipeline)
    return tuple(dict.fromkeys(found))


def _timed(found: Iterable[Finding], circumstances: Circumstances) -> Iterator[Finding]:
    """What is not seeded although the global seed is set was built before it was set."""
    for one in found:
        if one.code in ("TW104", "TW201") and circumstances.seed_is_set:
            yield finding(
                "TW106",
                f"built before the seed was set: {one.message.partition(',')[0].partition(':')[0]}",
                file=one.file,
                line=one.line,
                evidence=[
                    *one.evidence,
                    "TensorFlow's global seed is set now, and was not when this was built",
                ],
                fix="set the seed before the pipeline is built, right after the imports",
            )
        else:
            yield one


def _at(code: str, site: Site | None, message: str, evidence: list[str], fix: str) -> Finding:
    file, line = (None, None) if site is None else (site.file, site.line)
    if site is None:
        evidence = [*evidence, "the line is not known: call note_sites() before the pipeline is built"]
    return finding(code, message, file=file, line=line, evidence=evidence, fix=fix)


def _shuffles(stage: Stage, stages: tuple[Stage, ...]) -> Iterator[Finding]:
    if stage.op in SHUFFLES and stage.randomness == "racing":
        yield _at(
            "TW203",
            stage.site,
            "parallel calls begin a shuffle that they share, and each takes the next order",
            [
                f"stage {stage.number} is used by parallel calls of stage {stage.inside}, and was built outside them"
            ],
            "build the shuffle inside the function, or shuffle(…, reshuffle_each_iteration=False)",
        )
    if stage.randomness != "unseeded":
        return
    call = stage.site.call if stage.site is not None else None
    name = f"stage {stage.number}, {stage.op}"
    if stage.op in SHUFFLES and call == "list_files":
        yield _at(
            "TW201",
            stage.site,
            "list_files shuffles the file names without a seed",
            [f"{name}: {_SEEDLESS}"],
            "list_files(pattern, shuffle=False), or give it seed=…",
        )
    elif stage.op in SHUFFLES:
        buffer = stage.attributes.get("buffer_size")
        yield _at(
            "TW201",
            stage.site,
            "shuffle() has no seed: every run sees another order",
            [f"{name}: {_SEEDLESS}"],
            f"shuffle({buffer if isinstance(buffer, int) else '…'}, seed=42), or a global seed before it",
        )
    elif stage.op in RANDOM_SOURCES:
        chooses = _reaches(stage.number, stages, "DirectedInterleaveDataset")
        message = (
            "the dataset to take from is drawn without a seed" if chooses else "Dataset.random() has no seed"
        )
        call_text = f"{call}(…, seed=42)" if call else "seed=42"
        yield _at("TW201" if chooses else "TW104", stage.site, message, [f"{name}: {_SEEDLESS}"], call_text)


def _reaches(number: str, stages: tuple[Stage, ...], op: str) -> bool:
    """Whether a stage feeds an op of this type further on."""
    reached = {number}
    for stage in stages:
        if reached & set(stage.inputs):
            reached.add(stage.number)
            if stage.op == op:
                return True
    return False


def _order(stage: Stage) -> Iterator[Finding]:
    if stage.order == "given up" and stage.attributes.get("deterministic") != "default":
        what = "sloppy=True" if stage.attributes.get("sloppy") else "deterministic=False"
        yield _at(
            "TW202",
            stage.site,
            f"{stage.kind}({what}) hands elements on in the order in which they are finished",
            [f"stage {stage.number}, {stage.op}: its attribute in the graph says so"],
            f"remove {what} (it stays parallel), or hand the dataset to twinrun.repeatable",
        )


def _options(
    stages: tuple[Stage, ...], pipeline: Pipeline, circumstances: Circumstances
) -> Iterator[Finding]:
    touched = [
        stage
        for stage in stages
        if stage.order == "given up" and stage.attributes.get("deterministic") == "default"
    ]
    if not touched:
        return
    site = next(
        (
            stage.site
            for stage in stages
            if stage.kind == "options" and _gives_up(pipeline.datasets.get(stage.number))
        ),
        None,
    )
    names = ", ".join(f"{stage.kind} (stage {stage.number})" for stage in touched)
    yield _at(
        "TW202",
        site or touched[0].site,
        "Options.deterministic = False gives up the order of every parallel stage",
        [f"the pipeline's merged options say deterministic=False; stages that left it to them: {names}"],
        "options.deterministic = True, or leave it unset",
    )


def _gives_up(dataset: Any) -> bool:
    """Whether an Options stage is the one that set deterministic to False: its input does not say so."""
    if dataset is None or dataset._options_attr.deterministic is not False:
        return False
    return all(one._options_attr.deterministic is not False for one in dataset._inputs())


def _updates(stage: Stage, circumstances: Circumstances) -> Iterator[Finding]:
    written = [op for facts in stage.functions for op in facts.updates]
    if written and stage.parallel and not circumstances.op_determinism:
        yield _at(
            "TW403",
            stage.site,
            f"parallel calls of {stage.kind}() read and write one variable in the order in which they happen to run",
            [
                f"stage {stage.number}: {', '.join(dict.fromkeys(written))} in a function with several calls at once ({_calls(stage)})"
            ],
            "num_parallel_calls=None for this stage, or carry the state along with ds.scan(…)",
        )


def _draws(stage: Stage) -> Iterator[Finding]:
    draws = [draw for facts in stage.functions for draw in facts.draws]
    if not draws:
        return
    if stage.randomness == "racing":
        yield _raced(stage, draws)
        return
    for draw in draws:
        if draw.source == "entropy":
            yield _at(
                "TW108",
                draw.site or stage.site,
                "the pipeline draws from the machine's entropy",
                [f"{draw.op} in stage {stage.number}"],
                "draw from tf.random.stateless_* with a seed of the element",
            )
    bare = [draw for draw in draws if draw.seeded is False and draw.source == "op"]
    if bare:
        yield _at(
            "TW104",
            stage.site or bare[0].site,
            f"{bare[0].op} inside {stage.kind}() has no seed, and TensorFlow's global seed was not set",
            [
                f"stage {stage.number}: {_names(bare)} with seeds (0, 0) in the function's graph",
                *_drawn_at(stage, bare),
            ],
            "tf.random.set_seed(42) before the pipeline is built, or twinrun.repeatable(ds, seed=42)",
        )


def _raced(stage: Stage, draws: list[Draw]) -> Finding:
    shared = [draw for draw in draws if draw.source in ("generator", "seed state")]
    if shared:
        kind = "a tf.random.Generator" if shared[0].source == "generator" else "a layer's seed state"
        message = (
            f"parallel calls of {stage.kind}() take turns at {kind} in the order in which they happen to run"
        )
    else:
        message = (
            f"parallel calls of {stage.kind}() race for the state of a random op: "
            "seeds do not help, and deterministic=True fixes the order only"
        )
    unseeded = any(draw.seeded is False for draw in draws)
    evidence = [
        f"stage {stage.number}: {_names(draws)} in a function with several calls at once ({_calls(stage)})"
    ]
    evidence += _drawn_at(stage, draws)
    evidence += ["the op has no seed either"] if unseeded else []
    fix = "twinrun.repeatable(ds, seed=42), or tf.random.stateless_* seeded by the index (ds.enumerate())"
    return _at("TW203", stage.site or draws[0].site, message, list(dict.fromkeys(evidence)), fix)


def _drawn_at(stage: Stage, draws: list[Draw]) -> list[str]:
    places = dict.fromkeys(str(draw.site) for draw in draws if draw.site is not None)
    return [f"drawn at {place}" for place in places if place != str(stage.site)]


def _calls(stage: Stage) -> str:
    calls = stage.attributes.get("num_parallel_calls")
    if calls == -1:
        return "num_parallel_calls=AUTOTUNE"
    if isinstance(calls, int) and calls > 1:
        return f"num_parallel_calls={calls}"
    return f"inside the parallel stage {stage.inside}" if stage.inside else "a parallel stage"


def _names(draws: list[Draw]) -> str:
    return ", ".join(dict.fromkeys(draw.op for draw in draws))


def _host(stage: Stage, circumstances: Circumstances) -> Iterator[Finding]:
    raced = stage.parallel and not circumstances.op_determinism
    for facts in stage.functions:
        for call in dict.fromkeys(facts.host):
            kinds = {draw.kind for draw in call.draws}
            if raced and kinds & {"stream", "shared"}:
                yield _host_finding(
                    stage, call, f"parallel calls of {call.name}() share one Python random stream"
                )
            elif kinds & {"unseeded", "entropy"} or draws_unseeded(call, circumstances):
                yield _host_finding(stage, call, f"{call.name}() draws Python randomness that nobody seeded")


def _host_finding(stage: Stage, call: HostCall, message: str) -> Finding:
    drawn = [str(draw) for draw in call.draws if draw.kind != "element"]
    evidence = [f"stage {stage.number} ({stage.kind}) calls Python; it draws from {', '.join(drawn)}"]
    fix = "rng = twinrun.element_rng(index) inside the function, and hand the dataset to twinrun.repeatable"
    return _at("TW204", stage.site or call.site, message, evidence, fix)


def _frozen(stage: Stage, stages: tuple[Stage, ...]) -> Iterator[Finding]:
    """A cache over random augmentation replays the first epoch's draws in every epoch."""
    if stage.op not in CACHES:
        return
    below = _upstream(stage, stages)
    augmented = [one for one in below if one.functions and any(facts.random for facts in one.functions)]
    if augmented:
        last = augmented[-1]
        place = f" at {last.site}" if last.site is not None else ""
        yield _at(
            "TW107",
            stage.site,
            f"cache() keeps the first epoch's random {last.kind}(): every epoch sees the same draws",
            [f"stage {last.number} ({last.kind}) draws, stage {stage.number} caches what it drew"],
            f"cache() before the random {last.kind}(){place}",
        )


def _upstream(stage: Stage, stages: tuple[Stage, ...]) -> list[Stage]:
    """Everything a stage is fed by, up to earlier caches, the insides of their functions included."""
    by_number = {one.number: one for one in stages}
    found: dict[str, Stage] = {}
    waiting = list(stage.inputs)
    while waiting:
        one = by_number.get(waiting.pop())
        if one is None or one.number in found or one.op in CACHES:
            continue
        found[one.number] = one
        waiting += one.inputs
        waiting += [inner.number for inner in stages if inner.inside == one.number]
    return [one for one in stages if one.number in found]


def _restart(stage: Stage) -> Iterator[Finding]:
    if (
        stage.op in SHUFFLES
        and stage.attributes.get("reshuffle_each_iteration") is not False
        and stage.randomness == "seeded"
    ):
        yield _at(
            "TW207",
            stage.site,
            "after a restart shuffle() begins again with the first epoch's order",
            [f"stage {stage.number}: an epoch's order depends on how many this process has begun"],
            "twinrun.repeatable(ds, seed=42, start_epoch=epoch), which goes by the number of the epoch",
        )


def _files(stages: tuple[Stage, ...], pipeline: Pipeline) -> Iterator[Finding]:
    for stage, names, folder in files_in_listing_order(stages, pipeline):
        yield _at(
            "TW302",
            stage.site,
            f"{len(names)} file names come in the order in which the directory happens to list them",
            [f"their order is that of a listing of {folder}, and not the sorted one"],
            "sort them: sorted(os.listdir(folder)), sorted(glob.glob(pattern))",
        )
