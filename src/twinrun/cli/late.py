"""Options of ours that may follow the program: `twinrun baseline record train.py --name mnist`."""

from __future__ import annotations

from typing import Any

import click

from twinrun.cli.options import RunningVerb

# Options that may also stand behind the program, as long as they were not given before it.
LATE = ("--name", "--reason", "--store", "--contract", "--output-format")


class BaselineVerb(RunningVerb):
    """A running verb whose own options may follow the program: `baseline record train.py --name mnist`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return super().make_context(info_name, with_late_options(args, self._valued()), parent, **extra)

    def _valued(self) -> set[str]:
        """The options of this verb that take a value."""
        options = (param for param in self.params if isinstance(param, click.Option))
        return {name for option in options if not option.is_flag for name in option.opts}


def with_late_options(args: list[str], valued: set[str]) -> list[str]:
    """Moves our options from behind the program to before it. Behind a `--`, and when an option was given
    before
    the program already, everything is the program's own."""
    index = 0
    while index < len(args) and args[index].startswith("-") and args[index] != "--":
        if args[index] == "-m":
            break
        index += 2 if args[index] in valued and args[index] != "--pin" else 1
    before, after = args[:index], args[index:]
    late = {name for name in LATE if name in valued and not any(_is(word, name) for word in before)}
    moved: list[str] = []
    kept: list[str] = []
    place = 0
    while place < len(after):
        word = after[place]
        if word == "--":
            kept += after[place + 1 :] if kept else after[place:]
            break
        name = next((name for name in late if _is(word, name)), None)
        if name is None or not kept:
            kept.append(word)
            place += 1
            continue
        late.discard(name)
        width = 1 if "=" in word else 2
        moved += after[place : place + width]
        place += width
    return [*before, *moved, *kept]


def _is(word: str, option: str) -> bool:
    return word == option or word.startswith(option + "=")
