"""Names of run folders and their files: a new one that is free, what to type to go on with a run. Loads no torch."""

import os
import re
import shlex
from pathlib import Path

from weft.storage import store

PLAIN_NAME = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
)  # of a file in a run or a checkpoint: it leads to no other folder


def fresh_folder(stem: str, parent: str | Path = "runs") -> Path:
    """A new folder runs/<stem>-1, or the next number that is free; made here, so that no one else takes the name."""
    name = re.sub(r"[^\w.-]+", "-", stem).strip("-.")[:60] or "run"
    store.make_folder(Path(parent))
    number = 1
    while True:
        path = Path(parent) / f"{name}-{number}"
        try:
            os.mkdir(path, store.FOLDER_MODE)
            return path
        except FileExistsError:
            number += 1
        except OSError as error:
            raise store.storage_error(error, path) from error


def resume_command(folder: Path) -> str:
    """What to type to go on with a run."""
    return f"weft train --resume --out {shlex.quote(store.shown(folder))}"
