"""The one active recorder inside a twin: takes what the frameworks observe, makes a frame of each step, writes it down,
and keeps the twin in lockstep with its siblings. Knows no framework."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from twinrun.protocol import Event, Facts, Trace
from twinrun.protocol.channel import ANSWER, ASK, DOING, END, GO, TROUBLE, Channel
from twinrun.protocol.facts import Failure, Replicated, WorkerEnd
from twinrun.protocol.messages import Doing, End, SoFar
from twinrun.protocol.spec import Spec
from twinrun.recording.frame import MOST_LAYOUTS, PHASES, Frame, Layout, pack
from twinrun.recording.manifest import Manifest, Status
from twinrun.recording.store import Writer
from twinrun.recording.values import values_file
from twinrun.sizes import size_in_words
from twinrun.twin.answers import answer
from twinrun.twin.block import Block, layout_of
from twinrun.twin.callers import unseen
from twinrun.twin.facts import gather
from twinrun.twin.family import Family, Mailbox
from twinrun.twin.held import Held
from twinrun.twin.session import Session
from twinrun.twin.trouble import describe

if TYPE_CHECKING:
    from twinrun.twin.share import ShareLog

_RANK = {phase: rank for rank, phase in enumerate(PHASES)}


class Recorder:
    """Life: add blocks, `emit` them as a frame at each step, `wait_for_parent` before anything may change, `finish`
    once."""

    def __init__(self, spec: Spec, channel: Channel | Mailbox, session: Session, family: Family) -> None:
        self.spec = spec
        self.session = session
        self.family = family
        self.frames = 0
        self.observed = False  # a frame shows something trained, evaluated or probed
        self.alive = True
        self.share = _share_log() if family.worker is not None else None
        self.trace: Callable[[], Trace] | None = None  # the ops that ran, where they are traced
        self.omitted: Callable[[str], Any] = lambda name: None  # a weight that no frame reports at present
        self.roles: Callable[[], dict[str, str]] = dict  # of variables, by name; see Facts
        self.placed: Callable[[], dict[str, int]] = dict  # see Facts
        self.replicated: Callable[[], Replicated | None] = lambda: None
        self.at_finish: list[Callable[[], None]] = []
        self.at_pause: list[Callable[[], None]] = []  # close what is complete
        self.after_fork: list[Callable[[], None]] = []  # in a child: forget what the program was about to do
        self.failure: Failure | None = None  # the exception that ended the program
        self.unrepeatable: str | None = None  # see Facts
        self.worker_end: WorkerEnd | None = None  # where this process starts workers: of the one that failed
        self.lock = threading.RLock()
        self._step = 0
        self._channel = channel
        self._writer: Writer | None = None
        self._blocks: list[Block] = []
        self._last: list[Block] = []  # of the frame at which the twin stands
        self._held: Held | None = None
        self._owed = False
        self._layouts: dict[tuple[tuple[str, tuple[str, ...], str], ...], Layout] = {}
        self.status: Status = "ended"
        self._values_bytes = 0
        self._events: tuple[Event, ...] = ()  # of a child, as last written down
        self._events_up_to = 0
        self._clock = time.perf_counter()
        if not self.is_child:
            self._open()

    @property
    def is_child(self) -> bool:
        """Whether this process was started by the program. It has a recording once there is something to record."""
        return bool(self.family.identity)

    def _open(self) -> Writer:
        if isinstance(self._channel, Mailbox):
            self.spec = msgspec.structs.replace(self.spec, folder=str(self._channel.folder()))
        spec, folder = self.spec, Path(self.spec.folder)
        self._writer = Writer(folder, detail=spec.detail)
        self._manifest = Manifest(spec.program, spec.arguments, started=time.time(), varied=dict(spec.varied))
        self._manifest.write(folder)
        return self._writer

    @property
    def step(self) -> int:
        return self._step

    @step.setter
    def step(self, step: int) -> None:
        self._step = self.session.log.step = step

    def note(self, text: str) -> None:
        self.session.notes.append(text)

    def doing(self, text: str) -> None:
        """What takes a while, for the screen. Left out where another thread is sending: it waits for nothing."""
        if self.alive and self.lock.acquire(blocking=False):
            try:
                self._channel.send_message(DOING, Doing(text))
            except OSError:  # the parent is gone, as the next frame will find
                pass
            finally:
                self.lock.release()

    # observing

    def add(self, block: Block) -> None:
        if self.alive:
            with self.lock:
                self._blocks.append(block)
                if self.share is not None and block.phase == "batch" and block.read is not None:
                    self.share.add((name, block.read(number)) for number, name in enumerate(block.names))
                if block.phase == "probe" and self._writer is None:
                    self._open()  # now: should this process be killed, it is known that it had something to compare

    def emit(self, span: int) -> None:
        """Close what was added since the last frame as one frame of the current step, and send it off."""
        if not self.alive or not self._blocks:
            return
        with self.lock:
            self.wait_for_parent()
            blocks = sorted(self._blocks, key=lambda block: _RANK[block.phase])
            self._blocks = []
            now = time.perf_counter()
            frame = self._frame(blocks, span, now - self._clock)
            idle = not self.observed and not frame.is_observation and (frame.is_end or not frame.digests)
            if self.is_child and idle:
                return  # it has weights at most, inherited or loaded, and has done nothing with them
            self._clock = now
            try:
                if isinstance(self._channel, Mailbox):
                    self._keep_so_far(self._channel)
                (self._writer or self._open()).write(frame)
                self._last, self._held = blocks, None
                if self.spec.keep_values:
                    self._keep_values()
                self._channel.send_frame(frame)
            except ConnectionError:  # the parent is gone; the supervisor will end this process
                self.stop()
                return
            except Exception as problem:  # the program goes on: a failure of ours must not be one of its own
                self.trouble(problem)
                return
            self.frames += 1
            self.observed = self.observed or frame.is_observation
            if self.frames == 1 and self.spec.stressed:
                from twinrun.twin.stress import start_stress

                start_stress()
            self._owed = self.spec.lockstep
            if self.spec.steps is not None and self.step >= self.spec.steps and span:
                self._stop_here()
            if self.spec.tracing:
                self.wait_for_parent()  # at once: the trace must not run on into the next step

    def _frame(self, blocks: list[Block], span: int, seconds: float) -> Frame:
        shape = tuple((block.phase, block.names, block.kinds) for block in blocks)
        layout = self._layouts.get(shape)
        if layout is None:
            if len(self._layouts) >= MOST_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[shape] = layout_of(blocks)
        digests: list[int] = []
        values: list[tuple[int, float]] = []
        for block in blocks:
            values.extend((len(digests) + entry, value) for entry, value in block.values)
            digests.extend(block.digests)
        return Frame(self.step, span, layout, pack(digests), tuple(values), seconds)

    # lockstep

    @property
    def standing(self) -> bool:
        """Between a frame and the parent's answer to it."""
        return self._owed

    def wait_for_parent(self) -> None:
        """Wait until the parent has judged the last frame. Called before anything that was seen may change."""
        with self.lock:
            while self._owed:
                message = self._channel.receive()
                if message is None:  # the parent is gone; the supervisor is about to end this process
                    time.sleep(60)
                    os._exit(70)
                kind, body = message
                if kind == GO:
                    self._owed = False
                elif kind == ASK:
                    self._channel.send_message(ANSWER, answer(body, self))
            self._last, self._held = [], None

    def _keep_values(self) -> None:
        """Keep the values, to compare them with a run that is not alive at the same time."""
        file, limit = values_file(Path(self.spec.folder), self.frames), self.spec.values_limit
        self.held.dump_all(file)
        self._values_bytes += file.stat().st_size
        if limit is not None and self._values_bytes > limit:
            self.spec = msgspec.structs.replace(self.spec, keep_values=False)
            kept = f"values were kept up to step {self.step} only, where they took {size_in_words(self._values_bytes)}"
            self.note(f"{kept} (TWINRUN_STATE_LIMIT)")

    @property
    def held(self) -> Held:
        """The tensors of the frame at which the twin stands."""
        if self._held is None:
            self._held = Held(self._last, self.omitted)
        return self._held

    # the end

    def settle(self) -> None:
        """Write down what is complete: this process may be ended before it can do so itself."""
        if self.alive:
            for handler in self.at_pause:
                handler()
            self.emit(0)
            self._keep_events()

    def _keep_events(self) -> None:
        """Those of a child, for the case that it does not come to its end: when new ones were added, or when what is
        written down is less than half of what was used."""
        log = self.session.log
        is_due = len(log) > len(self._events) or log.order > 2 * self._events_up_to
        if is_due and self.spec.events and self.family.worker is None and isinstance(self._channel, Mailbox):
            self._events, self._events_up_to = tuple(log.events()), log.order
            with contextlib.suppress(OSError):
                self._keep_so_far(self._channel)

    def _stop_here(self) -> None:
        """The number of steps asked for is reached: end the process, and run nothing more of the program."""
        self.wait_for_parent()
        self.status = "stopped"
        self.finish()
        if self.is_child:  # others wait for it: it goes on, and is recorded no more
            return
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(0)

    def stop_at(self, moment: float) -> None:
        """End the process at this time (of time.time()) if it is still running, and report what was seen until then."""
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
            if self.status == "ended":
                # Stopped twins end at their last step; failed ones have no final state.
                for handler in self.at_finish:
                    handler()
                self.emit(0)
            if not self.alive:  # the last frame could not be written: this is not a whole recording
                return
            self.wait_for_parent()
            facts = self.facts()
            if self._writer is not None:
                manifest = msgspec.structs.replace(
                    self._manifest,
                    seal=self._writer.close(),
                    status=self.status,
                    ended=time.time(),
                    notes=tuple(facts.notes),
                    environment=facts.environment,
                    controls=msgspec.to_builtins(facts.controls, enc_hook=str),
                    unrepeatable=facts.unrepeatable,
                    replicated=msgspec.to_builtins(facts.replicated),
                )
                manifest.write(Path(self.spec.folder))
            self._channel.send_message(END, End(self.status, facts))
        except Exception as problem:
            self.trouble(problem)
        self.stop()

    def facts(self) -> Facts:
        """What this process knows of itself: environment, controls as read back, events, notes."""
        with unseen():
            return gather(self)

    def trouble(self, problem: BaseException | str) -> None:
        """Recording failed. The program goes on; the parent is informed, and the check cannot be `repeats`."""
        if not self.alive:
            return
        self.stop()
        with contextlib.suppress(OSError):
            self._channel.send_message(TROUBLE, describe(problem, self.spec.folder))

    def stop(self) -> None:
        """Record nothing more; the program goes on."""
        self.alive = self.session.log.recording = False

    def excepthook(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def hook(kind: type[BaseException], error: BaseException, trace: Any) -> Any:
            self.status = "failed"
            self.failure = Failure([one.__name__ for one in kind.__mro__], str(error)[:2000])
            if self.family.worker is not None and isinstance(self._channel, Mailbox):
                with contextlib.suppress(OSError):  # a thread may keep this process from ending
                    self._keep_so_far(self._channel)
            return original(kind, error, trace)

        return hook

    def _keep_so_far(self, mailbox: Mailbox) -> None:
        mailbox.keep(SoFar(self.replicated(), self.unrepeatable, self.failure, self._events))

    def go_on_as_child(self) -> None:
        """In a forked child: the recording and the channel belong to the process that it was forked from, and so does
        what that was about to do."""
        self._channel.close()
        self._inherited = self._writer  # closing it is not for this process to do
        self._channel, self._writer = Mailbox(self.family), None
        self.spec = child_spec(self.spec)
        self.lock = threading.RLock()  # another thread may have held the old one
        self.frames, self.step, self.observed = 0, 0, False
        self._blocks, self._last, self._held, self._owed = [], [], None, False
        self.status, self.failure = "ended", None
        self.session.log.forget()
        self._events, self._events_up_to = (), self.session.log.order
        for forget in self.after_fork:
            forget()


def _share_log() -> ShareLog:
    """Imported by workers alone: it needs NumPy, which a program may not."""
    from twinrun.twin.share import ShareLog

    return ShareLog()


def child_spec(spec: Spec) -> Spec:
    """A child waits for nobody: it is compared when everything has ended, by what it has written down."""
    keep = spec.keep_values or spec.keep_child_values
    return msgspec.structs.replace(spec, lockstep=False, detail=True, keep_values=keep, tracing="")


_active: Recorder | None = None


def activate(recorder: Recorder) -> Recorder:
    global _active
    _active = recorder
    return recorder


def active() -> Recorder | None:
    """The recorder of this process, where it is a twin that is still being recorded."""
    return _active if _active is not None and _active.alive else None
