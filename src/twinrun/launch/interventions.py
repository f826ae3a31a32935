"""Interventions as a user writes them, and what each of them means for the n-th twin."""

from __future__ import annotations

from dataclasses import dataclass, field

from twinrun.errors import UsageError
from twinrun.protocol import Freeze, Interventions, Pin, PinRequest, Stress, Vary
from twinrun.protocol.intervention import Intervention, of_kind
from twinrun.protocol.registry import source, variations
from twinrun.twin.pinning import launch_environment


def parse_interventions(
    *,
    pin: PinRequest | None = None,
    vary: str | None = None,
    freeze: tuple[str, ...] = (),
    stress: bool = False,
) -> Interventions:
    """What `--pin`, `--vary`, `--freeze` and `--stress` ask for."""
    found: list[Intervention] = [parse_freeze(text) for text in freeze]
    if pin is not None:
        found.append(Pin(pin))
    found += parse_vary(vary)
    if stress:
        found.append(Stress())
    return tuple(found)


def parse_freeze(text: str) -> Freeze:
    freeze = Freeze.parse(text)
    known = source(freeze.source)
    if freeze.action and freeze.action not in known.actions:
        actions = ", ".join(known.actions) or "none"
        raise UsageError(f"{known.name} has no action {freeze.action!r}", hint=f"its actions are: {actions}")
    return freeze


def parse_vary(text: str | None) -> tuple[Vary, ...]:
    if not text:
        return ()
    known = variations()
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in known and names != ("all",):
            raise UsageError(f"unknown variation {name!r}", hint=f"choose from {', '.join(known)}, all")
    return tuple(Vary(name) for name in (known if names == ("all",) else names))


@dataclass(frozen=True)
class Setup:
    """What one twin is started with."""

    environment: dict[str, str] = field(default_factory=dict)
    varied: dict[str, str] = field(default_factory=dict)
    interventions: Interventions = ()


def setup_for(number: int, interventions: Interventions) -> Setup:
    """The first twin runs as it is: it is neither varied nor stressed."""
    environment: dict[str, str] = {}
    varied: dict[str, str] = {}
    for pin in of_kind(Pin, interventions):
        environment.update(launch_environment(pin.request))
    for vary in of_kind(Vary, interventions):
        varied[vary.name], extra = variations()[vary.name][1].of(number)
        environment.update(extra)
    for freeze in of_kind(Freeze, interventions):
        environment.update(source(freeze.source).freeze_environment(freeze))
    inside = tuple(each for each in interventions if not isinstance(each, Vary))
    if number == 0:
        inside = tuple(each for each in inside if not isinstance(each, Stress))
    return Setup(environment, varied, inside)
