"""A cell as Python, in as many lines: magics and shell commands become the calls that IPython makes of them. What a check
must not do, such as installing packages, is left out and named."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from twinrun.notebooks.jupyter import transformer

# Cell magics whose body is Python that runs once.
_PLAIN = ("time", "capture", "prun")
_CHECK = "a check runs no other check"
_KEYBOARD = "it waits for somebody at the keyboard"
_LEFT_OUT = {
    "timeit": "it runs as often as the clock decides",
    "tensorboard": "it starts a server",
    "debug": _KEYBOARD,
    "pdb": _KEYBOARD,
    "pinfo": "it shows help",
    "pinfo2": "it shows help",
    "psearch": "it shows help",
    "twinrun": _CHECK,
}
_SHELLS = ("pip", "conda", "mamba", "micromamba", "uv", "bash", "sh", "script", "system", "sx")
_INSTALLS = re.compile(
    r"\b(pip3?|conda|mamba|micromamba|uv|poetry|apt|apt-get|brew|npm)\b[^|;&\n]*"
    r"\s(install|uninstall|add|remove|update|upgrade|sync|create)\b"
)
_INSTALLED = "it changes the environment"
# A magic without its sign, which IPython takes where it is alone in a cell: a word, and then no operator.
_BARE_MAGIC = re.compile(r"\w+ +[^\s=!()<>,+*/%^&|].*")
_CELL_MAGIC = re.compile(r"%%(\w+)[ \t]*(.*)")


@dataclass(frozen=True)
class Skipped:
    """What is not run: its line in the cell, as it is written there, and why."""

    line: int
    text: str
    why: str


@dataclass(frozen=True)
class Translation:
    """`python` has as many lines as the cell. `code` is what runs: something else where IPython runs what is not Python.
    `captured` is the arguments of %%capture, where the cell begins with it."""

    python: str
    code: str
    skipped: tuple[Skipped, ...] = ()
    captured: str | None = None


def translated(source: str) -> Translation:
    if _BARE_MAGIC.fullmatch(source) and not _parses(source):
        return _cell(source, sign="%")
    first = len(source) - len(source.lstrip())
    magic = _CELL_MAGIC.match(source, first)
    if magic is None:
        return _cell(source)
    name, rest = magic[1], magic[2].strip()
    line = source.count("\n", 0, first)
    lines = source.split("\n")
    body = "\n".join(lines[line + 1 :])
    why = _why_not(name, f"{rest}\n{body}")
    if why is None and name in _PLAIN:
        plain = "\n".join([*lines[:line], _comment(lines[line]), *lines[line + 1 :]])
        return _cell(plain, captured=rest if name == "capture" else None)
    python = "\n".join(map(_comment, lines))
    if why is not None:
        return Translation(python, python, (Skipped(line + 1, lines[line].strip(), why),))
    return Translation(python, f"get_ipython().run_cell_magic({name!r}, {rest!r}, {body!r})")


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def _cell(source: str, captured: str | None = None, sign: str = "") -> Translation:
    written = source.split("\n")
    python: list[str] = []
    skipped: list[Skipped] = []
    for number, (before, after) in enumerate(zip(written, _transformed(sign + source), strict=True), start=1):
        line, why = (after, None) if after == before else _call(after)
        if why is not None:
            skipped.append(Skipped(number, before.strip(), why))
        python.append(line if why is None else f"{line}  {_comment(before.strip())}")
    text = "\n".join(python)
    return Translation(text, text, tuple(skipped), captured)


def _transformed(source: str) -> list[str]:
    """IPython's own translation. It makes one line of a command that goes on over several: the others stay as comments."""
    manager = transformer()
    lines = [f"{line}\n" for line in source.split("\n")]
    for clean in manager.cleanup_transforms:
        cleaned = clean(lines)
        if len(cleaned) == len(lines):  # blank lines at the top stay
            lines = cleaned
    changed = True
    while changed:
        changed, after = manager.do_one_token_transform(lines)
        gone = len(lines) - len(after)
        if gone:
            at = next(n for n, pair in enumerate(zip(lines, after, strict=False)) if pair[0] != pair[1])
            after = [*after[: at + 1], *map(_comment, lines[at + 1 : at + 1 + gone]), *after[at + 1 :]]
        lines = after
    return [line.removesuffix("\n") for line in lines]


def _call(line: str) -> tuple[str, str | None]:
    """A line that IPython has translated: as it is to run, and why it does not, where it does not."""
    indent = line[: len(line) - len(line.lstrip())]
    try:
        statement = ast.parse(line.strip()).body[0]
    except (SyntaxError, IndexError):
        return line, None
    value = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return line, None
    words = [each.value for each in value.args if isinstance(each, ast.Constant)]
    target = "" if isinstance(statement, ast.Expr) else line.strip()[: value.col_offset]
    if value.func.attr == "run_line_magic" and len(words) >= 2:
        name, rest = str(words[0]), str(words[1])
        why = _why_not(name, rest)
        if why is None and name == "time":
            return f"{indent}{target}{rest}" if rest else f"{indent}pass", None
    elif value.func.attr in ("system", "getoutput") and words:
        why = _INSTALLED if _INSTALLS.search(str(words[0])) else None
    else:
        return line, None
    if why is None:
        return line, None
    return f"{indent}{target}None" if target else f"{indent}pass", why


def _why_not(name: str, text: str) -> str | None:
    """Why a magic with this text is not run; None where it is."""
    if name in ("load_ext", "reload_ext") and text.split() == ["twinrun"]:
        return _CHECK
    if name in _SHELLS and _INSTALLS.search(f"{name} {text}"):
        return _INSTALLED
    return _LEFT_OUT.get(name)


def _comment(line: str) -> str:
    return f"# {line}"
