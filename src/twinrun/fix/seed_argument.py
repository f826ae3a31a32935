"""Programs whose seed is an argument: the option that sets it, where the command line leaves it out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from twinrun.knowledge.functions import root

_SEED = re.compile(r"-*(\w+[-_])?(seed|random[-_]state)", re.IGNORECASE)
# Functions that declare an option, by their last name: argparse, click and typer, absl.
_DECLARES = {"add_argument", "option", "Option", "DEFINE_integer", "DEFINE_string"}


def seed_option(source: str, arguments: Sequence[str]) -> str | None:
    """The option that gives the program its seed, `--seed`; None where there is none, where it has a number by default,
    or where the command line gives it already."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = _option(call)
        if name is not None and not _has_number(call) and not any(_gives(word, name) for word in arguments):
            return name
    return next(_parameters(tree, arguments), None)


def _option(call: ast.Call) -> str | None:
    function = call.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if called not in _DECLARES:
        return None
    names = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if called.startswith("DEFINE"):
        names = [f"--{name}" for name in names[:1]]
    long = [name for name in names if name.startswith("--") and _SEED.fullmatch(name)]
    return long[0] if long else None


def _has_number(call: ast.Call) -> bool:
    """Whether the option is a fixed number when it is not given. absl takes the default as the second argument."""
    given = [keyword.value for keyword in call.keywords if keyword.arg == "default"]
    called = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    given += call.args[1:2] if called.startswith("DEFINE") else []
    return any(isinstance(each, ast.Constant) and _is_seed(each.value) for each in given)


def _is_seed(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _gives(word: str, option: str) -> bool:
    return word.partition("=")[0].replace("_", "-") == option.replace("_", "-")


def _parameters(tree: ast.Module, arguments: Sequence[str]) -> Iterator[str]:
    """`fire.Fire(main)`: the parameters of main are the options."""
    imported = {
        root(alias.name) for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    if "fire" not in imported:
        return
    fired = {
        arg.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Fire"
        for arg in node.args
        if isinstance(arg, ast.Name)
    }
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name in fired:
            given = function.args.args
            defaults = dict(zip(reversed(given), reversed(function.args.defaults), strict=False))
            for each in given:
                default = defaults.get(each)
                fixed = isinstance(default, ast.Constant) and _is_seed(default.value)
                option = f"--{each.arg}"
                if _SEED.fullmatch(each.arg) and not fixed and not any(_gives(w, option) for w in arguments):
                    yield option
