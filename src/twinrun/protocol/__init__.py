"""The typed centre: what crosses between the processes, and what every source and framework is made of.

Imports neither the parent's side (`launch`) nor the program's side (`twin`), and no framework."""

from __future__ import annotations

from twinrun.protocol.control import Control, ControlState, NotApplied, Reading, SetBy, Undo
from twinrun.protocol.event import Event, relative
from twinrun.protocol.evidence import Evidence, Trace, differs, one
from twinrun.protocol.facts import Facts
from twinrun.protocol.intervention import Devices, Freeze, Intervened, Interventions, Pin, Stress, Vary
from twinrun.protocol.pin import PinRequest
from twinrun.protocol.point import Point, Wrap, replacement
from twinrun.protocol.seeds import derive
from twinrun.protocol.source import SecondLook, Source
from twinrun.protocol.suspect import Suspect, Weight
from twinrun.protocol.variation import Variation, inside

__all__ = [
    "Control", "ControlState", "Devices", "Event", "Evidence", "Facts", "Freeze", "Intervened", "Interventions",
    "NotApplied", "Pin", "PinRequest", "Point", "Reading", "SecondLook", "SetBy", "Source", "Stress",
    "Suspect", "Trace", "Undo", "Variation", "Vary", "Weight", "Wrap", "derive", "differs", "inside",
    "one", "relative", "replacement",
]  # fmt: skip
