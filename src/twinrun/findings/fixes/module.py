"""One file of the user's, parsed with libcst, and the questions that every fixer asks about it."""

# mypy: disable-error-code="type-abstract"
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias, TypeVar

import libcst as cst
from libcst.metadata import (
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    QualifiedName,
    QualifiedNameProvider,
    QualifiedNameSource,
    Scope,
    ScopeProvider,
)

from twinrun.findings.fixes.fix import SEED
from twinrun.knowledge.functions import Kind, Known, canonical, known, root

Function: TypeAlias = cst.FunctionDef | cst.Lambda
Statement: TypeAlias = cst.SimpleStatementLine | cst.SimpleStatementSuite | cst.BaseCompoundStatement
_STATEMENTS = (cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.BaseCompoundStatement)
Block: TypeAlias = cst.Module | cst.IndentedBlock
_SEED_NAME = re.compile(r"_?(\w+_)?(seed|random_state)", re.IGNORECASE)
LOOPS = (cst.For, cst.While, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
Node = TypeVar("Node", bound=cst.CSTNode)
Value = TypeVar("Value")


class Unsure(Exception):
    """Raised by a fixer where no rewrite is certain to be right."""


def sure(value: Value | None) -> Value:
    if value is None:
        raise Unsure
    return value


def require(condition: object) -> None:
    if not condition:
        raise Unsure


class Import(NamedTuple):
    """One imported name: what it is called here, its full name as written, and the statement that imports it."""

    local: str
    dotted: str
    statement: Any


class Spelling(NamedTuple):
    """A full name as this module can write it, and the statement that imports what it begins with."""

    text: str
    behind: Any


class Module:
    """A parsed source text. Raises libcst.ParserSyntaxError when it cannot be parsed."""

    def __init__(self, source: str, *, is_program: bool | None = None, seed: int | None = None) -> None:
        """`seed` is the number to write; without one, that of the program's own seeds."""
        wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
        self.tree = wrapper.module
        self.parent = wrapper.resolve(ParentNodeProvider)
        self._ranges: Mapping[cst.CSTNode, Any] = wrapper.resolve(PositionProvider)
        self._qualified: Mapping[cst.CSTNode, Any] = wrapper.resolve(QualifiedNameProvider)
        self._scopes: Mapping[cst.CSTNode, Any] = wrapper.resolve(ScopeProvider)
        self._found: dict[type[cst.CSTNode], list[Any]] = {}
        self.imports = sorted(self._imports(), key=lambda each: self.first_line(each.statement))
        self.is_program = self._does_something() if is_program is None else is_program
        self._seed = seed
        self.seeds_written = 0

    # Places

    def first_line(self, node: cst.CSTNode) -> int:
        return int(self._ranges[node].start.line)

    def last_line(self, node: cst.CSTNode) -> int:
        return int(self._ranges[node].end.line)

    def place(self, node: cst.CSTNode) -> tuple[int, int, int, int]:
        """Line and column of the beginning and of the end."""
        start, end = self._ranges[node].start, self._ranges[node].end
        return start.line, start.column, end.line, end.column

    def spans(self, node: cst.CSTNode, line: int) -> bool:
        return self.first_line(node) <= line <= self.last_line(node)

    def name_line(self, call: cst.Call) -> int:
        """The line of the called name: in a chain over several lines, not the chain's first."""
        return self.last_line(call.func)

    def code(self, node: cst.CSTNode) -> str:
        return self.tree.code_for_node(node)

    # The tree

    def find(self, kind: type[Node], within: cst.CSTNode | None = None) -> list[Node]:
        """The nodes of a kind in a part of the tree, in source order; calls in the order of the called names."""
        if kind not in self._found:
            found = [node for node in self.parent if isinstance(node, kind)]
            self._found[kind] = sorted(found, key=self._order)
        return [node for node in self._found[kind] if within is None or self.inside(node, within)]

    def _order(self, node: cst.CSTNode) -> tuple[int, int]:
        place = self._ranges[node.func].end if isinstance(node, cst.Call) else self._ranges[node].start
        return place.line, place.column

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        while node in self.parent:
            node = self.parent[node]
            yield node

    def outer(self, node: cst.CSTNode, *kinds: type[cst.CSTNode]) -> Any:
        """The innermost node of these kinds around a node."""
        return next((each for each in self.ancestors(node) if isinstance(each, kinds)), None)

    def statement(self, node: cst.CSTNode) -> Statement | None:
        """The innermost statement that holds a node."""
        found: Statement | None = self.outer(node, *_STATEMENTS)
        return found

    def function(self, node: cst.CSTNode) -> Function | None:
        """The innermost function around a node."""
        found: Function | None = self.outer(node, cst.FunctionDef, cst.Lambda)
        return found

    def runs_once(self, function: Function) -> bool:
        """Whether a function runs once in a program: by its name, or because it is called at one place that does."""
        if not isinstance(function, cst.FunctionDef):
            return False
        name = function.name.value
        if name in ("main", "__init__"):
            return True
        uses = [node for node in self.find(cst.Name) if node.value == name and node is not function.name]
        call = self.parent[uses[0]] if len(uses) == 1 and self.owner(function) is self.tree else None
        if not isinstance(call, cst.Call) or self.in_loop(call) or self.inside(call, function):
            return False
        caller = self.function(call)
        return caller is None or self.runs_once(caller)

    def in_loop(self, node: cst.CSTNode) -> bool:
        """Whether a node can run several times in one call of its function."""
        return isinstance(self.outer(node, *LOOPS, cst.FunctionDef, cst.Lambda, cst.ClassDef), LOOPS)

    def inside(self, node: cst.CSTNode, outer: cst.CSTNode | None) -> bool:
        return node is outer or any(each is outer for each in self.ancestors(node))

    def owner(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The function or class whose block a statement stands in directly, or the module."""
        block = self.parent.get(node)
        return self.parent[block] if isinstance(block, cst.IndentedBlock) else block

    def calls(self, *kinds: Kind | str, within: cst.CSTNode | None = None) -> list[cst.Call]:
        """The calls of functions of these kinds, or with these full names."""
        found = [(call, self.name(call)) for call in self.find(cst.Call, within)]
        return [call for call, name in found if name in kinds or self.is_kind(call, *kinds)]

    def calls_at(self, line: int) -> list[cst.Call]:
        """The calls a finding at this line can be about: those named on the line, and then all others of
        the innermost statement around it (of a compound statement, its header)."""
        statement = self.statement_at(line)
        if statement is None:
            return []
        body = getattr(statement, "body", None)
        end = self.first_line(body) if isinstance(body, cst.BaseSuite) else None
        near = [
            call
            for call in self.find(cst.Call, statement)
            if end is None or self.name_line(call) < end or self.name_line(call) == line
        ]
        return sorted(near, key=lambda call: self.name_line(call) != line)

    def statement_at(self, line: int) -> Statement | None:
        """The innermost statement whose lines hold this line."""
        around: list[Any] = [
            each for kind in _STATEMENTS for each in self.find(kind) if self.spans(each, line)
        ]
        return max(around, key=self._order, default=None)

    def assigned_to(self, use: cst.CSTNode) -> list[cst.BaseExpression]:
        """Everything that the module assigns to what is written like this: to `rng`, or to `self.rng`."""
        return [
            node.value
            for node in self.find(cst.Assign)
            if any(target.target.deep_equals(use) for target in node.targets)
        ]

    # The seed

    @cached_property
    def seed_constant(self) -> tuple[str, Any] | None:
        """The module's own constant for a seed: its name, and the statement at its top level that sets it."""
        for statement in self.tree.body:
            small = only_statement(statement)
            target = small.targets[0].target if isinstance(small, cst.Assign) else None
            if not isinstance(target, cst.Name) or not _SEED_NAME.fullmatch(target.value):
                continue
            value = getattr(small, "value", None)
            once = len(self.scope(target)[target.value]) == 1
            if once and isinstance(value, cst.Integer) and value.evaluated_value < 2**32:
                return target.value, statement
        return None

    @cached_property
    def seed_number(self) -> int:
        """That of the module's constant, or the one that was asked for, or that of its other seeds, or 42."""
        if self.seed_constant is not None:
            return int(cst.ensure_type(self.seed_constant[1].body[0].value, cst.Integer).evaluated_value)
        if self._seed is not None:
            return self._seed
        for call in self.calls(Kind.SEED):
            value = call.args[0].value if call.args else None
            values = self.assigned_to(value) if isinstance(value, cst.Name) else []
            value = values[-1] if values else value
            if isinstance(value, cst.Integer) and value.evaluated_value < 2**32:
                return value.evaluated_value
        return SEED

    def seed(self, user: cst.CSTNode, plus: int = 0) -> str:
        """A seed as it is written where `user` stands: the module's constant where that is set above, or a number."""
        self.seeds_written += 1
        if self.seed_constant is not None:
            name, statement = self.seed_constant
            if self.last_line(statement) < self.first_line(user) and self._means(name, user):
                return f"{name} + {plus}" if plus else name
        return str(self.seed_number + plus)

    def _means(self, name: str, user: cst.CSTNode) -> bool:
        """Whether a name means at this place what it means at the top level."""
        functions = [each for each in self.ancestors(user) if isinstance(each, cst.FunctionDef | cst.Lambda)]
        inner = (
            node.value for each in functions for node in self.find(cst.Name, each) if self._is_bound(node)
        )
        return name not in inner

    def _is_bound(self, node: cst.Name) -> bool:
        return isinstance(self.parent[node], cst.Param | cst.AssignTarget | cst.For | cst.NamedExpr)

    # Names

    def name(self, node: cst.CSTNode | None) -> str | None:
        """The full name of an expression, or of what a call calls: `numpy.random.rand`, `builtins.sorted`.
        None for what is neither imported nor a built-in."""
        dotted = base = node.func if isinstance(node, cst.Call) else node
        while isinstance(base, cst.Attribute):
            base = base.value
        found = self._qualified.get(dotted, ()) if dotted is not None and isinstance(base, cst.Name) else ()
        return _only(found() if callable(found) else found)

    def known(self, node: cst.CSTNode | None) -> Known | None:
        """What is known about what an expression is, or what a call calls."""
        return known(self.name(node))

    def is_kind(self, node: cst.CSTNode | None, *kinds: Kind | str) -> bool:
        found = self.known(node)
        return found is not None and found.kind in kinds

    def scope(self, node: cst.CSTNode) -> Scope:
        found = self._scopes[node]
        found = found() if callable(found) else found
        assert isinstance(found, Scope)
        return found

    def given_by(self, dotted: str) -> list[Import]:
        """The imports that give exactly this name, where nothing else is given the same local name."""
        return [
            each
            for each in self.imports
            if canonical(each.dotted) == dotted
            and _only(self.scope(each.statement).get_qualified_names_for(each.local)) == dotted
        ]

    def spelled(self, dotted: str, user: cst.CSTNode | None = None) -> Spelling | None:
        """How a full name can be written here, where `user` stands, by the imports that the module has.

        Without a user, an import at the top of the module is preferred to one in a function.
        """
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            given = self.given_by(".".join(parts[:length]))
            inner = [each for each in given if self.function(each.statement) is not None]
            usable = [
                each for each in inner if user is None or self.inside(user, self.function(each.statement))
            ]
            for best in [each for each in given if each not in inner] + usable:
                return Spelling(".".join([best.local, *parts[length:]]), best.statement)
        return None

    def free(self, *wishes: str) -> str:
        """The first of these names that the module does not use, for a new variable."""
        numbered = (f"{wishes[0]}_{number}" for number in count(2))
        return next(filter(self.is_free, chain(wishes, numbered)))

    def is_free(self, name: str) -> bool:
        used = any(node.value == name and not self.is_label(node) for node in self.find(cst.Name))
        return not used and all(each.local != name for each in self.imports)

    def is_label(self, node: cst.Name) -> bool:
        """Whether a name is that of an attribute or an argument, or part of an import."""
        outer = self.parent[node]
        label = getattr(outer, "attr", None) or getattr(outer, "keyword", None)
        return label is node or self.outer(node, cst.Import, cst.ImportFrom) is not None

    def _imports(self) -> Iterator[Import]:
        for node in self.find(cst.Import):
            for alias in node.names:
                local = alias.evaluated_alias or root(alias.evaluated_name)
                dotted = alias.evaluated_name if alias.evaluated_alias else local
                yield Import(local, dotted, self.statement(node))
        for origin in self.find(cst.ImportFrom):
            if origin.module is None or origin.relative or isinstance(origin.names, cst.ImportStar):
                continue
            for alias in origin.names:
                dotted = f"{self.code(origin.module)}.{alias.evaluated_name}"
                yield Import(alias.evaluated_alias or alias.evaluated_name, dotted, self.statement(origin))

    def _does_something(self) -> bool:
        """Whether a file is a program rather than a module for others: it acts when it is run."""
        made: set[str] = set()
        for node in self.tree.body:
            if isinstance(node, cst.If | cst.For | cst.While | cst.With):
                return True
            for small in node.body if isinstance(node, cst.SimpleStatementLine) else ():
                value = getattr(small, "value", None)
                if isinstance(value, cst.Call) and (
                    isinstance(small, cst.Expr) or made & {n.value for n in self.find(cst.Name, value.func)}
                ):
                    return True  # history = model.fit(…), of a model that was made above
                if isinstance(small, cst.Assign):
                    made |= {n.value for target in small.targets for n in self.find(cst.Name, target)}
        return False


@lru_cache(maxsize=8)
def parsed(source: str, is_program: bool | None, seed: int | None = None) -> Module | None:
    """The module of a source text; None when it cannot be parsed."""
    try:
        return Module(source, is_program=is_program, seed=seed)
    except cst.ParserSyntaxError:
        return None


def _only(found: Iterable[QualifiedName]) -> str | None:
    """The one full name that a name can stand for."""
    names = {canonical(each.name) for each in found}
    is_known = all(each.source is not QualifiedNameSource.LOCAL and each.name[0] != "." for each in found)
    return names.pop() if len(names) == 1 and is_known else None


def only_statement(statement: cst.CSTNode | None) -> cst.BaseSmallStatement | None:
    """The simple statement of a line that holds no other."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        return statement.body[0]
    return None


def called_name(call: cst.Call) -> str:
    """The last name of what is called: `map` of `ds.map(…)`."""
    func = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return func.value if isinstance(func, cst.Name) else ""
