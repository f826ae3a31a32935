"""From a finding's code and place to a fix of the user's own source, where one can be made."""

from __future__ import annotations

from twinrun.findings.catalogue import lookup
from twinrun.findings.fixes.fix import Fix

# What the program as a whole must do: fixed in the program's own file, wherever the finding is.
OF_THE_PROGRAM = {"TW101", "TW102", "TW104", "TW105"}
# What a seed of the program may be enough for, by the codes of what it seeds: draws of Python or NumPy in code that a
# framework calls, where it calls it in order, and a shuffle that takes no seed, as that of `fit`.
_BY_A_SEED = {"TW204": ("TW102", "TW101"), "TW205": ("TW102", "TW101"), "TW201": ("TW104", "TW102")}


def propose(
    code: str,
    file: str,
    line: int,
    source: str,
    *,
    program: tuple[str, str] | None = None,
    seed: int | None = None,
) -> Fix | None:
    """A fix for the finding `code` at `file:line`, made from the user's own source; None when unsure.

    `source` is the file's text with its line endings as they are (`open(…, newline="")`). `program` is the
    name and text of the script that was started: a missing seed belongs there, not in a module it imports.
    `seed` is the number to write where the source has none of its own.
    """
    from twinrun.findings.fixes.fixers import first_fix, seeded_program  # libcst is slow to import

    known = lookup(code).code
    if program is not None and known in OF_THE_PROGRAM and program[0] != file:
        found = seeded_program(known, program, (file, line, source), seed)
        if found is not None:
            return found
    is_program = True if program is not None and program[0] == file else None
    found = first_fix(known, file, line, source, is_program=is_program, seed=seed)
    if found is None and program is not None and known in _BY_A_SEED:
        drawn = (file, line, source)
        seeded = (seeded_program(code, program, drawn, seed) for code in _BY_A_SEED[known])
        found = next((fix for fix in seeded if fix is not None), None)
    return found
