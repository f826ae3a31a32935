"""Writes docs/reference/python-api.md from the source of the public names: `python tools/write_api.py`. The source is read, not
run, so that no framework is imported."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import twinrun
from twinrun import pipelines

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "python-api.md"
HEAD = """\
# The Python API

<!-- Written by tools/write_api.py from the source. Change the docstrings there, not this file. -->

These names are public; everything else may change with any release. `import twinrun` imports no framework: each name is loaded
when it is first used.
"""
_MORE = {  # where a name is explained with examples
    "pin": "how-to/pin.md",
    "pinned": "how-to/pin.md",
    "probe": "how-to/probe.md",
    "check": "how-to/check-a-program.md",
    "compare": "how-to/record-and-compare.md",
    "audit": "how-to/input-pipeline.md#see-what-it-is-made-of",
    "repeatable": "how-to/input-pipeline.md#make-it-repeat",
    "data_fingerprint": "how-to/input-pipeline.md#verify-that-the-data-was-the-same",
    "element_rng": "how-to/input-pipeline.md#python-functions",
    "EpochDigests": "how-to/trackers.md",
    "ResumeState": "how-to/resume.md",
    "note_sites": "how-to/input-pipeline.md#see-what-it-is-made-of",
    "changes": "how-to/input-pipeline.md#make-it-repeat",
    "set_epoch": "how-to/input-pipeline.md#after-a-restart",
    "audit_shards": "how-to/input-pipeline.md#check-how-workers-share-the-data",
    "ElementDigest": "how-to/input-pipeline.md#verify-that-the-data-was-the-same",
    "share": "how-to/input-pipeline.md#share-it-among-workers",
    "CheckResult": "reference/json.md",
    "Twinrun": "how-to/test-with-pytest.md",
}
_RESULTS = {  # what the functions return, with the base classes whose fields they have too
    "CheckResult": ("twinrun.result", ("Judged",)),
    "Difference": ("twinrun.comparison.frames", ("Distance",)),
    "BaselineResult": ("twinrun.baselines.outcome", ()),
    "BaselineDetails": ("twinrun.baselines.outcome", ()),
    "Finding": ("twinrun.findings.finding", ()),
    "PinReport": ("twinrun.twin.pin", ()),
    "ControlState": ("twinrun.protocol.control", ()),
    "DataAudit": ("twinrun.pipelines.audit_report", ()),
    "Stage": ("twinrun.pipelines.pipeline_stages", ()),
    "Change": ("twinrun.pipelines.rewrite_outcome", ()),
    "ShardAudit": ("twinrun.pipelines.shard_audit", ()),
    "DataFingerprint": ("twinrun.pipelines.stream_fingerprint", ("EpochFingerprint",)),
}
_WIDTH = 80  # of a block, on the site
_HEAD = re.compile(r"(def \w+)\( ?(.*?),? ?\)( -> .*)")
_COMMA = re.compile(r",(?![^\[(]*[\])])")  # not inside brackets
Definition = ast.FunctionDef | ast.ClassDef


def page() -> str:
    parts = [HEAD, "## twinrun\n", "`twinrun.__version__` is the version, as a string.\n"]
    for name, home in twinrun._HOMES.items():
        inner = f".{pipelines._HOMES[name]}" if home == pipelines.__name__ else ""
        parts.append(_entry(f"twinrun.{name}", home + inner))
    parts.append("In a notebook, `%load_ext twinrun` adds [`%%twinrun`](../how-to/notebooks.md).\n")
    parts.append("## twinrun.pipelines\n")
    for name, home in pipelines._HOMES.items():
        if name not in twinrun._HOMES and name not in _RESULTS:
            parts.append(_entry(f"twinrun.pipelines.{name}", f"twinrun.pipelines.{home}"))
    parts.append(
        "## pytest\n\nThe marker `twinrun` takes the keywords of `twinrun.check`, except `module`.\n"
    )
    parts.append(_entry("Twinrun", "twinrun.pytest_plugin"))
    parts.append("## Results\n\nWhat the functions return. Print one to read it.\n")
    for name, (home, bases) in _RESULTS.items():
        parts.append(_entry(name, home, bases))
    parts.append(_errors())
    return "\n".join(parts)


def _entry(title: str, home: str, bases: tuple[str, ...] = ()) -> str:
    name = title.rpartition(".")[2]
    node = _definition(home, name)
    lines = [f"### {title}\n", "```python"]
    if isinstance(node, ast.FunctionDef):
        lines += [_stub(home, node), "```\n", _docstring(home, node), ""]
    else:
        items = [item for each in (*bases, name) for item in _definition(home, each).body]
        lines += [
            *_class(home, node, items, made_by_users=title != name),
            "```\n",
            _docstring(home, node),
            "",
        ]
        said = [f"- `{each.name}`: {' '.join(_docstring(home, each).split())}" for each in _members(items)]
        lines += [*said, ""] if said else []
    if name in _MORE:
        lines.append(f"More: [{_heading(_MORE[name])}](../{_MORE[name]})\n")
    return "\n".join(lines)


def _class(home: str, node: ast.ClassDef, items: list[ast.stmt], *, made_by_users: bool) -> list[str]:
    """Its fields and what it can do. What Twinrun itself makes is shown without its constructor."""
    foreign = ", ".join(text for base in node.bases if "." in (text := ast.unparse(base)))
    init = [item for item in items if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    methods = [*(init if made_by_users else ()), *_members(items)]
    return [
        f"class {node.name}({foreign}):" if foreign else f"class {node.name}:",
        *(line for item in items if (line := _field(home, item))),
        *(_stub(home, method) for method in methods),
    ]


def _members(items: list[ast.stmt]) -> list[ast.FunctionDef]:
    """The methods and properties that have a docstring: the others are for Twinrun itself, or for a framework."""
    methods = [item for item in items if isinstance(item, ast.FunctionDef)]
    return [each for each in methods if not each.name.startswith("_") and ast.get_docstring(each)]


def _field(home: str, item: ast.stmt) -> str:
    if not isinstance(item, ast.AnnAssign) or "ClassVar" in ast.unparse(item.annotation):
        return ""
    line = _source(home).splitlines()[item.lineno - 1]
    _, mark, comment = line.partition("  # ")
    return f"    {ast.unparse(item.target)}: {ast.unparse(item.annotation)}{mark}{comment}"


def _stub(home: str, node: ast.FunctionDef) -> str:
    """As it stands in the source, up to the colon; a property as the field that it looks like."""
    decorators = [ast.unparse(each) for each in node.decorator_list]
    if "property" in decorators:
        return f"    {node.name}: {ast.unparse(node.returns) if node.returns else 'Any'}"
    lines = _source(home).splitlines()[node.lineno - 1 : node.body[0].lineno - 1]
    indent = " " * node.col_offset
    head = "\n".join(lines)
    if max(map(len, lines)) > _WIDTH:
        start, arguments, end = _HEAD.fullmatch(" ".join(line.strip() for line in lines)).groups()  # type: ignore[union-attr]
        inside = "".join(f"{indent}    {each.strip()},\n" for each in _COMMA.split(arguments))
        head = f"{indent}{start}(\n{inside}{indent}){end}"
    shown = [f"{indent}@{each}\n" for each in decorators if each in ("contextmanager", "classmethod")]
    return f"{''.join(shown)}{head} ..."


def _errors() -> str:
    lines = [
        "## Errors\n",
        f"{_docstring('twinrun.errors', _definition('twinrun.errors', 'TwinrunError'))}\n",
    ]
    lines += ["| class | |", "|---|---|"]
    for home in (
        "twinrun.errors",
        "twinrun.pipelines.rewrite_outcome",
        "twinrun.pipelines.stream_fingerprint",
    ):
        for node in _tree(home).body:
            if isinstance(node, ast.ClassDef) and "TwinrunError" in map(ast.unparse, node.bases):
                lines.append(f"| `{home}.{node.name}` | {' '.join(_docstring(home, node).split())} |")
    return "\n".join(lines) + "\n"


def _definition(home: str, name: str) -> Definition:
    for node in _tree(home).body:
        if isinstance(node, Definition) and node.name == name:
            return node
    raise LookupError(f"{home} has no {name}")


def _docstring(home: str, node: Definition) -> str:
    text = ast.get_docstring(node)
    if not text:
        raise LookupError(f"{home}.{node.name} is public and has no docstring")
    return text


@cache
def _tree(home: str) -> ast.Module:
    return ast.parse(_source(home))


@cache
def _source(home: str) -> str:
    return (ROOT / "src" / home.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8")


def _heading(target: str) -> str:
    """That of a page of the documentation."""
    text = (ROOT / "docs" / target.partition("#")[0]).read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
