"""Options shared by the verbs that run a program, and the settings they fall back to: flags, then TWINRUN_*, then
[tool.twinrun] in the nearest pyproject.toml."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import click

from twinrun.errors import UsageError
from twinrun.launch.program import Program

_PART = r"(\d+|strict|(seed|device|threads|allow|only)=[^,\s]+)"
_PIN = re.compile(f"^{_PART}(,{_PART})*$")


class SettledVerb(click.Command):
    """A verb whose options may also be settled in the project file."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        extra.setdefault("default_map", configuration(info_name or "", self.params))
        return super().make_context(info_name, args, parent, **extra)


class RunningVerb(SettledVerb):
    """A verb that takes a program: everything after the program is the program's own, as with python itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("context_settings", {})
        kwargs["context_settings"].update(ignore_unknown_options=False, allow_interspersed_args=False)
        super().__init__(*args, **kwargs)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        valued = {name for param in self.params if not getattr(param, "is_flag", True) for name in param.opts}
        return super().make_context(info_name, with_pin_value(args, valued), parent, **extra)


def with_pin_value(args: list[str], valued: set[str]) -> list[str]:
    """`--pin` may stand alone, or with a value behind a space or `=`; only what looks like a value is taken as one.
    `valued` names the options that always take one. What follows the program or module is the program's own."""
    result: list[str] = []
    index = 0
    while index < len(args):
        word = args[index]
        following = args[index + 1 : index + 2]
        if word == "--pin":
            taken = bool(following and _PIN.match(following[0]))
            result.append(f"--pin={following[0]}" if taken else "--pin=default")
            index += 1 + taken
        elif word.startswith("-m"):  # as with python, the module ends the options
            named = 2 if word == "-m" else 1
            return [*result, *args[index : index + named], "--", *args[index + named :]]
        elif word in valued:
            result += [word, *following]
            index += 2
        elif word.startswith("-") and word != "--":
            result.append(word)
            index += 1
        else:
            break
    return result + args[index:]


@lru_cache(maxsize=1)
def project_table() -> dict[str, Any]:
    """[tool.twinrun] of the nearest pyproject.toml."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            if sys.version_info >= (3, 11):
                import tomllib
            else:
                import tomli as tomllib
            try:
                table = tomllib.loads(path.read_text()).get("tool", {}).get("twinrun", {})
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
                raise UsageError(f"{path} cannot be read: {problem}") from None
            if not isinstance(table, dict):
                raise UsageError(f"[tool.twinrun] in {path} is not a table")
            return table
    return {}


def configuration(verb: str, params: Sequence[click.Parameter]) -> dict[str, Any]:
    """Defaults for a verb: the table's own keys, and those of its sub-table of that name. Keys are spelled as the
    options are."""
    options = {
        word.lstrip("-"): param.name
        for param in params
        if isinstance(param, click.Option)
        for word in param.opts
    }
    found: dict[str, Any] = {}
    table = project_table()
    own = table.get(verb, {})
    for key, value in [*table.items(), *(own.items() if isinstance(own, dict) else [])]:
        spelled = key.replace("_", "-")
        if spelled in options:
            found[str(options[spelled])] = _as_written(value, pin=spelled == "pin")
        elif key in own or not _known_elsewhere(spelled, value):
            raise UsageError(
                f"[tool.twinrun] in pyproject.toml has {key!r}, which is no option",
                hint=f"see twinrun {verb} --help",
            )
    return {name: value for name, value in found.items() if value is not None}


def _as_written(value: Any, pin: bool) -> Any:
    """A value of the project file in the form that the option takes on the command line."""
    if pin and isinstance(value, bool):
        return "default" if value else None
    if isinstance(value, list):
        return ",".join(map(str, value))
    return value if isinstance(value, bool) else str(value)


def _known_elsewhere(key: str, value: Any) -> bool:
    """Whether another verb takes it. Only then are the others imported."""
    from twinrun.cli import VERBS, cli

    if key == "baselines" or (isinstance(value, dict) and key in (*VERBS, "programs")):
        return True
    waiting: list[click.Command] = [cli]
    while waiting:
        command = waiting.pop()
        if any(f"--{key}" in param.opts for param in command.params):
            return True
        if isinstance(command, click.Group):
            context = click.Context(command)
            known = (command.get_command(context, name) for name in command.list_commands(context))
            waiting += [one for one in known if one is not None]
    return False


def seconds(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """`90`, `90s`, `5m`, `1h`."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)?", str(value).strip())
    if not match or float(match[1]) <= 0:
        raise click.BadParameter(f"{value!r} is not a time; write 90, 90s, 5m or 1h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600, None: 1}[match[2]]


def program_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.argument("program", nargs=-1, type=click.UNPROCESSED, required=False)(command)
    return click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does.")(command)


def running_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in reversed(
        [
            click.option("--steps", type=click.IntRange(min=1), envvar="TWINRUN_STEPS", help="Stop after this many steps."),
            click.option("--pin", metavar="[=SEED]", envvar="TWINRUN_PIN", help="Pin every source of randomness; see `twinrun doctor`."),
            click.option("--vary", metavar="LIST", envvar="TWINRUN_VARY",
                         help="Change between the twins what must not matter: hashseed,fileorder,threads,load,timezone,clock or all."),
            click.option("--timeout", callback=seconds, envvar="TWINRUN_TIMEOUT", metavar="TIME", help="Give up after this long (90s, 5m)."),
            click.option("--detail", is_flag=True, envvar="TWINRUN_DETAIL", help="Keep a digest of every tensor of every step."),
            click.option("--dir", "folder", metavar="FOLDER", envvar="TWINRUN_DIR", help="Where the recordings go."),
            click.option("--no-progress", is_flag=True, envvar="TWINRUN_NO_PROGRESS", help="No live line."),
            click.option("--quiet", "-q", is_flag=True, envvar="TWINRUN_QUIET", help="The verdict only."),
        ]
    ):  # fmt: skip
        command = decorate(command)
    return command


def output_options(
    formats: tuple[str, ...] = ("text", "json", "sarif", "junit", "github"), *, html: bool = True
) -> Callable[..., Any]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        if html:
            command = click.option(
                "--html",
                metavar="FILE",
                envvar="TWINRUN_HTML",
                help="Write a report that opens in a browser.",
            )(command)
        command = click.option(
            "--output-file",
            metavar="FILE",
            envvar="TWINRUN_OUTPUT_FILE",
            help="Write the result there instead of to stdout.",
        )(command)
        return click.option(
            "--output-format",
            type=click.Choice(formats),
            default="text",
            show_default=True,
            envvar="TWINRUN_OUTPUT_FORMAT",
        )(command)

    return decorate


def the_program(program: tuple[str, ...], module: str | None) -> Program:
    if module is not None:
        return Program(module, program, module=True)
    if not program:
        raise UsageError(
            "which program?", hint="twinrun check train.py --epochs 2, or twinrun check -m package.train"
        )
    return Program(program[0], program[1:])


def the_pin(text: str | None) -> Any:
    if text is None:
        return None
    from twinrun.protocol.pin import PinRequest

    return PinRequest.parse("" if text == "default" else text)
