"""The evidence that a check which diverged leaves behind."""

from __future__ import annotations

from twinrun.launch.check import Observed
from twinrun.launch.program import Program
from twinrun.protocol.evidence import Code, Evidence, side_by_side
from twinrun.source_audit.program_files import find_script
from twinrun.source_audit.program_source import ProgramSource


def evidence_of(observed: Observed, code: Code) -> Evidence | None:
    """None when the result does not say where the twins part."""
    first = observed.result.first_difference
    if first is None:
        return None
    logs = [facts.events for facts in observed.facts if facts.events]
    pairs = side_by_side(logs[0], logs[-1]) if len(logs) > 1 else ()
    streams = tuple(row.stream for row in observed.result.streams)
    traces = (observed.traces[0], observed.traces[-1]) if len(observed.traces) > 1 else None
    return Evidence(first, pairs, streams, traces, code)


def code_of(program: Program, observed: Observed) -> Code:
    """The program's own source, and the files that its events name."""
    files = {event.file for facts in observed.facts for event in facts.events}
    script = find_script(program.target, module=program.module)
    return ProgramSource(script, program.arguments, program.module, files)
