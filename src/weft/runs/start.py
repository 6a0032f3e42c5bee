"""`weft train` and `weft.train`: from the user's words to a finished run. Knows no task by name.

All that can be refused without a model is refused here, before torch is loaded; `runs.training` does the rest.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from weft.config import field_types
from weft.domains.recognising import recognise
from weft.domains.registry import card_named, card_of
from weft.errors import ConfigError, WeftError, nearest, nearest_setting
from weft.files.remote import fetched
from weft.files.ways import read_options, reading
from weft.requirements import check_requirements
from weft.runs.finding import require_run
from weft.storage.disk import shown
from weft.storage.prepared import prepared_in
from weft.tasks.card import Card
from weft.tasks.settings.limits import as_options, take_baselines, take_prepared, with_settings
from weft.tasks.settings.sized import SizedTraining
from weft.training.folder import RunFolder, check_place
from weft.training.launched import launched
from weft.training.progress import Progress, read_counter
from weft.training.schedule import Budget
from weft.training.settings import HOW
from weft.training.signals import StopRequest

if TYPE_CHECKING:
    from weft.runs.run import Run


@dataclass(frozen=True)
class Asked:
    """What a user asks for, in the words of the command line."""

    sources: tuple[str, ...]
    task: str | None
    model: str | None
    preset: str | None
    budget: Budget
    origin: str | None  # the run to start from
    valid: str | None
    settings: Mapping[str, Any]
    baselines: bool = True  # whether plain methods are measured beside the model at the end

    @property
    def training_settings(self) -> dict[str, Any]:
        """The settings that are not of parts of the model."""
        return {name: value for name, value in self.settings.items() if not name.startswith("model.")}

    @property
    def options(self) -> tuple[str, ...]:
        """What the user said besides data and task, as options of the command line."""
        words = {"model": self.model, "preset": self.preset, "from": self.origin, "valid": self.valid,
                 **{name: getattr(self.budget, name) for name in ("minutes", "steps", "epochs")}}  # fmt: skip
        named = [f"--{name} {shlex.quote(str(value))}" for name, value in words.items() if value is not None]
        return (*named, *as_options(self.settings))

    def fetched(self, progress: Progress) -> "Asked":
        """The same, with files of this machine in place of addresses."""
        watch = read_counter(progress, "MB fetched")
        valid = None if self.valid is None else fetched([self.valid], watch)[0]
        return replace(self, sources=fetched(self.sources, watch), valid=valid)

    def reading(self) -> AbstractContextManager[None]:
        """A block in which files are read as the user says; asked for before the task is known."""
        return reading(**read_options(dict(self.settings)))


def train(
    data: str | Path | Sequence[str | Path] = (),
    *,
    task: str | None = None,
    model: str | None = None,
    preset: str | None = None,
    out: str | Path | None = None,
    minutes: float | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    from_: str | Path | None = None,
    valid: str | Path | None = None,
    resume: bool = False,
    quiet: bool = False,
    begun: Callable[[Path, Callable[[str], None]], object] | None = None,
    **settings: Any,
) -> "Run":
    """Train on files and return the run. The names are those of the command line; `settings` are what `--set` takes.

    With no data, the sample that ships for the task is used. `resume` goes on with the run in `out`, or begins it where
    none is there yet and data or a task is named: one command for a scheduler that starts it again and again.
    `begun` is called once the run has its folder, with the folder and with what says a line beside the progress.
    """
    sources = tuple(str(s) for s in ([data] if isinstance(data, str | Path) else data))
    budget = Budget(steps=steps, minutes=minutes, epochs=epochs)
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in settings.items()}
    baselines, prepared = take_baselines(plain), take_prepared(plain)
    asked = Asked(sources, task, model, preset, budget, _text(from_), _text(valid), plain, baselines)
    place = None if out is None else RunFolder(out)
    with StopRequest() as stop, prepared_in(prepared), _processes():
        if launched() > 1 and int(os.environ.get("RANK", "0")) > 0:
            return _training().train_beside(sources, place, stop)
        progress = Progress(quiet=quiet, begun=begun)
        if resume and place is not None and not place.exists and (sources or task):
            progress.say(f"no run in {shown(place.path)} yet: beginning one")
            resume = False
        return (_resume if resume else _begin)(asked, place, progress, stop)


def _processes() -> AbstractContextManager[object]:
    """The processes that train together, if torchrun started several: they meet first, so a refusal reaches all."""
    return nullcontext() if launched() == 1 else _training().together()


def _training() -> ModuleType:
    """What plans and trains: it needs torch, which takes seconds to load."""
    check_requirements()
    from weft.runs import training

    return training


def _text(path: str | Path | None) -> str | None:
    return None if path is None else str(path)


def _begin(asked: Asked, place: RunFolder | None, progress: Progress, stop: StopRequest) -> "Run":
    """A new run: its words are checked and its data is read, then it is planned and trained."""
    asked = asked.fetched(progress)
    if place is not None:
        check_place(place, resume=False)
    if asked.origin is not None:
        require_run(asked.origin)
        return _training().train_from(asked, place, progress, stop)
    with asked.reading():
        card, why = choose(asked, None)
        check_words(card, asked)
        settings = reading_settings(card, asked)
        if getattr(settings, "decoder", None) is not None:
            require_run(asked.settings["decoder"])
        data = card.reader.read(asked.sources, asked.valid, settings, read_counter(progress))
    progress.stop()
    return _training().train_new(asked, card, data, why, place, progress, stop)


def _resume(asked: Asked, place: RunFolder | None, progress: Progress, stop: StopRequest) -> "Run":
    """A run that was stopped goes on; one that is finished is left as it is."""
    if place is None:
        raise WeftError("which run?", where="--resume", fix="name its folder with --out")
    check_place(place, resume=True)
    config = place.config()
    card = card_of(config, f"{place.path}/config.json")
    if card is None:
        problem, fix = "this run was composed by hand and has no task", "call weft.fit with resume=True"
        raise WeftError(problem, where=shown(place.path), fix=fix)
    check_again(card, config, asked)
    how = {name: value for name, value in asked.settings.items() if name in HOW}
    return _training().resume_run(card, asked.sources, place, progress, stop, how)


def choose(asked: Asked, was: str | None) -> tuple[Card, str]:
    """The task that is named, or that the files or the run to start from are of; and why, where it was recognised."""
    why = ""
    if asked.task is not None:
        card = card_named(asked.task)
    elif asked.sources:
        card, why = recognise(asked.sources, asked.options)
    elif was is not None:
        card = card_named(was)
    else:
        fix = "name your files, or a --task to use the sample that ships for it"
        raise WeftError("no data named", where="weft train", fix=fix)
    return card, why


def check_words(card: Card, asked: Asked) -> None:
    """Refuse a model or a preset that the task does not have."""
    for name, known, option in ((asked.model, card.models, "model"), (asked.preset, card.presets, "preset")):
        if name is not None and name not in known:
            problem = f"there is no {option} {name!r}"
            raise WeftError(problem, where=f"--{option}", fix=nearest(name, known))


def check_again(card: Card, config: Mapping[str, Any], asked: Asked) -> None:
    """What the user says again at a resume must be what the run began with."""
    budget = config.get("race", {}).get("asked", config["budget"])
    began = {**config["training"], **budget, "model": config.get("model_name"),
             "preset": config.get("preset"), "valid": config["data"].get("valid"), "from": config.get("from"),
             "task": config["task"], "baselines": config.get("baselines", True)}  # fmt: skip
    said = {"task": asked.task, "model": asked.model, "preset": asked.preset, "from": asked.origin,
            "valid": asked.valid, **vars(asked.budget), **asked.settings,
            "baselines": None if asked.baselines else False}  # fmt: skip
    for key, value in said.items():
        if value is None or value == "auto":
            continue
        if key in ("valid", "from", "decoder"):
            value = str(Path(value).absolute())
        elif key in field_types(card.training):
            value = getattr(with_settings(card.training(), {key: value}), key)
        elif key.startswith("model."):
            began[key] = value if _training().same_model(card, config["model"], key, value) else "something else"
        elif key not in began:
            fix = nearest_setting(key, field_types(card.training), card.training.about)
            raise ConfigError(f"unknown setting {key!r}", where="--set", fix=fix)
        if value != began[key] and key not in HOW:
            problem = f"this run began with {key}={began[key]}, not {value}"
            raise ConfigError(problem, where="--resume", fix="leave it out, or start a new run")


def reading_settings(card: Card, asked: Asked, kept: Mapping[str, Any] = {}) -> SizedTraining:
    """The settings that decide how data is read; `kept` are those of the run to start from."""
    said = asked.training_settings
    known = {name: value for name, value in kept.items() if name in field_types(card.training)}
    return with_settings(card.training(**known), said)
