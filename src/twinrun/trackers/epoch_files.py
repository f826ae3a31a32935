"""What the callback `twinrun.EpochDigests` leaves in a run: a small file for each epoch, with a digest of every variable."""

from __future__ import annotations

from pathlib import Path

import msgspec
import xxhash
from msgspec import Struct

from twinrun import untrusted
from twinrun.errors import BadResult

FOLDER = "twinrun/epochs"  # among the files of a run
LAST = f"{FOLDER}/last"  # the number of the newest: a folder that is trained into again may have older files beyond it
_SUFFIX = ".json"


class Epoch(Struct, frozen=True, tag_field="schema", tag="twinrun/epoch/1"):
    """`epoch` have ended; 0 is before training. Variables are in the model's order, optimizer last; metrics are as text, which
    keeps every bit and has a way to write NaN."""

    epoch: int
    variables: tuple[tuple[str, str], ...]
    metrics: dict[str, str] = {}

    @property
    def file(self) -> str:
        return f"{FOLDER}/{self.epoch:06d}{_SUFFIX}"

    @property
    def digest(self) -> str:
        """The digest of all variables together, in their order, whatever their names."""
        return f"{xxhash.xxh3_64_intdigest(' '.join(digest for _, digest in self.variables).encode()):016x}"

    def as_json(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self), indent=1).decode()


def folder_of(run: Path) -> Path | None:
    """Where the files of a run are: one of TensorBoard's, of W&B's, or copied from a server."""
    places = (run / FOLDER, run / "files" / FOLDER)
    return next((place for place in places if place.is_dir()), None)


def read_epochs(folder: Path) -> dict[int, Epoch]:
    """The epochs by number."""
    found: dict[int, Epoch] = {}
    path = folder / Path(LAST).name
    try:
        last = int(untrusted.read_bytes(path))
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            epoch = untrusted.read_as(path, Epoch)
            if epoch.epoch <= last:
                found[epoch.epoch] = epoch
    except (OSError, ValueError) as problem:
        raise BadResult(f"{path} cannot be read: {problem}") from None
    return found
