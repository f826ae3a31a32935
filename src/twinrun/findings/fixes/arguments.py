"""The arguments of a call: reading one, and adding or replacing one without touching the others."""

from __future__ import annotations

import ast
import io
import tokenize

from twinrun.findings.fixes.fix import Edit
from twinrun.findings.fixes.module import Module
from twinrun.findings.fixes.text import line_starts


def argument(call: ast.Call, name: str, position: int | None) -> ast.expr | None:
    """The argument given by this name or at this position."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is not None and position < len(call.args):
        return call.args[position]
    return None


def is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def unpacks(call: ast.Call) -> bool:
    """Whether the call takes arguments that cannot be seen: `*args`, `**kwargs`."""
    return any(isinstance(arg, ast.Starred) for arg in call.args) or any(k.arg is None for k in call.keywords)


def set_argument(
    module: Module, call: ast.Call, name: str, position: int | None, text: str
) -> tuple[Edit, ...] | None:
    """Edits that give an argument this value: put in place of the present one, or added as a keyword."""
    present = argument(call, name, position)
    if present is not None:
        return (module.replace(present, text),)
    return None if unpacks(call) else add_argument(module, call, f"{name}={text}")


def add_argument(module: Module, call: ast.Call, text: str) -> tuple[Edit, ...] | None:
    """Edits that add one more argument at the end of a call, in the way the call is laid out."""
    if len(call.args) == 1 and not call.keywords and isinstance(call.args[0], ast.GeneratorExp):
        return None  # f(x for x in y) would have to be put in parentheses first
    tokens = _tokens_to_the_end(module, call)
    if tokens is None:
        return None
    before, close = tokens
    if before.string == "(":
        return (Edit(before.end_offset, before.end_offset, text),)
    if before.line == close.line:  # the last argument and the parenthesis share a line
        added = f" {text}" if before.string == "," else f", {text}"
        return (Edit(before.end_offset, close.end_offset - 1, added),)
    indent = module.line_text(before.line)[: -len(module.line_text(before.line).lstrip()) or None]
    next_line = module.line_start(before.line + 1)
    if before.string == ",":
        return (Edit(next_line, next_line, f"{indent}{text},{module.newline}"),)
    comma = Edit(before.end_offset, before.end_offset, ",")
    return (comma, Edit(next_line, next_line, f"{indent}{text}{module.newline}"))


class _Token:
    def __init__(self, string: str, line: int, end_offset: int) -> None:
        self.string, self.line, self.end_offset = string, line, end_offset


def _tokens_to_the_end(module: Module, call: ast.Call) -> tuple[_Token, _Token] | None:
    """The last token before the closing parenthesis of a call, and the parenthesis."""
    base, first_line = module.start(call), call.lineno
    text = module.source[base : module.end(call)]
    starts = line_starts(text)
    seen: list[_Token] = []
    try:
        # In parentheses the indentation of continued lines means nothing to the tokenizer.
        for token in tokenize.generate_tokens(io.StringIO(f"({text})", newline="").readline):
            if token.type not in (
                tokenize.NL,
                tokenize.NEWLINE,
                tokenize.COMMENT,
                tokenize.ENDMARKER,
                tokenize.DEDENT,
            ):
                row, column = token.end
                offset = starts[row - 1] + column - (1 if row == 1 else 0)
                seen.append(_Token(token.string, first_line + row - 1, base + offset))
    except (tokenize.TokenError, SyntaxError, IndexError):
        return None
    return (seen[-3], seen[-2]) if len(seen) > 3 and seen[-2].string == ")" else None
