"""What `repeatable` changed: the list a user can read."""

from __future__ import annotations

from dataclasses import dataclass

from twinrun.pipelines.build_sites import Site


@dataclass(frozen=True)
class Change:
    """One thing that was changed: at which stage, built where, and what."""

    stage: str
    kind: str
    site: Site | None
    what: str

    def __str__(self) -> str:
        place = f" ({self.site})" if self.site is not None else ""
        return f"stage {self.stage}, {self.kind}{place}: {self.what}"
