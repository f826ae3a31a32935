"""Which expressions of a module are sets, and where the order of one is used, by the look of the source alone.

The diagnosis asks generously (`certain=False`: a name that is ever assigned a set counts as one), the fixes ask
strictly (`certain=True`: everything that a name is assigned in its function has to be one).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from twinrun.knowledge.functions import SET_METHODS, Kind, is_kind, last, methods_of, names_of

Reference = ast.Name | ast.Attribute
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
_ITERATING_METHODS = methods_of(Kind.ITERATE)
_ORDER_FREE = frozenset(map(last, names_of(Kind.SORT, Kind.REDUCE, Kind.SET)))
_HANDED_ON = frozenset({"list", "tuple", "iter", "map", "filter", "zip"})
_PRINTED = frozenset({"print", "info", "debug", "warning", "write"})
_TEXT_METHODS = frozenset({"lower", "upper", "strip", "title", "casefold", "replace"})
_WORD_METHODS = frozenset({"split", "rsplit", "splitlines"})


@dataclass(frozen=True)
class OrderUse:
    """A place where the order of a set, or a value of hash(), is used."""

    expression: ast.expr  # the set, or the call of hash()
    shown: ast.expr  # what to show of the source
    line: int
    weight: int  # how likely the order matters: 1 when it is only printed, up to 4

    @property
    def is_hash(self) -> bool:
        return _called_name(self.expression) == "hash"


class Sets:
    """The sets of one module."""

    def __init__(self, tree: ast.Module, *, certain: bool = False) -> None:
        self._tree = tree
        self._certain = certain
        self._parent = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._bound: dict[str, list[tuple[ast.AST, ast.expr | None]]] = {}
        for node in self._parent:
            self._note_binding(node)

    def _note_binding(self, node: ast.AST) -> None:
        """What a name or attribute is assigned; None when it is bound in another way."""
        if isinstance(node, ast.arg):
            self._bound.setdefault(node.arg, []).append((node, None))
        elif isinstance(node, Reference) and isinstance(node.ctx, ast.Store):
            outer = self._parent[node]
            if not isinstance(outer, ast.AugAssign):
                value = outer.value if isinstance(outer, ast.Assign | ast.AnnAssign) else None
                self._bound.setdefault(_name(node), []).append((node, value))

    def values_of(self, node: Reference) -> list[ast.expr]:
        """What a name or attribute is assigned; nothing when that cannot be known for certain."""
        bound = self._bound.get(_name(node), [])
        if self._certain:
            bound = [each for each in bound if self._means(node, each[0])]
            if any(value is None for _, value in bound):
                return []
        return [value for _, value in bound if value is not None]

    def _means(self, node: Reference, binding: ast.AST) -> bool:
        """Whether a binding may be one of this very name: in its function, or at the top of the module."""
        if isinstance(node, ast.Attribute) or isinstance(binding, ast.Attribute):
            return isinstance(node, ast.Attribute) and isinstance(binding, ast.Attribute)
        scope = next(self._scopes(node))
        if isinstance(binding, ast.arg):
            return scope in self._scopes(binding)
        return next(self._scopes(binding)) in (scope, self._tree)

    def _scopes(self, node: ast.AST) -> Iterator[ast.AST]:
        """The functions around a node, innermost first, then the module."""
        outer = self._parent.get(node)
        while outer is not None:
            if isinstance(outer, (*_FUNCTIONS, ast.Module)):
                yield outer
            outer = self._parent.get(outer)

    # -- what is a set --------------------------------------------------------------------------------

    def is_set(self, node: ast.AST | None, depth: int = 3) -> bool:
        """Whether an expression is a set. `depth` is how many names it may go through."""
        if isinstance(node, ast.Set):  # numbers hash to themselves
            return not all(
                isinstance(e, ast.Constant) and isinstance(e.value, int | float) for e in node.elts
            )
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, SET_OPERATORS) and (
                self.is_set(node.left, depth) or self.is_set(node.right, depth)
            )
        if isinstance(node, Reference):
            return self._agree([self.is_set(value, depth - 1) for value in self._values(node, depth)])
        if isinstance(node, ast.Subscript):
            return self._holds_sets(node.value, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("get", "setdefault", "pop") and node.args:
                return self._holds_sets(node.func.value, depth)
            if node.func.attr in SET_METHODS and not self._certain:
                return True
            return node.func.attr in {*SET_METHODS, "copy"} and self.is_set(node.func.value, depth)
        return isinstance(node, ast.SetComp) or is_kind(f"builtins.{_called_name(node)}", Kind.SET)

    def _values(self, node: Reference, depth: int) -> list[ast.expr]:
        return self.values_of(node) if depth else []

    def _agree(self, answers: list[bool]) -> bool:
        return bool(answers) and all(answers) if self._certain else any(answers)

    def _holds_sets(self, node: ast.AST, depth: int) -> bool:
        """Whether a dictionary or list has sets as its members, as far as can be read."""
        if isinstance(node, Reference):
            return self._agree([self._holds_sets(value, depth - 1) for value in self._values(node, depth)])
        if isinstance(node, ast.DictComp):
            return self.is_set(node.value, depth)
        if isinstance(node, ast.ListComp):
            return self.is_set(node.elt, depth)
        if isinstance(node, ast.Dict | ast.List):
            members = node.values if isinstance(node, ast.Dict) else node.elts
            return self._agree([self.is_set(member, depth) for member in members])
        if _called_name(node) != "defaultdict" or not isinstance(node, ast.Call):
            return False
        return any(isinstance(a, ast.Name) and a.id in ("set", "frozenset") for a in node.args)

    # -- where its order is used ----------------------------------------------------------------------

    def order_uses(self) -> list[OrderUse]:
        """Every place where the order of a set, or a value of hash(), is used."""
        return [use for node in self._parent for use in self._order_uses(node) if use.weight]

    def _order_uses(self, node: ast.AST) -> Iterator[OrderUse]:
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            if self.is_set(node.iter):
                line = node.iter.lineno if isinstance(node, ast.comprehension) else node.lineno
                yield OrderUse(node.iter, node.iter, line, self._weight_of_use(node))
        elif isinstance(node, ast.Starred):
            if self.is_set(node.value):
                yield OrderUse(node.value, node, node.lineno, min(3, self._weight_of_use(node)))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _ITERATING_METHODS:
                yield from self._arguments(node)
            elif node.func.attr == "pop" and not node.args and self.is_set(node.func.value):
                yield OrderUse(node.func.value, node, node.lineno, min(3, self._weight_of_use(node)))
        elif isinstance(node, ast.Call):
            if _called_name(node) == "hash":
                yield OrderUse(node, node, node.lineno, 3)
            elif is_kind(f"builtins.{_called_name(node)}", Kind.ITERATE):
                yield from self._arguments(node)

    def _arguments(self, call: ast.Call) -> Iterator[OrderUse]:
        for argument in call.args:
            if self.is_set(argument):
                yield OrderUse(argument, call, call.lineno, self._weight_of_use(call))

    def _weight_of_use(self, node: ast.AST) -> int:
        """How likely an order matters, by what is done with it: 0 when it is sorted away, 1 when it is printed."""
        outer = self._parent.get(node)
        while outer is not None:
            if isinstance(outer, ast.SetComp | ast.Set):
                return 0
            name = _called_name(outer)
            if name in _ORDER_FREE:
                return 0
            if name in _PRINTED:
                return 1
            is_call = isinstance(outer, ast.Call)
            passes_on = ast.GeneratorExp | ast.ListComp | ast.Starred | ast.keyword
            if name not in _HANDED_ON if is_call else not isinstance(outer, passes_on):
                return 4
            outer = self._parent.get(outer)
        return 4

    # -- what it holds --------------------------------------------------------------------------------

    def holds_text(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether every element of a set is known to be a string, so that they can be sorted; `seen` are the
        names on the way to it, for sets that are made from themselves."""
        if isinstance(node, ast.Name):
            values = [] if node.id in seen else self.values_of(node)
            return all(self.holds_text(each, seen | {node.id}) for each in values) and not self._grows(node)
        if isinstance(node, ast.Set):
            return all(map(_is_literal_text, node.elts))
        if isinstance(node, ast.SetComp):
            return _is_text(node.elt)
        if isinstance(node, ast.BinOp):
            return self.holds_text(node.left, seen) and self.holds_text(node.right, seen)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            return _are_words(node.args[0])
        return False

    def _grows(self, name: ast.Name) -> bool:
        """Whether anything is put into the set after it was made."""
        return any(
            isinstance(node, ast.Attribute)
            and node.attr in ("add", "update")
            and isinstance(node.value, ast.Name)
            and node.value.id == name.id
            for node in self._parent
        )


def _name(node: Reference) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _called_name(node: ast.AST | None) -> str:
    """The last name of what a call calls; empty for anything but a call."""
    called = node.func if isinstance(node, ast.Call) else None
    return _name(called) if isinstance(called, Reference) else ""


def _is_literal_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _TEXT_METHODS
    return isinstance(node, ast.JoinedStr) or _is_literal_text(node)


def _are_words(node: ast.expr) -> bool:
    """`text.split()`, `text.splitlines()`, a literal text, a list of literal texts."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _WORD_METHODS
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(_is_literal_text, node.elts))
    return _is_literal_text(node)
