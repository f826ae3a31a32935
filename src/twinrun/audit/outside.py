"""Python and the outside: hash order (TW301), directory listings (TW302), the clock (TW303), entropy of the
operating system (TW108).
"""

from __future__ import annotations

import ast

from twinrun.audit.call import Call, Handler
from twinrun.audit.marks import NONE, ORDER, VALUE, Marks
from twinrun.audit.values import Thing, plain
from twinrun.audit.world import Frame, World

# -- hash order ---------------------------------------------------------------------------------------


def set_iterated(world: World, frame: Frame, node: ast.AST, iterable: Thing) -> Marks:
    """Going through a set of anything but numbers brings in the order of its hashes."""
    if world.hash_seed_works or not any(
        each.kind == "set" and not _numeric(each) for each in iterable.each()
    ):
        return NONE
    origin = world.origin(
        "TW301", frame, node, ast.unparse(node)[:60] if isinstance(node, ast.expr) else None
    )
    return frozenset({(origin, ORDER)})


def _numeric(thing: Thing) -> bool:
    """Numbers hash to themselves: a set of them has the same order in every process."""
    if thing.numeric:
        return True
    members = [*(thing.items or ()), *([thing.element] if thing.element else ())]
    return bool(members) and all(member.numeric for member in members)


def _hash(call: Call) -> Thing:
    marks = call.marks
    if call.args and not _numeric(call.args[0]) and not call.world.hash_seed_works:
        marks |= frozenset({(call.world.origin("TW301", call.frame, call.node), VALUE)})
    return plain(marks, numeric=True)


def environment_assigned(world: World, frame: Frame, target: ast.expr, value: Thing, node: ast.stmt) -> None:
    """`os.environ["PYTHONHASHSEED"] = …` does nothing for this process; TF_CONFIG fixes the workers."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
        return
    if not ast.unparse(target.value).endswith("environ"):
        return
    _environment_set(world, frame, target.slice.value, node)


def _environment_set(world: World, frame: Frame, name: object, node: ast.AST) -> None:
    if name == "PYTHONHASHSEED":
        world.hash_seed_sites.append(world.site(frame, node))
    elif name == "TF_CONFIG":
        world.worker_config_fixed = True


def _environment_call(call: Call) -> Thing:
    if call.args:
        _environment_set(call.world, call.frame, call.args[0].constant, call.node)
    return plain()


def _replaced(call: Call) -> Thing:
    """`os.execv(…)` starts the program again: then a hash seed put into the environment does work."""
    if call.world.hash_seed_sites:
        call.world.hash_seed_works = True
    return plain()


_WALK, _FOLDERS = "(a walk)", "(the folders of a walk)"

# -- listings -----------------------------------------------------------------------------------------


def _listing(call: Call) -> Thing:
    origin = call.world.origin("TW302", call.frame, call.node)
    return Thing("list", frozenset({(origin, ORDER)}) | call.marks, element=plain())


def _walk(call: Call) -> Thing:
    """`os.walk`: the order of the folders can be fixed by sorting the list of folders in place."""
    walked = frozenset({(call.world.origin("TW302", call.frame, call.node), ORDER)})
    listed = frozenset({(call.world.origin("TW302", call.frame, call.node, part="files"), ORDER)})
    folders = Thing("list", walked, element=plain(), path=_FOLDERS)
    entry = Thing("tuple", items=[plain(call.marks), folders, Thing("list", listed, element=plain())])
    return Thing("list", walked, element=entry, path=_WALK)


def is_walk(thing: Thing) -> bool:
    return thing.path == _WALK


def sorted_in_place(thing: Thing) -> None:
    """`x.sort()`: the order is fixed; of a walk's folders, so is the order of the whole walk."""
    for each in thing.each():
        if each.path == _FOLDERS:
            for origin, _ in each.marks:
                origin.cancelled = origin.cancelled or origin.code == "TW302"
    thing.forget_order()


def path_listing(call: Call) -> Thing | None:
    """`Path.iterdir()`, `.glob()`, `.rglob()`."""
    receiver = call.receiver
    if receiver is None or receiver.kind not in ("object", "plain", "instance"):
        return None
    if receiver.kind == "object" and not receiver.path.startswith(("pathlib.", "upath.", "etils.epath")):
        return None
    if receiver.kind == "plain" and call.path != "iterdir" and not call.frame.module.mentions("pathlib"):
        return None
    return _listing(call)


# -- clock and entropy --------------------------------------------------------------------------------


def _varying(code: str) -> Handler:
    def handler(call: Call) -> Thing:
        origin = call.world.origin(code, call.frame, call.node)
        return Thing("object", frozenset({(origin, VALUE)}) | call.marks, path=call.path)

    return handler


def _system_random(call: Call) -> Thing:
    origin = call.world.origin("TW108", call.frame, call.node)
    return Thing("object", frozenset({(origin, VALUE)}), path="random.Random", born=call.world.tick())


_clock = _varying("TW303")
_entropy = _varying("TW108")

FUNCTIONS: dict[str, Handler] = {
    "builtins.hash": _hash,
    "os.putenv": _environment_call,
    "os.environ.setdefault": _environment_call,
    **dict.fromkeys(("os.execv", "os.execve", "os.execl", "os.execvp", "os.execvpe", "os.execle"), _replaced),
    **dict.fromkeys(
        ("os.listdir", "os.scandir", "glob.glob", "glob.iglob", "tensorflow.io.gfile.listdir"), _listing
    ),
    **dict.fromkeys(("tensorflow.io.gfile.glob", "tensorflow.io.gfile.ListDirectory"), _listing),
    **dict.fromkeys(("os.walk", "tensorflow.io.gfile.walk", "os.fwalk"), _walk),
    **dict.fromkeys(("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns"), _clock),
    **dict.fromkeys(("time.perf_counter", "time.perf_counter_ns", "time.process_time", "time.ctime"), _clock),
    **dict.fromkeys(("time.localtime", "time.gmtime", "time.strftime", "tensorflow.timestamp"), _clock),
    **dict.fromkeys(("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today"), _clock),
    "datetime.date.today": _clock,
    **dict.fromkeys(("os.urandom", "os.getrandom", "os.getpid", "uuid.uuid4", "uuid.uuid1"), _entropy),
    "random.SystemRandom": _system_random,
    "secrets.SystemRandom": _system_random,
}

PREFIXES: tuple[tuple[str, Handler], ...] = (("secrets.", _entropy),)

METHODS: dict[str, Handler] = dict.fromkeys(("iterdir", "glob", "rglob", "walk"), path_listing)
