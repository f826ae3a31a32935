"""Masks what looks like a credential in a text. In doubt a value is masked: a hidden word costs less than a leak. Takes
time in proportion to the length of the text, whatever it holds: no expression here can go over a part of it again and
again, which is why their repetitions are bounded or begin at something that occurs once."""

from __future__ import annotations

import re
from functools import lru_cache

from twinrun.masking.names import grade, is_secret, mentions_secret

MASK = "[masked]"

_PRIVATE = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_BEGIN, _KEY_END = re.compile(rf"-----BEGIN {_PRIVATE}"), re.compile(rf"-----END {_PRIVATE}")
_KEY_LINES = re.compile(r"[A-Za-z0-9+/=\\\s:,.-]*")
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\ \t\r\n"

# `user:password@` before a host, also where the password has a slash in it.
_USER_INFO = re.compile(
    r"(?<=://)(?:[^/?#\s\"'<>]*@|[^/?#\s:@\"'<>]{1,80}:(?!\d{1,5}[/?#])[^\s@\"'<>]{1,200}@)"
)
_BARE_LOGIN = re.compile(r"(?<=[A-Za-z0-9._-]):([^\s:@/\\\"'<>]{4,100})@(?!sha256:)(?=[A-Za-z0-9])")

# Tokens that are known by how they begin. They may follow a letter of a file name only behind `_`, `-` and the like.
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    + "|".join(
        (
            r"gh[pousr]_[A-Za-z0-9]{16,}",
            r"(?:github_pat|dckr_(?:pat|oat)|glc|glsa|pscale_(?:tkn|pw|oauth)|lin_(?:api|oauth)|lsv2_(?:pt|sk)|sntry[su]"
            r"|do[opr]_v1|wandb_v1|rubygems|pcsk|figd|sbp|whsec|ntn|KGAT|SUPABASE)_[A-Za-z0-9_=-]{16,}",
            r"gl(?:pat|dt|rt|ptt|agent|cbt|oas|ft|imt|soat|ffct)-[A-Za-z0-9_-]{12,}",
            r"A(?:KIA|SIA|GPA|IDA|ROA|IPA|NPA|NVA|BIA|CCA)[A-Z0-9]{12,}",
            r"(?:sk-|xai-|pplx-|gsk_)(?=[A-Za-z_-]{0,80}[0-9])[A-Za-z0-9_-]{16,}",
            r"[rsp]k_(?:live|test|prod)_[A-Za-z0-9]{10,}",
            r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}",
            r"AIza[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{16,}|ya29\.[A-Za-z0-9_-]{10,}|1//0[A-Za-z0-9_-]{20,}",
            r"(?:hf|npm|r8|api_org|shp(?:at|ca|pa|ss))_[A-Za-z0-9]{16,}|AT(?:ATT|CTT)3[A-Za-z0-9_=-]{16,}",
            r"(?:pypi|sq0(?:atp|csp|idp)|PMAK|NRAK|HRKU|AGE-SECRET-KEY)-[A-Za-z0-9_-]{16,}",
            r"hv[sbr]\.[A-Za-z0-9_-]{16,}|dp\.[a-z]{2,5}\.[A-Za-z0-9]{16,}|sl\.[A-Za-z0-9_-]{40,}",
            r"SG\.[A-Za-z0-9_-]{10,64}\.[A-Za-z0-9_-]{10,}",
            r"eyJ[A-Za-z0-9_-]{17,}[A-Za-z0-9_.=-]*",
            r"key-[0-9a-f]{32}(?![0-9a-f])|(?:SK|AC|dapi)[0-9a-f]{32}(?![0-9a-f])|EAA[A-Za-z0-9]{40,}",
            r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}|[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}",
            r"pat[A-Za-z0-9]{14}\.[0-9a-f]{32,}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}",
            r"hooks\.slack\.com/[A-Za-z]+/[^\s\"'<>]+|discord(?:app)?\.com/api/webhooks/[^\s\"'<>]+",
        )
    )
    + ")"
)
_SCHEME = re.compile(r"(?i:(?<![A-Za-z0-9])(?:bearer|basic)[ \t]+)([A-Za-z0-9+/_.~=-]{8,})")
_COOKIE = re.compile(r"(?i:(?<![A-Za-z0-9])(?:set-)?cookie: ?)((?:[^\s=;,\"']+=[^\s;,\"']*(?:; ?)?)+)")
_WANDB = re.compile(r"(?i:wandb)[^\n]{0,80}?(?<![0-9A-Za-z])([0-9a-f]{40})(?![0-9A-Za-z])")

# What stands between a name and its value, of which there may be an annotation before the `=` and a quote after the name.
_SEPARATOR = re.compile(
    r"(?<=[A-Za-z0-9_\"'`\] \t])(?:: ?(?:Optional\[)?(?:str|bytes|Any|SecretStr|object)\]?(?: ?\| ?None)? ?=(?!=)|=>|:=|==?|:(?!/)|>)[ \t]{0,8}"
)
_LOOK_BACK = 80
_OF_A_NAME = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
# A value: in quotes, escaped ones too, up to the same quotes or the end of the line; or a word, with the quoted value of a
# name that is part of it.
_VALUE = (
    r"(?:(?P<quote>\\{0,3}[\"'`])(?P<quoted>(?:\\.|[^\n])*?)(?=(?P=quote)|\n|\Z)"
    r"|(?P<bare>(?:(?i:bearer|basic|token|digest)[ \t]+)?[^\s\"'`&](?:[^\s\"'`&]|(?<=[=:])(?:\"[^\"\n]*\"?|'[^'\n]*'?))*))"
)
_ANY_VALUE = re.compile(_VALUE)
_ELEMENT = re.compile(r"(?P<bare>[^<>\n]+)(?=</)")
_PHRASE = re.compile(r"(?P<bare>[A-Za-z0-9]+(?: [A-Za-z0-9]+(?![A-Za-z0-9_:=\"'.-])){1,30})")
_OPTION = re.compile(
    rf"(?<![^\s\"'`(\[])(?P<head>(?P<name>--?[A-Za-z][A-Za-z0-9_.-]{{0,60}})[ \t]+)(?!-){_VALUE}"
)
# A line of a configuration: what is announced there may have spaces in it.
_LINE = re.compile(
    r"^(?P<head>[ \t]{0,40}(?:export |set )?[A-Za-z0-9_.-]{0,60}?(?i:password|passwd|passphrase|seed_?phrase|mnemonic|secret)[ \t]{0,8}[:=]"
    r"[ \t]{0,8})(?P<bare>[^\s\"'`=:][^\n]*)",
    re.MULTILINE,
)
_CLOSING = ")]},;.:>"
_NOTHING = re.compile(
    r"(?i:none|null|nil|true|false|yes|no|on|off|ok|str|string|bool|bytes|int|optional)?"
    r"|[-+]?[0-9]{0,3}(?:\.[0-9]{0,8})?(?:e[-+]?[0-9]{1,3})?|[^\w\n]+|<[\w -]{0,40}>|\$\{?\w{0,60}\}?"
)
_RUN = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_HEX = re.compile(r"[0-9a-f]{12,}|[0-9A-F]{12,}")
_LOWER, _UPPER, _DIGIT = re.compile(r"[a-z]"), re.compile(r"[A-Z]"), re.compile(r"[0-9]")
# Letters of one kind in a row, on average: 1.8 in a random key, hardly ever less than 3 in a name that people wrote. The
# secret keys of AWS have 40 letters, which few names have.
_RANDOM, _RANDOM_40 = 3.0, 3.5
# Without any of these there is nothing to mask.
_HINT = re.compile(r"[=:@>]|-----|[A-Za-z0-9+/_-]{12}|[ \t]")
_SHORT = 200
_PASSES = 5


def mask(text: str) -> str:
    """The text with everything that looks like a credential replaced by `[masked]`."""
    if not _HINT.search(text):
        return text
    return _masked(text) if len(text) > _SHORT else _masked_short(text)


def mask_tokens(text: str) -> str:
    """Without the tokens that are known by how they begin, and nothing else: for names that must stay apart."""
    return _SHAPES.sub(MASK, text)


def _masked(text: str) -> str:
    """Until nothing more is found: what one expression masks may show another where a value ends."""
    for _ in range(_PASSES):
        before, text = text, _masked_once(text)
        if text == before:
            break
    return text


def _masked_once(text: str) -> str:
    if "PRIVATE KEY" in text:
        text = _without_key_blocks(text)
    if "@" in text:
        text = _BARE_LOGIN.sub(_keep_plain_login, strip_user_info(text))
    text = _SHAPES.sub(MASK, text)
    text = _LINE.sub(_replace, text)
    text = _COOKIE.sub(_replace_last, text)
    text = "\n".join(_without_named(line) if mentions_secret(line) else line for line in text.split("\n"))
    text = _OPTION.sub(_replace_option, text)
    text = _SCHEME.sub(lambda found: found[0] if _is_prose(found[1]) else _replace_last(found), text)
    text = _WANDB.sub(_replace_last, text)
    return _RUN.sub(lambda found: _without_random(found[0]), text)


_masked_short = lru_cache(maxsize=8192)(_masked)


def strip_user_info(text: str) -> str:
    """URLs without the `user:password@` before their host. A `git@host` without a scheme is kept."""
    return _USER_INFO.sub("", text)


def strip_url(url: str) -> str:
    """An address fit to be written: without user info, query and fragment, and masked."""
    return mask(re.split(r"[?#]", strip_user_info(url), maxsplit=1)[0])


def _without_key_blocks(text: str) -> str:
    """Without private keys, also where the beginning or the end of one was cut off."""
    kept, place, ends = [], 0, True
    for begin in _KEY_BEGIN.finditer(text):
        if begin.start() < place:
            continue
        end = _KEY_END.search(text, begin.end()) if ends else None
        ends = end is not None
        kept += [text[place : begin.start()], MASK]
        place = (end or _KEY_LINES.match(text, begin.end()) or begin).end()
    text = "".join([*kept, text[place:]])
    kept, place = [], 0
    for end in _KEY_END.finditer(text):
        kept += [text[place : end.start()].rstrip(_BASE64), MASK]
        place = end.end()
    return "".join([*kept, text[place:]])


def _keep_plain_login(found: re.Match[str]) -> str:
    return found[0] if found[1].isalpha() else f":{MASK}@"


def _replace_last(found: re.Match[str]) -> str:
    """What the first group holds, at the end of the match."""
    return found[0][: -len(found[1])] + MASK


def _without_named(text: str) -> str:
    """A line without the values of names that announce a credential."""
    kept, place = [], 0
    for separator in _SEPARATOR.finditer(text):
        start = separator.start()
        if start < place:
            continue
        before = text[max(place, start - _LOOK_BACK) : start].rstrip(" \t]").rstrip("\"'`\\")
        name = before[len(before.rstrip(_OF_A_NAME)) :]
        if grade(name) == "no":
            continue
        found = _value_of(name, separator)
        if found is not None and is_secret(name, _value(found)):
            kept += [text[place : found.start()], _replace(found)]
            place = found.end()
    return "".join([*kept, text[place:]])


def _value_of(name: str, separator: re.Match[str]) -> re.Match[str] | None:
    text, place = separator.string, separator.end()
    if separator[0].startswith(">"):
        return _ELEMENT.match(text, place)
    of_words = name.lower().endswith(("phrase", "mnemonic"))
    return (_PHRASE.match(text, place) if of_words else None) or _ANY_VALUE.match(text, place)


def _replace_option(found: re.Match[str]) -> str:
    announced = grade(found["name"])
    secret = announced == "sure" or (announced == "login" and ":" in _value(found))
    return _replace(found) if secret else found[0]


def _value(found: re.Match[str]) -> str:
    """Without the brackets and commas that close what it stands in."""
    groups = found.groupdict()
    if groups.get("quoted") is not None:
        return str(groups["quoted"])
    bare = str(groups["bare"])
    return MASK if bare.startswith(MASK) else bare.rstrip(_CLOSING)


def _replace(found: re.Match[str]) -> str:
    value = _value(found)
    if _NOTHING.fullmatch(value):
        return found[0]
    groups = found.groupdict()
    if groups.get("quote") is not None:
        return f"{groups.get('head', '')}{groups['quote']}{MASK}"
    rest = groups["bare"][len(value) :]
    return f"{groups.get('head', '')}{MASK}{rest if not rest.strip(_CLOSING) else ''}"


def _is_prose(word: str) -> bool:
    word = word.rstrip(_CLOSING)
    return word.isalpha() and (word.islower() or word.istitle())


def _without_random(run: str) -> str:
    """A key is letters of both cases and digits, mixed. Digests in hexadecimal, paths and names of ops are not."""
    if not (_DIGIT.search(run) and _UPPER.search(run) and _LOWER.search(run)):
        return run
    parts = run.split("/")
    cleaned = [MASK if looks_random(part) else part for part in parts]
    if cleaned != parts:
        return "/".join(cleaned)
    return MASK if looks_random("/".join(part for part in parts if not _HEX.fullmatch(part))) else run


def looks_random(text: str, shortest: int = 20) -> bool:
    """Letters of both cases and digits, mixed as no name is that people wrote."""
    if len(text) < shortest or not (_DIGIT.search(text) and _UPPER.search(text) and _LOWER.search(text)):
        return False
    pieces = _PIECE.findall(text)
    return sum(map(len, pieces)) / len(pieces) < (_RANDOM_40 if len(text) == 40 else _RANDOM)
