"""Options of ours that stand behind the program: they are the program's then, and that may not be what was meant."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Sequence

import click

from twinrun.cli.word_order import width
from twinrun.launch.program import Program
from twinrun.masking import mask_arguments
from twinrun.source_audit.program_files import find_script
from twinrun.terminal import inline, say

_MOST_SOURCE = 1 << 20


def note_misplaced(verb: str, params: Sequence[click.Parameter], before: list[str], program: Program) -> None:
    """Say which of our options the program is given, and how to write them for us: but for those of the program's own.
    `before` are the words in front of the program."""
    ours = {name: param for param in params for name in param.opts if name.startswith("-") and name != "-m"}
    valued = {name for name, param in ours.items() if not getattr(param, "is_flag", False)}
    names: list[str] = []
    moved: list[str] = []
    theirs: list[str] = []
    rest = list(program.arguments)
    while rest and rest[0] != "--":
        name = rest[0].partition("=")[0] if rest[0].startswith("--") else rest[0]
        mine = name in ours and not _knows(program, name)
        words = rest[: width(rest, valued)] if mine else rest[:1]
        names += [name] if mine else []
        (moved if mine else theirs).extend(words)
        del rest[: len(words)]
    if not moved:
        return
    words = [*before, *moved, *(["-m"] if program.module else []), program.target]
    shown = shlex.join(["twinrun", *verb.split(), *words, *mask_arguments([*theirs, *rest])])
    is_are = "is" if len(names) == 1 else "are"
    say(inline(f"note: {', '.join(names)} {is_are} passed to the program, as everything after it is"))
    say(inline(f"hint: for Twinrun, write {shown}"))


def _knows(program: Program, option: str) -> bool:
    """Whether the program's source quotes the option, or its name as absl takes it."""
    script = find_script(program.target, module=program.module)
    text = ""
    with contextlib.suppress(OSError):
        if script is not None and script.is_file():
            with script.open("rb") as file:
                text = file.read(_MOST_SOURCE).decode("utf-8", "replace")
    if not option.startswith("--"):
        return re.search(rf"""['"]{option}['"]""", text) is not None
    name = re.escape(option.lstrip("-")).replace(r"\-", "[-_]")
    return re.search(rf"""['"](--)?{name}['"=\s]""", text) is not None
