"""The audit of source: which files are read, how each is followed, and the findings."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from twinrun.errors import ProgramNotFound
from twinrun.findings.finding import Finding
from twinrun.findings.fixes import Fix, propose
from twinrun.findings.silence import sift
from twinrun.knowledge.functions import root
from twinrun.source_audit.follow import follow_library, follow_program
from twinrun.source_audit.origin_findings import Reported, fold, reported
from twinrun.source_audit.program_files import (
    Module,
    Problem,
    Sources,
    find_script,
    project_folders,
    python_files,
    shown_path,
)
from twinrun.source_audit.relevance import worth_following, worth_looking_into
from twinrun.source_audit.state import State

_RECURSION = 8_000


@dataclass(frozen=True)
class SourceAudit:
    """What was found in the source: findings, those silenced (and why), and what could not be judged. `programs` has, by
    finding, the file that was started: a missing seed belongs there."""

    findings: tuple[Finding, ...]
    files_read: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    silenced: tuple[tuple[Finding, str], ...] = ()
    programs: Mapping[Finding, str] = field(default_factory=dict)


def audit_source(
    paths: Sequence[str | Path],
    arguments: Sequence[str] | None = None,
    patched: Mapping[str, str] | None = None,
) -> SourceAudit:
    """Audit programs and folders by their source alone: nothing is imported, nothing is run.

    A file is followed as a program, with the modules of its own that it imports. In a folder, every file that
    is written to be run is followed as a program, and the functions of all files as others may call them.
    `arguments` are the words that follow a program on its command line, when they are known: options then
    have the values they would have in that run. `patched` has other texts for some files, by absolute path.
    """
    here = Path.cwd()
    folders = [path for path in map(Path, paths) if path.is_dir()]
    sources = Sources(
        project_folders(*(folder.absolute() for folder in folders), here), patched=patched or {}
    )
    states: list[State] = []
    with _interpreter_settings():
        for path in map(Path, paths):
            if path.is_dir():
                states.extend(_folder(sources, path))
            elif path.exists():
                states.extend(_program(sources, path, None if arguments is None else tuple(arguments)))
            else:
                raise ProgramNotFound(f"no such file or folder: {path}", hint="check the path")
    return _gathered(sources, states)


def _program(sources: Sources, path: Path, arguments: tuple[str, ...] | None) -> Iterator[State]:
    module = sources.read(path)
    if module is None:
        return
    yield follow_program(sources, module, arguments)
    if not module.is_entry:
        yield follow_library(sources, module)


def _folder(sources: Sources, folder: Path) -> Iterator[State]:
    read = (sources.read(path) for path in python_files(folder))
    modules = [module for module in read if module is not None]
    names = {name for module in modules for name in module.imports}
    imported = names | {name.rpartition(".")[0] for name in names}  # `from module import name`
    for module in modules:
        started = module.has_main_guard or (module.is_entry and module.name not in imported)
        if started and worth_following(sources, module):
            yield follow_program(sources, module)
    shared: State | None = None
    for module in modules:
        if worth_looking_into(sources, module):
            shared = follow_library(sources, module, shared)
    if shared is not None:
        yield shared


def _gathered(sources: Sources, states: Sequence[State]) -> SourceAudit:
    found: dict[object, Reported] = {}
    for each in (each for state in states for each in reported(state)):
        found.setdefault((each.finding.code, each.finding.place), each)
    problems = dict.fromkeys([*sources.problems, *(each for state in states for each in state.problems)])
    modules = {module.shown: module for module in sources.modules}

    def text(file: str) -> str | None:
        """Parse the file again, to find the statement that a comment belongs to: only where there is a comment."""
        return modules[file].text if modules[file].mentions("twinrun") else None

    sifted = sift((each.finding for each in found.values()), text)
    kept = [replace(found[each.code, each.place], finding=each) for each in sifted.kept]
    findings: dict[Finding, str | None] = {}
    for each in fold(kept):
        fix = _fix(modules, each)
        finding = each.finding if fix is None else replace(each.finding, fix=fix.describe())
        findings[finding] = each.program
    programs = {finding: program for finding, program in findings.items() if program is not None}
    return SourceAudit(tuple(findings), tuple(sorted(modules)), tuple(problems), sifted.silenced, programs)


def _fix(modules: dict[str, Module], each: Reported) -> Fix | None:
    finding = each.finding
    assert finding.file is not None and finding.line is not None
    program = None if each.program is None else (each.program, modules[each.program].text)
    return propose(finding.code, finding.file, finding.line, modules[finding.file].text, program=program)


def module_file(name: str) -> Path:
    """The file that `python -m name`, started here, would run; nothing is imported to find it."""
    found = find_script(name, module=True)
    if found is None:
        hint = f"run from the folder that holds {root(name)}, as with python -m"
        where = shown_path(Path(*name.split(".")))
        raise ProgramNotFound(f"no module {name} here to audit", hint=hint, where=where)
    return found


@contextmanager
def _interpreter_settings() -> Iterator[None]:
    """Following a program recurses as deep as its calls and expressions do. Collecting garbage among so many small
    objects that live until the end would take a third of the time, and find nothing."""
    limit, collects = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, _RECURSION))
    gc.disable()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        if collects:
            gc.enable()
