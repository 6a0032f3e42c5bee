"""Pictures in idx files, as MNIST and its relatives have them. Knows their names and headers; refuses to guess labels.

train-images-idx3-ubyte with train-labels-idx1-ubyte, t10k-… for those held out; .gz may follow, dots may stand for
dashes. The header is four bytes (two zeros, the type of numbers, the number of sizes), then the sizes.
"""

import gzip
import re
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from weft.domains.pictures.reading.arrays import RowPlace, Stack
from weft.errors import DataError
from weft.files.decoding import GZIP, opened, shown
from weft.files.pictures.locations import Gathered, PictureEntry

NAME = re.compile(
    r"(?P<stem>.*?)(?P<what>images|labels)(?P<dot>[-._])idx(?P<sizes>[13])([-._]ubyte)?(\.gz)?", re.IGNORECASE
)
HELD = ("t10k", "test", "val", "valid", "validation")
LARGEST = 4 * 2**30  # bytes of all pictures of a file
MOST_SIDE = 4096  # pixels
UBYTE = 8  # the type of numbers that pixels and labels are
FIX = "copy or download it again"


class Side(NamedTuple):
    """The files of pictures to learn from, or held out, and of their labels."""

    images: Path
    labels: Path | None
    held: bool


def is_idx(path: Path) -> bool:
    """Whether a file holds pictures or labels as idx, by its name."""
    return NAME.fullmatch(path.name) is not None


def sides_in(path: Path) -> list[Side]:
    """The pictures of a file, or of a folder that holds such files, with the files of their labels."""
    files = sorted(file for file in path.iterdir() if is_idx(file) and file.is_file()) if path.is_dir() else [path]
    beside = sorted(file for file in (path if path.is_dir() else path.parent).iterdir() if is_idx(file))
    found = []
    for file in files:
        name = NAME.fullmatch(file.name)
        if name is None or name["what"].lower() != "images":
            continue
        own = [one for one in beside if (other := NAME.fullmatch(one.name)) and other["what"].lower() == "labels"
               and other["stem"].lower() == name["stem"].lower()]  # fmt: skip
        stem = name["stem"].lower().strip("-._")
        found.append(Side(file, own[0] if own else None, path.is_dir() and stem in HELD))
    return found if any(not side.held for side in found) else [side._replace(held=False) for side in found]


def in_idx(path: Path, *, labels: bool) -> Gathered:
    """The pictures of a file or folder, with their labels; a file of labels gives none: its pictures are named too."""
    gathered = Gathered([])
    for side in sides_in(path):
        pixels = _numbers(side.images, 3)
        texts: list[str] | None = None
        if labels:
            if side.labels is None:
                name = re.sub("images", "labels", side.images.name).replace("idx3", "idx1")
                raise DataError("no file of labels beside it", where=shown(side.images), fix=f"put {shown(name)} there")
            texts = [str(value) for value in _numbers(side.labels, 1).tolist()]
            if len(texts) != len(pixels):
                problem = f"{len(texts):,} labels for {len(pixels):,} pictures"
                raise DataError(problem, where=shown(side.labels), fix=FIX)
        stack = Stack(shown(side.images.name), pixels[..., None], None, ())
        gathered.entries.extend(
            PictureEntry(f"{stack.name}[{i}]", RowPlace(stack, i), None if texts is None else texts[i], held=side.held)
            for i in range(len(pixels))
        )
    return gathered


def _numbers(path: Path, sizes: int) -> np.ndarray:
    """The numbers of a file, whose header must claim as many as follow."""
    where = shown(path)
    try:
        with opened(path) as file:
            packed = file.read(2) == GZIP
            file.seek(0)
            stream = gzip.GzipFile(fileobj=file) if packed else file
            head = stream.read(4 + 4 * sizes)
            if len(head) < 4 + 4 * sizes or head[:4] != bytes((0, 0, UBYTE, sizes)):
                problem = f"not idx with bytes in {sizes} dimension{'s' * (sizes > 1)}, by its first bytes"
                raise DataError(problem, where=where, fix=FIX)
            shape = struct.unpack(f">{sizes}I", head[4:])
            claimed = int(np.prod(shape, dtype=object))
            if claimed > LARGEST or max(shape[1:], default=0) > MOST_SIDE or 0 in shape[1:]:
                problem = f"its header claims {' x '.join(map(str, shape))} bytes"
                raise DataError(problem, where=where, fix=FIX)
            data = stream.read(claimed + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}", where=where, fix=FIX) from None
    if len(data) != claimed:
        follow = f"{len(data):,}" if len(data) < claimed else "more"
        raise DataError(f"its header claims {claimed:,} bytes, {follow} follow", where=where, fix=FIX)
    return np.frombuffer(data, np.uint8).reshape(shape)
