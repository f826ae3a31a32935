"""The program's own source, read for what no ledger can see: iteration over sets, hash(), id(), and draws from
generator objects."""

from __future__ import annotations

import ast
from functools import cached_property
from pathlib import Path

from twinrun.launch.program import Program

Place = tuple[str, int, str]  # file, line, what is written there
# Methods by which a generator is drawn from: NumPy's, and those of Python's random.Random.
_DRAWS = {
    "random", "random_sample", "rand", "randn", "randint", "integers", "normal", "standard_normal", "uniform", "choice",
    "choices", "sample", "shuffle", "permutation", "permuted", "exponential", "poisson", "binomial", "beta", "gamma",
    "gauss", "normalvariate", "triangular", "randrange", "getrandbits", "multinomial", "dirichlet", "laplace", "lognormal",
}  # fmt: skip


class Source:
    """The files of the program: its script, and the modules beside it that it may import."""

    def __init__(self, program: Program, files: set[str] | None = None) -> None:
        self._program = program
        self._files = files or set()

    @cached_property
    def trees(self) -> list[tuple[str, ast.Module]]:
        found = []
        for path in self._paths():
            try:
                found.append((str(path), ast.parse(path.read_bytes())))
            except (OSError, SyntaxError, ValueError):
                continue
        return found

    def _paths(self) -> list[Path]:
        paths = [Path(file) for file in sorted(self._files)]
        script = self._script()
        if script is not None:
            paths = [
                script,
                *(p for p in sorted(script.parent.glob("*.py"))[:200] if self._imported(p, script)),
                *map(Path, self._followed[1]),
                *paths,
            ]
        return list(dict.fromkeys(path.resolve() for path in paths if path.is_file()))

    def _script(self) -> Path | None:
        if not self._program.module:
            path = Path(self._program.target)
            return path / "__main__.py" if path.is_dir() else path
        relative = Path(*self._program.target.split("."))
        for path in (relative.with_suffix(".py"), relative / "__main__.py"):
            if path.is_file():
                return path
        return None

    def _imported(self, path: Path, script: Path) -> bool:
        """A neighbour counts when the script, or a package around it, names it."""
        if path == script:
            return False
        try:
            return path.stem in script.read_text(errors="replace") or self._program.module
        except OSError:
            return False

    @cached_property
    def _followed(self) -> tuple[list[tuple[str, int]], tuple[str, ...]]:
        """What the audit says of the source: where the order of hashes reaches training, and which files it read."""
        script = self._script()
        if script is None or not script.is_file():
            return [], ()
        from twinrun.audit.source_audit import audit_source

        try:
            audit = audit_source([script], self._program.arguments)
        except Exception:  # a second opinion: whatever becomes of it, the diagnosis goes on
            return [], ()
        hashes = [f for f in audit.findings if f.code == "TW301" and f.file and f.line]
        return [(str(Path(str(f.file)).resolve()), int(f.line or 0)) for f in hashes], audit.files_read

    def hash_order(self) -> list[Place]:
        """Where a set is turned into a sequence, or hash() is called: where the audit can follow it into training first,
        then those that look most like data."""
        found: list[tuple[int, Place]] = []
        for file, tree in self.trees:
            sets = _set_names(tree)
            parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
            for node in ast.walk(tree):
                weight = _order_weight(node, sets)
                if weight and (weight := min(weight, _used_weight(node, parents))):
                    line = getattr(node, "lineno", None) or _shown(node).lineno  # type: ignore[attr-defined]
                    found.append((weight, (file, line, ast.unparse(_shown(node)).partition("\n")[0][:80])))
        reaching = self._followed[0]
        return [
            p for _, p in sorted(found, key=lambda item: ((item[1][0], item[1][1]) not in reaching, -item[0]))
        ]

    def addresses(self) -> list[Place]:
        """Where the address of an object is asked for: `id(x)`, and `id` handed on as a key."""
        return [
            (file, node.lineno, ast.unparse(node).partition("\n")[0][:80])
            for file, tree in self.trees
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and _asks_address(node)
        ]

    def draws_of_class(self, file: str, line: int) -> list[Place]:
        """Where the class around a line draws from a generator object, in the method at that line first."""
        for path, tree in self.trees:
            if path != str(Path(file).resolve()):
                continue
            for owner in (
                node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _spans(node, line)
            ):
                found = [
                    (path, node.lineno, ast.unparse(node).partition("\n")[0][:80])
                    for node in ast.walk(owner)
                    if isinstance(node, ast.Call) and _draws_from_object(node)
                ]
                method = next(
                    (m for m in owner.body if isinstance(m, ast.FunctionDef) and _spans(m, line)), owner
                )
                return sorted(found, key=lambda place: (not _spans(method, place[1]), place[1]))
        return []


def _asks_address(call: ast.Call) -> bool:
    handed_on = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "key")]
    called = isinstance(call.func, ast.Name) and call.func.id == "id" and len(call.args) == 1
    return called or any(isinstance(value, ast.Name) and value.id == "id" for value in handed_on)


def _spans(node: ast.AST, line: int) -> bool:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(d.lineno for d in decorators)])  # type: ignore[attr-defined]
    return bool(first <= line <= (node.end_lineno or first))  # type: ignore[attr-defined]


def _draws_from_object(call: ast.Call) -> bool:
    """`self.rng.normal()`, `RNG.choice()`; not `np.random.normal()` or `random.choice()`, which the ledger sees."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _DRAWS:
        return False
    owner = call.func.value
    if isinstance(owner, ast.Attribute):
        return not (owner.attr == "random" and isinstance(owner.value, ast.Name) and owner.value.id != "self")
    return isinstance(owner, ast.Name) and owner.id not in ("random", "np", "numpy", "tf", "keras")


def _is_set(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Set):  # numbers hash to themselves
        return not all(isinstance(e, ast.Constant) and isinstance(e.value, int | float) for e in node.elts)
    if isinstance(node, ast.SetComp):
        return True
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Attribute):
        return node.attr in names
    if isinstance(node, ast.Subscript):  # a set kept in a dictionary or a list
        return _is_set_of_sets(node.value, names)
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in ("get", "setdefault", "pop") and node.args:
            return _is_set_of_sets(called.value, names)
        if isinstance(called, ast.Name):
            return called.id in ("set", "frozenset")
        return isinstance(called, ast.Attribute) and called.attr in (
            "union",
            "intersection",
            "difference",
            "symmetric_difference",
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)):
        return _is_set(node.left, names) or _is_set(node.right, names)
    return False


def _is_set_of_sets(node: ast.AST, names: set[str]) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
    return name is not None and f"{name}[]" in names


def _holds_sets(node: ast.AST, names: set[str]) -> bool:
    """A dictionary or list whose members are sets, as far as can be read."""
    if isinstance(node, ast.DictComp):
        return _is_set(node.value, names)
    if isinstance(node, ast.Dict):
        return any(value is not None and _is_set(value, names) for value in node.values)
    if isinstance(node, ast.List):
        return any(_is_set(member, names) for member in node.elts)
    if isinstance(node, ast.ListComp):
        return _is_set(node.elt, names)
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        return called == "defaultdict" and any(
            isinstance(a, ast.Name) and a.id in ("set", "frozenset") for a in node.args
        )
    return False


def _set_names(tree: ast.AST) -> set[str]:
    """Names and attributes that a set is ever assigned to."""
    names: set[str] = set()
    for _ in range(2):  # a name may get its set from another name
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                targets, value = node.targets, node.value
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                targets, value = [node.target], node.value
            else:
                continue
            mark = "" if _is_set(value, names) else "[]" if _holds_sets(value, names) else None
            if mark is None:
                continue
            for target in targets:
                if isinstance(target, ast.Name):
                    names.add(target.id + mark)
                elif isinstance(target, ast.Attribute):
                    names.add(target.attr + mark)
    return names


def _order_weight(node: ast.AST, sets: set[str]) -> int:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "hash":
            return 3
        if node.func.id in ("enumerate", "list", "tuple", "iter", "zip", "map", "next") and any(
            _is_set(a, sets) for a in node.args
        ):
            return 4
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in (
            "join",
            "array",
            "fromiter",
            "constant",
            "extend",
            "from_tensor_slices",
            "StringLookup",
        ) and any(_is_set(a, sets) for a in node.args):
            return 4
        if node.func.attr == "pop" and not node.args and _is_set(node.func.value, sets):
            return 3
    if isinstance(node, (ast.For, ast.comprehension)) and _is_set(node.iter, sets):
        return 4
    if isinstance(node, ast.Starred) and _is_set(node.value, sets):
        return 3
    return 0


# What comes out of these does not depend on the order of what goes in.
_ORDER_FREE = {"sorted", "len", "min", "max", "any", "all", "set", "frozenset", "Counter"}
_PASSED_ON = (ast.GeneratorExp, ast.ListComp, ast.Starred, ast.keyword)


def _used_weight(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> int:
    """How much an order may matter, by what is done with it: nothing when it is sorted away, little when printed."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hash":
        return 3  # a value, not an order
    above = parents.get(node)
    while above is not None:
        if isinstance(above, ast.SetComp):
            return 0
        if isinstance(above, ast.Call):
            called = above.func.id if isinstance(above.func, ast.Name) else getattr(above.func, "attr", "")
            if called in _ORDER_FREE:
                return 0
            if called in ("print", "info", "debug", "warning", "write"):
                return 1
            if called not in ("list", "tuple", "iter", "map", "filter", "zip"):
                return 4
        elif not isinstance(above, _PASSED_ON):
            return 4
        above = parents.get(above)
    return 4


def _shown(node: ast.AST) -> ast.AST:
    return node.iter if isinstance(node, (ast.For, ast.comprehension)) else node
