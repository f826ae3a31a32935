"""`python -m twinrun.frameworks.examine [all]`: a program that imports the frameworks that are installed, for `twinrun
doctor` to look at. Prints what could not be imported, and the patch table as found."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

import msgspec

from twinrun.protocol.registry import frameworks
from twinrun.twin.patch_table import Row
from twinrun.twin.session import current

_ON_REQUEST = ("tf_keras",)  # which only programs written for it import


class Examined(msgspec.Struct):
    notes: list[str]
    patches: list[Row]


def main(*, everything: bool) -> None:
    notes = []
    for name in ("numpy.random", *(framework.module for framework in frameworks())):
        if name in _ON_REQUEST and not everything:
            continue
        if find_spec(name.partition(".")[0]) is None:
            notes.append(f"{name} is not installed")
            continue
        try:
            import_module(name)
        except Exception as problem:
            notes.append(f"{name} cannot be imported: {type(problem).__name__}: {problem}")
    for framework in frameworks() if everything else ():
        framework.audit_datasets(
            current(), at_once=True
        )  # which replaces functions that a check leaves alone
    print(msgspec.json.encode(Examined(notes, current().patches.rows())).decode())


if __name__ == "__main__":
    main(everything="all" in sys.argv)
