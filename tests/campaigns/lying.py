"""Lying files: each is refused in words that name it, within seconds and within a bounded memory."""

import importlib
import itertools
import os
import shutil
from collections.abc import Collection
from functools import partial
from pathlib import Path

import weft
from campaigns.judging import judged, warm
from campaigns.lies import EVERY
from campaigns.tally import Tally

LIBRARIES = ("openpyxl", "pyarrow.parquet", "xarray", "h5netcdf", "zarr", "networkx", "PIL.Image")
SECONDS, MEMORY = 30.0, 2 * 2**30


def train(files: list[Path], out: Path, **settings: int) -> None:
    """What a user does with files."""
    weft.train(list(map(str, files)), out=out, steps=1, quiet=True, baselines=False, **settings)


def lying(place: Path, kinds: Collection[str] = tuple(EVERY), most: int | None = None) -> Tally:
    """All lies of some kinds, or the first of each; a file that is taken for true is missed too."""
    tally = Tally()
    place.mkdir(parents=True, exist_ok=True)
    texts = place / "texts.tsv"
    texts.write_text("".join(f"a text {n}\t{'ab'[n % 2]}\n" for n in range(40)))
    for library in LIBRARIES if most is None else ():  # once, and not in every child
        importlib.import_module(library)
    warm([partial(train, [texts], place / "true", dim=8, depth=1, heads=1)], place)
    for kind, lie in ((kind, lie) for kind in kinds for lie in itertools.islice(EVERY[kind](), most)):
        folder = place / "lie"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        files = lie(folder)
        told = judged(partial(train, files, folder / "run"), [file.name for file in files], folder,
                      seconds=SECONDS, memory=MEMORY)  # fmt: skip
        about = {k: v if len(repr(v)) < 80 else f"{repr(v)[:80]}…" for k, v in getattr(lie, "keywords", {}).items()}
        left = [name for name in os.listdir(folder) if folder / name not in files]
        problem = None if told == "refused" and not left else f"{about}: {told}, left behind: {left}"
        tally.count(kind, problem)
    return tally
