"""One file of the user's: its tree, and the questions that every fixer asks about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from twinrun.findings.fixes.fix import Edit
from twinrun.findings.fixes.names import Names
from twinrun.findings.fixes.text import characters, line_starts, newline_of

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Module:
    """A parsed source text. Raises SyntaxError or ValueError when it cannot be parsed."""

    def __init__(self, source: str, *, is_program: bool | None = None) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self.is_program = _does_something(self.tree) if is_program is None else is_program
        self.names = Names(self.tree)
        self.newline = newline_of(source)
        self._starts = line_starts(source)
        self.parent: dict[ast.AST, ast.AST] = {}
        self.named: dict[str, list[ast.AST]] = {}  # everything that uses or binds a name, by the name
        self.attributes: dict[str, list[ast.Attribute]] = {}
        self.assignments: list[ast.Assign] = []
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parent[child] = node
            self._index(node)

    def _index(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self.named.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.arg):
            self.named.setdefault(node.arg, []).append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.named.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Attribute):
            self.attributes.setdefault(node.attr, []).append(node)
        elif isinstance(node, ast.Assign):
            self.assignments.append(node)

    # Places

    def line_start(self, line: int) -> int:
        """Where a line begins; the line after the last one begins at the end."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.source)

    def line_text(self, line: int) -> str:
        return self.source[self.line_start(line) : self.line_start(line + 1)].rstrip("\r\n")

    def start(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> int:
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> int:
        return self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def text(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> str:
        return self.source[self.start(node) : self.end(node)]

    def indent(self, node: ast.stmt) -> str | None:
        """The white space before a statement; None when the statement is not the first thing on its line."""
        before = self.source[self.line_start(node.lineno) : self.start(node)]
        return None if before.strip() else before

    def _offset(self, line: int, column: int) -> int:
        return self.line_start(line) + characters(self.line_text(line), column)

    # The tree

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parent:
            node = self.parent[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that holds a node (a statement holds itself)."""
        for each in (node, *self.ancestors(node)):
            if isinstance(each, ast.stmt):
                return each
        return None

    def function(self, node: ast.AST) -> Function | ast.Lambda | None:
        """The innermost function around a node."""
        for each in self.ancestors(node):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                return each
        return None

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        return next((each for each in self.ancestors(node) if isinstance(each, ast.ClassDef)), None)

    def in_loop(self, node: ast.AST) -> bool:
        """Whether a node can run several times in one call of its function."""
        for each in self.ancestors(node):
            if isinstance(each, LOOPS):
                return True
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                return False
        return False

    def inside(self, node: ast.AST, outer: ast.AST) -> bool:
        return node is outer or any(each is outer for each in self.ancestors(node))

    def same(self, target: ast.expr, use: ast.expr) -> bool:
        """Whether what is assigned to and what is used are written alike: both `rng`, or both `self.rng`."""
        return type(target) is type(use) and ast.unparse(target) == ast.unparse(use)

    def calls(self, within: ast.AST | None = None) -> list[ast.Call]:
        """The calls in a part of the tree, in source order. Those inside f-strings are left out: before
        Python 3.12 their places are not the real ones."""
        found = [
            node
            for node in ast.walk(within or self.tree)
            if isinstance(node, ast.Call)
            and not any(isinstance(a, ast.JoinedStr) for a in self.ancestors(node))
        ]
        return sorted(found, key=lambda call: (self.name_line(call), self.end(call.func)))

    def name_line(self, call: ast.Call) -> int:
        """The line on which the called name stands: in a chain over several lines, not the chain's first."""
        return call.func.end_lineno or call.func.lineno

    def calls_at(self, line: int) -> list[ast.Call]:
        """The calls a finding at this line can be about: those named on the line, and then all others of
        the innermost statement around it (of a compound statement, its header)."""
        statement = self.statement_at(line)
        if statement is None:
            return []
        body = getattr(statement, "body", [])
        first_inner = body[0].lineno if isinstance(body, list) and body else None
        near = [
            call
            for call in self.calls(statement)
            if first_inner is None or self.name_line(call) < first_inner or self.name_line(call) == line
        ]
        exact = [call for call in near if self.name_line(call) == line]
        return exact + [call for call in near if call not in exact]

    def statement_at(self, line: int) -> ast.stmt | None:
        """The innermost statement whose lines hold this line."""
        best: ast.stmt | None = None
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
                best = node if best is None or self.inside(node, best) else best
        return best

    # Edits

    def replace(self, node: ast.expr | ast.stmt | ast.arg, text: str) -> Edit:
        return Edit(self.start(node), self.end(node), text)

    def wrap(self, node: ast.expr, before: str, after: str) -> tuple[Edit, Edit]:
        """Text on both sides of an expression; what is inside, comments included, stays as it is."""
        start, end = self.start(node), self.end(node)
        return Edit(start, start, before), Edit(end, end, after)

    def sort(self, node: ast.expr, key: str = "") -> tuple[Edit, ...]:
        """`sorted(…)` around an expression; `list(…)` around it gives way, as sorted() returns a list."""
        outer = self.parent.get(node)
        alone = isinstance(outer, ast.Call) and outer.args == [node] and not outer.keywords
        if (
            alone
            and isinstance(outer, ast.Call)
            and isinstance(outer.func, ast.Name)
            and outer.func.id == "list"
        ):
            end = self.end(node)
            return (self.replace(outer.func, "sorted"), *([Edit(end, end, key)] if key else []))
        return self.wrap(node, "sorted(", f"{key})")

    def insert_line_before(self, statement: ast.stmt, text: str) -> Edit | None:
        """A new line above a statement, indented like it; None where no line can be put."""
        decorators = getattr(statement, "decorator_list", [])
        indent = self.indent(statement)
        if indent is None or self.text(statement).startswith("elif"):
            return None
        line = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
        at = self.line_start(line)
        return Edit(at, at, f"{indent}{text}{self.newline}")

    def insert_line_after(self, statement: ast.stmt, text: str, indent: str) -> Edit | None:
        """A new line below a statement that ends its line; None when something else follows on that line."""
        last = statement.end_lineno or statement.lineno
        rest = self.source[self.end(statement) : self.line_start(last + 1)].strip()
        if rest and not rest.startswith("#"):
            return None
        at = self.line_start(last + 1)
        if at == len(self.source) and not self.source.endswith(("\n", "\r")):
            return Edit(at, at, f"{self.newline}{indent}{text}")
        return Edit(at, at, f"{indent}{text}{self.newline}")


def _does_something(tree: ast.Module) -> bool:
    """Whether a file is a program rather than a module for others: it acts when it is run."""
    made = {name.id for node in tree.body if isinstance(node, ast.Assign) for name in _names(node.targets)}
    for node in tree.body:
        if isinstance(node, ast.If | ast.For | ast.While | ast.With):
            return True
        value = (
            getattr(node, "value", None) if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) else None
        )
        if isinstance(value, ast.Call) and (
            isinstance(node, ast.Expr) or any(name.id in made for name in _names([value.func]))
        ):
            return True  # history = model.fit(…), of a model that was made above
    return False


def _names(nodes: Sequence[ast.AST]) -> list[ast.Name]:
    return [name for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name)]
