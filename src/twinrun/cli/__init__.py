"""The command line. Each verb lives in its own file and is imported only when it is asked for; the page that
lists them needs nothing but this file."""

from __future__ import annotations

import os
import sys

from twinrun import __version__

# Verb and its line of --help. The command is `twinrun.cli.VERB:VERB`; listing the verbs imports none of them.
VERBS = {
    "check": "Run a program in twin processes and report whether it repeats.",
    "fix": "Find the smallest patch that makes a program repeat, and prove it by running the twins.",
    "resume": "Stop a program, start it again, and report what was not restored.",
    "run": "Run a program once and keep a recording.",
    "diff": "Compare two recordings.",
    "audit": "Report what in a program's source and input pipelines keeps it from repeating.",
    "report": "Render a saved result: HTML, JSON, SARIF, JUnit, GitHub annotations.",
    "env": "Show the environment, compare two, write or check a lock.",
    "baseline": "Record a run for this environment, and compare with it in CI.",
    "fingerprint": "Take this machine's numeric fingerprint, and compare.",
    "explain": "Explain a code: what it is, why it matters, what to write instead.",
    "doctor": "Show what is pinned, as read back, and what is not.",
    "clean": "Remove old recordings.",
    "cost": "Measure what each control costs a program.",
    "spread": "Measure how far results spread over seeds; recommend bands; compare two variants.",
}

# Exit codes. What we did wrong ourselves is never 1: that means that the twins diverge.
COULD_NOT_JUDGE = 2

PAGE = """\
Usage: twinrun VERB [OPTIONS] [ARGS]...

  Run a training program in twin processes, report whether it repeats, and name the cause when it does not.

  Exit codes: 0 repeats, 1 diverges (or findings), 2 could not judge.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit. Each verb has its own --help.

Verbs:
"""


def page() -> str:
    """What `twinrun --help` prints."""
    width = max(map(len, VERBS))
    return PAGE + "".join(f"  {verb:<{width}}  {line}\n" for verb, line in VERBS.items())


def main() -> None:
    """The console entry point."""
    completing = "_TWINRUN_COMPLETE" in os.environ  # a shell asks what could come next
    if sys.argv[1:] in ([], ["-h"], ["--help"]) and not completing:
        sys.stdout.write(page())
        return
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"twinrun, version {__version__}\n")
        return
    from twinrun.interrupt import Interrupted, listen

    try:
        listen()
        from twinrun.cli.group import run

        code = run()
    except KeyboardInterrupt as stop:
        code = Interrupted.of(stop).exit_code
    except Exception:
        from twinrun.crash import internal_error
        from twinrun.terminal import say

        say(internal_error().rstrip("\n"))
        code = COULD_NOT_JUDGE
    for descriptor, stream in enumerate((sys.stdout, sys.stderr), start=1):
        try:
            stream.flush()
        except OSError:  # nobody reads it any more, and the exit code is not to be that of its failing
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    sys.exit(code)
