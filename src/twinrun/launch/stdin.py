"""Standard input for several processes: what arrives is kept and handed to each twin, as it would have come to one."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from functools import lru_cache
from typing import IO


class StdinCopy:
    """Reads our own standard input once, in the background, and replays it to every twin, late ones too."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._done = False
        self._more = threading.Condition()
        threading.Thread(target=self._read, name="twinrun-stdin", daemon=True).start()

    @staticmethod
    @lru_cache(maxsize=1)
    def shared() -> StdinCopy | None:
        """The only one of this process: what was read once must be there for every later twin. None for a terminal:
        nobody can type the same thing twice at the same moment."""
        try:
            return StdinCopy() if sys.stdin is not None and not os.isatty(0) else None
        except OSError:
            return None

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(0, 1 << 16)
            except OSError:
                chunk = b""
            with self._more:
                self._data += chunk
                self._done = not chunk
                self._more.notify_all()
            if not chunk:
                return

    def feed(self, pipe: IO[bytes]) -> None:
        threading.Thread(target=self._write, args=(pipe,), name="twinrun-feed", daemon=True).start()

    def _write(self, pipe: IO[bytes]) -> None:
        sent = 0
        with contextlib.suppress(OSError, ValueError):
            while True:
                with self._more:
                    while sent == len(self._data) and not self._done:
                        self._more.wait()
                    chunk = bytes(self._data[sent:])
                if not chunk:
                    break
                pipe.write(chunk)
                pipe.flush()
                sent += len(chunk)
        with contextlib.suppress(OSError, ValueError):
            pipe.close()
