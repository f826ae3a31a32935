"""What a round comes to: the verdict on twins that are held at a difference, have ended, or have failed."""

from __future__ import annotations

import errno
import os
import shutil
import time
from typing import TYPE_CHECKING

from twinrun.comparison.frames import STEP_COUNT, Difference
from twinrun.comparison.judge import Judge
from twinrun.comparison.measure import Witness
from twinrun.launch.children import note_survivors
from twinrun.launch.family import Family
from twinrun.launch.lockstep import Look, Outcome, advance
from twinrun.launch.no_step import no_step, no_step_of
from twinrun.launch.offline import compare_children
from twinrun.launch.recorded_twin import RecordedTwin
from twinrun.launch.twin_process import NO_END, Twin, ending, not_instrumented
from twinrun.launch.workers import worker_failure
from twinrun.protocol import Facts, Trace
from twinrun.protocol.messages import AskTrace
from twinrun.result import DIVERGES, REPEATS, UNDECIDED, CheckResult, Reason, Verdict

if TYPE_CHECKING:
    from twinrun.launch.round import Round

_LEAST_ROOM = 1 << 20  # bytes that a disk has which is not full
_FOLLOW_TIME = 5.0  # seconds at most for the steps after the first difference: the verdict waits for them


class Conclusion:
    """Concludes from some living twins of a round, and what a judge has seen of them."""

    def __init__(self, round: Round, twins: list[Twin], judge: Judge) -> None:
        self.round, self.options = round, round.options
        self.twins, self.judge = twins, judge

    def after(self, outcome: Outcome, follow: Look | None = None) -> CheckResult:
        twin = outcome.twin or self.twins[0]
        if outcome.kind == "failed":
            return self._failed(twin)
        if outcome.kind == "timeout":
            message = f"no answer within {self.options.timeout:g} s: twin {twin.name} was at step {twin.step}"
            return self._result(UNDECIDED, Reason("timeout", message), tail=twin.tail())
        if outcome.kind == "held":
            return self._held(follow)
        for ended in [twin] if outcome.kind == "uneven" else self.twins:
            if ended.wait(timeout=30.0) != 0 or ended.trouble is not None:
                return self._failed(ended)
        self.round.facts += self.round.facts_of(self.twins)
        if outcome.kind == "uneven":
            return self.uneven(twin.name, outcome.longer) if has_end(twin) else self.vanished()
        return self._ended()

    def _held(self, follow: Look | None) -> CheckResult:
        """The result at the first difference that counts."""
        if self.judge.first is not None and self.judge.first.uneven:
            return self._one_has_ended(self.judge.first)
        if self.options.tracing:
            answers = [twin.ask(AskTrace(), timeout=120.0) for twin in self.twins]
            self.round.traces = [answer for answer in answers if isinstance(answer, Trace)]
        self.round.facts += self.round.facts_of(self.twins)
        if self.round.closely and not self.options.tracing and not self.judge.unmeasured:
            self._follow(follow)
        for twin in self.twins:
            twin.kill(status="held")
        return self._result(UNDECIDED if self.judge.unmeasured else DIVERGES, self.judge.unmeasured)

    def _follow(self, follow: Look | None) -> None:
        """Some steps more, to see how the difference grows. However that ends, nothing of what is known changes."""
        most = self.options.follow
        if follow is None or not most:
            return
        for twin in self.twins:
            twin.go()
        deadline = time.monotonic() + _FOLLOW_TIME
        deadline = deadline if self.round.deadline is None else min(deadline, self.round.deadline)
        advance(self.twins, lambda frames: follow(frames) or self.judge.followed >= most, deadline=deadline)

    def _ended(self) -> CheckResult:
        """Every twin has ended, and no difference that counts was seen."""
        family = self._children()
        # An experiment asks only whether a difference is gone: for one in the first weights, these are enough.
        if not (self.judge.observed or family.observed) and not (
            self.options.experiment and self.judge.frames
        ):
            return self._result(UNDECIDED, self._nothing_seen())
        if not all(map(has_end, self.judge.witnesses)):
            return self.vanished()
        verdict, reason = self.judge.bands() if self.judge.observed else (REPEATS, None)
        result = family.judge(self._result(verdict, reason))
        unseen = family.unseen(self.options.workers)
        if result.verdict != REPEATS or not unseen or self.options.experiment:
            return result
        reason = no_step_of(unseen)
        return result.replace(verdict=UNDECIDED, reason=reason.message, reason_kind=reason.kind)

    def _children(self) -> Family:
        """Compare the children of each twin with those of the first, up to the first that differ."""
        first, *others = (witness.folder for witness in self.judge.witnesses)
        stopped = any(twin.end is not None and twin.end.status == "stopped" for twin in self.twins)
        for twin in self.twins:
            note_survivors(twin.folder)
        found = Family()
        for other in others:
            names = (first.name, other.name)
            found = compare_children(first, other, self.options.contract, stopped=stopped, names=names)
            if found.decisive is not None:
                break
        return found

    def _nothing_seen(self) -> Reason:
        if any(twin.end is None for twin in self.twins):
            return Reason("abrupt-exit", f"{NO_END}, and no training step was observed")
        return no_step(self.round.facts)

    def _one_has_ended(self, difference: Difference) -> CheckResult:
        """One twin stands at its end and another goes on. Whether that end was a good one is known when it is over."""
        shorter, longer = sorted(self.judge.pair, key=lambda name: name == difference.only_in)
        for twin in self.twins:  # none of this name: it is the recording of a first twin
            if twin.name == shorter:
                twin.go()
                outcome = advance([twin], lambda _: False, deadline=time.monotonic() + 30.0)
                if outcome.kind == "failed":
                    return self._failed(twin)
                if not has_end(twin):
                    self.judge.first = None  # it may have gone on too
                    return self.vanished()
        self.round.facts += self.round.facts_of(self.twins)
        return self.uneven(shorter, longer)

    def vanished(self) -> CheckResult:
        """A twin is gone, or does not end, and never reported its end: it may have done more than was seen."""
        known = f"equal up to step {self.judge.steps}, what came after is not known"
        return self._result(UNDECIDED, Reason("abrupt-exit", f"{NO_END}: {known}"))

    def uneven(self, shorter: str, longer: str) -> CheckResult:
        """One twin took more steps than the other."""
        reason = f"twin {shorter} ended after step {self.judge.steps}, twin {longer} went on"
        self.judge.first = self.judge.first or Difference(
            self.judge.steps + 1, "weights", STEP_COUNT, only_in=longer
        )
        for twin in self.twins:
            twin.kill(status="held")
        return self._result(DIVERGES, Reason("uneven", reason))

    def _failed(self, twin: Twin) -> CheckResult:
        if twin.trouble is not None:
            self.round.facts.append(Facts(notes=[twin.trouble.hint] if twin.trouble.hint else []))
            reason = not_instrumented(twin.trouble, f"twin {twin.name}")
            return self._result(UNDECIDED, reason, tail=twin.trouble.traceback)
        if (full := self._no_room()) is not None:
            return self._result(UNDECIDED, full)
        code = twin.process.returncode
        how = ending(code) if code is not None else "ended its steps and did not exit within 30 s"
        at = f" after step {twin.step}" if twin.step else ""
        # Give the others a moment: whether one twin or all of them fail is worth knowing.
        others = [other for other in self.twins if other is not twin]
        moment = 15.0 if self.options.workers else min(15.0, max(3.0, self.round.seconds))
        both = bool(others) and all((other.wait(timeout=moment) or 0) != 0 for other in others)
        for other in others:
            while other.readable():  # its last message
                other.pump()
        alone = len(self.twins) > 1 or bool(self.round.facts)  # one after the other, the first has ended well
        self.round.failed = True
        who = f"twin {twin.name} alone" if alone and not both else "the program"
        self.round.facts += self.round.facts_of([each for each in self.twins if each.end is not None])
        if twin.end is not None and (worker := twin.end.facts.worker_end) is not None:
            where = f", in twin {twin.name} alone" if alone and not both else ""
            reason = worker_failure(worker, twin.folder, where, self.options.worker_timeout)
            return self._result(UNDECIDED, reason, tail=twin.tail(worker=worker.number))
        reason = Reason("crashed" if code is not None else "timeout", f"{who} {how}{at}")
        return self._result(UNDECIDED, reason, tail=twin.tail())

    def _no_room(self) -> Reason | None:
        """Where a program failed because the disk that its view is on is full. The user's own disk may not be."""
        failures = [twin.end.facts.failure for twin in self.twins if twin.end is not None]
        texts = [failure.text for failure in failures if failure is not None]
        if self.round.views.how == "shared" or not any(os.strerror(errno.ENOSPC) in text for text in texts):
            return None
        if shutil.disk_usage(self.round.views.place).free > _LEAST_ROOM:
            return None
        what = f"cannot write {self.round.views.place}, where the files of the twins are"
        return Reason("cannot-write", f"{what}: {os.strerror(errno.ENOSPC)}")

    def _result(self, verdict: Verdict, reason: Reason | None = None, tail: str | None = None) -> CheckResult:
        return self.round.result(verdict, self.judge, reason, tail)


def has_end(twin: Witness) -> bool:
    """Whether it is known how the program ended there: the twin reported it, or its recording has it."""
    if isinstance(twin, RecordedTwin):
        return twin.manifest.missing_end is None
    return not isinstance(twin, Twin) or twin.end is not None
