"""The options of the verbs as click takes them, and where they may also be set: flags first, then TWINRUN_*
variables, then [tool.twinrun] in the nearest pyproject.toml."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from twinrun import untrusted
from twinrun.cli.word_order import arranged, split
from twinrun.errors import UsageError
from twinrun.launch.program import Program
from twinrun.settings import OPTIONS, Option

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_QUOTED_OPTION = re.compile(r"'(--?\w[\w-]*)'")
WHICH_PROGRAM = "twinrun check train.py --epochs 2, or twinrun check -m package.train"


class Verbs(click.Group):
    """A group whose unknown verbs are answered with the nearest known one."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **{"subcommand_metavar": "VERB [ARGS]...", **settings})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            known = ", ".join(self.list_commands(ctx))
            raise UsageError("which verb?", hint=f"{ctx.command_path} has {known}")
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args[0] in known or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        raise UsageError(f"unknown verb {args[0]!r}", hint=self._meant(ctx, args[0], known))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Whole sentences: click would cut them off."""
        verbs = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.get_short_help_str(200)) for name, verb in verbs.items() if verb])

    def _meant(self, ctx: click.Context, word: str, known: list[str]) -> str:
        if "check" in known and Path(word).is_file():
            return f"to check it: {ctx.command_path} check {word}"
        near = get_close_matches(word, known, n=1)
        return did_you_mean(near, f"{ctx.command_path} --help")


def did_you_mean(near: Sequence[str], all_of_them: str) -> str:
    """A hint with what was probably meant, and the command that lists everything."""
    return f"did you mean {near[0]}? See `{all_of_them}`" if near else f"see `{all_of_them}`"


class OneOf(click.Choice):  # type: ignore[type-arg]  # generic since click 8.2
    """A choice that answers a slip with what was probably meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as problem:
            near = get_close_matches(str(value), list(self.choices), n=1)
            help_page = f"{ctx.command_path if ctx else 'twinrun'} --help"
            raise UsageError(refused(problem), hint=did_you_mean(near, help_page)) from None


def refused(problem: click.ClickException) -> str:
    """What click refuses, in the form of all our errors."""
    message = _QUOTED_OPTION.sub(r"\1", problem.format_message().rstrip("."))
    return message[:1].lower() + message[1:]


class ConfiguredVerb(click.Command):
    """A verb whose options may also be set in the project file."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if not extra.get("resilient_parsing"):  # a shell that completes a word has no use for an error
            extra.setdefault("default_map", configuration(info_name or "", self.params))
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as problem:
            problem.ctx = problem.ctx or ctx  # so that the hint names this verb
            raise


class RunningVerb(ConfiguredVerb):
    """A verb that takes a program: everything after the program is the program's own, as with python itself."""

    late: tuple[str, ...] | None = None  # options of ours that may also follow the program

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("context_settings", {})
        kwargs["context_settings"].update(ignore_unknown_options=False, allow_interspersed_args=False)
        super().__init__(*args, **kwargs)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        valued = {name for param in self.params if not getattr(param, "is_flag", True) for name in param.opts}
        own = {name for param in self.params for name in param.opts}
        late = None if self.late is None else tuple(name for name in self.late if name in own)
        words = arranged(args, valued, late)
        before = split(words, valued)[0]
        plain = "--" not in args
        context = super().make_context(info_name, words, parent, **extra)
        if plain and not context.resilient_parsing:
            self._note_misplaced(context, before)
        return context

    def _note_misplaced(self, context: click.Context, before: list[str]) -> None:
        from twinrun.cli.misplaced import note_misplaced

        program, module = context.params.get("program"), context.params.get("module")
        if (program and len(program) > 1) or (program and module):
            verb = context.command_path.partition(" ")[2] or str(context.info_name)
            note_misplaced(verb, self.params, before, the_program(program, module))


class BaselineVerb(RunningVerb):
    """`baseline record train.py --name mnist`."""

    late = ("--name", "--reason", "--store", "--contract", "--output-format", "--from-spread")


class SpreadVerb(RunningVerb):
    """`spread train.py --seeds 10`."""

    late = ("--seeds", "--sources", "--implementation-only", "--html", "--output-format", "--output-file")


@lru_cache(maxsize=1)
def project_table() -> dict[str, Any]:
    """[tool.twinrun] of the nearest pyproject.toml."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "pyproject.toml"
        if path.exists() and not path.is_dir():
            try:
                tools = untrusted.read_toml(path).get("tool", {})
            except (OSError, ValueError) as problem:
                raise UsageError(f"{path} cannot be read: {problem}") from None
            table = tools.get("twinrun", {}) if isinstance(tools, dict) else tools
            if not isinstance(table, dict):
                raise UsageError(f"[tool.twinrun] in {path} is not a table")
            return table
    return {}


def configuration(verb: str, params: Sequence[click.Parameter]) -> dict[str, Any]:
    """Defaults for a verb: the table's own keys, and those of its sub-table of that name. Keys are spelled as the
    options are."""
    known = {
        word.lstrip("-"): param for param in params if isinstance(param, click.Option) for word in param.opts
    }
    found: dict[str, Any] = {}
    table = project_table()
    own = table.get(verb, {})
    if not isinstance(own, dict):
        raise UsageError(f"[tool.twinrun.{verb}] in pyproject.toml is not a table")
    for key, value in [*table.items(), *own.items()]:
        spelled = key.replace("_", "-")
        if spelled in known:
            found[str(known[spelled].name)] = _as_written(value, known[spelled])
        elif key in own or not _known_elsewhere(spelled, value):
            near = get_close_matches(spelled, known, n=1)
            raise UsageError(
                f"unknown option {key!r} in [tool.twinrun] of pyproject.toml",
                hint=did_you_mean(near, f"twinrun {verb} --help"),
            )
    return {name: value for name, value in found.items() if value is not None}


def _as_written(value: Any, option: click.Option) -> Any:
    """A value of the project file in the form that the option takes on the command line."""
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, (str, int, float)) for part in parts):
        hint = "write a text, a number, true or false, or a list of them"
        raise UsageError(
            f"invalid value for {option.opts[0].lstrip('-')} in pyproject.toml: {value!r}", hint=hint
        )
    if option.name == "pin" and isinstance(value, bool):
        return "default" if value else None
    if option.multiple:
        return parts
    if isinstance(value, list):
        return ",".join(map(str, value))
    return value if isinstance(value, bool) else str(value)


def _known_elsewhere(key: str, value: Any) -> bool:
    """Whether another verb takes it."""
    from twinrun.cli import VERBS

    if key == "baselines" or (isinstance(value, dict) and key in (*VERBS, "programs")):
        return True
    return any(f"--{key}" in option.flags(name) for name, option in OPTIONS.items())


def shared(*names: str, **changes: Mapping[str, Any]) -> Decorator:
    """Options of twinrun.settings, in this order; `changes` is what differs for this verb."""
    return all_of(*(_option(name, replace(OPTIONS[name], **changes.get(name, {}))) for name in names))


def _option(name: str, option: Option) -> Decorator:
    words = option.flags(name)
    word = words[0].lstrip("-")
    variable = option.variable or f"TWINRUN_{word.replace('-', '_').upper()}"
    common: dict[str, Any] = {"envvar": variable, "help": option.help}
    if option.kind == "switch":
        return click.option(*words, name, is_flag=True, **common)
    return click.option(
        *words,
        name,
        type=OneOf(option.choices) if option.choices else click.UNPROCESSED,
        metavar=option.metavar or {"count": "N", "time": "TIME", "size": "SIZE"}.get(option.kind),
        multiple=option.kind == "texts",
        required=option.required,
        default=option.default,
        show_default=option.default is not None,
        callback=lambda context, param, value: option.parse(_as_given(context, param, word), value),
        shell_complete=_completion(name, option),
        **common,
    )


def _as_given(context: click.Context, param: click.Parameter, word: str) -> str:
    """An option by the name under which its value was given, for errors."""
    given = context.get_parameter_source(param.name or "")
    if given is ParameterSource.COMMANDLINE:
        return f"--{word}"
    if given is ParameterSource.ENVIRONMENT:
        return str(param.envvar)
    return f"{word} in pyproject.toml" if given is ParameterSource.DEFAULT_MAP else word


def _completion(name: str, option: Option) -> Callable[..., list[CompletionItem]] | None:
    if name == "vary":
        return _variations
    return _files if option.metavar in ("FILE", "FOLDER", "RESULT") else None


def _files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of files, for a shell that completes them itself."""
    return [CompletionItem(incomplete, type="file")]


def _variations(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The variations, each after those that are already there."""
    from twinrun.protocol.registry import variations

    before, comma, begun = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{name}") for name in (*variations(), "all") if name.startswith(begun)
    ]


def output_options(
    formats: tuple[str, ...] = ("text", "html", "json", "sarif", "junit", "github"),
    *,
    to: str = "output_file html",
) -> Decorator:
    """In which format the result is written, and `to` which files it may go."""
    return shared("output_format", *to.split(), output_format={"choices": formats})


def program_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    module = click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does.")
    return module(PROGRAM(command))


PROGRAM = click.argument("program", nargs=-1, type=click.UNPROCESSED, required=False, shell_complete=_files)


def all_of(*decorators: Decorator) -> Decorator:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(decorators):
            command = one(command)
        return command

    return decorate


def the_program(program: Sequence[str], module: str | None) -> Program:
    if module is not None:
        return Program(module, tuple(program), module=True)
    if not program:
        raise UsageError("which program?", hint=WHICH_PROGRAM)
    return Program(program[0], tuple(program[1:]))


# What `--output-file` was called at first, of the verbs that had it.
OUTPUT = click.option("--output", metavar="FILE", hidden=True)

TEXT_OR_JSON = output_options(("text", "json"), to="output_file")
