"""Taking a run folder for a training: refuse early, lock, begin or check, leave nothing where nothing was trained.

All that can be refused is refused before the folder is made.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.batches.source import apart
from weft.config import Config, from_json
from weft.errors import ConfigError, DataError, Interrupted
from weft.storage.disk import require_space
from weft.storage.lock import RunLock
from weft.storage.store import make_folder, shown
from weft.training.board import require_board
from weft.training.features import sweep_features
from weft.training.folder import RunFolder, check_place
from weft.training.leftovers import sweep_checkpoints
from weft.training.naming import fresh_folder, resume_command
from weft.training.run import size_of
from weft.training.settings import HOW, Training
from weft.training.work import Work
from weft.training.world import World

CHECKPOINT_BYTES_PER_WEIGHT = 16  # the weight, the best so far, and the state of the optimizer


@contextlib.contextmanager
def claim(
    work: Work, place: str | Path | None, *, resume: bool, world: World, stem: str = "run"
) -> Iterator[RunFolder]:
    """The folder of a run, for this process alone; with no `place`, a new one named after the stem.

    The first process makes it and tells the others, which only look.
    """
    if not world.first:
        yield RunFolder(place or "")
        return
    world.share(work.training.batch, apart=work.training.as_one and apart(work.source))
    parent = Path(place) if place is not None else Path("runs")
    require_space(parent, CHECKPOINT_BYTES_PER_WEIGHT * size_of(work.model, training=True))
    if work.training.tensorboard:
        require_board()
    if place is not None:
        check_place(RunFolder(place), resume)
    made = [path for path in (parent, *parent.parents) if not path.exists()]
    folder = RunFolder(place if place is not None else fresh_folder(stem))
    try:
        make_folder(folder.path)
        with RunLock(folder.path), _kept_if_trained(folder, resume):
            check_place(folder, resume)
            if resume:
                sweep_checkpoints(folder.path)
                sweep_features(folder.path)
                check_same(work, folder)
                folder.go_on({**folder.config(), **work.record}, work.files)
            else:
                folder.begin(work.config(), work.files)
            world.announce(str(folder.path))
            yield folder
    except BaseException:
        for path in ([folder.path] if place is None else []) + made:
            with contextlib.suppress(OSError):  # not empty: it holds a run
                path.rmdir()
        raise


@contextlib.contextmanager
def _kept_if_trained(folder: RunFolder, resume: bool) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if folder.trained and isinstance(error, Interrupted):
            raise Interrupted(error.problem, fix=f"go on with: {resume_command(folder.path)}") from None
        if not resume and not folder.trained:
            folder.abandon()
        raise


def check_same(work: Work, folder: RunFolder) -> None:
    """Refuse to resume with other data, or another model, than the run began with."""
    config, where = folder.config(), shown(folder.path)
    if config.get("fingerprint") != work.source.fingerprint:
        raise DataError(
            "the data has changed since this run began",
            where=where,
            fix="put the data back as it was, or start a new run (with --from to keep the weights)",
        )
    parts: dict[str, Any] = {"model": work.model, "objective": work.objective, "training": work.training}
    for name, now in parts.items():
        was = from_json(config[name], Config, where=f"{where}/config.json: {name}")
        if isinstance(was, Training) and isinstance(now, Training):
            was = was.replace(**{how: getattr(now, how) for how in HOW})
        if was != now:
            raise ConfigError(f"the {name} differs from the one this run began with", where=where)
