"""`twinrun clean`: old recordings of the default folder."""

from __future__ import annotations

import contextlib
from typing import Any

import click

from twinrun.cli.options import ConfiguredVerb, output_options, shared
from twinrun.counted import counted


@click.command(cls=ConfiguredVerb)
@shared("limit", "keep_newest", "all", "dry_run")
@output_options(("text", "json"), to="output_file")
def clean(limit: int | None, keep_newest: int | None, **given: Any) -> None:
    """Remove old recordings from the default folder, the oldest first.

    Skips recordings in use and those made with --keep. Every check and run does the same before it begins. Recordings that
    --dir put elsewhere are left alone.
    """
    from twinrun.launch.folders import Hold, default_root, prune, recorded, state_limit
    from twinrun.render import show
    from twinrun.sizes import size_in_words

    root = default_root()
    limit = state_limit() if limit is None else limit
    newest = {} if keep_newest is None else {"newest": keep_newest}
    with contextlib.closing(Hold(root, alone=True)):
        removed = prune(root, limit=limit, everything=given["all"], dry_run=given["dry_run"], **newest)
        left = [each for each in recorded(root) if each not in removed]
    verb = "would remove" if given["dry_run"] else "removed"
    taken = sum(each.nbytes for each in left)
    lines = [f"{verb} {each.folder} ({size_in_words(each.nbytes)})" for each in removed]
    stay = "would stay" if given["dry_run"] else "stays" if len(left) == 1 else "stay"
    lines.append(f"{counted(len(left), 'recording')} ({size_in_words(taken)}) {stay} in {root}")
    document = {
        "schema": "twinrun/clean/1",
        "folder": str(root),
        "dry_run": given["dry_run"],
        "removed": [{"folder": str(each.folder), "bytes": each.nbytes} for each in removed],
        "left": len(left),
        "left_bytes": taken,
    }
    show(given["output_format"], document, lines, given["output_file"])
