"""Writes a picture of a terminal, as SVG, of a command that is really run: what the README shows.

python tools/picture.py docs/images/check.svg twinrun check examples/follows_the_advice.py
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

_WIDTH = 100
_THEME = TerminalTheme(
    (27, 30, 34), (222, 225, 230),
    [
        (60, 64, 70), (242, 139, 128), (87, 201, 138), (224, 178, 82),
        (138, 180, 248), (197, 138, 249), (120, 210, 220), (222, 225, 230),
    ],
)  # fmt: skip
# Rich's own frame, but with the reader's fonts: a picture in a repository should load nothing from anywhere.
_FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 16px; font-family: ui-sans-serif, system-ui, sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath></defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def run(command: list[str], home: str) -> str:
    """What the command writes to a terminal of this width, with its recordings in a folder that everybody may have."""
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "TWINRUN_HOME": home,
        "COLUMNS": str(_WIDTH),
        "TERM": "xterm-256color",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment):
        os.close(theirs)
        output = b""
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # the terminal is gone: so is the command
                break
            if not chunk:
                break
            output += chunk
    return output.decode().replace("\r\n", "\n").replace(home, "/home/you/.local/state/twinrun")


def main() -> None:
    target, *command = sys.argv[1:]
    shown = " ".join([Path(command[0]).name, *command[1:]])
    console = Console(record=True, width=_WIDTH, file=Path(os.devnull).open("w"))  # noqa: SIM115
    console.print(Text.assemble(("$ ", "bold green"), shown))
    with tempfile.TemporaryDirectory() as home:
        console.print(Text.from_ansi(run(command, home).rstrip()), soft_wrap=False)
    svg = console.export_svg(title="", theme=_THEME, code_format=_FORMAT, unique_id="twinrun")
    # Rich refers to a clip path for each row and makes one too few; rows of this width need none.
    svg = re.sub(r' clip-path="url\(#twinrun-line-\d+\)"', "", svg)
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")


if __name__ == "__main__":
    main()
