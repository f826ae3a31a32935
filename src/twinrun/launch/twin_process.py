"""A twin: one process running the user's program, with a recording, a channel, and a life that ends with ours."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twinrun.comparison.verdict import Reason, ReasonKind
from twinrun.launch.children import note_survivors
from twinrun.launch.interventions import Setup
from twinrun.launch.output import Output, Printed, without_our_frames
from twinrun.launch.program import Program
from twinrun.launch.stdin import StdinCopy
from twinrun.launch.supervised import Supervised
from twinrun.protocol import channel as wire
from twinrun.protocol.facts import DatasetsAudit, Facts
from twinrun.protocol.messages import (
    Answer,
    AskDatasets,
    AskDump,
    AskFacts,
    AskOutlines,
    AskValues,
    End,
    NoAnswer,
    Outlines,
    Question,
    Trouble,
    Values,
)
from twinrun.protocol.registry import frameworks
from twinrun.protocol.spec import Spec
from twinrun.recording.folder import record_end
from twinrun.recording.frame import Frame
from twinrun.recording.manifest import Status
from twinrun.recording.outline import Key, Outline, Part
from twinrun.recording.output import ERRORS
from twinrun.recording.printed import OUTPUT
from twinrun.recording.writing import HINT, writing
from twinrun.twin.family import entrance

_SPEC = "spec.json"  # in the folder of the recording, for as long as the twin lives
_TAIL = 16_384  # characters of output that may be shown


class Twin:
    """Started at once; `frames` fills as it is pumped; always `kill`ed in the end."""

    def __init__(
        self,
        name: str,
        program: Program,
        folder: Path,
        setup: Setup,
        *,
        printed: Printed = lambda _, __: None,
        **settings: Any,
    ) -> None:
        """`settings` are fields of the Spec. `printed` is told what the program prints, when it does."""
        self.name = name
        self.folder = folder
        self._secrets = program.secrets
        self.frames: deque[Frame] = deque()
        self.step = 0
        self.count = 0
        self.doing = ""  # besides running the program
        self.last_message = time.monotonic()
        self._trouble: Trouble | None = None
        self.end: End | None = None
        self.closed = False  # the channel
        self._killed = False
        with writing(folder):
            folder.mkdir(parents=True)
            self._output = Output(folder, printed)
        self.channel, theirs = wire.pair()
        spec = Spec(
            str(folder), theirs.fileno(), str(program), program.shown_arguments, show_arguments=program.show_arguments,
            output=self._output.pipe, watched=tuple(framework.module for framework in frameworks()), interventions=setup.interventions, varied=setup.varied, **settings,
        )  # fmt: skip
        self.waits = spec.lockstep  # at every step, for an answer
        try:
            self.process = self._start(program, spec, theirs, setup)
        except BaseException:
            (folder / _SPEC).unlink(missing_ok=True)
            self._output.close()
            raise

    def _start(self, program: Program, spec: Spec, theirs: socket.socket, setup: Setup) -> Supervised:
        # Not for an audit, which may run in a shell loop that reads its list from there.
        stdin = StdinCopy.shared() if spec.audit_until is None else None
        spec_file = self.folder / _SPEC
        with writing(spec_file):
            spec.write(spec_file)
        out, err = (stream.target for stream in self._output.streams)
        with theirs:
            process = Supervised(
                program,
                (theirs.fileno(),),
                cwd=program.cwd,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=_environment(spec_file, setup.environment),
            )
        self._output.start()
        if stdin and process.stdin:
            stdin.feed(process.stdin)
        return process

    # talking

    def pump(self) -> None:
        """Take in what has arrived. Call when the channel is readable."""
        if not self.channel.feed():
            self.closed = True
        while (message := self.channel.take()) is not None:
            self._note(*message)

    def _note(self, kind: int, body: Any) -> None:
        self.last_message = time.monotonic()
        if kind == wire.FRAME:
            self.frames.append(body)
            self.step = body.step
            self.count += 1
            self.doing = ""
        elif kind == wire.DOING:
            self.doing = body.text
        elif kind == wire.END:
            self.end = body
        elif kind == wire.TROUBLE:
            self._trouble = body

    @property
    def trouble(self) -> Trouble | None:
        """Why the twin is not recorded to its end."""
        problem = self._output.problem
        return self._trouble or (Trouble(problem, HINT, cannot_write=True) if problem else None)

    def go(self) -> None:
        if not self.waits:  # nobody would read the message: after some hundreds of them, sending would block
            return
        with contextlib.suppress(OSError):
            self.channel.send(wire.GO)

    def ask(self, question: Question, timeout: float = 60.0) -> Answer:
        """A question to a held twin. Never raises: a twin that cannot answer gives NoAnswer."""
        try:
            self.channel.send_message(wire.ASK, question)
            self.channel.set_timeout(timeout)
            while True:
                message = self.channel.receive()
                if message is None:
                    return NoAnswer("the twin ended, or did not answer in time")
                if message[0] == wire.ANSWER:
                    answer: Answer = message[1]
                    return answer
                self._note(*message)
        except (OSError, ValueError) as problem:
            return NoAnswer(str(problem))
        finally:
            with contextlib.suppress(OSError):
                self.channel.set_timeout(None)

    def outlines(self, keys: list[Key]) -> list[Outline | None]:
        answer = self.ask(AskOutlines(keys))
        return answer.outlines if isinstance(answer, Outlines) else [None] * len(keys)

    def values(self, parts: list[Part]) -> bytes | None:
        answer = self.ask(AskValues(parts))
        return answer.data if isinstance(answer, Values) else None

    def dump(self, parts: list[Part], file: Path) -> str | None:
        answer = self.ask(AskDump(parts, str(file)))
        return answer.error if isinstance(answer, NoAnswer) else None

    def facts(self) -> Facts:
        """What the twin knows of itself: as reported at its end, or now."""
        if self.end is not None:
            return self.end.facts
        if self.ended:
            return Facts(step=self.step)
        answer = self.ask(AskFacts())
        if not isinstance(answer, Facts):
            return Facts(step=self.step)
        # A question of its own: what may go wrong in the audit costs nothing of the rest.
        audited = self.ask(AskDatasets())
        answer.datasets = audited if isinstance(audited, DatasetsAudit) else None
        return answer

    # ending

    @property
    def ended(self) -> bool:
        """Nothing more will come."""
        return self.closed or (self.process.poll() is not None and not self.readable())

    def readable(self, timeout: float = 0.0) -> bool:
        return not self.closed and bool(select.select([self.channel], [], [], timeout)[0])

    def wait(self, timeout: float) -> int | None:
        code = self.process.wait(timeout)
        if code is not None:
            self._output.catch_up()
        return code

    def kill(self, status: Status = "cut-off") -> None:
        """End it and everything it started. The recording's manifest gets what only the parent knows: the exit code, and
        the status where the process could not reach its end."""
        if self._killed:  # its descriptors may belong to others by now
            return
        code = self.process.poll()
        note_survivors(self.folder)
        self.process.end()
        self._killed = True
        self._output.close()
        with contextlib.suppress(OSError):
            self.channel.close()
        with contextlib.suppress(OSError):
            (self.folder / _SPEC).unlink(missing_ok=True)  # where the supervisor could not
        with contextlib.suppress(Exception):
            record_end(self.folder, status, code)

    def tail(self, lines: int = 15, worker: int | None = None) -> str:
        """The end of what the program, or one worker of it, printed: its errors first of all."""
        known = frameworks()
        ends = self._output.last(2 * _TAIL) if worker is None else self._last_of_worker(worker)
        for end in ends:
            # Masked before it is cut: half a token does not look like one.
            text = self._secrets.mask(end.decode("utf-8", "replace"))[-_TAIL:].strip()
            own = without_our_frames(text.splitlines())
            kept = [line for line in own if not any(f.is_log_noise(line) for f in known)]
            if kept:
                return "\n".join(kept[-lines:])
        return ""

    def _last_of_worker(self, number: int) -> list[bytes]:
        found = []
        for name in (ERRORS, OUTPUT):
            with contextlib.suppress(OSError), (self.folder / f"worker-{number}" / name).open("rb") as file:
                file.seek(-min(2 * _TAIL, file.seek(0, os.SEEK_END)), os.SEEK_END)
                found.append(file.read())
        return found


ABRUPTLY = "exited abruptly (os._exit or a crash)"
NO_END = f"the program {ABRUPTLY}"


def not_instrumented(trouble: Trouble, what: str) -> Reason:
    if trouble.cannot_write:
        return Reason("cannot-write", trouble.message)
    if trouble.no_device:
        return Reason("not-comparable", f"{what} cannot use the device that it was given: {trouble.message}")
    kind: ReasonKind = "patch-missing" if trouble.missing_point else "not-instrumented"
    return Reason(kind, f"Twinrun could not instrument {what}: {trouble.message}")


def ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    known = -code in signal.valid_signals()
    return f"was ended by signal {-code}" + (f" ({signal.Signals(-code).name})" if known else "")


def _environment(spec_file: Path, extra: Mapping[str, str]) -> dict[str, str]:
    environment = {**os.environ, **extra}
    for framework in frameworks():
        environment = {**framework.launch_environment(environment), **environment}
    return {**environment, **entrance(str(spec_file), environment.get("PYTHONPATH"))}
