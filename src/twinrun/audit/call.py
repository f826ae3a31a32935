"""One call that leaves the program: what the finding families are asked about."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from twinrun.audit.marks import NONE, Marks
from twinrun.audit.values import Thing, total
from twinrun.audit.world import Frame, World


@dataclass(eq=False, slots=True)
class Arguments:
    """What a call is given."""

    positional: list[Thing] = field(default_factory=list)
    keywords: dict[str, Thing] = field(default_factory=dict)
    spread: Marks = NONE
    """The marks of what came in as `*args` or `**options`."""
    open: bool = False
    """Whether there are arguments that cannot be seen."""

    @property
    def marks(self) -> Marks:
        """The marks of all of them."""
        return self.spread.union(*(total(thing) for thing in (*self.positional, *self.keywords.values())))

    def after(self, *first: Thing) -> Arguments:
        """The same arguments behind others."""
        return Arguments([*first, *self.positional], self.keywords, self.spread, self.open)


@dataclass(eq=False, slots=True)
class Call:
    """One call that leaves the program, as a finding family sees it."""

    world: World
    frame: Frame
    node: ast.Call
    path: str
    """The canonical dotted name that is called; of a method, the name of the method."""
    arguments: Arguments
    receiver: Thing | None = None

    @property
    def args(self) -> list[Thing]:
        return self.arguments.positional

    @property
    def keywords(self) -> dict[str, Thing]:
        return self.arguments.keywords

    @property
    def spread(self) -> Marks:
        return self.arguments.spread

    @property
    def open(self) -> bool:
        return self.arguments.open

    def argument(self, position: int | None, name: str) -> Thing | None:
        """An argument by position or name; None when it is not given."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.args):
            return self.args[position]
        return None

    @property
    def everything(self) -> list[Thing]:
        return [*self.args, *self.keywords.values()]

    @property
    def marks(self) -> Marks:
        """The marks of all arguments."""
        return self.arguments.marks

    def given(self, position: int | None, name: str) -> bool:
        """Whether an argument is given and is not None; unseen arguments are taken to hold it."""
        found = self.argument(position, name)
        return self.open if found is None else found.constant is not None

    def reach(self, marks: Marks, what: str) -> None:
        self.world.reach(marks, self.frame, self.node, what)


Handler = Callable[[Call], Thing | None]
"""Answers a call, or says None: not mine."""
