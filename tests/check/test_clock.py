"""The time of day: twins that start together share it, and the run of tomorrow does not."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from support import PLAIN, check, outputs, twinrun, write

pytestmark = pytest.mark.usefixtures("tinynet")

SEEDED = f"""
import time
{PLAIN}
now = int(time.time())
model.weight = model.weight + np.float32(now % 97)
train(2)
"""


def test_a_time_that_reaches_training_is_found_though_the_twins_share_it(tmp_path: Path) -> None:
    program = write(tmp_path, SEEDED)
    found = twinrun("check", "--output-format", "json", program).document
    line = program.read_text().splitlines().index("now = int(time.time())") + 1
    first = found["findings"][0]
    assert found["verdict"] == "diverges"
    assert (first["code"], first["line"], first["confirmed"]) == ("TW303", line, True)


def test_a_date_that_reaches_training_is_found_though_it_is_the_same_all_day(tmp_path: Path) -> None:
    program = write(
        tmp_path, SEEDED.replace("int(time.time())", "__import__('datetime').date.today().toordinal()")
    )
    found = check(program).document
    assert (found["verdict"], found["first_difference"]["tensor"]) == ("diverges", "weight")


def test_a_time_that_is_only_shown_does_no_harm_and_is_said_to_have_been_moved(tmp_path: Path) -> None:
    text = """
        import time
        from datetime import datetime
        began = time.time()
        train(3)
        print(datetime.now().isoformat(), time.time() - began < 1000)
        """
    found = check(write(tmp_path, PLAIN + dedent(text))).document
    assert (found["verdict"], found["steps_compared"]) == ("repeats", 3)
    assert any("the clock of one twin a year ahead" in note for note in found["notes"])


def test_a_moved_clock_moves_every_way_of_reading_it_by_the_same(tmp_path: Path) -> None:
    text = """
        import datetime, pickle, time
        import tensorflow as tf
        tf.timestamp(), time.strptime(time.ctime())  # what they load takes its time
        moments = [
            time.time(), time.time_ns() / 1e9, time.mktime(time.localtime()), float(tf.timestamp()),
            datetime.datetime.now().timestamp(), datetime.datetime.now(datetime.timezone.utc).timestamp(),
            time.mktime(time.strptime(time.ctime())), time.mktime(time.strptime(time.strftime("%c"), "%c")),
        ]
        days = [datetime.date.today().toordinal(), datetime.datetime.today().toordinal()]
        same = pickle.loads(pickle.dumps(datetime.datetime.now()))
        print(max(moments) - min(moments) < 5, days[0] == days[1], type(same) is datetime.datetime, int(time.time()))
        import twinrun
        twinrun.probe("x", tf.random.stateless_normal([2], [1, 2]))
        """
    found = check(write(tmp_path, text), "--vary", "clock").document
    assert found["verdict"] == "repeats"
    words = [text.split() for text in outputs(found)]
    assert [row[:3] for row in words] == [["True"] * 3] * 2
    assert 396 < (int(words[1][3]) - int(words[0][3])) / 86_400 < 398


@pytest.mark.parametrize("vary", ["timezone", "clock", "timezone,clock"])
def test_a_varied_clock_that_is_only_printed_is_no_difference(tmp_path: Path, vary: str) -> None:
    text = f"""{PLAIN}
import datetime, time
train(3)
print("saved", datetime.datetime.now(), time.strftime("%H:%M"), int(time.time()))
print(datetime.date.today(), time.ctime())
open(time.strftime("run-%Y%m%d"), "w").write(time.strftime("%Y-%m-%d@%H:%M:%S"))
"""
    found = check(write(tmp_path, text), "--vary", vary).document
    assert (found["verdict"], found["varied"]) == ("repeats", vary.split(","))
    # A line that the date decides is still one.
    late = check(
        write(tmp_path, text + "print(datetime.date.today().toordinal())\n"), "--vary", "clock"
    ).document
    assert (late["verdict"], late["reason_kind"]) == ("undecided", "unwatched-output")
