"""Interventions as a user writes them, and what each of them means for the n-th twin."""

from __future__ import annotations

import os
import re
from collections import ChainMap
from dataclasses import dataclass, field

from twinrun.errors import NoDevice, UsageError
from twinrun.protocol import Devices, Freeze, Interventions, Pin, PinRequest, Stress, Vary
from twinrun.protocol.intervention import Intervention, of_kind
from twinrun.protocol.registry import frameworks, source, variations
from twinrun.twin.pinning import launch_environment
from twinrun.twin.session import DEVICE

_DEVICE = re.compile(r"cpu|gpu(:\d{1,3})?")


def parse_interventions(
    *,
    pin: PinRequest | None = None,
    vary: str | None = None,
    devices: str | None = None,
    freeze: tuple[str, ...] = (),
    stress: bool = False,
) -> Interventions:
    """What `--pin`, `--vary`, `--devices`, `--freeze` and `--stress` ask for."""
    found: list[Intervention] = [parse_freeze(text) for text in freeze]
    if pin is not None:
        found.append(Pin(pin))
    found += parse_vary(vary)
    if devices:
        found.append(parse_devices(devices))
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
            raise UsageError.unknown("variation", name, [*known, "all"])
    return tuple(Vary(name) for name in (known if names == ("all",) else names))


def parse_devices(text: str) -> Devices:
    """Two of them. One that this machine does not have is an error before anything runs."""
    names = tuple(part.strip() for part in text.split(","))
    for name in names:
        if not _DEVICE.fullmatch(name):
            raise UsageError(f"unknown device {name!r}", hint="write cpu, gpu, or gpu:1 for the second one")
    if len(names) != 2:
        raise UsageError(f"--devices takes two devices, not {len(names)}", hint="write --devices cpu,gpu")
    for name in names:
        device_environment(name)
    return Devices(names)


def device_environment(name: str) -> dict[str, str]:
    """The variables that put a program on this device."""
    known = [framework.device_environment(name, os.environ) for framework in frameworks()]
    if all(each is None for each in known):
        hint = "run it on a machine with one, and see that CUDA_VISIBLE_DEVICES does not hide it"
        raise NoDevice(f"there is no {name} on this machine that a framework could use", hint=hint)
    return dict(ChainMap(*(dict(each) for each in known if each)))


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
    for devices in of_kind(Devices, interventions):
        varied[DEVICE] = devices.names[number]
        environment.update(device_environment(devices.names[number]))
    for freeze in of_kind(Freeze, interventions):
        environment.update(source(freeze.source).freeze_environment(freeze))
    inside = tuple(each for each in interventions if not isinstance(each, Vary))
    if number == 0:
        inside = tuple(each for each in inside if not isinstance(each, Stress))
    return Setup(environment, varied, inside)
