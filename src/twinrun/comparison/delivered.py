"""What two runs delivered, compared: their standard output, and the files they left."""

from __future__ import annotations

import difflib
import filecmp
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from twinrun.comparison.contents import Contents, Part, contents
from twinrun.comparison.shown import FROZEN, Drawn, Run, only_shows, visible_lines
from twinrun.errors import UsageError
from twinrun.recording.printed import texts_by_writer

STDOUT = "standard output"
MOST_OUTPUT = 16 << 20  # of standard output, whose lines are looked at
_MOST_LINES = 20_000  # that are aligned; of longer texts, line n is compared with line n
_MOST = 5000  # differences that are looked at
_NAME = "its name"  # in place of a part

# Reads files of this name in a format that only a framework knows. None: it is no such format.
Reader = Callable[[str, Sequence[Path]], Sequence[Contents] | None]


@dataclass(frozen=True)
class Delivery:
    """What one run delivered. `files` holds those that it made or changed, None for those that it removed."""

    run: Run
    output: Path
    files: Mapping[str, Path | None]
    is_progress: Callable[[str], bool] = field(default=lambda line: False, repr=False)

    def lines(self) -> list[str]:
        with self.output.open("rb") as file:
            return self._visible(file.read(MOST_OUTPUT).decode("utf-8", "replace"))

    @cached_property
    def lines_by_writer(self) -> dict[str, list[str]]:
        """The lines of each thread and process, where several printed and the whole output is theirs."""
        texts = texts_by_writer(self.output.parent)
        if len(texts) < 2:
            return {}
        found = [(writer, self._visible(text)) for writer, text in texts]
        # Of several threads of one name, nobody knows which is which.
        found.sort(key=lambda each: (each[0], [self.run.hide(line) for line in each[1]]))
        return {
            f"{writer} #{number}" if number > 1 else writer: lines
            for writer, same in itertools.groupby(found, key=lambda each: each[0])
            for number, (_, lines) in enumerate(same, start=1)
        }

    def _visible(self, text: str) -> list[str]:
        return [line for line in visible_lines(text) if not self.is_progress(line)]


@dataclass(frozen=True)
class Mismatch:
    """One place where two deliveries differ. `line` counts from 1 in the first of them; 0: the whole part."""

    where: str  # STDOUT, or the name of a file
    part: str = ""  # of the file, where it has parts
    line: int = 0
    a: str = ""
    b: str = ""
    heading: str = ""  # of the column, in a table
    column: int = -1

    @property
    def place(self) -> str:
        part = f" ({self.part})" if self.part else ""
        return f"{self.where}{part}, line {self.line}" if self.line else f"{self.where}{part}"


@dataclass(frozen=True)
class Ignored:
    """Output that the user says does not matter, and why."""

    pattern: re.Pattern[str]
    reason: str

    @staticmethod
    def parse(text: str) -> Ignored:
        pattern, _, reason = text.rpartition(" # ")
        if not pattern.strip() or not reason.strip():
            raise UsageError(
                f"--ignore-output needs a reason: {text!r}", hint="write 'REGEX # why it may differ'"
            )
        try:
            return Ignored(re.compile(pattern.strip()), reason.strip())
        except re.error as problem:
            raise UsageError(f"{pattern!r} is not a regular expression: {problem}") from None

    def covers(self, found: Mismatch) -> bool:
        texts = (found.where, found.a, found.b, found.heading)
        return any(self.pattern.search(text) for text in texts if text)


@dataclass(frozen=True)
class Compared:
    mismatches: list[Mismatch]
    files: int  # that were compared
    reordered: bool = False  # threads and processes printed in another order


def compare(one: Delivery, other: Delivery, reader: Reader | None = None) -> Compared:
    found, reordered = _printed(one, other)
    too_long = max(each.output.stat().st_size for each in (one, other)) > MOST_OUTPUT
    if too_long and not filecmp.cmp(one.output, other.output, shallow=False):
        found.append(Mismatch(STDOUT, a="differs, and is longer than what is compared"))
    files, count = compare_files(one, other, reader)
    found += files
    if len(found) > _MOST:
        found[_MOST:] = [Mismatch(found[_MOST].where, a="more differences than were compared")]
    return Compared(found, count, reordered)


def compare_files(one: Delivery, other: Delivery, reader: Reader | None = None) -> tuple[list[Mismatch], int]:
    """And how many were compared."""
    found: list[Mismatch] = []
    pairs = list(_paired(one, other))
    for name, second in pairs:
        if not name or not second:
            found.append(
                Mismatch(
                    name or second, a="left behind" if name else "not there", b="" if name else "left behind"
                )
            )
            continue
        shown = one.run.hide(_shape(name)), other.run.hide(_shape(second))
        if name != second and shown[0] != shown[1]:
            found.append(Mismatch(name, _NAME, 1, *shown))
        left, right = one.files[name], other.files[second]
        if left is not None and right is not None:
            found += _files(name, left, right, one.run, other.run, reader)
        elif left is not right:
            found.append(Mismatch(name, a="there" if left else "removed", b="there" if right else "removed"))
    return found, sum(bool(name and second) for name, second in pairs)


def _printed(one: Delivery, other: Delivery) -> tuple[list[Mismatch], bool]:
    """The output as it stands, or that of each thread and process for itself, whichever is more alike: the output is equal
    where one of them is."""
    found = list(_texts(STDOUT, "", one.lines(), other.lines(), one.run, other.run))
    a, b = (one.lines_by_writer, other.lines_by_writer) if found else ({}, {})
    if not (a and b):
        return found, False
    names = sorted({*a, *b})
    apart = [m for n in names for m in _texts(STDOUT, n, a.get(n, []), b.get(n, []), one.run, other.run)]
    return (apart, True) if len(apart) < len(found) else (found, False)


def still_there(
    found: Mismatch, frozen: Sequence[Delivery] | None, reader: Reader | None, *, drawn: Drawn
) -> bool:
    """Whether a mismatch is more than a show. `frozen`: what two runs delivered with the clock and generated names frozen, or
    one run, whose clock may have been ahead."""
    if frozen is None:
        return not found.line or not only_shows(found.a, found.b, None, found.heading)
    try:
        parts = [_part(found, delivery, reader) for delivery in frozen]
    except OSError:
        return True
    if any(isinstance(part, str) for part in parts) or not found.line:
        return True  # an array that the clock reaches is a result
    lines = [
        [delivery.run.ahead.hide(FROZEN.hide(delivery.run.hide(line))) for line in part or ()]
        for delivery, part in zip(frozen, parts, strict=True)
    ]
    if found.column >= 0:
        places = [_cell(found, part) for part in lines]
    else:
        places = [
            _matching(line, part, found.line - 1)
            for line, part in zip((found.a, found.b), lines, strict=False)
        ]
    shown = [line for line in places if line is not None]
    return not only_shows(
        found.a, found.b, shown if len(shown) == len(frozen) else None, found.heading, drawn=drawn
    )


def _cell(found: Mismatch, lines: list[str]) -> str | None:
    cells = lines[found.line - 1].split(",") if found.line <= len(lines) else []
    return cells[found.column] if found.column < len(cells) else None


def _paired(one: Delivery, other: Delivery) -> Iterator[tuple[str, str]]:
    """Files of the same name, or of names that differ only in what is made up for a run; "" where there is no such file."""
    left, right = sorted(one.files), sorted(other.files)
    for shape in (
        lambda run, name: name,
        lambda run, name: run.hide(_shape(name)),
        lambda run, name: _kind(name),
    ):
        waiting: dict[str, list[str]] = {}
        for name in right:
            waiting.setdefault(shape(other.run, name), []).append(name)
        for name in list(left):
            same = waiting.get(shape(one.run, name))
            if same:
                second = same.pop(0)
                left.remove(name)
                right.remove(second)
                yield name, second
    yield from ((name, "") for name in left)
    yield from (("", name) for name in right)


def _shape(name: str) -> str:
    """A name with what the system makes up for each run left out: uuids, temporary names, TensorBoard's process number."""
    name = re.sub(r"(?:^|(?<=[/._-]))tmp[a-z0-9_]{8}", "<temporary>", name)
    return re.sub(r"(tfevents\.)\d+\.(.+?)\.\d+(\.\d+)", r"\1<run>.\2\3", name)


def _files(
    name: str, left: Path, right: Path, one: Run, other: Run, reader: Reader | None
) -> Iterator[Mismatch]:
    if filecmp.cmp(left, right, shallow=False):
        return
    a, b = _read(name, [left, right], reader)
    for part in sorted({*a, *b}):
        x, y = a.get(part), b.get(part)
        if isinstance(x, list) and isinstance(y, list):
            yield from _texts(name, part, x, y, one, other)
        elif x != y:
            missing = ("there" if x else "not there", "there" if y else "not there")
            yield Mismatch(name, part, 0, *(missing if not (x and y) else ("", "")))


def same_arrays(name: str, left: Path, right: Path, reader: Reader | None) -> bool:
    """Whether two files hold the same arrays, whatever these are called there."""
    one, other = (
        Counter(part for part in each.values() if isinstance(part, str))
        for each in _read(name, [left, right], reader)
    )
    return one == other


def lines_survive(name: str, one: Delivery, other: Delivery, reader: Reader | None) -> bool:
    """Whether every line of a file that one of them left is in the other's too, in this order, with others between them at
    most. Of files that are named by the time and the process, each process leaves one: all of them together are the other's."""
    shape = one.run.hide(_shape(name))
    files = [path for each, path in sorted(other.files.items()) if other.run.hide(_shape(each)) == shape]
    first, *rest = _read(name, [path for path in (one.files[name], *files) if path is not None], reader)
    return bool(rest) and all(
        _in_order(
            _lines(first, part, one.run), [line for each in rest for line in _lines(each, part, other.run)]
        )
        for part in first
    )


def _lines(found: Contents, part: str, run: Run) -> list[str]:
    lines = found.get(part)
    return [run.hide(line) for line in lines] if isinstance(lines, list) else []


def _in_order(lines: list[str], among: list[str]) -> bool:
    rest = iter(among)
    return all(line in rest for line in lines)


def _read(name: str, paths: Sequence[Path], reader: Reader | None) -> Sequence[Contents]:
    return (reader and reader(name, paths)) or [contents(path) for path in paths]


def _texts(where: str, part: str, a: list[str], b: list[str], one: Run, other: Run) -> Iterator[Mismatch]:
    if a == b:
        return
    left, right = [one.hide(line) for line in a], [other.hide(line) for line in b]
    if left == right:
        return
    headings = a[0].split(",") if a and b and a[0] == b[0] and "," in a[0] else []
    for start, end, first, last in _changed(left, right):
        for offset in range(max(end - start, last - first)):
            i, j = start + offset, first + offset
            if i < end and j < last and a[i] == b[j]:  # as they are, whatever may be hidden in one of them
                continue
            x, y = left[i] if i < end else "", right[j] if j < last else ""
            if x != y:
                yield from _cells(Mismatch(where, part, start + offset + 1, x, y), headings)


def _cells(found: Mismatch, headings: list[str]) -> Iterator[Mismatch]:
    """A row of a table as its differing cells, so that each is judged by the heading of its column."""
    a, b = found.a.split(","), found.b.split(",")
    if not headings or not len(a) == len(b) == len(headings):
        yield found
        return
    for column, (x, y, heading) in enumerate(zip(a, b, headings, strict=True)):
        if x != y:
            yield replace(found, a=x, b=y, heading=heading, column=column)


def _changed(a: list[str], b: list[str]) -> Iterator[tuple[int, int, int, int]]:
    if len(a) == len(b) or max(len(a), len(b)) > _MOST_LINES:
        yield 0, len(a), 0, len(b)
        return
    for tag, start, end, first, last in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield start, end, first, last


def _part(found: Mismatch, delivery: Delivery, reader: Reader | None) -> Part | None:
    """The same part of another delivery; None where there is none."""
    if found.where == STDOUT:
        return delivery.lines_by_writer.get(found.part) if found.part else delivery.lines()
    by_likeness = sorted(delivery.files, key=lambda name: name != found.where)
    for name in by_likeness:
        path = delivery.files[name]
        if path is not None and _kind(name) == _kind(found.where):
            return [name] if found.part == _NAME else _read(name, [path], reader)[0].get(found.part)
    return None


def _kind(name: str) -> str:
    """A name without numbers and names that may be made up."""
    return re.sub(r"[0-9a-f]*\d[0-9a-f]*|<\w+>|frozen_\w{8}|tmp\w{8}", "#", name)


def _matching(line: str, lines: list[str], near: int) -> str | None:
    """The line of another run that stands in the place of this one: of its shape and nearest to it, else the same line."""
    shape = _line_shape(line)
    fitting = [number for number, each in enumerate(lines) if _line_shape(each) == shape]
    if fitting:
        return lines[min(fitting, key=lambda number: abs(number - near))]
    return lines[near] if near < len(lines) else None


def _line_shape(line: str) -> str:
    hidden = r"<(?:time|process|address|port|uuid)>"
    return re.sub(rf"(?:[0-9a-f]*\d[0-9a-f.:+-]*|frozen_\w{{8}}|tmp\w{{8}}|{hidden}|inf|nan)+", "#", line)
