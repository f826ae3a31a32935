"""The channel between a twin and its parent: framed messages over a socket pair. The twin sends frames and waits for
the parent, which lets it go on, or holds it and asks for more. Nothing received is ever executed."""

from __future__ import annotations

import socket
import struct
from typing import Any

import msgspec

from twinrun.protocol.messages import Answer, Doing, End, LayoutMessage, Question, Trouble
from twinrun.recording.frame import MOST_LAYOUTS, Frame, Layout, pack_values, unpack_values

_HEAD = struct.Struct("<IB")
_FRAME = struct.Struct("<IIQdI")

# Kinds of message. A twin sends LAYOUT, FRAME, DOING, ANSWER, TROUBLE, END; a parent sends GO, ASK.
LAYOUT, FRAME, ANSWER, TROUBLE, END, GO, ASK, DOING = range(8)
_TYPES: dict[int, Any] = {
    LAYOUT: LayoutMessage, ANSWER: Answer, TROUBLE: Trouble, END: End, ASK: Question, DOING: Doing,
}  # fmt: skip
_DECODERS = {kind: msgspec.json.Decoder(type) for kind, type in _TYPES.items()}
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

    def set_timeout(self, seconds: float | None) -> None:
        self._socket.settimeout(seconds)

    # sending

    def send(self, kind: int, payload: bytes = b"") -> None:
        self._socket.sendall(_HEAD.pack(len(payload), kind) + payload)

    def send_message(self, kind: int, message: msgspec.Struct) -> None:
        self.send(kind, encode(message))

    def send_frame(self, frame: Frame) -> None:
        number = self._sent_layouts.get(frame.layout)
        if number is None:
            if len(self._sent_layouts) >= MOST_LAYOUTS:
                self._sent_layouts.clear()  # their numbers are used again
            number = self._sent_layouts[frame.layout] = len(self._sent_layouts)
            layout = frame.layout
            self.send_message(LAYOUT, LayoutMessage(number, layout.phases, layout.names, layout.kinds))
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
        """The next whole message that has arrived, or None: a Frame, or the struct of its kind."""
        while len(self._buffer) >= _HEAD.size:
            length, kind = _HEAD.unpack_from(self._buffer)
            if length > LARGEST:
                raise ValueError(f"a message of {length} bytes")
            if len(self._buffer) < _HEAD.size + length:
                return None
            payload = bytes(self._buffer[_HEAD.size : _HEAD.size + length])
            del self._buffer[: _HEAD.size + length]
            body = self._decode(kind, payload)
            if kind == LAYOUT:
                self._known_layouts[body.number] = Layout(body.phases, body.names, body.kinds)
                continue
            return kind, body
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
            layout, values = self._known_layouts[number], unpack_values(body[size:])
            return Frame(step, span, layout, body[:size], values, seconds)
        return _DECODERS[kind].decode(payload) if kind in _DECODERS else None


def encode(message: msgspec.Struct) -> bytes:
    """Names may hold lone surrogates (file names do), which JSON cannot: they are written as escapes."""
    try:
        return msgspec.json.encode(message, enc_hook=str)
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(msgspec.to_builtins(message, enc_hook=str)))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_surrogates(item) for item in value]
    return value


def pair() -> tuple[Channel, socket.socket]:
    """The parent's end, and the socket to hand to a twin."""
    ours, theirs = socket.socketpair()
    return Channel(ours), theirs
