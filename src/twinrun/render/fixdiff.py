"""A patch for the reported causes, made from the user's own source, for `git apply` or `patch -p1`. It holds only
fixes that change nothing but randomness and order. Nothing proves that they are enough: that is `twinrun fix`."""

from __future__ import annotations

from twinrun.findings.fixes import as_patch, places_of, read_own, together
from twinrun.result import CheckResult


def as_fix_diff(result: CheckResult) -> bytes:
    """The patch; empty when nothing can be fixed automatically. Where causes are confirmed, likely ones are left out."""
    confirmed = [finding for finding in result.findings if finding.confirmed]
    names = {result.program, *(each.file for each in result.findings if each.file)}
    files = {name: file for name in names if (file := read_own(name)) is not None}
    texts = {name: file.text for name, file in files.items()}
    # For a module (`-m`) the place of the finding decides.
    program = result.program if result.program in files else None
    places = places_of(confirmed or result.findings, texts.get, program)
    patch = together(places, texts, program=program, accept=lambda fix: fix.safe)
    return as_patch(
        {name: (files[name].data, files[name].with_text(text)) for name, text in patch.texts.items()}
    )
