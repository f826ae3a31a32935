"""What a name in the source stands for: `np.random.rand` is `numpy.random.rand`, `tf.keras` is `keras`.

Only imports are believed. A name that is also bound in another way stands for nothing we know.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

_SAME = (
    ("tensorflow.compat.v2.", "tensorflow."),
    ("tensorflow.keras.", "keras."),
    ("tf_keras.", "keras."),
    ("keras.api.", "keras."),
    ("tensorflow.random.experimental.Generator.", "tensorflow.random.Generator."),
    ("tensorflow.data.experimental.sample_from_datasets", "tensorflow.data.Dataset.sample_from_datasets"),
)


@dataclass(frozen=True)
class Import:
    """One imported name: what it is called here, what it stands for, and the statement that brought it."""

    local: str
    dotted: str
    node: ast.Import | ast.ImportFrom


class Names:
    """The imported names of one module."""

    def __init__(self, tree: ast.Module) -> None:
        self.imports: list[Import] = []
        self.bound_otherwise: set[str] = set()
        self.used: set[str] = set()
        for node in ast.walk(tree):
            self._note(node)
        meanings: dict[str, set[str]] = {}
        for each in self.imports:
            meanings.setdefault(each.local, set()).add(canonical(each.dotted))
        self._meaning = {
            local: next(iter(dotted))
            for local, dotted in meanings.items()
            if len(dotted) == 1 and local not in self.bound_otherwise
        }

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                dotted = alias.name if alias.asname else alias.name.partition(".")[0]
                self.imports.append(Import(alias.asname or dotted, dotted, node))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if node.level:  # from the user's own package
                    self.bound_otherwise.add(alias.asname or alias.name)
                else:
                    self.imports.append(
                        Import(alias.asname or alias.name, f"{node.module}.{alias.name}", node)
                    )
        elif isinstance(node, ast.Name):
            self.used.add(node.id)
            if not isinstance(node.ctx, ast.Load):
                self.bound_otherwise.add(node.id)
        elif isinstance(node, ast.arg):
            self.bound_otherwise.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
            self.bound_otherwise |= {node.name} if node.name else set()

    def dotted(self, node: ast.AST | None) -> str | None:
        """The full name of an expression such as `tf.random.uniform`, or None."""
        if isinstance(node, ast.Name):
            return self._meaning.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return None if base is None else canonical(f"{base}.{node.attr}")
        return None

    def called(self, node: ast.AST | None) -> str | None:
        """The full name of what a call calls."""
        return self.dotted(node.func) if isinstance(node, ast.Call) else None

    def meaning(self, local: str) -> str | None:
        return self._meaning.get(local)

    def given_by(self, dotted: str) -> list[Import]:
        """The imports that give exactly this name."""
        return [each for each in self.imports if self._meaning.get(each.local) == dotted]

    def free(self, *wishes: str) -> str:
        """The first of these names that the module does not use, for a new variable."""
        taken = self.used | self.bound_otherwise | {each.local for each in self.imports}
        for wish in wishes:
            if wish not in taken:
                return wish
        number = 2
        while f"{wishes[0]}_{number}" in taken:
            number += 1
        return f"{wishes[0]}_{number}"


def canonical(dotted: str) -> str:
    for other, usual in _SAME:
        if dotted.startswith(other):
            dotted = usual + dotted[len(other) :]
        elif dotted + "." == other:
            dotted = usual[:-1]
    return dotted
