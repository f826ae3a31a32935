"""What a variable is called that has no name of its own, and what a name says of it."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache


def is_seed_state(name: str) -> bool:
    return name.rpartition("/")[2].partition("#")[0] in ("seed_generator_state", "StateVar")


def name_at_site(name: str, site: tuple[str, int] | None) -> str:
    """The name it was given, or else the name it is assigned to on the line that made it."""
    if name.rpartition("/")[2] != "Variable" or site is None:
        return name
    return assigned_name(*site) or name


@lru_cache(maxsize=4096)
def assigned_name(file: str, line: int) -> str | None:
    source = linecache.getline(file, line).strip()
    try:
        statement = ast.parse(source).body[0]
    except (SyntaxError, IndexError):
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    target = targets[0] if targets else None
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) else None
