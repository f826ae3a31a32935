"""What was not restored, as findings: what each part is, and what to write so that it is."""

from __future__ import annotations

from typing import NamedTuple, get_args

from twinrun.findings.catalogue import finding
from twinrun.findings.finding import Finding
from twinrun.resume.outcome import Part, Stop


class _Words(NamedTuple):
    code: str
    message: str
    fix: str


_WORDS: dict[Part, _Words] = {
    "start": _Words(
        "TW701",
        "the program started over from step 1 instead of resuming",
        "look for the newest checkpoint before training and load it: tf.train.latest_checkpoint(folder), or\n"
        "keras.callbacks.BackupAndRestore(folder)",
    ),
    "saving": _Words(
        "TW701",
        "killed while it saved, the program started over from step 1 instead of resuming from a checkpoint before",
        "write a checkpoint to another name, rename it when it is whole (os.replace), and keep the one before;\n"
        "twinrun.ResumeState does so. Where the program starts over after any stop (--at checkpoints shows it), look for the\n"
        "newest checkpoint before training and load it",
    ),
    "loading": _Words(
        "TW701",
        "started again on what the stopped run left, the program fails before its first step, which it does not when it\n"
        "starts from nothing",
        "where a checkpoint was half written: write it to another name, rename it when it is whole (os.replace), and keep\n"
        "the one before; twinrun.ResumeState does so. Where a folder is there already: os.makedirs(folder, exist_ok=True)",
    ),
    "training": _Words(
        "TW701",
        "started again on what the stopped run left, the program fails after some steps, which it does not when it is left alone",
        "the last lines of output say what it lacked: what the program keeps in Python (a count, a list of what was seen) must\n"
        "be saved with the rest, as must the position in the data; twinrun.ResumeState saves that and the random states",
    ),
    "weights": _Words(
        "TW701",
        "the weights were not restored",
        "load them before training, into the variables that are trained: model.load_weights(file), or\n"
        "checkpoint.restore(path).assert_consumed(); and save them as they are, neither rounded nor in another precision",
    ),
    "optimizer": _Words(
        "TW701",
        "the optimizer's slots were not restored",
        "save the optimizer too: model.save(file), or tf.train.Checkpoint(model=model, optimizer=optimizer); before\n"
        "load_weights, model.optimizer.build(model.trainable_variables), or there is nothing to load into",
    ),
    "iteration": _Words(
        "TW701",
        "the optimizer's iteration count was not restored: a learning-rate schedule starts over",
        "save the optimizer too: model.save(file), or tf.train.Checkpoint(model=model, optimizer=optimizer)",
    ),
    "learning-rate": _Words(
        "TW701",
        "the learning rate was not restored",
        "save the optimizer, whose variable it is; a callback that changes it keeps its own count, which must be saved too",
    ),
    "seeds": _Words(
        "TW701",
        "the states of seed generators were not restored: dropout and augmentation draw other values",
        "save them: model.variables includes them, a .keras or .weights.h5 file does not; twinrun.ResumeState saves them",
    ),
    "data-position": _Words(
        "TW207",
        "the position in the data was not restored",
        "save the iterator: tf.train.Checkpoint(iterator=iter(ds)); or let twinrun.ResumeState keep the position and the order",
    ),
    "data-order": _Words(
        "TW207",
        "the shuffle order was not restored",
        "derive the order from the epoch: ds = twinrun.repeatable(ds), with twinrun.ResumeState for the position;\n"
        "or save the iterator: tf.train.Checkpoint(iterator=iter(ds))",
    ),
    "data": _Words(
        "TW207",
        "the data after the restart is not what it would have been: another shuffle order, or other augmentation",
        "derive both from the epoch: ds = twinrun.repeatable(ds), with twinrun.ResumeState for the position;\n"
        "or save the iterator: tf.train.Checkpoint(iterator=iter(ds))",
    ),
    "steps": _Words(
        "TW701",
        "the number of steps left was not restored",
        "go on where it stopped: model.fit(…, initial_epoch=epoch), or for step in range(restored_step, steps)",
    ),
    "metrics": _Words(
        "TW701",
        "the metrics were not restored: their averages cover the steps after the restart alone",
        "save at the end of an epoch only, or the metrics' variables too: tf.train.Checkpoint(…, metric=metric); in fit,\n"
        "twinrun.ResumeState does so",
    ),
    "unseen": _Words(
        "TW701",
        "something was not restored that is neither a variable nor a batch that is seen: the state of Python's, NumPy's or an op's\n"
        "random numbers, or what the program keeps in Python",
        "save random.getstate() and numpy.random.get_state(), as twinrun.ResumeState does, and your own counters",
    ),
}
assert set(_WORDS) == set(get_args(Part))


def findings_of(stops: tuple[Stop, ...]) -> tuple[Finding, ...]:
    """One for each part, with what was seen at each stop, in the order of the parts."""
    found = []
    for part in get_args(Part):
        evidence = [
            f"{_resumed(stop)}: {hole.detail}" for stop in stops for hole in stop.holes if hole.part == part
        ]
        if evidence:
            code, message, fix = _WORDS[part]
            message = " ".join(message.split())
            found.append(finding(code, message, confirmed=True, evidence=evidence, fix=fix))
    return tuple(found)


def _resumed(stop: Stop) -> str:
    return f"{stop.place}, resumed after step {stop.resumed_after}" if stop.resumed_after else stop.place
