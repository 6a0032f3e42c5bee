"""Flips: one bit of a sealed run changed, in each of the files that decide answers; reading has to notice."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from campaigns.tally import Tally
from weft.errors import WeftError
from weft.training.folder import RunFolder

RUN = Path(__file__).parents[1] / "fixtures" / "finished" / "language-model-sealed"
READ: dict[str, Callable[[RunFolder], object]] = {
    "model.safetensors": RunFolder.weights,
    "config.json": RunFolder.config,
    "tokenizer.json": lambda folder: folder.content("tokenizer.json"),
}


def flips(count: int, place: Path, *, seed: int = 0) -> Tally:
    """Flip `count` bits of each file, one after the other."""
    tally, run = Tally(), Path(shutil.copytree(RUN, place / "flipped", dirs_exist_ok=True))
    for name, read in READ.items():
        path = run / name
        whole = path.read_bytes()
        for bit in random.Random(f"{seed} {name}").sample(range(8 * len(whole)), min(count, 8 * len(whole))):
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            path.write_bytes(changed)
            tally.count(f"a bit of {name}", _missed(read, run, bit))
        path.write_bytes(whole)
        read(RunFolder(run))  # the whole file is read
    shutil.rmtree(run)
    return tally


def _missed(read: Callable[[RunFolder], object], run: Path, bit: int) -> str | None:
    try:
        read(RunFolder(run))
    except WeftError:
        return None
    except Exception as error:
        return f"bit {bit}: {type(error).__name__}: {error}"
    return f"bit {bit}: not noticed"
