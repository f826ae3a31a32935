"""The channel between a twin and its parent: framed messages over a socket pair. The twin sends frames and waits
for a word; the parent answers `go`, or holds the twin and asks for more. Nothing received is ever executed."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

from twinrun.recording.frame import MOST_LAYOUTS, Frame, Layout, pack_values, unpack_values

_HEAD = struct.Struct("<IB")
_FRAME = struct.Struct("<IIQdI")

# Kinds of message. A twin sends LAYOUT, FRAME, ANSWER, TROUBLE, END; a parent sends GO, ASK.
LAYOUT, FRAME, ANSWER, TROUBLE, END, GO, ASK = range(7)
LARGEST = 1 << 30


class Channel:
    """One end of the pair. Closed by the other side: `receive` returns None."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._buffer = bytearray()
        self._sent_layouts: dict[Layout, int] = {}
        self._known_layouts: dict[int, Layout] = {}

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    # sending

    def send(self, kind: int, payload: bytes = b"") -> None:
        self._socket.sendall(_HEAD.pack(len(payload), kind) + payload)

    def send_json(self, kind: int, document: Any) -> None:
        self.send(kind, json.dumps(document, default=str).encode("utf-8", "surrogatepass"))

    def send_frame(self, frame: Frame) -> None:
        number = self._sent_layouts.get(frame.layout)
        if number is None:
            if len(self._sent_layouts) >= MOST_LAYOUTS:
                self._sent_layouts.clear()  # their numbers are given anew
            number = self._sent_layouts[frame.layout] = len(self._sent_layouts)
            self.send_json(LAYOUT, [number, frame.layout.phases, frame.layout.names])
        head = _FRAME.pack(number, frame.span, frame.step, frame.seconds, len(frame.digests))
        self.send(FRAME, head + frame.digests + pack_values(frame.values))

    # receiving

    def feed(self) -> bool:
        """Read what has arrived, without waiting beyond the first byte. False at the end of the stream."""
        try:
            data = self._socket.recv(1 << 18)
        except (ConnectionError, OSError):
            return False
        self._buffer += data
        return bool(data)

    def take(self) -> tuple[int, Any] | None:
        """The next whole message that has arrived: a Frame, a JSON document, or nothing yet."""
        while len(self._buffer) >= _HEAD.size:
            length, kind = _HEAD.unpack_from(self._buffer)
            if length > LARGEST:
                raise ValueError(f"a message of {length} bytes")
            if len(self._buffer) < _HEAD.size + length:
                return None
            payload = bytes(self._buffer[_HEAD.size : _HEAD.size + length])
            del self._buffer[: _HEAD.size + length]
            if kind == LAYOUT:
                number, phases, names = json.loads(payload)
                self._known_layouts[number] = Layout(tuple(phases), tuple(names))
                continue
            return kind, self._decode(kind, payload)
        return None

    def receive(self) -> tuple[int, Any] | None:
        """Wait for one message."""
        while True:
            message = self.take()
            if message is not None:
                return message
            if not self.feed():
                return None

    def _decode(self, kind: int, payload: bytes) -> Any:
        if kind == FRAME:
            number, span, step, seconds, size = _FRAME.unpack_from(payload)
            body = payload[_FRAME.size :]
            return Frame(
                step, span, self._known_layouts[number], body[:size], unpack_values(body[size:]), seconds
            )
        return json.loads(payload) if payload else None


def pair() -> tuple[Channel, socket.socket]:
    """The parent's end, and the socket to hand to a twin."""
    ours, theirs = socket.socketpair()
    return Channel(ours), theirs
