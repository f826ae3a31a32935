"""The program's own modules: which files they are, how they import one another. Nothing is executed."""

from __future__ import annotations

import ast
import io
import os
import re
import sys
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from twinrun.errors import BadNotebook
from twinrun.findings.finding import spelled
from twinrun.knowledge.functions import Kind, methods_of, root
from twinrun.notebooks import SUFFIX, is_notebook
from twinrun.notebooks.notebook import source_of

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "build", "dist"})
# Calls into these at module level do something, or draw something, when the module is imported.
_ACTIVE_PACKAGES = frozenset(
    {"random", "numpy", "tensorflow", "keras", "tf_keras", "os", "time", "datetime", "uuid", "secrets"}
    | {"twinrun", "sklearn", "pandas", "scipy", "glob", "pathlib"}
)
_TEST_FILE = re.compile(r"test_.*\.py$|.*_test\.py$|conftest\.py$")
_TRAINING_METHODS = methods_of(Kind.TRAIN) - {"partial_fit"} | {"apply_gradients", "minimize", "gradient"}


@dataclass(frozen=True)
class Problem:
    """A file that could not be judged, and why."""

    file: str
    reason: str
    line: int | None = None
    cell: int | None = None  # of a notebook: the line is one of this cell

    def __str__(self) -> str:
        return f"{spelled(self.file, self.line, self.cell)}: {self.reason}"


@dataclass(eq=False)
class Module:
    """One file of the program, parsed."""

    name: str
    path: Path
    shown: str
    tree: ast.Module
    source: bytes

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @cached_property
    def text(self) -> str:
        return decode(self.source)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """The dotted name behind each name that a module-level import binds."""
        bound: dict[str, str] = {}
        for node in top_level(self.tree.body):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound[alias.asname or root(alias.name)] = alias.name
            elif isinstance(node, ast.ImportFrom):
                base = absolute(self.package, node.module, node.level)
                for alias in node.names:
                    bound[alias.asname or alias.name] = f"{base}.{alias.name}"
        return bound

    @cached_property
    def imports(self) -> tuple[str, ...]:
        """Every dotted name that importing the file imports."""
        return tuple(dict.fromkeys(self.aliases.values()))

    def mentions(self, word: str) -> bool:
        return word.encode() in self.source

    @cached_property
    def quiet(self) -> bool:
        """Whether importing it only defines things, as far as can be seen without following calls."""
        own = {node.name for node in self.tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        active = own | {name for name, dotted in self.aliases.items() if root(dotted) in _ACTIVE_PACKAGES}
        return not any(_first_name(call) in active for call in self._calls)

    @property
    def _calls(self) -> list[ast.Call]:
        """The calls that importing the file makes."""
        return [node for node in top_level(self.tree.body) if isinstance(node, ast.Call)]

    @cached_property
    def has_main_guard(self) -> bool:
        conditions = [node.test for node in top_level(self.tree.body) if isinstance(node, ast.If)]
        names = (inner for test in conditions for inner in ast.walk(test) if isinstance(inner, ast.Name))
        return self.path.name == "__main__.py" or any(name.id == "__name__" for name in names)

    @cached_property
    def is_entry(self) -> bool:
        """Whether it is written to be run: it has a main guard, or its module level does more than define."""
        if self.has_main_guard or is_notebook(self.path):
            return True
        if _TEST_FILE.match(self.path.name):  # run by a test runner, which imports it
            return False
        called = (call.func for call in self._calls)
        trains = (isinstance(each, ast.Attribute) and each.attr in _TRAINING_METHODS for each in called)
        return not self.quiet or any(trains)


def _first_name(node: ast.expr) -> str:
    """The name that a chain of attributes, calls and subscripts begins with."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def absolute(package: str, module: str | None, level: int) -> str:
    """The dotted name that `from ..module import x` in `package` means."""
    if level == 0:
        return module or ""
    base = package.split(".")
    return ".".join(filter(None, [*base[: len(base) - level + 1], module]))


def top_level(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Every node that is evaluated when a module is imported: not the bodies of functions and classes."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if not isinstance(node, (*_DEFINITIONS, ast.Lambda)):
            yield node
            pending.extend(ast.iter_child_nodes(node))


def decode(source: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode(encoding, errors="replace")
    except (SyntaxError, LookupError):
        return source.decode("utf-8", errors="replace")


def shown_path(path: Path) -> str:
    """The path as the user would write it: relative to here when it lies here."""
    here = Path.cwd()
    full = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links away from the user's tree
    try:
        return full.relative_to(here).as_posix()
    except ValueError:
        return full.as_posix()


def python_files(directory: Path) -> list[Path]:
    """Every .py file and notebook below a directory, in order; environments, caches and hidden folders are passed over."""
    found: list[Path] = []
    for folder, folders, names in os.walk(directory):
        shown = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        folders[:] = sorted(name for name in shown if not Path(folder, name, "pyvenv.cfg").exists())
        found.extend(Path(folder) / name for name in sorted(names) if name.endswith((".py", SUFFIX)))
    return found


@dataclass(frozen=True)
class Roots:
    """Where the imports of a program are looked for.

    `beside` is the folder of the script, where python looks first. When the script lies in a package, `above`
    is the folder that holds the outermost package, and only `package` itself is looked for there: its
    neighbours (think of site-packages) are not the program's own. `also` are folders of the user's project,
    which may be on the path of python in ways that cannot be seen here.
    """

    beside: str
    above: str | None = None
    package: str | None = None
    also: tuple[str, ...] = ()

    def folders(self, dotted: str) -> Iterator[str]:
        top = root(dotted)
        if self.above is None or top not in sys.stdlib_module_names:
            yield self.beside
        if self.above is not None and top == self.package:
            yield self.above
        if top not in sys.stdlib_module_names:
            yield from self.also


@dataclass(eq=False)
class Sources:
    """The files of one audit: each is read and parsed once, whoever imports it."""

    also: tuple[str, ...] = ()  # folders of the user's project, where imports are looked for last
    patched: Mapping[str, str] = field(
        default_factory=dict
    )  # absolute path: the text to read instead of the file's
    problems: list[Problem] = field(default_factory=list)
    _by_path: dict[str, Module | None] = field(default_factory=dict)
    _found: dict[tuple[str, Roots], Module | None] = field(default_factory=dict)
    _quiet: dict[int, bool] = field(default_factory=dict)

    @property
    def modules(self) -> list[Module]:
        return [module for module in self._by_path.values() if module is not None]

    def read(self, path: Path, name: str | None = None) -> Module | None:
        """Parse a file; a file that cannot be read or parsed becomes a problem, and None."""
        key = os.path.abspath(path)  # noqa: PTH100
        if key not in self._by_path:
            self._by_path[key] = self._parse(Path(key), name)
        return self._by_path[key]

    def _parse(self, path: Path, name: str | None) -> Module | None:
        shown = shown_path(path)
        try:
            source = source_of(path, self.patched)
        except (OSError, ValueError) as error:
            self.problems.append(
                Problem(shown, f"cannot be read: {getattr(error, 'strerror', None) or error}")
            )
            return None
        except BadNotebook as error:
            hint = f" ({error.hint})" if error.hint else ""
            self.problems.append(Problem(shown, f"{error.message}{hint}"))
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source, filename=shown)
        except SyntaxError as error:
            self.problems.append(Problem(shown, f"syntax error: {error.msg}", error.lineno))
            return None
        except (ValueError, RecursionError, MemoryError) as error:
            self.problems.append(Problem(shown, f"cannot be parsed: {error}"))
            return None
        return Module(name or dotted_name(path), path, shown, tree, source)

    def roots(self, module: Module) -> Roots:
        """Where the imports of a module are looked for, when it is the one that is run."""
        return roots_of(module.path, self.also)

    def find(self, dotted: str, roots: Roots) -> Module | None:
        """The program's own module of this name, looked for where python would look."""
        key = (dotted, roots)
        if key not in self._found:
            bases = [Path(base, *dotted.split(".")) for base in roots.folders(dotted) if dotted]
            candidates = (each for base in bases for each in (base / "__init__.py", base.with_suffix(".py")))
            path = next(filter(Path.is_file, candidates), None)
            self._found[key] = None if path is None else self.read(path, dotted)
        return self._found[key]

    def is_folder(self, dotted: str, roots: Roots) -> bool:
        """Whether the name is a namespace package: a folder with Python files and no __init__.py."""
        folders = (Path(base, *dotted.split(".")) for base in roots.folders(dotted))
        return any(folder.is_dir() and any(folder.glob("*.py")) for folder in folders)

    def imported(self, module: Module, roots: Roots) -> Iterator[Module]:
        """The modules of the program that importing this one imports directly."""
        for name in module.imports:
            found = self.find(name, roots) or self.find(name.rpartition(".")[0], roots)
            if found is not None:
                yield found

    def closure(self, module: Module, roots: Roots) -> Iterator[Module]:
        """The module and every module of the program that importing it imports, nearest first."""
        seen = {id(module)}
        pending = [module]
        for current in pending:  # grows meanwhile
            yield current
            for found in self.imported(current, roots):
                if id(found) not in seen:
                    seen.add(id(found))
                    pending.append(found)

    def is_quiet(self, module: Module, roots: Roots) -> bool:
        """Whether importing the module, with all it imports of the program, only defines things."""
        if id(module) in self._quiet:
            return self._quiet[id(module)]
        closure: list[int] = []
        for current in self.closure(module, roots):
            closure.append(id(current))
            if not (current.quiet and self._quiet.get(id(current), True)):
                self._quiet[id(module)] = False
                return False
        self._quiet.update(dict.fromkeys(closure, True))  # so is everything it imports
        return True


def _packages(path: Path) -> list[Path]:
    """The folders around a file that are packages, the outermost first."""
    found: list[Path] = []
    for folder in path.parents:
        if not (folder / "__init__.py").is_file():
            break
        found.insert(0, folder)
    return found


def dotted_name(path: Path) -> str:
    """The name of a file's module: with its packages, as far up as there are __init__.py files."""
    names = [folder.name for folder in _packages(path)]
    return ".".join([*names, *([] if path.name == "__init__.py" else [path.stem])]) or path.stem


def roots_of(path: Path, also: tuple[str, ...] = ()) -> Roots:
    """Where the imports of a file are looked for."""
    packages = _packages(path)
    if not packages:
        return Roots(str(path.parent), also=also)
    return Roots(str(path.parent), str(packages[0].parent), packages[0].name, also)


def find_script(target: str, *, module: bool) -> Path | None:
    """The file that python would run for this script, folder or (with `module`) module; None when it is not here."""
    path = Path(*target.split(".")) if module else Path(target)
    if not module:
        return path / "__main__.py" if path.is_dir() else path
    return next(filter(Path.is_file, (path / "__main__.py", path.with_suffix(".py"))), None)


def project_folders(*folders: Path) -> tuple[str, ...]:
    """The folders of a project in which its packages lie; a package itself is none."""
    found = [inner for folder in folders for inner in (folder, folder / "src")]
    return tuple(dict.fromkeys(str(f) for f in found if f.is_dir() and not (f / "__init__.py").exists()))
