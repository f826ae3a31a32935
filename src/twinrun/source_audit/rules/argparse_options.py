"""`argparse`: the values of the program's options, by default or on a command line that is known."""

from __future__ import annotations

from twinrun.source_audit.abstract_values import MISSING, Value, constant, plain, total, unknown_argument
from twinrun.source_audit.outgoing_call import Call, Handler

_PARSER = "argparse.ArgumentParser"


def _parser_method(call: Call) -> Value:
    """`argparse`: what an option is by default, and that it may be given on the command line instead."""
    receiver = call.receiver
    if call.path == "add_argument":
        names = [arg.constant for arg in call.args if isinstance(arg.constant, str)]
        chosen = call.keywords.get("dest")
        name = chosen.constant if chosen is not None else max(names, key=len, default="").lstrip("-")
        receiver.set_attribute(f"({str(name).replace('-', '_')})", _option(call, names))
        return plain()
    if call.path in ("parse_args", "parse_known_args"):
        options = Value("object", path="argparse.Namespace")
        for name, value in (receiver.attributes or {}).items():
            options.set_attribute(str(name).strip("()"), value)
        return options if call.path == "parse_args" else Value("tuple", items=[options, plain()])
    if call.path in ("add_argument_group", "add_mutually_exclusive_group"):
        return receiver
    return plain(total(receiver))


def _option(call: Call, names: list[str]) -> Value:
    """The value of an option. When the command line is known, it is what is given there, or the default."""
    default = call.keywords.get("default", Value(constant=None))
    action = call.keywords.get("action")
    if action is not None and action.constant in ("store_true", "store_false"):
        default = constant(action.constant == "store_false")
    given = call.state.arguments
    if given is None or not names or not names[0].startswith("-"):
        option = plain(total(default))
        if default.constant is not None:
            option.sure = "true" if default.constant is not MISSING and default.constant else "not none"
        return option
    if not any(_stands_for(word, name) for word in given for name in names):
        return default
    if action is not None:
        return constant(action.constant != "store_false") if default.constant in (True, False) else plain()
    return unknown_argument()


def _stands_for(word: str, name: str) -> bool:
    """Whether a word of the command line gives this option: spelled out, shortened, or with its value."""
    word = word.partition("=")[0]
    if name.startswith("--"):
        return len(word) > 2 and name.startswith(word)
    return word.startswith(name) and not word.startswith("--")


FUNCTIONS: dict[str, Handler] = {_PARSER: lambda call: Value("object", path=_PARSER)}
TYPES: dict[str, Handler] = {_PARSER: _parser_method}
