"""Masks whole values: everything that is written down is of a type that masks each text in it as it is made."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote

import msgspec

from twinrun.masking.arguments import COMMON, secret_values
from twinrun.masking.names import is_secret
from twinrun.masking.text import MASK, mask

T = TypeVar("T")
_URL_PASSWORD = re.compile(r"://[^/?#\s:@\"']{0,80}:([^/?#\s@\"']{1,200})@")
_SHORTEST = 6  # what is shorter occurs by chance
_MOST = 1000


@dataclass(frozen=True)
class Secrets:
    """Values that are known to be secret, by the option or the variable that they were given in: they are masked wherever
    they turn up."""

    values: tuple[str, ...] = ()

    @staticmethod
    def of(arguments: Sequence[str], variables: Mapping[str, str], *, show: bool = False) -> Secrets:
        """The secrets in a command line and in environment variables."""
        announced = [value for name, value in variables.items() if is_secret(name, value)]
        texts = [*arguments, *variables.values()]
        in_urls = [password for text in texts for password in _URL_PASSWORD.findall(text)]
        found = dict.fromkeys((*secret_values(arguments, show=show), *announced, *in_urls))
        known = dict.fromkeys(form for value in found if _telling(value) for form in _forms(value))
        return Secrets(tuple(sorted(known, key=len, reverse=True)[:_MOST]))

    def mask(self, text: str) -> str:
        if not any(value in text for value in self.values):
            return mask(text)
        return mask(self._pattern.sub(MASK, text))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_expression, self.values)))


NO_SECRETS = Secrets()


def _telling(value: str) -> bool:
    """Long enough, and no path, number or common word that a program may well print for another reason."""
    plain = (value.isdigit() and len(value) < 8) or value.lower() in COMMON
    return len(value) >= _SHORTEST and not plain and not value.startswith(("/", "./", "~"))


def _forms(value: str) -> tuple[str, ...]:
    """A secret as it is, and as it is written in a URL, in JSON and in the repr of a string."""
    return value, quote(value, safe="", errors="replace"), json.dumps(value)[1:-1], repr(value)[1:-1]


def _expression(value: str) -> str:
    """A word or a number counts on its own only: a digest may happen to hold it."""
    alone = value.isalpha() or re.fullmatch(r"[0-9a-fA-F]+", value)
    return rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])" if alone else re.escape(value)


class Masked:
    """Mixed into what is written down, structs and dataclasses: every text in it is masked as it is made, so that no view
    of it can forget to. `AS_IS` names the fields that are left alone."""

    __slots__ = ()
    AS_IS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name, value in _fields(self):
            if name not in self.AS_IS and (clean := masked(value)) is not value:
                _set(self, name, clean)

    def without(self: T, secrets: Secrets) -> T:
        """The same without these secrets."""
        return masked(self, secrets) if secrets.values else self


def masked(value: T, secrets: Secrets = NO_SECRETS) -> T:
    """The value with every text in it masked: the same object where there is nothing to mask."""
    return each_text(value, secrets.mask if secrets.values else mask)


def each_text(value: T, change: Callable[[str], str]) -> T:
    """The value with every text in it changed by the function: the same object where nothing changes."""
    changed: T = _walk(value, change)
    return changed


def _walk(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        text = clean(value)
        return value if text == value else text
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        items = [_walk(each, clean) for each in value]
        return value if _same(items, value) else type(value)(items)
    if isinstance(value, dict):
        return _dict(value, clean)
    if isinstance(value, msgspec.Struct) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        as_is = getattr(value, "AS_IS", ())
        before = {name: each for name, each in _fields(value) if name not in as_is}
        after = {name: _walk(each, clean) for name, each in before.items()}
        changed = {name: each for name, each in after.items() if each is not before[name]}
        if not changed:
            return value
        replace: Callable[..., Any] = (
            msgspec.structs.replace if isinstance(value, msgspec.Struct) else dataclasses.replace
        )
        return replace(value, **changed)
    return value


def _dict(value: dict[Any, Any], clean: Callable[[str], str]) -> dict[Any, Any]:
    """Names as well; where two become the same, both are kept."""
    items: dict[Any, Any] = {}
    for name, each in value.items():
        key = shown = _walk(name, clean)
        number = 1
        while key in items and isinstance(shown, str):
            number += 1
            key = f"{shown} ({number})"
        items[key] = _walk(each, clean)
    unchanged = _same(items, value) and _same(items.values(), value.values())
    return value if unchanged else type(value)(items)


def _same(one: Iterable[Any], other: Iterable[Any]) -> bool:
    return all(a is b for a, b in zip(one, other, strict=True))


def _fields(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, msgspec.Struct):
        return [(name, getattr(value, name)) for name in value.__struct_fields__]
    return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value) if field.init]


def _set(value: Any, name: str, changed: Any) -> None:
    if isinstance(value, msgspec.Struct):
        msgspec.structs.force_setattr(value, name, changed)
    else:
        object.__setattr__(value, name, changed)
