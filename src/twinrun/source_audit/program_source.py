"""The source of a program that is being diagnosed, read for what no event shows: iteration over sets, hash(), id(),
and draws from generator objects."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from twinrun.findings.finding import Finding
from twinrun.knowledge.functions import DRAW_METHODS
from twinrun.knowledge.set_order import Sets
from twinrun.source_audit.audit import SourceAudit, audit_source
from twinrun.source_audit.program_files import Sources

Place = tuple[str, int, str]  # file, line, what is written there
_MODULES = ("random", "np", "numpy", "tf", "keras")  # whose draws the event log shows
_MOST_NEIGHBOURS = 200


@dataclass(frozen=True)
class ProgramSource:
    """The files of a program: its script, the modules of its own that it imports, and `files` besides."""

    script: Path | None
    arguments: tuple[str, ...] = ()
    module: bool = False
    files: Iterable[str] = ()
    patched: Mapping[str, str] = field(
        default_factory=dict
    )  # absolute path: the text that the twins saw there

    @cached_property
    def trees(self) -> list[tuple[str, ast.Module]]:
        read = Sources(patched=self.patched).read
        return [(str(path), found.tree) for path in self._paths() if (found := read(path)) is not None]

    def _paths(self) -> list[Path]:
        paths = [Path(file) for file in sorted(self.files)]
        if self.script is not None and self.script.is_file():
            # A neighbour counts when the script, or a package around it, names it.
            text = self.script.read_text(errors="replace")
            neighbours = sorted(self.script.parent.glob("*.py"))[:_MOST_NEIGHBOURS]
            imported = [path for path in neighbours if self.module or path.stem in text]
            paths = [
                self.script,
                *imported,
                *map(Path, self._audit.files_read if self._audit else ()),
                *paths,
            ]
        return list(dict.fromkeys(path.resolve() for path in paths if path.is_file()))

    @cached_property
    def _audit(self) -> SourceAudit | None:
        if self.script is None or not self.script.is_file():
            return None
        try:
            return audit_source([self.script], self.arguments, self.patched)
        except Exception:  # a second opinion: without it the diagnosis goes on
            return None

    def audited(self) -> tuple[Finding, ...]:
        """What the audit of the source finds."""
        return self._audit.findings if self._audit is not None else ()

    def hash_order(self) -> list[Place]:
        """Where a set is turned into a sequence, or hash() is called: first where the audit can follow it into
        training, then where it looks most like data."""
        hashes = [each for each in self.audited() if each.code == "TW301"]
        reaching = [(str(Path(each.file).resolve()), each.line) for each in hashes if each.file]
        found: dict[Place, int] = {}
        for file, tree in self.trees:
            for use in Sets(tree).order_uses():
                found.setdefault((file, use.line, _text(use.shown)), use.weight)
            # Sets that come there from elsewhere, such as a parameter.
            followed = {line for path, line in reaching if path == file}
            followed -= {line for path, line, _ in found if path == file}
            for node in ast.walk(tree):
                if isinstance(node, ast.stmt | ast.expr) and node.lineno in followed:
                    followed.remove(node.lineno)
                    found[file, node.lineno, _text(node)] = 0
        return sorted(found, key=lambda place: (place[:2] not in reaching, -found[place]))

    def addresses(self) -> list[Place]:
        """Where the address of an object is used: `id(x)`, and `id` passed on as a key."""
        return [
            (file, node.lineno, _text(node))
            for file, tree in self.trees
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and _asks_address(node)
        ]

    def draws_of_class(self, file: str, line: int) -> list[Place]:
        """Where the class around a line draws from a generator object, in the method at that line first."""
        wanted = str(Path(file).resolve())
        for tree in (tree for path, tree in self.trees if path == wanted):
            for owner in ast.walk(tree):
                if not isinstance(owner, ast.ClassDef) or not _spans(owner, line):
                    continue
                calls = [node for node in ast.walk(owner) if isinstance(node, ast.Call)]
                found = [(wanted, call.lineno, _text(call)) for call in calls if _draws_from_object(call)]
                methods = (each for each in owner.body if isinstance(each, ast.FunctionDef))
                method = next((each for each in methods if _spans(each, line)), owner)
                return sorted(found, key=lambda place: (not _spans(method, place[1]), place[1]))
        return []


def _text(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0][:80]


def _asks_address(call: ast.Call) -> bool:
    passed = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "key")]
    called = isinstance(call.func, ast.Name) and call.func.id == "id" and len(call.args) == 1
    return called or any(isinstance(value, ast.Name) and value.id == "id" for value in passed)


def _spans(node: ast.ClassDef | ast.FunctionDef, line: int) -> bool:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first <= line <= (node.end_lineno or first)


def _draws_from_object(call: ast.Call) -> bool:
    """`self.rng.normal()`, `RNG.choice()`; not `np.random.normal()` or `random.choice()`, which are logged."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in DRAW_METHODS:
        return False
    owner = call.func.value
    if isinstance(owner, ast.Attribute):
        return not (owner.attr == "random" and isinstance(owner.value, ast.Name) and owner.value.id != "self")
    return isinstance(owner, ast.Name) and owner.id not in _MODULES
