"""The search for the causes. Freeze everything that is suspected: if the twins then repeat, the causes are among it. Then
leave out what is not needed, the unlikely all at once, until without any of the rest the twins differ. If they differ
all the same, something else is at work as well; what was needed to get that far is a cause nonetheless."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from twinrun.diagnose.advice import Advice
from twinrun.diagnose.experiments import FOREVER, Laboratory, Reach, Trial
from twinrun.diagnose.suspects import LIKELY, WORTH_A_TRIAL, blame_op, cut_short, families
from twinrun.diagnose.wording import Seen, finding_of, proof
from twinrun.findings.finding import RACING, Finding
from twinrun.protocol import Evidence, Suspect
from twinrun.protocol.spec import Tracing
from twinrun.recording.frame import PHASES
from twinrun.result import DIVERGES, CheckResult

_ROUNDS = 8  # attempts to freeze everything: more may become visible behind what is frozen
_RACES = 3  # runs that must agree where something may race
_COMPUTED = 2  # runs that must agree where what differs was computed: a race nobody knows of would show there
_BATCH = PHASES.index("batch")  # phases after this one are computed


@dataclass(frozen=True)
class Cause:
    """A suspect without which the twins differ, and all that share its fix."""

    suspect: Suspect
    family: tuple[Suspect, ...]


@dataclass
class Search:
    """`goal` is how far the twins get with everything frozen: an experiment holds if they get as far."""

    lab: Laboratory
    suspects: Callable[[Evidence], list[Suspect]]  # best supported first
    may_race: bool = False
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    suspected: list[Suspect] = field(default_factory=list)
    frozen: list[Suspect] = field(default_factory=list)
    tried: list[Suspect] = field(default_factory=list)
    dropped: list[Suspect] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)
    datasets: dict[Finding, None] = field(default_factory=dict)  # what an audit found in them
    op: Finding | None = None  # to blame, by a trace of what every op did
    goal: Reach = (-1, 0)
    evidence: Evidence = field(init=False)  # of where the twins part in the end
    _check: Trial = field(init=False)
    _doubtful: Suspect | None = None  # an op that varies, and does not explain the first difference
    _attempted: set[frozenset[str]] = field(default_factory=set)

    def freeze_everything(self, evidence: Evidence) -> None:
        """All that is suspected; where that does not help, an op may be to blame."""
        self.goal, self.evidence = evidence.early, evidence
        self._check = _as_trial(evidence, self.lab.frozen([]))
        self._suspect(evidence)
        enough = WORTH_A_TRIAL if _in_batch(evidence) else LIKELY
        likely = any(suspect.testable and suspect.rank >= enough for suspect in self.suspected)
        if likely or not self._blame_op(evidence):
            self._freeze_everything()
            if self.goal != FOREVER and not self._blame_op(self.evidence) and self._doubtful is not None:
                self._advise(self._doubtful)
                self.notes.append(
                    "run op by op, the twins diverge only after the loss, which differed in the check: "
                    f"that {self._doubtful.message} may not be all"
                )

    def confirm(self) -> None:
        """Report what was found, each cause with the experiments that show it to be one."""
        self._confirm()
        if self.op is not None:
            self.findings.append(self.op)

    @property
    def unsettled(self) -> list[Suspect]:
        """Frozen in the last experiment, and not known to be needed."""
        known = {suspect.key for cause in self.causes for suspect in cause.family}
        return [suspect for suspect in self.frozen if suspect.key not in known]

    @property
    def explained(self) -> bool:
        """Everything is: the twins repeat, and each cause was shown to be one."""
        confirmed = all(finding.confirmed for finding in self.findings)
        return bool(self.findings) and confirmed and self.goal == FOREVER and not self.unsettled

    # everything

    def _freeze_everything(self) -> None:
        """Freeze all that is suspected and, as long as that brings the twins further or shows more, what is suspected
        then."""
        for _ in range(_ROUNDS):
            attempt = self._next_attempt()
            if attempt is None or self.goal == FOREVER:
                break
            self._attempted.add(self.lab.frozen(attempt))
            trial = self._run(attempt, "with everything suspected frozen" if len(attempt) > 1 else None)
            if trial is None or not trial.judged:
                continue
            self.tried += attempt
            if trial.evidence is not None:
                self._suspect(trial.evidence)
            if trial.reach > self.goal:
                self.goal, self.frozen = trial.reach, attempt
                self.evidence = trial.evidence or self.evidence

    def _suspect(self, evidence: Evidence) -> None:
        self.datasets |= dict.fromkeys(evidence.datasets)
        self.may_race = self.may_race or any(finding.code in RACING for finding in evidence.datasets)
        known = {suspect.key for suspect in self.suspected}
        self.suspected += [suspect for suspect in self.suspects(evidence) if suspect.key not in known]
        likely = [suspect for suspect in self.suspected if suspect.testable and suspect.likelihood >= LIKELY]
        # Everything frozen, then all but each of these; without the only one, that is the check itself.
        count = len(families(likely))
        self.lab.expected = self.times * (1 + (count if count > 1 else 0))

    def _next_attempt(self) -> list[Suspect] | None:
        """Everything that something speaks for; everything; where the program cannot run like that, the plausible; then
        what is only tried in place of something else. None when all that was tried."""
        testable = [suspect for suspect in self.suspected if suspect.testable]
        usual = [suspect for suspect in testable if not suspect.last_resort]
        supported = [suspect for suspect in usual if suspect.likelihood > 0]
        instead = [suspect for suspect in testable if suspect.last_resort]
        replaced = {suspect.source for suspect in instead}
        rest = [suspect for suspect in usual if suspect.source not in replaced]
        possible = [supported, usual, [*rest, *instead] if instead else []]
        if not self._was_judged(usual) and not self._was_judged(supported):
            plausible = [s for s in usual if s.likelihood >= WORTH_A_TRIAL and not s.sequential]
            possible = [supported, plausible, *possible[1:], rest]
        new = (each for each in possible if each and self.lab.frozen(each) not in self._attempted)
        return next(new, None)

    # what of it is needed

    def leave_out(self) -> None:
        """The unlikely all at once, then one family after the other, the least likely first: of two that explain the
        same difference, the likelier is left."""
        groups = sorted(families(self.frozen), key=lambda family: family[0].likelihood)
        self._leave_out([family for family in groups if family[0].likelihood < LIKELY])
        likely = [family for family in groups if family[0].likelihood >= LIKELY]
        self._look_ahead(likely)
        for family in likely:
            self._settle(family)

    def _leave_out(self, groups: Sequence[Sequence[Suspect]]) -> None:
        """All of them where that holds, else by halves."""
        members = [suspect for family in groups for suspect in family]
        held = self._holds_without(members) if members else None
        if held:
            self._drop(members)
        elif held is False and len(groups) == 1:
            self._settle(groups[0])
        elif held is False:
            middle = len(groups) // 2
            self._leave_out(groups[:middle])
            self._leave_out(groups[middle:])

    def _settle(self, family: Sequence[Suspect], innocent: Sequence[Suspect] = ()) -> None:
        """Find the causes in a family: of lines that share a fix the first one that is needed, of others each one.
        `innocent` are those of the family that are known not to be needed."""
        first, *rest = family
        if rest and not first.fix:
            self._leave_out([[suspect] for suspect in family])
            return
        held = self._holds_without([first])
        if held is False:
            self.causes.append(Cause(first, (*family, *innocent)))
            # What another source freezes is another explanation: it is no part of the proof where it is not needed.
            others = [suspect for suspect in rest if suspect.source != first.source]
            if others and self._holds_without(others):
                self._drop(others)
        elif held:
            self._drop([first])
            if rest and self._holds_without(rest):
                self._drop(rest)
            elif rest:
                self._settle(rest, (first, *innocent))

    def _drop(self, suspects: Sequence[Suspect]) -> None:
        self.dropped += suspects
        self.frozen = [suspect for suspect in self.frozen if suspect not in suspects]

    def _holds_without(self, left_out: Sequence[Suspect]) -> bool | None:
        """Whether the twins get as far without these. None: there is no answer, or no time for one."""
        rest = [suspect for suspect in self.frozen if suspect not in left_out]
        wanted = self.lab.frozen(rest)
        judged = list(self._judged())
        if self._differing(trial for trial in judged if trial.interventions >= wanted):
            return False
        held = sum(trial.reach >= self.goal and trial.interventions <= wanted for trial in judged)
        # A race may hold by luck: what is likely is not dropped for that.
        times = self.times if left_out[0].likelihood >= LIKELY else 1
        while held < times:
            trial = self.lab.freeze(rest, what=_without(left_out))
            if trial is None or trial.reach < self.goal:
                return False if trial is not None and self._differing([trial]) else None
            held += 1
        return True

    def _look_ahead(self, groups: Sequence[Sequence[Suspect]]) -> None:
        """Where there is room for several experiments at a time: those that will be asked for if every family is
        needed. Without something the twins differ no less when less is frozen, so the answer stays good."""
        if self.lab.at_once < 2:
            return
        wanted = []
        for family in groups:
            left_out = family[:1] if family[0].fix else family
            rest = [suspect for suspect in self.frozen if suspect not in left_out]
            if self.lab.known(self.lab.frozen(rest)) is None:
                wanted.append((rest, _without(left_out)))
        if len(wanted) > 1:
            self.lab.freeze_side_by_side(wanted)

    # proof

    def _confirm(self) -> None:
        """Each cause is confirmed when the twins repeat with all of them frozen, and differ without it, in as many runs
        as it takes to rule out luck."""
        held = self._seen_to_hold(max(map(self._times, self.causes))) if self.causes else 0
        kept = self._runs_with()
        for cause in sorted(self.causes, key=lambda cause: (self._where(cause), -cause.suspect.rank)):
            times = self._times(cause)
            without = self._runs_without(cause)
            while self._differing(without) < times and len(without) < 2 * times:
                rest = [suspect for suspect in self.frozen if suspect is not cause.suspect]
                trial = self.lab.freeze(rest, what=_without([cause.suspect]))
                if trial is None or not trial.judged:
                    break
                without = self._runs_without(cause)
            differs = Seen(self._differing(without), len(without))
            steps = kept[-1].steps if kept and self.goal == FOREVER else None
            words = proof(cause.suspect, Seen(held, len(kept)), differs, steps, len(self.causes) > 1)
            enough = min(held, differs.count) >= times
            others = [suspect for suspect in cause.family if suspect in self.frozen]
            self.findings.append(finding_of(cause.suspect, words, confirmed=enough, others=others))

    def _seen_to_hold(self, times: int) -> int:
        """Runs that hold with nothing but what is needed frozen. One that does not shows that the others were luck."""
        while True:
            runs = self._runs_with()
            worst = min((trial.reach for trial in runs), default=self.goal)
            if worst < self.goal:
                self.goal, self.may_race = worst, True
                self.notes.append(
                    "the twins repeat in some runs only: a race remains that no experiment can freeze"
                )
            held = sum(trial.reach >= self.goal for trial in runs)
            if held >= times:
                return held
            trial = self.lab.freeze(self.frozen, what="once more, with all causes frozen")
            if trial is None or not trial.judged:
                return held

    def _runs_with(self) -> list[Trial]:
        wanted = self.lab.frozen(self.frozen)
        return [trial for trial in self._judged() if trial.interventions == wanted]

    def _runs_without(self, cause: Cause) -> list[Trial]:
        own = self.lab.frozen([cause.suspect]) - self.lab.frozen([])
        rest = self.lab.frozen(suspect for suspect in self.frozen if suspect not in cause.family)
        return [t for t in self._judged() if t.interventions >= rest and not own & t.interventions]

    def _differing(self, runs: Iterable[Trial]) -> int:
        """Runs that certainly fall short of the goal. Where the twins never repeat, whatever keeps them from it may have
        done so there too, unless they part before any op has run."""
        limit = self.goal
        if limit != FOREVER:
            limit = min(limit, (1, 0 if self.may_race else _BATCH + 1))
        return sum(trial.judged and trial.reach < limit for trial in runs)

    def _where(self, cause: Cause) -> Reach:
        return min((trial.reach for trial in self._runs_without(cause)), default=self.goal)

    @property
    def times(self) -> int:
        """Runs that must agree before anything is called shown."""
        return _RACES if self.may_race else 1

    def _times(self, cause: Cause) -> int:
        if self.may_race:
            return self.times
        return 1 if _before_any_op(self._where(cause)) else _COMPUTED

    # experiments that are known

    def _judged(self) -> Iterator[Trial]:
        """The check itself among them: an experiment with nothing frozen. With something varied, the twins may differ for
        that alone."""
        known = [self._check, *self.lab.trials]
        return (trial for trial in known if trial.judged and not trial.tracing and not trial.varied)

    def _was_judged(self, suspects: Iterable[Suspect]) -> bool:
        trial = self.lab.known(self.lab.frozen(suspects))
        return trial is not None and trial.judged

    def _run(self, suspects: list[Suspect], what: str | None) -> Trial | None:
        return self.lab.known(self.lab.frozen(suspects)) or self.lab.freeze(suspects, what=what)

    # ops

    def _blame_op(self, evidence: Evidence) -> bool:
        """Run it op by op in both twins, and find the first op whose inputs match and whose outputs do not: an op of
        the step when what went in was equal, an op of the input pipeline when a batch differs."""
        pipeline = _in_batch(evidence)
        done = self.lab.known(self.lab.frozen(self.frozen), "pipeline" if pipeline else "step")
        if self.op is not None or done is not None or not (pipeline or _computed(evidence)):
            return False
        if evidence.first.process:  # ops are traced in the program itself
            return False
        trial = self._traced(evidence, pipeline)
        seen = trial.evidence if trial is not None else None
        if seen is None:
            return False
        self.notes += [note for note in cut_short(seen) if note not in self.notes]
        op = blame_op(seen, pipeline=pipeline)
        if op is None:
            return False
        if evidence.losses_alike and not seen.losses_alike:
            self.notes.append(
                f"run op by op, the twins diverge in phase {seen.first.phase}, where they were equal in the check: "
                f"{op.message}, but that is not what made them differ"
            )
            return False
        if _forward_parts(evidence) and seen.losses_alike:
            self._doubtful = op  # what computes gradients comes after the loss, which differed in the check
            return False
        self._advise(op)
        return True

    def _advise(self, op: Suspect) -> None:
        self.op, refused = Advice(self.lab, self.frozen).given(op)
        self.findings += refused

    def _traced(self, evidence: Evidence, pipeline: bool) -> Trial | None:
        what = f"every op of {'the input pipeline' if pipeline else 'the step'} compared between the twins"
        tracing: Tracing = "pipeline" if pipeline else "step"
        with self.lab.ending_at(evidence.first.step):
            trial = self.lab.freeze(self.frozen, what=what, tracing=tracing)
        if trial is not None and trial.repeats:  # a race may need a second chance, and more steps, to show
            trial = self.lab.freeze(self.frozen, what=what, tracing=tracing)
        return trial


def _as_trial(evidence: Evidence, interventions: frozenset[str]) -> Trial:
    result = CheckResult("", DIVERGES, first_difference=evidence.first)
    return Trial("the check", result, 0.0, evidence, interventions=interventions)


def _without(left_out: Sequence[Suspect]) -> str:
    shown = "; ".join(dict.fromkeys(suspect.message for suspect in left_out[:3]))
    more = f"; and {len(left_out) - 3} more" if len(left_out) > 3 else ""
    return f"with everything frozen except this: {shown}{more}"


def _before_any_op(reach: Reach) -> bool:
    """The weights or the first batch differ: no race between the ops of a step can do that."""
    return reach <= (1, _BATCH)


def _computed(evidence: Evidence) -> bool:
    """What went into the step was equal: what differs was computed."""
    return evidence.first.step > 0 and PHASES.index(evidence.first.phase) > _BATCH


def _forward_parts(evidence: Evidence) -> bool:
    """Whether the forward pass of a single step differs, which began with equal weights."""
    return evidence.first.phase in ("forward", "loss") and evidence.first.span == 1


def _in_batch(evidence: Evidence) -> bool:
    return evidence.first.step > 0 and PHASES.index(evidence.first.phase) == _BATCH
