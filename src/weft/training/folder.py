"""The run folder: what is in it, how it is begun, gone on with and finished. Knows no task.

config.json          everything needed to build the model again, and how it was trained
model.safetensors    the weights; of a run with adapters, adapters.safetensors and a pointer to its base run
tokenizer.json       (and other files that a task adds)
metrics.jsonl        one line a step
README.md            the model card, filled from measurements
loss.png             the loss curve
checkpoints/         where a stopped run goes on

Torch is loaded only where weights are read or written: an early error need not wait for it.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import ConfigError, StorageError, WeftError
from weft.json_text import read_json, shown_value
from weft.storage import store
from weft.training.base_run import ADAPTERS, BASE, WEIGHTS, base_of, beside_base
from weft.training.earlier import upgraded
from weft.training.leftovers import STALE
from weft.training.metrics import METRICS, MetricsFile
from weft.training.naming import PLAIN_NAME, fresh_folder, resume_command
from weft.training.progress import Progress
from weft.training.run_config import check_types
from weft.training.seal import (
    CONFIG,
    KEY,
    FileSeal,
    FileSeals,
    check_config,
    check_file,
    refuse_leading_out,
    sealed_config,
    seals_in,
)
from weft.version import VERSION

if TYPE_CHECKING:
    from torch import Tensor

    from weft.training.checkpoint import Checkpoint
    from weft.training.shards import Cut

AS_WRITTEN = "put the run's own file back"
FORMAT = 3
FIRST_SEALED = 3  # the first format in which config.json has a seal


class RunFolder:
    """A folder that a person can read and another tool can load. All writing goes through the store.

    What is read from it is compared with the seal in config.json, unless `checked` is false.
    """

    def __init__(self, path: str | Path, *, checked: bool = True):
        self.path, self.checked = Path(path), checked
        self._metrics = MetricsFile(self.path)
        self._began: tuple[Mapping[str, Any], Mapping[str, bytes]] | None = None
        self._seals: FileSeals | None = None  # of the other files, once config.json was read or written
        self._sealed = False  # whether config.json, once read or written, has a seal that counts

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return (self.path / CONFIG).exists()

    @property
    def finished(self) -> bool:
        """Whether the run has its final weights."""
        if (self.path / WEIGHTS).exists():
            return True
        return (self.path / ADAPTERS).exists() and BASE in self.config()

    @property
    def trained(self) -> bool:
        """Whether a step was made here, or features to train on were computed."""
        return any((self.path / name).exists() for name in (METRICS, "checkpoints", "features"))

    def begin(self, config: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        """Write what is known before the first step."""
        self._began = config, files
        store.probe(self.path)
        for name, data in files.items():
            self.write(name, data)
        self.write_config(config, {name: FileSeal.of(data) for name, data in files.items()})

    def go_on(self, config: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        """Take up a run that was begun, maybe with data that has moved."""
        self._began = config, files
        if config != self.config():
            self.write_config(config, {name: FileSeal.of(data) for name, data in files.items()})

    def abandon(self) -> None:
        """Remove what `begin` wrote, as far as the disk allows: nothing was trained."""
        with contextlib.suppress(OSError):
            for name in ("config.json", *(self._began or ({}, {}))[1]):
                (self.path / name).unlink(missing_ok=True)
            shutil.rmtree(self.path / "tensorboard", ignore_errors=True)

    def write_config(self, config: Mapping[str, Any], files: FileSeals) -> None:
        """Write config.json, with the seals of the other files."""
        content = {name: value for name, value in config.items() if name not in ("format", KEY)}
        store.write_file(self.path / CONFIG, sealed_config({"format": FORMAT, "weft": VERSION, **content}, files))
        self._seals, self._sealed = files, True

    def seal_anew(self, files: FileSeals) -> None:
        """Seal files that were drawn anew, in a sealed run; who trains in it now will seal them when it ends."""
        path = self.path / CONFIG
        with contextlib.suppress(WeftError), store.RunLock(self.path, stale=STALE):
            content = store.read_file(path)
            config = read_json(content, where=str(path))
            if not self.checked or config.get("format") != FORMAT:
                return
            seals = {**check_config(content, config, path), **files}
            changed = sealed_config({name: value for name, value in config.items() if name != KEY}, seals)
            if changed != content:
                store.write_file(path, changed)
                self._seals = seals

    def config(self) -> dict[str, Any]:
        """Read config.json, strictly, and compare its seal."""
        path = self.path / CONFIG
        if not path.exists():
            raise WeftError(
                "not a run: there is no config.json", where=str(self.path), fix="name a folder that weft train wrote"
            )
        self._check_place(path)
        content = store.read_file(path)
        data = read_json(content, where=str(path))
        if not isinstance(data, dict) or type(data.get("format")) is not int:
            raise ConfigError("not a weft run's config", where=str(path))
        if data["format"] > FORMAT:
            raise ConfigError(
                f"written by weft {data.get('weft')!s:.40} in format {shown_value(data['format'])}; "
                f"this is weft {VERSION}, which reads up to format {FORMAT}",
                where=str(path),
                fix="update weft",
            )
        self._sealed = self.checked and (data["format"] >= FIRST_SEALED or KEY in data)
        self._seals = check_config(content, data, path) if self._sealed else {}
        config = upgraded(data, str(path))
        check_types(config, str(path))
        return config

    def seals(self) -> FileSeals:
        """Length and digest of every other file, as config.json says; none in runs of earlier versions."""
        if self._seals is None:
            self.config()
        return self._seals or {}

    @property
    def sealed(self) -> bool:
        """Whether files are compared with a seal: not in runs of earlier versions."""
        self.seals()
        return self._sealed

    def content(self, name: str) -> bytes:
        """What one of the run's files holds."""
        if not PLAIN_NAME.fullmatch(name):
            problem = f"names the file {name!r:.80}, which is not a plain name"
            raise ConfigError(problem, where=str(self.path / CONFIG), fix=AS_WRITTEN)
        path = self.path / name
        if not path.exists():
            raise StorageError("missing from the run", where=store.shown(path), fix=AS_WRITTEN)
        self._check_place(path)
        content = store.read_file(path)
        if self.sealed:
            check_file(path, self.seals().get(name), FileSeal.of(content).sha256)
        return content

    def _check_place(self, path: Path) -> None:
        if self.checked:
            refuse_leading_out(path, self.path)

    def write(self, name: str, data: str | bytes) -> None:
        """Write one of the run's files."""
        store.write_file(self.path / name, data.encode("utf-8", "replace") if isinstance(data, str) else data)

    def note(self, line: Mapping[str, Any], progress: Progress) -> None:
        """Add a line to metrics.jsonl; a full disk costs a warning, not the training."""
        self._metrics.note(line, progress)

    def metrics(self, progress: Progress | None = None) -> list[dict[str, Any]]:
        """All lines of metrics.jsonl; damaged ones are refused, or left out with one warning if `progress` is given."""
        self._check_place(self.path / METRICS)
        return self._metrics.rows(progress)

    def save(
        self,
        step: int,
        tensors: "Mapping[str, Mapping[str, Tensor]]",
        state: Mapping[str, Any],
        progress: Progress,
        *,
        last: bool,
        good: int | None = None,
        cut: "Cut | None" = None,
    ) -> bool:
        """Save a checkpoint; keep that of step `good`. A full disk costs a warning; the last one is saved elsewhere.

        With `cut` all processes call this, each with what it holds.
        """
        from weft.training.checkpoint import save_checkpoint

        if cut is None or cut.share.world.first:
            self._metrics.sync(progress)
        try:
            save_checkpoint(self.path, step, tensors, state, good=good, report=progress.say, cut=cut)
            return True
        except StorageError as error:
            if not last:
                progress.say(
                    f"warning: no checkpoint at step {step}: {error.problem}; training goes on, and tries again"
                )
                return False
            place = self._rescue(step, tensors, state, cut)
            if place is None:
                raise
            fix = f"the run is saved in {store.shown(place)}: go on with {resume_command(place)}"
            raise StorageError(error.problem, where=error.where, fix=fix) from None

    def _rescue(
        self,
        step: int,
        tensors: "Mapping[str, Mapping[str, Tensor]]",
        state: Mapping[str, Any],
        cut: "Cut | None",
    ) -> Path | None:
        """Save beside the run folder, else where temporary files go; returns the place that took it."""
        from weft.training.checkpoint import save_checkpoint

        first = cut is None or cut.share.world.first
        for parent in (self.path.parent, Path(tempfile.gettempdir())):
            begin = partial(self._begin_beside, parent)
            with contextlib.suppress(StorageError, OSError):
                place = RunFolder(begin() if cut is None else cut.share.world.by_first(begin))
                try:
                    save_checkpoint(place.path, step, tensors, state, cut=cut)
                    with contextlib.suppress(StorageError):
                        if first:
                            place.write(METRICS, store.read_file(self.path / METRICS, limit=None))
                    return place.path
                except BaseException:
                    if first:
                        shutil.rmtree(place.path, ignore_errors=True)
                    raise
        return None

    def _begin_beside(self, parent: Path) -> str:
        """Begin this run in another folder; its path."""
        place = RunFolder(fresh_folder(f"{self.path.name}-rescued", parent))
        try:
            place.begin(*(self._began or ({}, {})))
        except BaseException:
            shutil.rmtree(place.path, ignore_errors=True)
            raise
        return str(place.path)

    def resume(self, progress: Progress) -> "Checkpoint | None":
        """The newest checkpoint that verifies; later metrics are dropped, differences of the machine reported."""
        from weft.training.checkpoint import environment, environment_differences, latest

        found = latest(self.path, report=progress.say)
        step = found.step if found is not None else 0
        self._metrics.truncate(step, progress)
        if found is not None:
            for difference in environment_differences(found.manifest["environment"], environment()):
                progress.say(
                    f"warning: resuming under other conditions, results may differ in the last bits: {difference}"
                )
        return found

    def finish(
        self,
        weights: "Mapping[str, Tensor]",
        config: Mapping[str, Any],
        files: Mapping[str, str | bytes],
        *,
        base: str | None = None,
    ) -> None:
        """Write the final weights, last, after the files that describe them; config.json seals them all.

        Of weights that are those of the run `base`, a pointer to them is kept.
        """
        from weft.storage.tensors import write_tensors

        learned = None if base is None else beside_base(weights, base, self.path)
        name, pointer = WEIGHTS, {}
        if learned is not None:
            name, weights, pointer = ADAPTERS, learned[0], {BASE: learned[1].to_json()}
        for file, data in files.items():
            self.write(file, data)
        seals = seals_in(self.path, but=(CONFIG, name))

        def seal(size: int, sha256: str) -> None:
            content = {
                key: value for key, value in config.items() if key != BASE
            }  # of an earlier ending, or another run
            self.write_config({**content, **pointer}, {**seals, name: FileSeal(size, sha256)})

        write_tensors(self.path / name, weights, {"format": "pt"}, before=seal)

    def weights(self) -> "dict[str, Tensor]":
        """The final weights; those of the newest checkpoint if the run was not finished."""
        from weft.storage.tensors import read_tensors
        from weft.training.checkpoint import latest

        base = base_of(self.config(), str(self.path / CONFIG))
        name = WEIGHTS if base is None else ADAPTERS
        path, sealed = self.path / name, self.seals().get(name)
        if path.exists():
            self._check_place(path)
            learned = read_tensors(path, check=partial(self._check_weights, path))
            return learned if base is None else {**base.weights(self.path, checked=self.checked), **learned}
        if sealed is not None:
            raise StorageError(
                "missing, though the run has ended",
                where=store.shown(path),
                fix=f"put it back, or {resume_command(self.path)}",
            )
        found = latest(self.path)
        if found is None:
            raise WeftError("this run has no weights yet", where=store.shown(path), fix="train it with --resume")
        return found.tensors("model")

    def weights_place(self) -> Path:
        """Where `weights` are read from: a file, or the folder of the checkpoints."""
        name = WEIGHTS if base_of(self.config(), str(self.path / CONFIG)) is None else ADAPTERS
        return self.path / name if (self.path / name).exists() else self.path / "checkpoints"

    def _check_weights(self, path: Path, sha256: str) -> None:
        """Refuse weights that are neither sealed nor, copied by hand, those of one of the run's checkpoints."""
        from weft.training.checkpoint import saved_weights

        sealed = self.seals().get(path.name)
        if self.sealed and not (sealed is None and sha256 in saved_weights(self.path)):
            check_file(path, sealed, sha256)


def check_place(folder: RunFolder, resume: bool) -> None:
    """Refuse to begin where something is, and to go on where nothing is."""
    try:
        _check_place(folder, resume)
    except OSError as error:
        raise store.storage_error(error, folder.path) from None


def _check_place(folder: RunFolder, resume: bool) -> None:
    path, where = folder.path, store.shown(folder.path)
    if path.exists() and not path.is_dir():
        raise WeftError("a file stands where the run's folder should be", where=where, fix="choose another --out")
    if resume and not folder.exists:
        raise WeftError("there is no run to resume", where=where, fix="name data or a --task too, to begin one")
    if folder.exists and not resume:
        raise WeftError("a run is already here", where=where, fix="go on with it by --resume, or choose another --out")
    if not resume and path.is_dir() and any(not entry.name.startswith(".") for entry in path.iterdir()):
        raise WeftError("the folder is not empty", where=where, fix="choose another --out")
