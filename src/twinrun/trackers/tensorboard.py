"""Runs for TensorBoard: a folder with a file of events. Written without TensorFlow, which takes seconds to import."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.record_writer import RecordWriter

from twinrun.errors import UsageError

_TEXT = SummaryMetadata(
    plugin_data=SummaryMetadata.PluginData(plugin_name="text"), data_class=DATA_CLASS_TENSOR
)


class TensorBoardRun:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.twinrun"
        self._events = RecordWriter((folder / name).open("xb"))
        self._add(Event(file_version="brain.Event:2"))

    def labels(self, values: Mapping[str, str], step: int = 0) -> None:
        for name, value in values.items():
            self._text(name, value, step)

    def numbers(self, by_step: Mapping[int, Mapping[str, float]]) -> None:
        for step, values in by_step.items():
            scalars = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
            self._add(Event(step=step, summary=Summary(value=scalars)))

    def text(self, name: str, markdown: str) -> None:
        self._text(name, markdown, 0)

    def file(self, name: str, content: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def end(self, *, complete: bool) -> str:
        self._events.close()
        return str(self.folder)

    def _text(self, name: str, text: str, step: int) -> None:
        tensor = TensorProto(dtype=DT_STRING, string_val=[text.encode()])
        self._add(
            Event(step=step, summary=Summary(value=[Summary.Value(tag=name, tensor=tensor, metadata=_TEXT)]))
        )

    def _add(self, event: Event) -> None:
        event.wall_time = time.time()
        self._events.write(event.SerializeToString())
        self._events.flush()


def new_run(title: str, folder: str | None) -> TensorBoardRun:
    """In a folder of its own: TensorBoard takes files that lie together for one run."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    name = "".join(char if char.isalnum() or char in "-_." else "-" for char in title)
    return TensorBoardRun(_given(folder) / f"{name}-{stamp}-{os.getpid()}")


def current_run(folder: str | None) -> TensorBoardRun:
    return TensorBoardRun(_given(folder))


def hint() -> str:
    return "give a folder that can be written to"


def _given(folder: str | None) -> Path:
    if not folder:
        raise UsageError("TensorBoard needs a folder", hint="give the log_dir of the run")
    return Path(folder)
