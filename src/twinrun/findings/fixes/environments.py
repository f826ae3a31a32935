"""Environments of reinforcement learning (TW103): each is seeded once, right after it is made.

`env.reset(seed=…)` inside the loop over episodes would make every episode the same, and the space that actions are
drawn from has a generator of its own.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from twinrun.findings.fixes import edit
from twinrun.findings.fixes.edit import Changes, Draft, argument, is_name, unpacks
from twinrun.findings.fixes.module import Module, called_name, require, sure

_MAKERS = ("gymnasium.make", "gymnasium.make_vec", "gym.make", "gym.vector.make")
_SPACES = ("action_space", "observation_space", "single_action_space", "single_observation_space")


def seeded_environment(module: Module, line: int) -> Draft:
    """Seed the environment that is reset at this line, or the space that is sampled or made here."""
    for call in module.calls_at(line):
        method = called_name(call) if isinstance(call.func, cst.Attribute) else ""
        owner: Any = call.func.value if isinstance(call.func, cst.Attribute) else None
        if method == "reset":
            return _reset(module, call, owner)
        if method == "sample" and isinstance(owner, cst.Attribute) and owner.attr.value in _SPACES:
            space = owner.attr.value
            return _after_making(module, owner.value, "{env}." + space + ".seed({seed})", "the space")
        if (module.name(call) or "").startswith(_MAKERS) or method.endswith("VectorEnv"):
            target = sure(_target(module, call))
            return _after_making(module, target, "{env}.action_space.seed({seed})", "the space")
    return _passed_on(module, line)


def _reset(module: Module, call: cst.Call, owner: cst.BaseExpression) -> Draft:
    """A call that runs once takes the seed itself."""
    require(not unpacks(call))
    given = argument(call, "seed", None)
    require(given is None or is_name(given, "None"))
    if module.function(call) is None and not module.in_loop(call):
        seed = module.seed(call)
        change = edit.replace(given, seed) if given is not None else edit.add_argument(call, f"seed={seed}")
        return Draft((change,), "seed the environment where it is reset first", safe=True)
    return _after_making(module, owner, "{env}.reset(seed={seed})", "the environment")


def _after_making(module: Module, owner: cst.BaseExpression, line: str, what: str) -> Draft:
    """A line below the one that makes the environment, by the name that it has there."""
    made = [
        node
        for node in module.find(cst.Assign)
        if isinstance(node.value, cst.Call) and any(each.target.deep_equals(owner) for each in node.targets)
    ]
    if not made:  # a parameter: the only environment that the module makes
        made = [each for each in module.find(cst.Assign) if module.name(each.value) in _MAKERS]
    require(len(made) == 1)
    name = module.code(made[0].targets[0].target)
    statement: Any = sure(module.statement(made[0]))
    text = line.format(env=name, seed=module.seed(statement))
    note = f"seed {what} once, where the environment is made"
    return Draft(_below(module, statement, text), note, safe=True)


def _below(module: Module, statement: Any, text: str) -> Changes:
    """Below the statement and the lines of this kind that follow it already."""
    body: list[Any] = list(getattr(module.parent[statement], "body", ()))
    for node in body[body.index(statement) + 1 :]:
        if ".seed(" not in module.code(node) and ".reset(seed=" not in module.code(node):
            break
        statement = node
    return edit.lines_after(module, statement, text)


def _target(module: Module, call: cst.Call) -> cst.BaseExpression | None:
    for node in module.find(cst.Assign):
        if module.inside(call, node.value) and len(node.targets) == 1:
            return node.targets[0].target
    return None


def _passed_on(module: Module, line: int) -> Draft:
    """The user's own environment passes the seed that it is given on to the class it is made from."""
    for owner in module.find(cst.ClassDef):
        methods = [each for each in owner.body.body if isinstance(each, cst.FunctionDef)]
        reset = next((each for each in methods if each.name.value == "reset"), None)
        if reset is None or not module.spans(owner, line) or not owner.bases:
            continue
        names = [each.name.value for each in (*reset.params.params, *reset.params.kwonly_params)]
        passes = any("super" in module.code(call.func) for call in module.find(cst.Call, reset))
        require("seed" in names and not passes)
        note = "pass the seed on, so that the environment's own generator gets it"
        return Draft(edit.at_the_top(module, reset, "super().reset(seed=seed)"), note, safe=True)
    return Draft((), "", safe=True)
