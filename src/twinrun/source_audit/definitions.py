"""The program's own functions and classes, as values that can be called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from twinrun.knowledge.functions import last
from twinrun.source_audit.abstract_values import Value
from twinrun.source_audit.state import Frame

_RECORDS = frozenset({"dataclass", "define", "frozen", "NamedTuple", "BaseModel", "TypedDict"})
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(eq=False, slots=True)
class Function:
    """A function or lambda, with the scope it was written in."""

    node: FunctionNode
    name: str
    frame: Frame
    defaults: dict[str, Value]
    owner: Class | None = None
    decorators: tuple[str, ...] = ()

    @property
    def is_generator(self) -> bool:
        """Whether calling it makes a generator. Kept on the node: it is asked often."""
        found = getattr(self.node, "_twinrun_yields", None)
        if found is None:
            found = not isinstance(self.node, ast.Lambda) and _has_yield(self.node)
            self.node._twinrun_yields = found  # type: ignore[union-attr]
        return bool(found)

    @property
    def positional(self) -> list[ast.arg]:
        """The parameters that may be given by position."""
        return [*self.node.args.posonlyargs, *self.node.args.args]

    @property
    def is_property(self) -> bool:
        return any(last(name) in ("property", "cached_property") for name in self.decorators)

    @property
    def is_static(self) -> bool:
        return "builtins.staticmethod" in self.decorators


@dataclass(eq=False, slots=True)
class Class:
    """A class, with what its body bound and what it derives from."""

    node: ast.ClassDef
    name: str
    frame: Frame
    bases: tuple[Value, ...]
    names: dict[str, Value] = field(default_factory=dict)
    decorators: tuple[str, ...] = ()

    @property
    def is_record(self) -> bool:
        """Whether its constructor only fills in fields: a dataclass or a NamedTuple."""
        made_by = {last(name) for name in self.decorators} | {last(base) for base in self.external_bases}
        return bool(made_by & _RECORDS)

    @property
    def fields(self) -> list[str]:
        """The annotated names of its body."""
        annotated = (statement for statement in self.node.body if isinstance(statement, ast.AnnAssign))
        return [each.target.id for each in annotated if isinstance(each.target, ast.Name)]

    @property
    def lineage(self) -> Iterator[Class]:
        """The class and its own ancestors, nearest first."""
        seen: set[int] = set()
        pending: list[Class] = [self]
        while pending:
            current = pending.pop(0)
            if id(current) in seen:
                continue
            seen.add(id(current))
            yield current
            for base in current.bases:
                pending.extend(each.ref for each in base.each() if each.kind == "class")

    @property
    def external_bases(self) -> tuple[str, ...]:
        """The dotted names of the ancestors that are not the program's own."""
        return tuple(
            each.path
            for current in self.lineage
            for base in current.bases
            for each in base.each()
            if each.kind == "external"
        )

    def derives_from(self, *prefixes: str) -> bool:
        return any(path.startswith(prefixes) for path in self.external_bases)

    def find(self, name: str, after: Class | None = None) -> Value | None:
        """What the class or an ancestor binds to this name; `after` looks only behind that class."""
        skipping = after is not None
        for current in self.lineage:
            if skipping:
                skipping = current is not after
                continue
            if name in current.names:
                return current.names[name]
        return None

    def method(self, name: str, instance: Value) -> Value | None:
        """The method of this name, bound to an instance."""
        found = self.find(name)
        if found is None or found.kind != "function":
            return None
        return Value("function", ref=found.ref, bound=instance)

    def methods(self) -> Iterator[Function]:
        """Every method, the nearest definition of each name."""
        seen: set[str] = set()
        for current in self.lineage:
            for name, thing in current.names.items():
                if name not in seen and thing.kind == "function":
                    seen.add(name)
                    yield thing.ref


def _has_yield(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))
    return False
