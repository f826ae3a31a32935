"""Where a device fails to digest what lies on it: the host does, a note says so, and the program does not notice. The
processor plays a GPU."""

from __future__ import annotations

from pathlib import Path

from support import python, twinrun, write

PROGRAM = """
import gc
import tensorflow as tf
from twinrun.frameworks.tensorflow import device_digest
from twinrun.frameworks.tensorflow.tensors import block
from twinrun.frameworks.tensorflow.variables import Variables
from twinrun.recording.digest import digest_array
from twinrun.recording.sum_digest import sum_digest
from twinrun.twin.session import current

device_digest.is_gpu = lambda device: True
really, Together = device_digest.digest_value, device_digest.Together

def refuse(*_):
    raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating\\nand more")

def on_second_variable(value, device):
    calls.append(value)  # the first is a sample, to see whether it works at all
    return refuse() if len(calls) == 3 else really(value, device)

def tracked(count=3):
    device_digest.digest_value, device_digest.Together = really, Together
    device_digest._trouble.clear()
    notes = []
    known = Variables(notes.append, lambda text: None, on_devices=True)
    made = [tf.Variable(tf.fill([1 << 18], float(number)), name=f"v{number}") for number in range(count)]
    for each in made:
        known.track(each)
    return known, made, notes

def seen(known):
    (found,) = known.blocks("weights")
    return found.kinds, found.digests

def by(digest, count=3):
    return [digest(tf.fill([1 << 18], float(number)).numpy()) for number in range(count)]

on_host, on_device = ("", by(digest_array)), ("ddd", by(sum_digest))
OOM = "variables on the GPU are copied to the host at every step, as it cannot digest them: ResourceExhaustedError: OOM when allocating"

# when they are first looked at: in the middle of it
known, made, notes = tracked()
calls = []
device_digest.digest_value = on_second_variable
assert seen(known) == on_host and notes == [OOM], notes

# when all of them are to be digested by one call
known, made, notes = tracked()
assert seen(known) == on_device and not notes
device_digest.Together = refuse
assert [seen(known) for _ in range(8)] == [on_device] * 3 + [on_host] * 5 and notes == [OOM], notes

# when one has died
known, made, notes = tracked()
assert seen(known) == on_device
del made[1]
gc.collect()
device_digest.digest_value = refuse
known.release_dead()
assert seen(known) == on_host and notes == [OOM], notes

# after one has died, whose digest stays one of the device
known, made, notes = tracked()
assert seen(known) == on_device
del made[1]
gc.collect()
known.release_dead()
device_digest.digest_value = refuse
kinds, digests = seen(known)
assert kinds == "hdh" and digests == [on_host[1][0], on_device[1][1], on_host[1][2]], kinds

# when the device computes something else, and when it fails without a word
known, made, notes = tracked()
device_digest.digest_value = lambda value, device: 1
assert seen(known) == on_host and notes[0].endswith("it computes something else than the host"), notes

def fail(*_):
    raise RuntimeError

known, made, notes = tracked()
device_digest.digest_value = fail
assert seen(known) == on_host and notes[0].endswith("RuntimeError: "), notes

# tensors that are no variables
def batch():
    found = block("batch", tf.fill([1 << 18], 2.0))
    return found.kinds, found.digests

tracked()
assert batch() == ("d", on_device[1][2:])
device_digest.digest_value = refuse
assert batch() == ("", on_host[1][2:])
device_digest.digest_value = really
assert batch() == ("", on_host[1][2:])
(note,) = current().notes
assert "OOM when allocating" in note and "batches and outputs" in note
print("all of it")
"""


def test_the_host_digests_what_a_device_fails_to(tmp_path: Path) -> None:
    answer = python(write(tmp_path, PROGRAM))
    assert answer.out == "all of it\n", answer.err


FAILS = """
import time
import tensorflow as tf
from twinrun.frameworks.tensorflow.variables import Variables

def fail(*_):
    raise RuntimeError("of ours")

variable = tf.Variable(1.0)
step = tf.function(lambda: variable.assign_add(1.0))
step()
Variables.release_dead = fail
print(float(step()), flush=True)
time.sleep(0.5)  # longer than a command takes that ends the program
print(float(step()))
"""


def test_a_failure_of_ours_before_a_call_is_none_of_the_programs(tmp_path: Path) -> None:
    answer = twinrun("run", "--dir", tmp_path / "run", write(tmp_path, FAILS))
    assert (tmp_path / "run" / "A" / "stdout.txt").read_text() == "3.0\n4.0\n", answer.err
    assert "of ours" in answer.out + answer.err
