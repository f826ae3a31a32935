"""The options of the verbs, declared once. The command line, TWINRUN_* variables, [tool.twinrun] in pyproject.toml,
`twinrun.check` and the pytest marker all take their names, defaults and checks from here. Imports nothing heavy."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from twinrun.errors import UsageError
from twinrun.sizes import parse_size

if TYPE_CHECKING:
    from twinrun.comparison.contract import Contract
    from twinrun.launch.options import CheckOptions
    from twinrun.launch.program import Program
    from twinrun.protocol.pin import PinRequest

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_MOST = 2**63 - 1  # that a number may be
_LONGEST = 10 * 365 * 86_400.0  # seconds
_MOST_WORKERS = 128  # each is a process in every twin, all on this machine


@dataclass(frozen=True)
class Option:
    """`flag` and `variable` are how it is written on the command line and as a variable, where that does not follow
    from its name."""

    help: str
    kind: Literal["text", "texts", "count", "counts", "time", "size", "switch", "pin", "choice"] = "text"
    default: Any = None
    least: int = 1
    most: int = _MOST
    metavar: str | None = None
    flag: tuple[str, ...] = ()
    variable: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False

    def flags(self, name: str) -> tuple[str, ...]:
        return self.flag or (f"--{name.replace('_', '-')}",)

    def parse(self, name: str, value: Any) -> Any:
        """A value from the command line, a variable, the project file or a call."""
        if value is None:
            value = self.default
        if value is None:
            return {"switch": False, "texts": ()}.get(self.kind)
        if self.kind == "count":
            return self._count(name, value)
        if self.kind == "counts":
            return self._counts(name, value)
        if self.kind == "time":
            return seconds(name, value)
        if self.kind == "size":
            return parse_size(name, value)
        if self.kind == "pin" and type(value) in (bool, int):
            return str(value) if not isinstance(value, bool) else "default" if value else None
        if self.kind == "switch" and not isinstance(value, bool):
            raise UsageError(f"invalid value for {name}: {value!r}", hint="write true or false")
        texts = value if self.kind == "texts" else (value,)
        if self.kind in ("text", "texts", "pin") and not all(isinstance(each, str) for each in texts):
            raise UsageError(f"invalid value for {name}: {value!r}", hint="write a text in quotes")
        return value

    def _count(self, name: str, value: Any) -> int:
        if isinstance(value, bool) or not re.fullmatch(r"-?\d+", str(value).strip()):
            raise UsageError(f"invalid value for {name}: {value!r}", hint="write a whole number")
        if int(value) < self.least:
            raise UsageError(f"{name} must be at least {self.least}, not {value}")
        if int(value) > self.most:
            raise UsageError(f"{name} must be at most {self.most}, not {value}")
        return int(value)

    def _counts(self, name: str, value: Any) -> tuple[int, ...]:
        """One number, or several with commas between them."""
        parts = value if isinstance(value, (list, tuple)) else str(value).split(",")
        counts = tuple(self._count(name, part) for part in parts)
        if len(set(counts)) < len(counts) or not counts:
            raise UsageError(f"invalid value for {name}: {value!r}", hint="write each number once: 1,2,4")
        return counts


ACROSS_DEVICES = "rtol=auto,atol=auto"  # the contract of --devices, where no other is given

# The registry's names, written out: asking it would import every source for a page of help.
VARIATIONS = "timezone, clock, fileorder, workerfiles, hashseed, load, threads, xla, or all"

OPTIONS: dict[str, Option] = {
    "runs": Option("Number of twins, at least 2.", "count", 2, least=2),
    "contract": Option(
        "bitwise, ulp=N, rtol=…,atol=…, band=loss:1e-3,accuracy:0.5%, or output.", default="bitwise"
    ),
    "sequential": Option("Run the twins one after the other, to save memory.", "switch"),
    "no_diagnose": Option("Report where the twins differ, without looking for the cause.", "switch"),
    "budget": Option("Time for the diagnosis.", "time", "120s"),
    "resume_diagnosis": Option(
        "Continue the diagnosis of a result saved as JSON, without repeating what was tried.",
        metavar="RESULT",
    ),
    "freeze": Option(
        "Make one source give the same values in every run, as an experiment of the diagnosis does. "
        "May be repeated.",
        "texts",
        metavar="SOURCE[.ACTION][:FILE:LINE]",
    ),
    "stress": Option(
        "Shuffle the CPU affinity of all twins but the first, and switch between their threads more often, so that races show.",
        "switch",
    ),
    "trace_ops": Option(
        "Run functions eagerly and compare the current step op by op, as a diagnosis does.", "switch"
    ),
    "trace_pipeline": Option("The same for the functions of the input pipeline.", "switch"),
    "workers": Option(
        "Run each twin as a cluster of N workers on this machine, connected through TF_CONFIG. "
        "With several numbers (1,2,4), run the program once with each, pinned, and compare these runs.",
        "counts",
        most=_MOST_WORKERS,
        metavar="N[,N…]",
    ),
    "replicas": Option(
        "Make N logical CPU devices where there is no GPU, to test programs that use several devices.",
        "count",
        most=_MOST_WORKERS,
    ),
    "worker_timeout": Option("How long all workers of a cluster may be idle.", "time", "60s"),
    "engine": Option(
        "Where to run: in twin processes on this machine, or as tasks on a Ray cluster.",
        "choice",
        "local",
        choices=("local", "ray"),
    ),
    "ray_address": Option(
        "The Ray cluster.  [default: the one this machine belongs to]", metavar="HOST:PORT"
    ),
    "cpus_per_run": Option("CPUs that each run requests from the cluster.  [default: 1]", "count"),
    "gpus_per_run": Option("GPUs that each run requests from the cluster.  [default: 0]", "count", least=0),
    "steps": Option("Stop after this many steps.", "count"),
    "pin": Option("Pin every source of randomness; see `twinrun doctor`.", "pin", metavar="[=SEED]"),
    "vary": Option(
        f"Vary conditions between the twins that must not matter: {VARIATIONS}.",
        metavar="LIST",
    ),
    "devices": Option(
        "Run one twin on each of two devices (cpu, gpu, gpu:1): initial weights, seeds and batches must be equal, "
        "the rest within the contract.",
        metavar="A,B",
    ),
    "timeout": Option("Give up after this long (90s, 5m).", "time"),
    "detail": Option("Keep a digest of every tensor of every step.", "switch"),
    "folder": Option("Where the recordings go.", metavar="FOLDER", flag=("--dir",)),
    "keep_files": Option("Keep the files that each twin leaves, in FOLDER/A and FOLDER/B.", metavar="FOLDER"),
    "ignore_output": Option(
        "Allow matching lines of output, or files by name, to differ; give the reason. May be repeated.",
        "texts",
        metavar="'REGEX # REASON'",
    ),
    "show_arguments": Option(
        "Record the program's arguments unmasked, except for clear credentials.", "switch"
    ),
    "follow": Option(
        "Continue for this many steps after the first difference, to show in the report how it grows.",
        "count",
        24,
        least=0,
    ),
    "keep": Option("Never remove these recordings to make room for others.", "switch"),
    "dump_limit": Option(
        "Disk limit for the tensors that differ, kept beside the recordings (of large ones, the differing blocks only).",
        "size",
        "256MB",
    ),
    "no_progress": Option("Do not show progress.", "switch"),
    "quiet": Option("Print the verdict only.", "switch", flag=("--quiet", "-q")),
    "verbose": Option(
        "Also show what was tried, and what led to each finding.", "switch", flag=("--verbose", "-v")
    ),
    "output_format": Option("The format of the result.", "choice", "text"),
    "output_file": Option(
        "Write the result to this file instead of stdout.", metavar="FILE", flag=("--output-file", "-o")
    ),
    "html": Option("Write a report that opens in a browser.", metavar="FILE"),
    "mlflow": Option("Also log the result to MLflow, as configured by its MLFLOW_* variables.", "switch"),
    "tensorboard": Option("Also log the result for TensorBoard, as a run in this folder.", metavar="FOLDER"),
    "wandb": Option(
        "Also log the result to Weights & Biases, as configured by its WANDB_* variables.", "switch"
    ),
    "fix_diff": Option(
        "Print a patch for what can be fixed automatically, without testing it (twinrun fix does).", "switch"
    ),
    # of one verb
    "at": Option(
        "Stop after this step (20, or several: 5,20), at a step chosen at random, after every checkpoint in turn "
        "(checkpoints), or as it begins to write the files of one (save).",
        default="checkpoints",
        metavar="STEP",
    ),
    "signal": Option(
        "The signal that stops the program; --at save always uses SIGKILL.",
        "choice",
        "SIGKILL",
        choices=("SIGKILL", "SIGTERM"),
    ),
    "most": Option("Test at most this many checkpoints, evenly spread.", "count", 5),
    "seed": Option("The seed that the patch writes.  [default: the program's own, or 42]", "count", least=0),
    "write": Option("Apply the patch to the files; refused if they have uncommitted changes.", "switch"),
    "force": Option("With --write: apply it even then, or outside a git repository.", "switch"),
    "interactive": Option("Ask before each change.", "switch"),
    "keep_values": Option(
        "Keep the tensors themselves, so that two runs can be compared by value.", "switch"
    ),
    "keep_newest": Option("Remove all but the N newest.", "count", least=0),
    "limit": Option(
        "Remove the oldest until the rest takes at most this much.  [default: TWINRUN_STATE_LIMIT, or 5GB]",
        "size",
    ),
    "all": Option("Remove all, including those made with --keep.", "switch"),
    "dry_run": Option("Show what would be removed, and remove nothing.", "switch"),
    "source_only": Option("Read the source; run nothing.", "switch"),
    "files": Option("Read every argument as a source file or folder; run nothing.", "switch"),
    "patches": Option("List the functions that Twinrun patches, and whether each was found here.", "switch"),
    "controls": Option(
        "Only these, separated by commas.  [default: all that the program uses]", metavar="LIST"
    ),
    "rounds": Option("How many times each is run.", "count", 3),
    "seeds": Option("How many runs with different seeds, for each source.", "count", 10, least=2),
    "sources": Option(
        "Also vary each of these alone, with the others fixed: weights, data, dropout, augmentation, implementation, or single streams.",
        metavar="LIST",
    ),
    "implementation_only": Option(
        "Fix the seeds, pin nothing else, and measure the variation that the seed does not explain.", "switch"
    ),
    "compare": Option("Compare two variants: saved spreads, or programs in quotes.", "switch"),
    "seed_option": Option(
        "The program's own option for its seed; each run gets a different one.", metavar="WORD"
    ),
    "one_in": Option("Accept one false alarm per N unchanged runs.", "count", 100, least=2),
    "jobs": Option("How many runs at a time.  [default: what processors and memory allow]", "count"),
    "reuse": Option("A saved spread of the same program, whose runs are used again.", metavar="FILE"),
    "from_spread": Option(
        "A saved spread: its bands become the contract, and its most typical run is kept.", metavar="FILE"
    ),
    "name": Option("The baseline's name.  [default: all that pyproject.toml names]"),
    "store": Option("Folder or fsspec address of the baselines.", variable="TWINRUN_BASELINES"),
    "reason": Option("Why the change is intended; kept in the baseline's history.", required=True),
    "recording": Option("Use this recording instead of running a program.", metavar="FOLDER"),
    "no_rerun": Option("If it fails, do not run again to see whether it repeats.", "switch"),
}


def seconds(name: str, value: Any) -> float:
    """`90`, `90s`, `5m`, `1h`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|)", str(value).strip())
    if not match or float(match[1]) <= 0:
        raise UsageError(f"invalid value for {name}: {value!r} is not a time", hint="write 90, 90s, 5m or 1h")
    return min(float(match[1]) * _SECONDS[match[2]], _LONGEST)


def pin_request(pin: str | None) -> PinRequest | None:
    """What a value of `pin` asks for: None for nothing, `default` for everything with the usual seed."""
    if pin is None:
        return None
    from twinrun.protocol.registry import parse_pin

    return parse_pin("" if pin == "default" else pin)


def check_options(program: Program, **given: Any) -> CheckOptions:
    """What a check is asked to do, from values as a user writes them; what is not given has its default."""
    from twinrun.comparison.contract import parse_contract
    from twinrun.comparison.delivered import Ignored
    from twinrun.launch.interventions import parse_interventions
    from twinrun.launch.options import CheckOptions
    from twinrun.recording.frame import GIVEN

    value = {name: option.parse(name, given.get(name)) for name, option in OPTIONS.items()}
    pin = pin_request(value["pin"])
    contract = parse_contract(value["contract"])
    if value["devices"]:
        _only_devices(value, pin)
        contract = parse_contract(given.get("contract") or ACROSS_DEVICES)
        contract = contract if contract.bitwise else replace(contract, exact=GIVEN)
    interventions = parse_interventions(
        pin=pin, vary=value["vary"], devices=value["devices"], freeze=value["freeze"], stress=value["stress"]
    )
    workers: tuple[int, ...] = value["workers"] or ()
    if len(workers) > 1:
        _must_fit_one_run(value, contract)
    plain = (
        "runs", "worker_timeout", "steps", "sequential", "timeout", "detail", "folder", "keep_files", "keep", "dump_limit", "follow",
    )  # fmt: skip
    return CheckOptions(
        replace(program, show_arguments=value["show_arguments"]),
        contract=contract,
        ignored_output=tuple(map(Ignored.parse, value["ignore_output"])),
        interventions=interventions,
        workers=workers[0] if len(workers) == 1 else 0,
        worker_counts=workers if len(workers) > 1 else (),
        replicas=value["replicas"] or 0,
        tracing="pipeline" if value["trace_pipeline"] else "step" if value["trace_ops"] else "",
        **{name: value[name] for name in plain},
    )


def _only_devices(value: dict[str, Any], pin: PinRequest | None) -> None:
    """What cannot be asked together with devices."""
    wrong = next((name for name in ("vary", "workers", "replicas") if value[name]), None)
    if value["runs"] != 2:
        wrong = "runs"
    if pin is not None and pin.device:
        wrong = "pin=device"
    if wrong is not None:
        hint = "there is one twin for each device, and nothing else differs between them"
        raise UsageError(f"--devices cannot be combined with --{wrong}", hint=hint)


# What is asked of twins, and has no meaning where each number of workers runs once.
_OF_TWINS = (
    "runs", "vary", "stress", "sequential", "trace_ops", "trace_pipeline", "keep_files", "ignore_output",
)  # fmt: skip


def _must_fit_one_run(value: dict[str, Any], contract: Contract) -> None:
    hint = "give one number of workers (--workers 2), or leave it out"
    for name in _OF_TWINS:
        if value[name] != OPTIONS[name].parse(name, None):
            flag = OPTIONS[name].flags(name)[0]
            raise UsageError(
                f"{flag} cannot be combined with several numbers of workers, which run once each", hint=hint
            )
    if contract.bands or contract.output:
        raise UsageError(
            "runs with several numbers of workers are compared by their tensors",
            hint="write --contract bitwise, ulp=4 or rtol=1e-5,atol=1e-8",
        )
