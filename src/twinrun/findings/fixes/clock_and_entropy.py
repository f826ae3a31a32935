"""The clock or the system's entropy as a seed (TW303, TW108): a constant in its place."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.arguments import argument
from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.generators import MAKERS
from twinrun.findings.fixes.imports import imported
from twinrun.findings.fixes.module import Module
from twinrun.findings.fixes.seeding import SEED, SEEDERS

SOURCES = {
    "time.time",
    "time.time_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
    "os.urandom",
    "os.getrandom",
    "uuid.uuid1",
    "uuid.uuid4",
}


def constant(module: Module, line: int) -> Draft | None:
    """Put a constant where the clock or entropy becomes a seed. Other uses of them stay untouched."""
    statement = module.statement_at(line)
    if statement is None:
        return None
    edits = _assigned_seed(module, statement) or _seed_in_dict(module, statement, line)
    for call in module.calls_at(line):
        if edits:
            break
        edits = _seed_argument(module, call) or _system_random(module, call)
    if not edits:
        return None
    return Draft(edits, "a fixed seed, or an argument of the program", safe=True)


def _seed_argument(module: Module, call: ast.Call) -> tuple[Edit, ...]:
    name = module.names.called(call)
    seed = call.args[0] if call.args and name in SEEDERS | set(MAKERS) else argument(call, "seed", None)
    return (module.replace(seed, str(SEED)),) if seed is not None and _from_outside(module, seed) else ()


def _assigned_seed(module: Module, statement: ast.stmt) -> tuple[Edit, ...]:
    """`SEED = int(time.time())`: the variable's name says what it is for."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ()
    target = statement.targets[0]
    name = (
        target.id
        if isinstance(target, ast.Name)
        else target.attr
        if isinstance(target, ast.Attribute)
        else ""
    )
    if "seed" in name.lower() and _from_outside(module, statement.value):
        return (module.replace(statement.value, str(SEED)),)
    return ()


def _seed_in_dict(module: Module, statement: ast.stmt, line: int) -> tuple[Edit, ...]:
    """`{"seed": int(time.time())}`."""
    for node in ast.walk(statement):
        for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
            named_seed = isinstance(key, ast.Constant) and "seed" in str(key.value).lower()
            if (
                named_seed
                and value.lineno <= line <= (value.end_lineno or 0)
                and _from_outside(module, value)
            ):
                return (module.replace(value, str(SEED)),)
    return ()


def _system_random(module: Module, call: ast.Call) -> tuple[Edit, ...]:
    """`SystemRandom()` has the methods of `random.Random`."""
    if (
        module.names.called(call) not in ("random.SystemRandom", "secrets.SystemRandom")
        or call.args
        or call.keywords
    ):
        return ()
    random = imported(module, "random")
    return () if random is None else (*random[1], module.replace(call, f"{random[0]}.Random({SEED})"))


def _from_outside(module: Module, node: ast.expr) -> bool:
    """Whether an expression is made of the clock or of entropy, and of nothing the user would miss."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    names = [module.names.called(call) or "" for call in calls]
    return any(name in SOURCES or name.startswith("secrets.") for name in names)
