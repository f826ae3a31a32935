"""The clock or the system's entropy as a seed (TW303, TW108): a constant in its place."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Changes, Draft, argument
from twinrun.findings.fixes.imports import imported
from twinrun.findings.fixes.module import Module, Statement, only_statement, require
from twinrun.knowledge.functions import Kind

# What takes from the system's entropy, and the same from Python's `random`.
_DRAWN = {
    "uuid.uuid4": "{uuid}.UUID(int={random}.getrandbits(128), version=4)",
    "os.urandom": "{random}.randbytes({0})",
    "secrets.token_bytes": "{random}.randbytes({0})",
    "secrets.token_hex": "{random}.randbytes({0}).hex()",
    "secrets.randbelow": "{random}.randrange({0})",
    "secrets.randbits": "{random}.getrandbits({0})",
    "secrets.choice": "{random}.choice({0})",
}


def constant(module: Module, line: int) -> Draft:
    """Put a constant where the clock or entropy becomes a seed. Other uses of them stay untouched."""
    statement = module.statement_at(line)
    seeds = _seeds(module, statement, line) if statement is not None else ()
    seed = next((each for each in seeds if _from_outside(module, each)), None)
    changes = (edit.replace(seed, module.seed(seed)),) if seed is not None else _system_random(module, line)
    return Draft(changes, "use a fixed seed, or an argument of the program", safe=True)


def _seeds(module: Module, statement: Statement, line: int) -> Iterator[cst.BaseExpression]:
    """What a statement uses as seeds, as its names tell: `SEED = …`, `{"seed": …}`, `seed=…`, `random.seed(…)`."""
    small = only_statement(statement)
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        target = small.targets[0].target
        name = target.attr if isinstance(target, cst.Attribute) else target
        if isinstance(name, cst.Name) and "seed" in name.value.lower():
            yield small.value
    for element in module.find(cst.DictElement, statement):
        key = element.key.evaluated_value if isinstance(element.key, cst.SimpleString) else ""
        if "seed" in str(key).lower() and module.spans(element.value, line):
            yield element.value
    for call in module.calls_at(line):
        seeds = module.is_kind(call, Kind.SEED, Kind.GENERATOR)
        given = call.args[0].value if seeds and call.args else argument(call, "seed", None)
        if given is not None:
            yield given


def _system_random(module: Module, line: int) -> Changes:
    """`SystemRandom()` has the methods of `random.Random`."""
    for call in module.calls_at(line):
        if module.name(call) in ("random.SystemRandom", "secrets.SystemRandom") and not call.args:
            name, changes = imported(module, "random")
            return (*changes, edit.replace(call, f"{name}.Random({module.seed(call)})"))
    return ()


def drawn(module: Module, line: int) -> Draft:
    """The system's entropy at this line, drawn from Python's `random` instead, which the program seeds."""
    for call in module.calls_at(line):
        new = _DRAWN.get(module.name(call) or "")
        if (
            new is None
            or len(call.args) > new.count("{0}")
            or any(arg.keyword or arg.star for arg in call.args)
        ):
            continue
        require(len(call.args) == new.count("{0}"))
        name, changes = imported(module, "random")
        base = module.code(call.func.value) if isinstance(call.func, cst.Attribute) else ""
        require(base or "{uuid}" not in new)
        given = [module.code(arg.value) for arg in call.args]
        text = new.format(*given, random=name, uuid=base)
        note = "draw it from Python's random, which a seed of the program reaches; other runs then have the same one"
        return Draft((*changes, edit.replace(call, text)), note, safe=False)
    return Draft((), "", safe=False)


def _from_outside(module: Module, node: cst.BaseExpression) -> bool:
    """Whether an expression is made of the clock or of entropy."""
    return bool(module.calls(Kind.CLOCK, Kind.ENTROPY, within=node))
