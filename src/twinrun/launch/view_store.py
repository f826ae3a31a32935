"""Which view the twins get: the best that is possible here. Keeps the files of the views of one check, and removes them
when it is over."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from twinrun.errors import CannotCopy, CannotWrite
from twinrun.launch.copy_view import CopyViews, copy_problem
from twinrun.launch.folders import Hold, default_root, remove_tree
from twinrun.launch.overlay_view import OverlayViews, outermost, overlay_problem, submounts
from twinrun.launch.program import Program
from twinrun.launch.views import WAYS, Views, Way, below

VARIABLE = "TWINRUN_VIEWS"  # only this way


class ViewStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder  # of the recordings
        self._places: dict[Path, Hold] = {}

    def __enter__(self) -> ViewStore:
        return self

    def __exit__(self, *_: object) -> None:
        for place, held in self._places.items():
            remove_tree(place)
            held.close()

    def views(
        self,
        program: Program,
        patched: Mapping[str, str],
        *,
        ways: tuple[Way, ...] = WAYS,
        frozen: Collection[str] | None = None,
    ) -> Views:
        """The views for the twins of one round. `frozen`: every twin must start from the same files, of which these may lie
        elsewhere. Raises CannotCopy where that, or what is to be patched, is not possible here."""
        texts = {str(Path(path).resolve()): text for path, text in patched.items()}
        own = roots_of(program)
        needed = [Path(path).resolve() for path in (*texts, *(frozen or ()))]
        roots = outermost([*own, *(path.parent for path in needed)])
        forced = os.environ.get(VARIABLE)
        reasons: list[str] = []
        for way in ways:
            if forced not in (None, "", way):
                continue
            if way == "overlay":
                found = self._overlay(roots, texts, needed, reasons)
            elif way == "copy":
                found = self._copies(own, texts, needed, reasons)
            else:
                break
            if found is not None:
                return found
        why = "; ".join(reasons) or "no other way is allowed"
        if frozen is not None or texts:
            raise CannotCopy(f"no view of {_listed(roots)} is possible: {why}")
        return Views(roots, self._folder, notes=(f"the twins shared {_listed(roots)} ({why})",))

    def _overlay(
        self, roots: tuple[Path, ...], texts: Mapping[str, str], needed: list[Path], reasons: list[str]
    ) -> Views | None:
        mounted = submounts(roots)
        kept = self._kept(roots, mounted)
        for path in (*roots, *needed):
            if path == Path(path.anchor) or below(path, kept):
                reasons.append(
                    f"{path} is not the program's own folder" if path in roots else f"{path} is shared"
                )
                return None
        why = "no place for it"
        for parent in self._parents():
            place = self._new_place(parent)
            if place is None:
                continue
            problem = overlay_problem(roots, place)
            if problem is None:
                notes = (f"the twins shared {_listed(mounted)}: other file systems",) if mounted else ()
                return OverlayViews(roots, place, texts, notes, kept)
            why = problem
        reasons.append(f"no overlay file system: {why}")
        return None

    def _kept(self, roots: tuple[Path, ...], mounted: tuple[Path, ...]) -> tuple[Path, ...]:
        """What is the real one for every twin though it lies below a root: our own recordings, and the hidden folders of
        the user's home (caches, settings), which belong to other programs."""
        home = Path.home().resolve()
        ours = [self._folder, default_root().resolve()]
        if below(home, roots) and home.is_dir():
            ours += [entry for entry in home.glob(".*") if entry.is_dir() and not entry.is_symlink()]
        return outermost([*mounted, *(path for path in ours if path.is_dir() and below(path, roots))])

    def _copies(
        self, roots: tuple[Path, ...], texts: Mapping[str, str], needed: list[Path], reasons: list[str]
    ) -> Views | None:
        far = [path for path in needed if not below(path, roots)]  # would be read where it is
        problem = f"{far[0]} lies elsewhere" if far else copy_problem(roots)
        if problem is not None:
            reasons.append(problem)
            return None
        place = self._new_place(self._folder)
        if place is None:
            raise CannotWrite(f"cannot write to {self._folder}", hint="choose another place with --dir")
        return CopyViews(
            roots, place, texts, (f"each twin ran in a copy of {_listed(roots)} ({'; '.join(reasons)})",)
        )

    def _parents(self) -> Iterator[Path]:
        """Where the files of views may be kept. The recordings may lie below the folder itself, or on a file system
        that cannot hold an upper layer."""
        yield from (self._folder, default_root(), Path(tempfile.gettempdir()), Path("/var/tmp"))

    def _new_place(self, parent: Path) -> Path | None:
        try:
            place = Path(tempfile.mkdtemp(prefix="twinrun-views-", dir=parent)).resolve()
        except OSError:
            return None
        self._places[place] = Hold(place)  # one that is left behind in the default folder is removed some day
        return place


def roots_of(program: Program) -> tuple[Path, ...]:
    """The working folder, and that of the program. The root of all folders is nobody's own."""
    found = [Path.cwd()]
    if not program.module:
        target = Path(program.target).resolve()
        found.append(target if target.is_dir() else target.parent)
    return outermost([path for path in found if path != Path(path.anchor)] or found)


def _listed(paths: Iterable[Path]) -> str:
    return " and ".join(map(str, paths))
