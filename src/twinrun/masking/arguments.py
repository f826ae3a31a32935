"""Masks the arguments of a program. What is surely a credential never stays; where a secret cannot be told from data, as
with most words, the argument is masked as well, unless its user has asked to see it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from twinrun.masking.names import grade, words
from twinrun.masking.text import MASK, looks_random, mask

_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]*")
_GLUED = re.compile(r"(-[pP])([^-].*)", re.DOTALL)  # as mysql takes its password
_LOWER_WORDS = re.compile(r"[a-z]+(?:[-_][a-z]+)*")
_NAME = re.compile(r"[A-Za-z_+~][\w.+/-]*")
_NAMES = re.compile(r"[\"'`]?\s{0,4}[:=]")  # behind a name in a document
_NUMBER = (
    r"[+-]?(?:[0-9]+(?:[._*/^-][0-9]+)*\.?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[KMGT]i?B?|[mun]?s|[hdm%]|px)?"
)
_NUMBERS = re.compile(rf"{_NUMBER}(?:[,:x]{_NUMBER})*")
_DIGEST = re.compile(r"[0-9a-f]{7,64}")
_OF_A_DIGEST = re.compile(r"(?i:commit|rev|revision|sha(?:1|256|512)?|digest|checksum|md5|hash|ref)\Z")
# A place that begins like one, a folder and what is in it, or a name with an ending.
_PATH = re.compile(
    r"(?:[~.]{1,2}|[A-Za-z][A-Za-z0-9+.-]{0,20}:/)?/[^!$^&#\\<>|]*|[^\s!$^&#\\<>|/:]+(?:/[^\s!$^&#\\<>|/]*)+"
    r"|[A-Za-z0-9_.+-]*[A-Za-z0-9_-]\.[A-Za-z][A-Za-z0-9]{0,7}(?:::.*)?|[.~]{1,2}"
)
_SEPARATORS = r"\s\"'`{}()\[\],;=:|"
_TOKEN = re.compile(rf"[^{_SEPARATORS}]+")
_PART = re.compile(r"[A-Za-z0-9]+")
_SHORTEST = 4  # a word of fewer letters is no secret
_COMPONENT = 8  # letters of a part of a path that may be a key
COMMON = words(
    "true false none null auto default all any both best last latest first next full quick fast slow train training test "
    "testing valid validation eval evaluate evaluation predict infer inference fine tune finetune resume debug info "
    "warning error verbose quiet silent local remote disk memory cuda localhost adam adamw nadam sgd rmsprop adagrad "
    "adadelta adamax lion ftrl momentum nesterov huber hinge cross entropy crossentropy binary categorical sparse accuracy "
    "loss precision recall relu gelu selu silu swish tanh sigmoid softmax linear cosine constant exponential polynomial "
    "warmup step steps plateau float fp16 fp32 fp64 bf16 float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 mixed "
    "half double single tiny small base medium large huge mini micro batch epoch layer kernel bias mnist fashion cifar "
    "cifar10 cifar100 imagenet imdb iris boston housing coco resnet resnet18 resnet34 resnet50 resnet101 resnet152 vgg16 "
    "vgg19 inception xception densenet mobilenet efficientnet convnext alexnet lenet unet bert roberta distilbert gpt2 llama "
    "lstm transformer attention encoder decoder generator discriminator bitwise output band hashseed fileorder threads load "
    "timezone clock json yaml toml text html sarif junit github parquet tfrecord jpeg utf8 ascii gzip uniform normal glorot "
    "random zeros ones mean median repeats diverges undecided weights gradient forward probe final metric init"
)


def mask_arguments(
    arguments: Sequence[str], *, show: bool = False, harmless: Collection[str] = ()
) -> tuple[str, ...]:
    """The arguments fit to be written. Options, numbers and paths stay as they are, and words that are common or among
    `harmless`. With `show` everything stays that is not surely a credential."""
    judge = _Judge(show, harmless)
    return tuple(judge.argument(word, option) for option, word in _with_option(arguments))


def secret_values(arguments: Sequence[str], *, show: bool = False) -> list[str]:
    """What of these arguments is a credential by the name of its option."""
    judge = _Judge(show)
    found = []
    for option, word in _with_option(arguments):
        name, _, value = word.partition("=")
        if judge.is_secret(option, word):
            found.append(word)
        elif value and judge.is_secret(name, value):
            found.append(value)
    return found


def _with_option(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each word with the option before it, where it may be the value of one: a password may begin with a dash, and
    hardly with two."""
    for option, word in zip(("", *arguments), arguments, strict=False):
        takes = _OPTION.fullmatch(option) and not word.startswith("--")
        yield option if takes else "", word


@dataclass(frozen=True)
class _Judge:
    show: bool
    harmless: Collection[str] = ()

    def is_secret(self, name: str, value: str) -> bool:
        """Whether a value is a secret, judged by its name."""
        announced = grade(name)
        if announced == "login":
            return ":" in value
        return announced == "sure" or (announced == "maybe" and not self.show)

    def argument(self, word: str, option: str = "") -> str:
        name, equals, value = word.partition("=")
        if equals and not self.is_secret(option, word) and (_OPTION.fullmatch(name) or _NAME.fullmatch(name)):
            return f"{mask(name)}={self._value(value, name)}"
        return self._value(word, option)

    def _value(self, word: str, option: str) -> str:
        if word and self.is_secret(option, word):
            return MASK
        if word.startswith("-") and not _NUMBERS.fullmatch(word):
            return self._option(word)
        if _OF_A_DIGEST.search(option) and _DIGEST.fullmatch(word):
            return word
        return mask(word) if self.show else self._told_from_data(word)

    def _option(self, word: str) -> str:
        glued = _GLUED.fullmatch(word)
        if glued and not self.show and not _LOWER_WORDS.fullmatch(glued[2]):
            return f"{glued[1]}{MASK}"
        return mask(word)

    def _told_from_data(self, word: str) -> str:
        """The word where it cannot be a secret, or what of it cannot be one."""
        text = mask(word)
        if _PATH.fullmatch(text):
            return "/".join(MASK if looks_random(part, _COMPONENT) else part for part in text.split("/"))
        rest = text.replace(MASK, "")
        if re.search(f"[{_SEPARATORS}]", rest):  # a list, a document, a piece of code
            return _TOKEN.sub(self._part, text)
        return text if self._is_harmless(rest) else MASK

    def _part(self, found: re.Match[str]) -> str:
        names = _NAME.fullmatch(found[0]) and _NAMES.match(found.string, found.end())
        return found[0] if names or self._is_harmless(found[0]) else MASK

    def _is_harmless(self, word: str) -> bool:
        if word == "masked" or _NUMBERS.fullmatch(word) or _PATH.fullmatch(word):
            return True
        if re.search(r"[^\w.+\-/@~<>%]", word):
            return False
        return all(
            len(part) < _SHORTEST or part.isdigit() or part.lower() in COMMON or part in self.harmless
            for part in _PART.findall(word)
        )
