"""The one active watch inside a twin: takes what the adapters observe, makes a frame of each step, records it,
and keeps the twin in lockstep with its siblings. Knows no framework."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinrun.errors import TwinrunError
from twinrun.protocol.channel import ANSWER, ASK, END, GO, TROUBLE, Channel
from twinrun.protocol.spec import Spec
from twinrun.recording.frame import MOST_LAYOUTS, PHASES, Frame, Layout, pack
from twinrun.recording.manifest import Manifest
from twinrun.recording.store import Writer

_RANK = {phase: rank for rank, phase in enumerate(PHASES)}
DRAWS = (
    "tf-random",
    "tf-stateless",
    "numpy",
    "python-random",
)  # kinds of the ledger whose results are tensors
Read = Callable[[int], Any]  # the value of the n-th tensor of a block, as a NumPy array


@dataclass(frozen=True)
class Block:
    """Tensors of one phase that were seen together."""

    phase: str
    names: tuple[str, ...]
    digests: Sequence[int]
    read: Read | None = None
    values: tuple[tuple[int, float], ...] = ()


class Watch:
    """Life: add blocks, `emit` them as a frame at each step, `settle` before anything may change, `finish` once."""

    def __init__(self, spec: Spec, channel: Channel) -> None:
        self.spec = spec
        self.step = 0
        self.frames = 0
        self.alive = True
        self.answers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "dump": self._dump,
            "facts": lambda _: self.facts(),
        }
        self.unsaid: Callable[[str], Any] = lambda name: (
            None
        )  # the value of a weight that no frame tells of now
        self.at_finish: list[Callable[[], None]] = []
        self.notes: list[str] = []
        self.failure: dict[str, Any] = {}  # of the exception that ended the program: kinds and text
        self.lock = threading.RLock()
        self._channel = channel
        self._blocks: list[Block] = []
        self._held: list[Block] = []
        self._owed = False
        self._layouts: dict[tuple[tuple[str, tuple[str, ...]], ...], Layout] = {}
        self._status = "ended"
        self._clock = time.perf_counter()
        folder = Path(spec.folder)
        self._writer = Writer(folder, detail=spec.detail)
        self._manifest = Manifest(spec.program, spec.arguments, started=time.time(), varied=dict(spec.varied))
        self._manifest.write(folder)

    # observing

    def add(self, block: Block) -> None:
        if self.alive:
            with self.lock:
                self._blocks.append(block)

    def emit(self, span: int) -> None:
        """Close what was added since the last frame as one frame of the current step, and send it off."""
        if not self.alive or not self._blocks:
            return
        with self.lock:
            self.settle()
            blocks = sorted(self._blocks, key=lambda block: _RANK[block.phase])
            self._blocks = []
            now = time.perf_counter()
            frame = self._frame(blocks, span, now - self._clock)
            self._clock = now
            try:
                self._writer.write(frame)
                self._held = blocks
                if self.spec.keep_values:
                    self._keep_values()
                self._channel.send_frame(frame)
            except ConnectionError:  # the parent is gone; the lifeline will end this process
                self.alive = False
                return
            except Exception as problem:  # the program goes on: what befalls us is no concern of its own
                self.trouble(problem)
                return
            self.frames += 1
            if self.frames == 1 and self.spec.experiment.get("jostle"):
                from twinrun.twin.stress import jostle

                jostle()
            self._owed = self.spec.lockstep
            if self.spec.steps is not None and self.step >= self.spec.steps and span:
                self._stop_here()
            if self.spec.experiment.get("trace_ops"):
                self.settle()  # at once: the trace must not run on into the next step

    def _frame(self, blocks: list[Block], span: int, seconds: float) -> Frame:
        shape = tuple((block.phase, block.names) for block in blocks)
        layout = self._layouts.get(shape)
        if layout is None:
            if len(self._layouts) >= MOST_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[shape] = _layout(blocks)
        digests: list[int] = []
        values: list[tuple[int, float]] = []
        for block in blocks:
            values.extend((len(digests) + entry, value) for entry, value in block.values)
            digests.extend(block.digests)
        return Frame(self.step, span, layout, pack(digests), tuple(values), seconds)

    # lockstep

    @property
    def standing(self) -> bool:
        """Between a frame and the parent's word on it."""
        return self._owed

    def settle(self) -> None:
        """Wait for the parent's word on the last frame. Called before anything that was seen may change."""
        with self.lock:
            while self._owed:
                message = self._channel.receive()
                if message is None:  # the parent is gone; the lifeline thread is about to end us
                    time.sleep(60)
                    os._exit(70)
                kind, body = message
                if kind == GO:
                    self._owed = False
                elif kind == ASK:
                    self._answer(body)
            self._held = []

    def _answer(self, question: dict[str, Any]) -> None:
        handler = self.answers.get(question["what"])
        try:
            answer = (
                handler(question) if handler else {"error": f"this twin cannot answer {question['what']!r}"}
            )
        except Exception as problem:
            answer = {"error": f"{type(problem).__name__}: {problem}", "traceback": traceback.format_exc()}
        self._channel.send_json(ANSWER, answer)

    def _dump(self, question: dict[str, Any]) -> dict[str, Any]:
        """Write the tensors asked for. Those that changed since they were digested are left out and named."""
        from twinrun.recording.digest import digest_array
        from twinrun.recording.dump import write_dump

        wanted = {(phase, name) for phase, name in question["entries"]}
        layout = _layout(self._held)
        tensors, gone = {}, []
        place = 0
        for block in self._held:
            for number, digest in enumerate(block.digests):
                key = (layout.phases[place], layout.names[place])
                place += 1
                if key not in wanted:
                    continue
                array = block.read(number) if block.read else None
                if array is None or digest_array(array) != digest:
                    gone.append(key)
                else:
                    tensors[key] = array
        for phase, name in wanted - tensors.keys() - set(gone):
            if phase == "weights" and (array := self.unsaid(name)) is not None:
                tensors[phase, name] = array
        Path(question["file"]).parent.mkdir(exist_ok=True)
        write_dump(Path(question["file"]), tensors)
        return {"written": [list(key) for key in tensors], "gone": [list(key) for key in gone]}

    def _keep_values(self) -> None:
        """For a comparison by value with a run that is not alive at the same time."""
        from twinrun.launch.recorded import values_file

        file = values_file(Path(self.spec.folder), self.frames)
        layout = _layout(self._held)
        self._dump({"entries": list(zip(layout.phases, layout.names, strict=True)), "file": str(file)})

    # the end

    def _stop_here(self) -> None:
        """The number of steps asked for is reached: end the process, with nothing of the program left to run."""
        self.settle()
        self._status = "stopped"
        self.finish()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(0)

    def stop_at(self, moment: float) -> None:
        """End the process at this time (as time.time() tells it) if it is still running, and tell what was seen until then."""
        timer = threading.Timer(max(0.0, moment - time.time()), self._stop_now)
        timer.daemon = True
        timer.start()

    def _stop_now(self) -> None:
        with self.lock:
            if self.alive:
                self._stop_here()

    def finish(self) -> None:
        if not self.alive:
            return
        try:
            if (
                self._status == "ended"
            ):  # stopped twins end at their last step; failed ones have no final state
                for handler in self.at_finish:
                    handler()
                if self.frames == 0 and not self._blocks:
                    self._add_draws()
                self.emit(0)
            self.settle()
            facts = self.facts()
            self._writer.close()
            self._manifest = self._manifest.but(status=self._status, ended=time.time(), notes=tuple(self.notes), **{
                "environment": facts["environment"], "controls": facts["controls"]})  # fmt: skip
            self._manifest.write(Path(self.spec.folder))
            self._channel.send_json(END, {"status": self._status, "step": self.step, **facts})
        except Exception as problem:
            self.trouble(problem)
        self.alive = False

    def _add_draws(self) -> None:
        """Nothing else was seen of this program: then what it drew at random is what can be compared."""
        rows = self.answers["ledger"]({}) if "ledger" in self.answers else []
        drawn = [
            row
            for row in rows
            if row["kind"] in DRAWS
            and row["size"]  # what nobody has seen cannot be compared
            and row["via"] in ("", "tensorflow", "keras", "tf_keras")
        ]
        if drawn:
            names = tuple(f"{row['what']} at line {row['line']}" for row in drawn)
            self.add(Block("probe", names, [int(row["digest"], 16) for row in drawn]))

    def facts(self) -> dict[str, Any]:
        """What this process knows of itself: environment, controls as read back, ledger, notes."""
        from twinrun.twin.facts import gather

        return gather(self)

    def trouble(self, problem: BaseException | str) -> None:
        """Watching failed. The program goes on, unwatched; the parent is told, and the check cannot be `repeats`."""
        if not self.alive:
            return
        self.alive = False
        with contextlib.suppress(OSError):
            self._channel.send_json(TROUBLE, describe(problem))

    def excepthook(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def hook(kind: type[BaseException], error: BaseException, trace: Any) -> Any:
            self._status = "failed"
            kinds = [one.__name__ for one in kind.__mro__]
            self.failure = {"kinds": kinds, "text": str(error)[:2000]}
            return original(kind, error, trace)

        return hook

    def leave_to_parent(self) -> None:
        """In a forked child of the program: the recording and the channel belong to the process that was launched."""
        self.alive = False
        self._owed = False  # its parent waits for the word on the last frame; this process would take it away


def describe(problem: BaseException | str) -> dict[str, Any]:
    """Trouble as it is told to the parent: in words where we foresaw it, with a traceback where we did not."""
    if isinstance(problem, TwinrunError):
        return {"message": problem.message, "hint": problem.hint, "traceback": None}
    if isinstance(problem, OSError) and problem.filename is not None:
        return {"message": f"{problem.filename}: {problem.strerror}", "hint": None, "traceback": None}
    trace = "".join(traceback.format_exception(problem)) if isinstance(problem, Exception) else None
    return {"message": str(problem), "hint": None, "traceback": trace}


def _layout(blocks: list[Block]) -> Layout:
    """Names made unique within a phase: the second batch of a step is `x[2]`."""
    phases: list[str] = []
    names: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    for block in blocks:
        for name in block.names:
            count = seen[block.phase, name] = seen.get((block.phase, name), 0) + 1
            phases.append(block.phase)
            names.append(name if count == 1 else f"{name}[{count}]")
    return Layout(tuple(phases), tuple(names))


_active: Watch | None = None


def activate(watch: Watch) -> Watch:
    global _active
    _active = watch
    return watch


def active() -> Watch | None:
    """The watch of this process, where it is a twin that is still being watched."""
    return _active if _active is not None and _active.alive else None
