"""What differs between two environments, sorted by what it can do to a result: bits, metrics, or nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from twinrun.environment.environment import Environment, is_unread
from twinrun.findings import catalogue
from twinrun.findings.finding import Finding
from twinrun.masking import Masked
from twinrun.terminal import inline

BITS = "can change bits"
METRICS = "can change metrics"
NOTHING = "should not matter"
GROUPS = (BITS, METRICS, NOTHING)

# Every fact of the key: its code, what to call it, and why it changes bits.
_KEY: dict[str, tuple[str, str, str]] = {
    "framework": ("TW501", "the framework", "kernels are rewritten between releases"),
    "build": ("TW501", "the framework's build", "another compiler or other sources make other kernels"),
    "keras": ("TW501", "Keras", "another generation has other initialisers, losses and training steps"),
    "numpy": ("TW501", "NumPy", "another generation has other streams and other kernels"),
    "machine": ("TW503", "the processor architecture", "each has its own kernels"),
    "libc": ("TW501", "the C library", "exp, log and pow are its own, and optimizers call them"),
    "device": ("TW503", "the device", "another device computes with other kernels"),
    "vector": ("TW503", "the instruction set in effect", "sums are split over vectors of another width"),
    "intra_op_threads": ("TW505", "the intra-op thread count", "sums are split over the threads"),
    "op_determinism": ("TW504", "op determinism", "it chooses other implementations, on a CPU too"),
    "onednn": ("TW504", "oneDNN", "it replaces TensorFlow's own kernels"),
    "xla_auto_jit": ("TW504", "XLA auto-clustering", "compiled code fuses and reorders arithmetic"),
    "optimizer_options": ("TW504", "the graph optimiser", "fused operations round once instead of twice"),
    "strategy": ("TW601", "the distribution strategy", "gradients are summed over other numbers of replicas"),
    "settings": ("TW504", "numeric settings", "each of them chooses other kernels"),
    "accelerator": ("TW502", "the accelerator stack", "kernels are chosen by the libraries and the driver"),
    "tensor_float_32": ("TW504", "TensorFloat-32", "products are rounded to 10 bits before they are summed"),
}

# Every other fact, by the beginning of its path: group, code, and why. The first match counts; None leaves a
# field out, because another line or the key reports the same thing better.
_OTHERS: tuple[tuple[str, tuple[str, str, str] | None], ...] = (
    ("framework.keras.floatx", (METRICS, "TW504", "layers are made in another precision")),
    ("framework.keras.policy", (METRICS, "TW504", "layers compute in another precision")),
    ("framework.keras.image_data_format", (METRICS, "TW504", "layers read images in another layout")),
    ("framework.inter_op_threads", (NOTHING, "TW505", "it was measured to change no bits")),
    ("framework.built_with", (NOTHING, "TW502", "the libraries that are loaded do the computing")),
    ("framework.loaded", (NOTHING, "TW502", "no GPU takes part")),
    ("framework", None),
    ("packages.installed", None),
    ("packages.loaded", (METRICS, "TW501", "the program imports it")),
    ("packages.only_installed", (NOTHING, "TW501", "the program does not import it")),
    ("packages.origins", (METRICS, "TW501", "it was installed from another source")),
    ("python.version", (METRICS, "TW501", "hashing, sampling and the order of sets can change with it")),
    ("python.hash_seed", (METRICS, "TW507", "the order of sets and of hash() changes with it")),
    ("python", (NOTHING, "TW501", "the same program runs on it")),
    ("platform.locale", (METRICS, "TW507", "sorting and parsing text can follow it")),
    ("platform.encoding", (METRICS, "TW507", "text files are read with it")),
    ("platform.time_zone", (METRICS, "TW507", "dates that become features follow it")),
    ("platform.libc", None),
    ("platform.machine", None),
    ("platform", (NOTHING, "TW503", "the libraries that compute come with the packages")),
    ("cpu.vector", None),
    ("cpu", (NOTHING, "TW503", "instruction set and thread count, which matter, are compared on their own")),
    ("gpu", (NOTHING, "TW502", "the device in use is compared on its own")),
    ("variables", (NOTHING, "TW504", "what it sets is read back and compared on its own")),
    ("code.digest", None),
    ("code.sources", (METRICS, "TW506", "the program is not the same")),
    ("data", (METRICS, "TW506", "the data are not the same")),
    ("code.git.commit", (METRICS, "TW506", "other files of the project may have changed")),
    ("code.git.remote", (NOTHING, "TW506", "only where the code came from")),
    ("code", (METRICS, "TW506", "the program may not be the same")),
)


@dataclasses.dataclass(frozen=True)
class Difference(Masked):
    """One field that differs: what it can do, its code and the code's name, both sides, and a sentence for a reader."""

    field: str
    group: str
    code: str
    sentence: str
    a: Any = None
    b: Any = None
    name: str = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "name", catalogue.lookup(self.code).name)

    def as_finding(self) -> Finding:
        _, of_source, file = self.field.partition("code.sources.")
        evidence = f"{self.field}: {_against(self.a, self.b)}"
        return catalogue.finding(
            self.code, self.sentence, file=file if of_source else None, evidence=[evidence]
        )


def comparable_bitwise(a: Environment, b: Environment) -> bool:
    """Whether equal bits may be expected: the keys are equal, and everything in them could be read."""
    return a.key == b.key and not a.key.unread


def differences(a: Environment, b: Environment) -> list[Difference]:
    """What can change bits first. There is a difference of that group exactly when the keys differ."""
    found = [*_in_key(a, b), *_in_facts(a, b)]
    return sorted(found, key=lambda each: (GROUPS.index(each.group), _likely_first(each.field)))


def _likely_first(field: str) -> int:
    """Within a group: the user's changed files first, then what is most likely to matter."""
    starts = ("key.", "code.sources", "data", "framework", "packages", "python", "platform")
    return next((rank for rank, start in enumerate(starts) if field.startswith(start)), len(starts))


def _in_key(a: Environment, b: Environment) -> Iterator[Difference]:
    for name in [*_KEY, *sorted((set(a.key) | set(b.key)) - set(_KEY))]:
        code, called, why = _KEY.get(name, ("TW504", name, "it is part of the environment key"))
        left, right = a.key.get(name), b.key.get(name)
        if "unread" in (left, right):
            why = "it could not be read on one side, so it may differ"
        if left != right:
            yield _difference(f"key.{name}", called, (BITS, code, why), left, right)


def _in_facts(a: Environment, b: Environment) -> Iterator[Difference]:
    left, right = dict(_flat(_arranged(a))), dict(_flat(_arranged(b)))
    for path in sorted(set(left) | set(right)):
        rule = next((rule for start, rule in _OTHERS if path == start or path.startswith(start + ".")), None)
        values = left.get(path), right.get(path)
        if rule is None or values[0] == values[1]:
            continue
        if path == "code.git.commit":
            values = str(values[0])[:10], str(values[1])[:10]
        if any(is_unread(value) for value in values):
            rule = (*rule[:2], "it could not be read on one side")
        yield _difference(path, _called(path), rule, *values)


def _difference(path: str, called: str, rule: tuple[str, str, str], left: Any, right: Any) -> Difference:
    group, code, why = rule
    return Difference(path, group, code, f"{called} differs ({_against(left, right)}): {why}", left, right)


def _arranged(environment: Environment) -> dict[str, Any]:
    """The facts with the packages split into those that the program imports and those that are only installed."""
    packages = environment.facts.get("packages", {})
    installed, loaded = packages.get("installed"), packages.get("loaded")
    if not isinstance(installed, dict) or not isinstance(loaded, dict):
        return environment.facts
    only = {name: version for name, version in installed.items() if name not in loaded}
    return {**environment.facts, "packages": {**packages, "only_installed": only}}


def _flat(document: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(document, dict):
        for name, value in document.items():
            yield from _flat(value, f"{path}.{name}" if path else str(name))
    else:
        yield path, document


def _called(path: str) -> str:
    """What a reader calls a field: `packages.loaded.numpy` is `package numpy`."""
    first, _, rest = path.partition(".")
    for prefix in ("loaded.", "only_installed.", "origins.", "sources.", "git."):
        rest = rest.removeprefix(prefix)
    rest = rest.removesuffix(".digest")
    kind = {
        "packages": "package ",
        "variables": "variable ",
        "data": "data file ",
        "code": "",
        "framework": "",
    }
    if first not in ("data", "code", "variables"):
        rest = rest.replace("_", " ")
    return readable(kind.get(first, f"{first} ") + rest)


def _against(left: Any, right: Any) -> str:
    return f"{readable(left)} against {readable(right)}"


def readable(value: Any, most: int = 100) -> str:
    """A value from a recording, which may hold anything: control characters are escaped and the length is limited."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, dict):
        value = ", ".join(f"{name}={readable(inner)}" for name, inner in value.items())
    text = inline(str(value))
    return text if len(text) <= most else text[: most - 1] + "…"
