"""Python and its surroundings: hash order (TW301), directory listings (TW302), the clock (TW303), entropy of the
operating system (TW108).
"""

from __future__ import annotations

import ast

from twinrun.knowledge.functions import Kind, methods_of
from twinrun.source_audit.abstract_values import Value, plain
from twinrun.source_audit.marks import ORDER
from twinrun.source_audit.outgoing_call import Call, Handler
from twinrun.source_audit.state import Frame

_WALK, _FOLDERS = "(a walk)", "(the folders of a walk)"

# -- hashes -------------------------------------------------------------------------------------------


def _hash(call: Call) -> Value:
    marks = call.marks
    if call.args and not call.first.is_numeric and not call.state.hash_seed_works:
        marks |= call.varies("TW301", part="hash")
    return plain(marks, numeric=True)


def environment_assigned(frame: Frame, target: ast.expr, node: ast.stmt) -> None:
    """`os.environ["PYTHONHASHSEED"] = …` does nothing for this process; TF_CONFIG fixes the workers."""
    if (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and ast.unparse(target.value).endswith("environ")
    ):
        _environment_set(frame, target.slice.value, node)


def _environment_set(frame: Frame, name: object, node: ast.AST) -> None:
    if name == "PYTHONHASHSEED":
        frame.state.hash_seed_sites.append(frame.site(node))
    elif name == "TF_CONFIG":
        frame.state.worker_config_fixed = True


def _environment_call(call: Call) -> Value:
    _environment_set(call.frame, call.first.constant, call.node)
    return plain()


def _replaced(call: Call) -> Value:
    """`os.execv(…)` starts the program again: then a hash seed put into the environment does work."""
    if call.state.hash_seed_sites:
        call.state.hash_seed_works = True
    return plain()


# -- listings -----------------------------------------------------------------------------------------


def _listing(call: Call) -> Value:
    return Value("list", call.varies("TW302", ORDER) | call.marks, element=plain())


def _walk(call: Call) -> Value:
    """`os.walk`: the order of the folders can be fixed by sorting the list of folders in place."""
    walked = call.varies("TW302", ORDER)
    folders = Value("list", walked, element=plain(), path=_FOLDERS)
    files = Value("list", call.varies("TW302", ORDER, part="files"), element=plain())
    entry = Value("tuple", items=[plain(call.marks), folders, files])
    return Value("list", walked, element=entry, path=_WALK)


def is_walk(value: Value) -> bool:
    return value.path == _WALK


def sorted_in_place(value: Value) -> None:
    """`x.sort()`: the order is fixed; of a walk's folders, so is the order of the whole walk."""
    for each in value.each():
        if each.path == _FOLDERS:
            for origin, _ in each.marks:
                origin.cancelled = origin.cancelled or origin.code == "TW302"
    value.forget_order()


def _path_listing(call: Call) -> Value | None:
    """`Path.iterdir()`, `.glob()`, `.rglob()`."""
    receiver = call.receiver
    if receiver.kind == "object":
        is_path = receiver.path.startswith(("pathlib.", "upath.", "etils.epath"))
    elif receiver.kind == "plain":
        is_path = call.path == "iterdir" or call.frame.module.mentions("pathlib")
    else:
        is_path = receiver.kind == "instance"
    return _listing(call) if is_path else None


# -- clock and entropy --------------------------------------------------------------------------------


def _clock(call: Call) -> Value:
    return Value("object", call.varies("TW303") | call.marks, path=call.path)


def _entropy(call: Call) -> Value:
    if call.known.makes:  # SystemRandom()
        return Value("object", call.varies("TW108"), path=call.known.makes, created=call.state.tick())
    return Value("object", call.varies("TW108") | call.marks, path=call.path)


KINDS: dict[tuple[Kind, str], Handler] = {
    (Kind.LISTING, ""): _listing,
    (Kind.WALK, ""): _walk,
    (Kind.CLOCK, ""): _clock,
    (Kind.ENTROPY, ""): _entropy,
}
FUNCTIONS: dict[str, Handler] = {
    "builtins.hash": _hash,
    "os.putenv": _environment_call,
    "os.environ.setdefault": _environment_call,
    **{f"os.{name}": _replaced for name in ("execv", "execve", "execl", "execvp", "execvpe", "execle")},
}
METHODS: dict[str, Handler] = dict.fromkeys((*methods_of(Kind.LISTING), "walk"), _path_listing)
