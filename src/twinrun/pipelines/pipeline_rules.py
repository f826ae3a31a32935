"""From classified stages to findings: which code, which line, what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.pipelines.build_sites import Site
from twinrun.pipelines.classify_stages import Conditions, host_randomness
from twinrun.pipelines.dataset_kinds import CACHES, RANDOM_SOURCES, SHUFFLES
from twinrun.pipelines.graph_walk import walk
from twinrun.pipelines.listing_order import files_in_listing_order
from twinrun.pipelines.pipeline_stages import Pipeline, Stage, Stages
from twinrun.pipelines.python_draws import drawn_from
from twinrun.pipelines.stage_functions import Draw

_SEEDLESS = "its seeds are (0, 0) in the graph: a new seed is taken from the machine each run"


def findings_of(stages: Stages, pipeline: Pipeline, conditions: Conditions) -> tuple[Finding, ...]:
    """All findings, in the order of the stages, each once."""
    found: list[Finding] = []
    for stage in stages:
        if stage.known:
            found += [
                *_shuffles(stage, stages, conditions),
                *_order(stage),
                *_draws(stage, conditions),
                *_updates(stage, conditions),
                *_host(stage, conditions),
                *_cached_draws(stage, stages),
                *_restart(stage, conditions),
            ]
    found += [*_options(stages, pipeline), *_files(pipeline)]
    return tuple(dict.fromkeys(found))


def found_at(code: str, site: Site | None, message: str, evidence: list[str], fix: str) -> Finding:
    """A finding at a line of the user's code, where that is known."""
    file, line = (None, None) if site is None else (site.file, site.line)
    return finding(code, message, file=file, line=line, evidence=evidence, fix=fix)


def _at(code: str, site: Site | None, message: str, evidence: list[str], fix: str) -> Finding:
    if site is None:
        evidence = [*evidence, "the line is not known: call note_sites() before the pipeline is built"]
    return found_at(code, site, message, evidence, fix)


def _unseeded(
    conditions: Conditions, code: str, site: Site | None, message: str, evidence: list[str], fix: str
) -> Finding:
    """What is not seeded although the global seed is set now was built before it was set."""
    if conditions.seed_is_set:
        code = "TW106"
        message = f"built before the seed was set: {message.partition(',')[0].partition(':')[0]}"
        evidence = [*evidence, "TensorFlow's global seed is set now, and was not when this was built"]
        fix = "set the seed before the pipeline is built, right after the imports"
    return _at(code, site, message, evidence, fix)


def _shuffles(stage: Stage, stages: Stages, conditions: Conditions) -> Iterator[Finding]:
    call = stage.site.call if stage.site is not None else None
    if stage.op in SHUFFLES and stage.randomness == "racing":
        message = "parallel calls start iterators of one shared shuffle, and each gets the next order"
        evidence = f"stage {stage.number} is used by parallel calls of stage {stage.inside}, and was built outside them"
        fix = "build the shuffle inside the function, or shuffle(…, reshuffle_each_iteration=False)"
        yield _at("TW203", stage.site, message, [evidence], fix)
    if stage.randomness != "unseeded" or stage.op not in SHUFFLES | RANDOM_SOURCES:
        return
    code = "TW201"
    if stage.op in RANDOM_SOURCES:
        message, fix = "Dataset.random() has no seed", f"{call}(…, seed=42)" if call else "seed=42"
        if _feeds_choice(stage, stages):
            message = "the dataset to take from is drawn without a seed"
        else:
            code = "TW104"
    elif call == "list_files":
        message = "list_files shuffles the file names without a seed"
        fix = "list_files(pattern, shuffle=False), or give it seed=…"
    else:
        message = "shuffle() has no seed: every run has a different order"
        buffer = stage.attributes.get("buffer_size")
        fix = f"shuffle({buffer if isinstance(buffer, int) else '…'}, seed=42), or a global seed before it"
    evidence = f"stage {stage.number}, {stage.op}: {_SEEDLESS}"
    yield _unseeded(conditions, code, stage.site, message, [evidence], fix)


def _feeds_choice(source: Stage, stages: Stages) -> bool:
    """Whether a stage feeds, further on, one that chooses among datasets."""
    fed = walk(source, lambda one: [stage for stage in stages if one.number in stage.inputs])
    return any(stage.op == "DirectedInterleaveDataset" for stage in fed)


def _order(stage: Stage) -> Iterator[Finding]:
    if stage.order == "nondeterministic" and stage.attributes.get("deterministic") != "default":
        what = "sloppy=True" if stage.attributes.get("sloppy") else "deterministic=False"
        message = f"{stage.kind}({what}) returns elements in completion order"
        evidence = f"stage {stage.number}, {stage.op}: as its attribute in the graph shows"
        fix = f"remove {what} (it stays parallel), or pass the dataset to twinrun.repeatable"
        yield _at("TW202", stage.site, message, [evidence], fix)


def _options(stages: Stages, pipeline: Pipeline) -> Iterator[Finding]:
    affected = [
        stage
        for stage in stages
        if stage.order == "nondeterministic" and stage.attributes.get("deterministic") == "default"
    ]
    if not affected:
        return
    options = (stage for stage in stages if stage.kind == "options")
    sites = (stage.site for stage in options if _sets_nondeterministic(pipeline.datasets.get(stage.number)))
    names = ", ".join(f"{stage.kind} (stage {stage.number})" for stage in affected)
    yield _at(
        "TW202",
        next(sites, None) or affected[0].site,
        "Options.deterministic = False makes the order of every parallel stage nondeterministic",
        [f"the pipeline's merged options have deterministic=False; stages that left it to them: {names}"],
        "options.deterministic = True, or leave it unset",
    )


def _sets_nondeterministic(dataset: Any) -> bool:
    """Whether an Options stage is the one that set deterministic to False: its input does not have it."""
    if dataset is None or dataset._options_attr.deterministic is not False:
        return False
    return all(one._options_attr.deterministic is not False for one in dataset._inputs())


def _updates(stage: Stage, conditions: Conditions) -> Iterator[Finding]:
    written = dict.fromkeys(op for facts in stage.functions for op in facts.updates)
    if written and conditions.race_in(stage):
        message = f"parallel calls of {stage.kind}() read and write one variable in no fixed order"
        evidence = f"stage {stage.number}: {', '.join(written)} in a function with several calls at once ({_calls(stage)})"
        fix = "num_parallel_calls=None for this stage, or carry the state along with ds.scan(…)"
        yield _at("TW403", stage.site, message, [evidence], fix)


def _draws(stage: Stage, conditions: Conditions) -> Iterator[Finding]:
    draws = [draw for facts in stage.functions for draw in facts.draws]
    if draws and stage.randomness == "racing":
        yield _raced(stage, draws)
        return
    for draw in draws:
        if draw.source == "entropy":
            message = "the pipeline draws from the machine's entropy"
            evidence = f"{draw.op} in stage {stage.number}"
            fix = "draw from tf.random.stateless_* with a seed of the element"
            yield _at("TW108", draw.site or stage.site, message, [evidence], fix)
    bare = [draw for draw in draws if draw.seeded is False and draw.source == "op"]
    if bare:
        message = f"{bare[0].op} inside {stage.kind}() has no seed, and TensorFlow's global seed was not set"
        evidence = f"stage {stage.number}: {_names(bare)} with seeds (0, 0) in the function's graph"
        fix = "tf.random.set_seed(42) before the pipeline is built, or twinrun.repeatable(ds, seed=42)"
        site = stage.site or bare[0].site
        yield _unseeded(conditions, "TW104", site, message, [evidence, *_drawn_at(stage, bare)], fix)


def _raced(stage: Stage, draws: list[Draw]) -> Finding:
    shared = next((draw.source for draw in draws if draw.source in ("generator", "seed state")), None)
    message = (
        f"parallel calls of {stage.kind}() race for the state of a random op: "
        "seeds do not help, and deterministic=True fixes the order only"
    )
    if shared is not None:
        kind = "a tf.random.Generator" if shared == "generator" else "a layer's seed state"
        message = f"parallel calls of {stage.kind}() share {kind} and draw from it in no fixed order"
    evidence = [
        f"stage {stage.number}: {_names(draws)} in a function with several calls at once ({_calls(stage)})"
    ]
    evidence += _drawn_at(stage, draws)
    if any(draw.seeded is False for draw in draws):
        evidence.append("the op has no seed either")
    fix = "twinrun.repeatable(ds, seed=42), or tf.random.stateless_* seeded by the index (ds.enumerate())"
    return _at("TW203", stage.site or draws[0].site, message, evidence, fix)


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


def _host(stage: Stage, conditions: Conditions) -> Iterator[Finding]:
    for call in dict.fromkeys(call for facts in stage.functions for call in facts.host):
        randomness = host_randomness(call, conditions.race_in(stage), conditions)
        if randomness in ("racing", "unseeded"):
            message = f"{call.name}() draws unseeded Python randomness"
            if randomness == "racing":
                message = f"parallel calls of {call.name}() share one Python random stream"
            evidence = (
                f"stage {stage.number} ({stage.kind}) calls Python; it draws from {drawn_from(call.draws)}"
            )
            fix = "rng = twinrun.element_rng(index) inside the function, and pass the dataset to twinrun.repeatable"
            yield _at("TW204", stage.site or call.site, message, [evidence], fix)


def _cached_draws(stage: Stage, stages: Stages) -> Iterator[Finding]:
    """A cache after random augmentation replays the first epoch's draws in every epoch."""
    upstream = _upstream(stage, stages) if stage.op in CACHES else []
    drawing = [one for one in upstream if any(facts.random for facts in one.functions)]
    if drawing:
        last = drawing[-1]
        message = f"cache() keeps the first epoch's random {last.kind}(): every epoch sees the same draws"
        evidence = f"stage {last.number} ({last.kind}) draws, stage {stage.number} caches what it drew"
        place = f" at {last.site}" if last.site is not None else ""
        fix = f"cache() before the random {last.kind}(){place}"
        yield _at("TW107", stage.site, message, [evidence], fix)


def _upstream(stage: Stage, stages: Stages) -> list[Stage]:
    """All stages that feed this one, up to earlier caches, the insides of their functions included."""

    def feeding(one: Stage) -> list[Stage]:
        if one.op in CACHES and one is not stage:
            return []
        return [each for each in stages if each.number in one.inputs or each.inside == one.number]

    found = {one.number for one in walk(stage, feeding)}
    return [one for one in stages if one.number in found]


def _restart(stage: Stage, conditions: Conditions) -> Iterator[Finding]:
    reshuffles = stage.op in SHUFFLES and stage.attributes.get("reshuffle_each_iteration") is not False
    if conditions.resumes and reshuffles and stage.randomness == "seeded":
        message = "after a restart shuffle() begins again with the first epoch's order"
        evidence = f"stage {stage.number}: an epoch's order depends on how many this process has started"
        fix = "twinrun.repeatable(ds, seed=42, start_epoch=epoch), which goes by the number of the epoch"
        yield _at("TW207", stage.site, message, [evidence], fix)


def _files(pipeline: Pipeline) -> Iterator[Finding]:
    for stage, names, folder in files_in_listing_order(pipeline):
        message = f"{len(names)} file names come in the order in which the directory happens to list them"
        evidence = f"their order is that of a listing of {folder}, not sorted"
        fix = "sort them: sorted(os.listdir(folder)), sorted(glob.glob(pattern))"
        yield _at("TW302", stage.site, message, [evidence], fix)
