"""Keeps credentials out of everything that is written. When in doubt a value is masked: a hidden flag costs less
than a leak."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

MASK = "[masked]"

# A name that announces a credential, as an option, a variable, a key in a document or a parameter of a URL.
_NAMED = (
    r"(?:pass|[a-z0-9]*(?:passw(?:or)?d|passphrase|passcode|secret|token)|pwd|api[-_.]?key|apikey|access[-_.]?key|auth(?:orization)?"
    r"|credentials?|private[-_.]?key|client[-_.]?secret|signature|sig|session[-_.]?(?:id|key)|cookie|account[-_.]?key"
    r"|license[-_.]?key|licence[-_.]?key|encryption[-_.]?key|webhook)"
)
# The announcing word must end the name: --token and HF_TOKEN announce one, --tokens 512, --max-token-length
# and --tokenizer do not.
_NAME = rf"(?:[A-Za-z0-9]+[-_.])*{_NAMED}"
_OPTION = re.compile(rf"^-{{1,2}}{_NAME}$", re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"(?P<name>(?<![A-Za-z0-9_.-])-{{0,2}}{_NAME})(?P<between>[\"']?\s*(?:=|:(?!/))\s*)"
    r"(?P<value>\"[^\"]*\"|'[^']*'|(?:(?:bearer|basic|token)\s+)?[^\s\"',;&]+)",
    re.IGNORECASE,
)
_SPACED = re.compile(
    rf"(?P<name>(?<!\S)-{{1,2}}{_NAME})(?P<between>\s+)(?P<value>\"[^\"]*\"|'[^']*'|[^\s-]\S*)", re.IGNORECASE
)
_USER_INFO = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*://)(?P<user>[^/?#\s\"']*@)")
_SHAPES = re.compile(
    "|".join(
        (
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            r"\b(?:bearer|basic)\s+[A-Za-z0-9+/_.~-]{8,}=*",
            r"\bgh[pousr]_[A-Za-z0-9]{16,}",
            r"\bgithub_pat_[A-Za-z0-9_]{16,}",
            r"\bgl(?:pat|dt|rt|ptt|agent)-[A-Za-z0-9_-]{12,}",
            r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}",
            r"\bsk-[A-Za-z0-9_-]{16,}",
            r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}",
            r"\bxox[abeoprs]-[A-Za-z0-9-]{8,}",
            r"\bAIza[A-Za-z0-9_-]{20,}",
            r"\bya29\.[A-Za-z0-9_-]{10,}",
            r"\bhf_[A-Za-z0-9]{16,}",
            r"\bpypi-[A-Za-z0-9_-]{16,}",
            r"\bnpm_[A-Za-z0-9]{16,}",
            r"\bdop_v1_[a-f0-9]{16,}",
            r"\bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
            r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
            r"\bhooks\.slack\.com/services/\S+",
        )
    ),
    re.IGNORECASE | re.DOTALL,
)
_LONG = re.compile(r"(?<![A-Za-z0-9+/_=.-])[A-Za-z0-9+/_-]{32,}={0,2}(?![A-Za-z0-9+/_.-])")


def mask(text: str) -> str:
    """The text with everything that looks like a credential replaced by `[masked]`."""
    text = strip_user_info(text)
    text = _SHAPES.sub(MASK, text)
    text = _ASSIGNED.sub(_keep_name, text)
    text = _SPACED.sub(_keep_name, text)
    return _LONG.sub(lambda found: MASK if _random_looking(found.group()) else found.group(), text)


def mask_arguments(arguments: Sequence[str]) -> list[str]:
    """A program's arguments with every credential masked, and whatever follows an option such as `--password`,
    unless that is a long option itself."""
    before = ("", *arguments)
    return [
        MASK if _OPTION.match(option) and not argument.startswith("--") else mask(argument)
        for option, argument in zip(before, arguments, strict=False)
    ]


def strip_user_info(text: str) -> str:
    """URLs without the `user:password@` before their host. A `git@host` without a scheme is kept."""
    return _USER_INFO.sub(lambda found: found.group("scheme"), text)


def strip_url(url: str) -> str:
    """An address fit to be written: without user info, query and fragment, and masked."""
    return mask(re.split(r"[?#]", strip_user_info(url), maxsplit=1)[0])


def announces_secret(name: str) -> bool:
    """Whether a variable's or option's name announces a credential as its value."""
    return re.fullmatch(_NAME, name.lstrip("-"), re.IGNORECASE) is not None


def _keep_name(found: re.Match[str]) -> str:
    return f"{found['name']}{found['between']}{MASK}"


def _random_looking(text: str) -> bool:
    """Letters of both cases and digits, mixed as a key's are: a digest in hexadecimal or a long path is
    not."""
    if not (re.search(r"[a-z]", text) and re.search(r"[A-Z]", text) and re.search(r"\d", text)):
        return False
    counts = [text.count(letter) / len(text) for letter in set(text)]
    return -sum(share * math.log2(share) for share in counts) > 4.3
