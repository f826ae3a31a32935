"""Which names announce a credential as their value: of an option, a variable, a key in a document, a parameter of a URL."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

# `sure`: the value is a credential. `maybe`: it may be one, or a plain word, as with `--key`. `login`: it is one where it
# is a name and a password.
Grade = Literal["sure", "maybe", "login", "no"]


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SURE = words(
    "password passwd passphrase passcode passwort pwd pw secret token apikey authorization credential credentials cred "
    "creds webhook dsn jwt mnemonic cookie"
)
_MAYBE = words("key pass auth pat sig signature otp totp sas salt")
_LOGIN = frozenset({"login", "user", "username"})
_LETTERS: dict[str, Grade] = {"p": "maybe", "u": "login"}  # options of one letter
# The ends of words that are written as one: `githubtoken`, `AZUREAPIKEY`.
_GLUED = tuple(words("password passwd passphrase passcode secret token apikey accesskey secretkey"))
# The word before `key` that makes it one of a lock.
_OF_A_LOCK = words(
    "api access private secret account license licence encryption signing session auth master service storage shared "
    "subscription client deploy ssh gpg pgp hmac aes rsa root admin app consumer integration"
)
_PAIRS = {
    "key": _OF_A_LOCK,
    "id": frozenset({"session", "sess"}),
    "string": frozenset({"connection", "conn"}),
    "str": frozenset({"connection", "conn"}),
    "phrase": frozenset({"pass", "seed", "recovery"}),
    "word": frozenset({"pass"}),
    "code": frozenset({"pass"}),
}
# Of language models: `pad_token` is a word of theirs.
_OF_LANGUAGE = words(
    "pad eos bos unk cls sep mask special start end num n max min per next stop oov class prefix suffix image"
)
_FOLDERS = frozenset({"PWD", "OLDPWD"})
_PLAIN = re.compile(r"[-_./: ]*(?:[A-Za-z]+|[0-9]{1,6})(?:[-_./:, ]+(?:[A-Za-z]+|[0-9]{1,6}))*[-_./: ]*")
_CODE = re.compile(r"[()\[\]{}]")
# Every name that announces anything has one of these in it.
_MENTIONED = tuple(
    words(
        "pass pw secret token key auth cred hook dsn jwt mnemonic cookie sig pat otp sas salt login user sess conn phrase"
    )
)


def mentions_secret(text: str) -> bool:
    """Whether there may be such a name in a text: quick, for most lines have none."""
    lower = text.lower()
    return any(part in lower for part in _MENTIONED)


@lru_cache(maxsize=4096)
def grade(name: str) -> Grade:
    """How strongly a name announces a secret, judged by its end: HF_TOKEN and --token announce one; --tokens, --tokenizer and --max-token-length do not."""
    if name in _FOLDERS:
        return "no"
    parts = [word.lower() for word in _WORD.findall(name) if not word.isdigit()]
    if not parts:
        return "no"
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if last == "token" and before in _OF_LANGUAGE:
        return "no"
    if last in _SURE or last.endswith(_GLUED) or before in _PAIRS.get(last, ()):
        return "sure"
    if last in _LOGIN:
        return "login"
    if last in _MAYBE:
        return "maybe"
    return _LETTERS.get(last, "no") if len(parts) == 1 and name.startswith("-") else "no"


def is_secret(name: str, value: str) -> bool:
    """Whether this value of a name is a credential. Where it may be one, a plain word is none."""
    announced = grade(name)
    if announced == "login" and ":" not in value:
        return False
    return announced == "sure" or (announced != "no" and not (_PLAIN.fullmatch(value) or _CODE.search(value)))
