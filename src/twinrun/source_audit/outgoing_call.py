"""One call that leaves the program, as the rules see it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from twinrun.knowledge.functions import Argument, Known, Switch, known
from twinrun.source_audit.abstract_values import Arguments, Value, plain, total
from twinrun.source_audit.expressions import iterate
from twinrun.source_audit.function_calls import call_value, enter_unknown
from twinrun.source_audit.marks import NONE, VALUE, Marks, Origin, as_value, with_mode, without_order
from twinrun.source_audit.state import Draw, Frame, SeedEvent, Seeding, State, source_text


@dataclass(eq=False, slots=True, kw_only=True)
class Call(Arguments):
    """A call of a function, method or object that is not the program's own."""

    frame: Frame
    node: ast.Call
    path: str  # the canonical dotted name of the function; of a method, the name of the method
    receiver: Value = field(default_factory=plain)  # the object a method belongs to, or that is called

    # -- what it is given -----------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self.frame.state

    @property
    def known(self) -> Known:
        """What is known about the function, for a rule that was chosen by it."""
        found = known(self.path)
        assert found is not None
        return found

    @property
    def first(self) -> Value:
        return self.args[0] if self.args else plain()

    def argument(self, position: int | None, name: str) -> Value | None:
        """An argument by position or name; None when it is not given."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.args):
            return self.args[position]
        return None

    def constant(self, position: int | None, name: str, default: Any = None) -> Any:
        """The value of an argument, when it is a constant; `default` when it is not given."""
        found = self.argument(position, name)
        return default if found is None else found.constant

    def items(self, position: int | None, name: str) -> list[Value]:
        """The items of an argument that is a list or tuple; none when they are not known."""
        found = self.argument(position, name)
        return list(found.items or ()) if found is not None else []

    def given(self, position: int | None, name: str) -> bool:
        """Whether an argument is given and is not None; arguments that cannot be seen are taken to hold it."""
        found = self.argument(position, name)
        return self.open if found is None else found.constant is not None

    def switched_on(self, switch: Switch | None) -> bool:
        """Whether the argument that turns shuffling on is True, or left at a default that is."""
        if switch is None:
            return True
        given = self.constant(switch.position, switch.name)
        return switch.default if given is None else given is True

    # -- what it does ---------------------------------------------------------------------------------

    def origin(self, code: str, *, part: str = "") -> Origin:
        return self.state.origin(code, self.frame, self.node, part=part)

    def varies(self, code: str, mode: str = VALUE, *, part: str = "") -> Marks:
        """The marks of something that varies from here on."""
        return frozenset({(self.origin(code, part=part), mode)})

    def seed(self, stream: str, value: Value | None) -> None:
        """A global stream is given a seed; None as a value (or no value) means entropy of the system."""
        state = self.state
        if value is None or value.constant is None:
            state.streams[stream] = Seeding("unseeded")
            return
        state.streams[stream] = Seeding("seeded", as_value(value.marks))
        origins = frozenset(origin for origin, _ in value.marks)
        state.seeds.append(SeedEvent(stream, state.tick(), self.frame.site(self.node), origins))

    def draw(self, stream: str, code: str, *, kind: str, mode: str = VALUE, part: str = "") -> Marks:
        """Draw from a global stream: the marks of the result."""
        seeding = self.state.streams[stream]
        marks = with_mode(seeding.marks, mode)
        if seeding.state == "unseeded":
            origin = self.state.origin(code, self.frame, self.node, stream=stream, part=part)
            marks = frozenset({(origin, mode)})
        self.collect(kind, 0, marks)
        return marks

    def seeded_draw(self, known: Known, code: str, *, kind: str, mode: str = VALUE) -> Marks:
        """The marks of a draw: those of the seed that it is given, or else of the stream behind it."""
        seed = known.seed or Argument(None)
        if not self.given(seed.position, seed.name):
            return self.draw(str(known.stream), code, kind=kind, mode=mode)
        given = self.argument(seed.position, seed.name)
        return with_mode(total(given), mode) if given is not None else NONE

    def collect(self, kind: str, created: int, marks: Marks = NONE) -> None:
        """Report a draw from a generator that was created at this time to whoever collects draws."""
        collectors = self.state.collectors
        if collectors:
            if kind == "host" and not any(each.kind in ("host", "loader") for each in collectors):
                kind = "trace"  # in a function that TensorFlow traces: drawn once, when the graph is built
            origins = tuple(origin for origin, _ in marks if origin.stream)
            draw = Draw(kind, self.frame.site(self.node), source_text(self.node), created, origins)
            for collector in collectors:
                collector.draws.append(draw)

    def reach(self, marks: Marks, what: str) -> None:
        self.state.reach(marks, f"{what} at {self.frame.site(self.node)}")

    def reach_dataset(self, marks: Marks) -> Marks:
        """These marks are in a dataset. What varies in it reaches training; an order does, unless the program
        itself iterates over the dataset: then what it does with the elements decides."""
        self.reach(without_order(marks), "a dataset")
        for origin, mode in marks:
            if mode != VALUE and origin.root in (0, self.state.root):
                self.state.pending.setdefault(origin, f"a dataset at {self.frame.site(self.node)}")
        return marks

    # -- what it calls back ---------------------------------------------------------------------------

    def iterate(self, value: Value) -> Value:
        """One element of an argument that is iterated over."""
        return iterate(self.frame, self.node, value)

    def invoke(self, callee: Value, arguments: Arguments) -> Value:
        return call_value(self.frame, self.node, callee, arguments)

    def enter_unknown(self, callee: Value, marks: Marks = NONE) -> Value:
        """Follow a function that somebody else calls, with arguments that carry these marks."""
        return enter_unknown(self.frame, self.node, callee, marks)

    def escaping(self, values: Iterable[Value] | None = None, depth: int = 3) -> Marks:
        """The marks of the results of the functions among the arguments, which the callee may call."""
        marks: Marks = NONE
        given = self.marks
        candidates = self.everything if values is None else values
        for each in (each for value in candidates for each in value.each()):
            if each.kind == "function" and id(each.ref.node) not in self.state.active:
                marks |= total(self.enter_unknown(each, given))
            elif each.kind == "partial":
                marks |= self.escaping([each.ref[0]], depth)
            elif each.kind in ("list", "tuple") and each.items and depth:
                marks |= self.escaping(each.items, depth - 1)
        return marks


Handler = Callable[[Call], Value | None]
"""Returns the result of a call, or None when the call is not one it knows."""
