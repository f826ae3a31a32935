"""The words of a command line that names a program: which are ours, and which are the program's."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_PART = r"(\d+|strict|reseed|(seed|device|threads|allow|only|leave-out|streams)=[^,\s]+)"
_PIN = re.compile(f"^{_PART}(,{_PART})*$")


def arranged(args: list[str], valued: set[str], late: tuple[str, ...] | None = None) -> list[str]:
    """Our options, the program, and the program's own words, as click reads them without mistaking one for another.
    `valued` names the options that take a value. Those of `late` are found behind the program too, up to a `--`,
    where they were not given before it."""
    own, rest = split(args, valued)
    if rest[:1] == ["--"]:
        return own + rest
    named = 2 if rest[:1] == ["-m"] else 1
    program, theirs = rest[:named], rest[named:]
    if program[:1] == ["-m"] and program[1:] in ([], ["--"]):
        return [*own, "-m"]  # click says that the module is missing
    moved: list[str] = []
    if late is not None:
        given = {word.partition("=")[0] for word in own}
        moved, theirs = _late(theirs, {name for name in late if name not in given}, valued)
    if not program or not program[0].startswith("-m"):
        return [*own, *moved, *program, *theirs]
    if " " in program[0]:  # a whole command in quotes, as --compare takes them, and no option
        return [*own, *moved, "--", *program, *theirs]
    return [*own, *moved, *program, "--", *theirs]  # as with python, a module ends the options


def split(args: list[str], valued: set[str]) -> tuple[list[str], list[str]]:
    """What is before the program, and the rest. `--pin` may be alone, or with a value behind a space or `=`;
    only what looks like a value is taken as one."""
    own: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-") and rest[0] != "--" and not rest[0].startswith("-m"):
        words = rest[: width(rest, valued)]
        del rest[: len(words)]
        own += [f"--pin={words[-1] if len(words) > 1 else 'default'}"] if words[0] == "--pin" else words
    return own, rest


def width(words: Sequence[str], valued: Collection[str]) -> int:
    """Of how many words the option in front consists: of two where the next is its value."""
    if words[0] == "--pin":
        return 2 if words[1:] and _PIN.match(words[1]) else 1
    return 2 if words[1:] and words[0] in valued else 1


def _late(words: list[str], late: set[str], valued: set[str]) -> tuple[list[str], list[str]]:
    """Split the words after the program into Twinrun's own options, each taken once, and the program's words."""
    moved: list[str] = []
    kept: list[str] = []
    rest = list(words)
    while rest and rest[0] != "--":
        name = rest[0].partition("=")[0]
        both = width(rest, late & valued)
        (moved if name in late else kept).extend(rest[:both])
        late.discard(name)
        del rest[:both]
    return moved, kept + rest[1:]
