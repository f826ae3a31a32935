"""From options to a report: what may be reused of an earlier spread, the runs, and what becomes of them when they are
broken off."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from twinrun.errors import UsageError
from twinrun.launch.program import Program
from twinrun.masking import MASK, Secrets
from twinrun.protocol import PinRequest
from twinrun.protocol.registry import parse_pin
from twinrun.source_audit.program_files import Sources, find_script, project_folders
from twinrun.spread.plan import ALL, IMPLEMENTATION, RunKey, SpreadOptions
from twinrun.spread.report import SpreadReport
from twinrun.spread.runs import Collected, collect
from twinrun.spread.statistics import must_have_scipy

_UNFINISHED = "not finished"
VARIED = "…"  # in place of an argument that is another one in each run


def measure(
    options: SpreadOptions,
    earlier: SpreadReport | None = None,
    say: Callable[[str], None] = lambda _: None,
    keep: Callable[[SpreadReport], None] | None = None,
) -> SpreadReport:
    """Interrupted, it raises with what was found by then, if anything was. `keep` takes what there is after each run."""
    must_have_scipy()
    options.program.must_exist()
    started = time.monotonic()
    about = _about(options)
    if earlier is not None:
        _must_be_of(earlier, about)

    def report_of(found: Collected) -> SpreadReport:
        seconds = round(time.monotonic() - started, 3)
        return _report(about, earlier, found, seconds, options.program.secrets)

    def made(found: Collected) -> None:
        if keep is not None and found.runs:
            keep(replace(report_of(found), interrupted=_UNFINISHED))

    found = collect(options, earlier.runs if earlier else (), say, made)
    report = report_of(found)
    if found.interrupted is None:
        return report
    raise found.interrupted.leaving(*([("", report)] if report.runs else []))


def _about(options: SpreadOptions) -> SpreadReport:
    return SpreadReport(
        str(options.program),
        (*options.program.shown_arguments, *options.seed_words(VARIED)),
        str(options.request),
        options.steps,
        _digest(options.program),
        one_in=options.one_in,
    )


def typical_run(report: SpreadReport) -> tuple[PinRequest, tuple[str, ...]]:
    """The run that a baseline is best made of: its pin, and its arguments with its own seed among them."""
    options = SpreadOptions(Program(report.program), request=parse_pin(report.pin))
    typical = report.typical
    key = RunKey(IMPLEMENTATION, 0) if typical is None else RunKey(ALL, typical.number)
    *words, last = report.arguments or ("",)
    if last.endswith(VARIED):
        last = last.removesuffix(VARIED) + str(options.seed(key.number))
    return options.pin_of(key).request, (*words, last) if report.arguments else ()


def _digest(program: Program) -> str | None:
    """Of the script and what it imports of the user's own files: runs of a program that has changed since are not runs of
    this one."""
    script = find_script(program.target, module=program.module)
    if script is None:
        return None
    sources = Sources(also=project_folders(Path.cwd()))
    module = sources.read(script)
    if module is None:
        return None
    found = sorted((each.shown, each.source) for each in sources.closure(module, sources.roots(module)))
    hasher = hashlib.sha256()
    for name, text in found:
        for part in (name.encode(), text):
            hasher.update(hashlib.sha256(part).digest())
    return hasher.hexdigest()[:16]


def _must_be_of(earlier: SpreadReport, now: SpreadReport) -> None:
    if any(MASK in word for word in now.arguments):
        raise UsageError(
            "the runs cannot be reused: some arguments may be secret, and were not kept",
            hint="measure it with --show-arguments",
        )
    for name in ("program", "arguments", "pin", "steps", "digest"):
        then, here = getattr(earlier, name), getattr(now, name)
        if then != here:
            what = "another version of its files" if name == "digest" else f"another {name}: {_text(then)}"
            raise UsageError(
                f"the runs cannot be reused: they were made with {what}",
                hint="leave out --reuse, or run it as it was run then",
            )


def _text(value: object) -> str:
    return (" ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)) or "none"


def _report(
    about: SpreadReport, earlier: SpreadReport | None, found: Collected, seconds: float, secrets: Secrets
) -> SpreadReport:
    environment = str(found.environment.get("name") or "")
    notes = list(found.notes)
    if earlier is not None and not environment:  # nothing was left to run
        environment, notes = earlier.environment, [*earlier.notes, *notes]
    elif earlier is not None and earlier.environment != environment:
        notes.append(f"some runs were made in another environment: {earlier.environment}, not {environment}")
    order = {source: number for number, source in enumerate(dict.fromkeys(key.source for key in found.runs))}
    runs = sorted(found.runs.values(), key=lambda run: (order[run.source], run.number))
    report = replace(
        about,
        environment=environment,
        runs=tuple(runs),
        failed=tuple(found.failed.values()),
        notes=tuple(dict.fromkeys(notes)),
        jobs=found.jobs,
        seconds=seconds,
        interrupted=None if found.interrupted is None else str(found.interrupted),
    )
    return report.without(secrets)
