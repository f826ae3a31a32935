"""The templates of this folder, and what every value passes on its way into one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinrun.terminal import inline, printable

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **view: Any) -> str:
    return str(_templates().get_template(template).render(view))


@lru_cache(maxsize=1)
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    templates.filters["plain"] = _plain
    templates.filters["inline"] = inline
    templates.filters["number"] = lambda value: "" if value is None else f"{value:.6g}"
    return templates


def _shown(value: Any) -> Any:
    """Control characters are shown, never passed on."""
    return printable(value) if type(value) is str else value


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(inner) for inner in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
