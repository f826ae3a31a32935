"""The outcome of a rewrite: the changes that were made, or why a stage cannot be made repeatable."""

from __future__ import annotations

from dataclasses import dataclass

from twinrun.errors import TwinrunError
from twinrun.pipelines.build_sites import Site


class CannotRewrite(TwinrunError):
    """A stage that cannot be made repeatable, with the reason."""


@dataclass(frozen=True)
class Change:
    """One thing that `repeatable` changed: at which stage, built where, and what."""

    stage: str
    kind: str
    site: Site | None
    what: str

    def __str__(self) -> str:
        place = f" ({self.site})" if self.site is not None else ""
        return f"stage {self.stage}, {self.kind}{place}: {self.what}"
