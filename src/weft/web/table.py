"""The runs that are served, by the names that stand in addresses; those in training beside them.

Made at the start; what finishes later is added by a thread that looks for it (`scanning`), never by a request.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from weft.config import Config, field_types
from weft.errors import WeftError
from weft.files.ways import WAYS
from weft.generate.programs import steps_of
from weft.generate.session import Session
from weft.runs import Run, load
from weft.runs.asking import NoSettings
from weft.runs.finding import is_foreign, require_run
from weft.runs.listing import FINISHED, IMPORTED, TRAINING, describe
from weft.runs.listing import list_runs as runs_in
from weft.tasks.asks import Gives, Use
from weft.training.folder import RunFolder
from weft.training.run import parameters
from weft.web.watched import WatchedRun


@dataclass(frozen=True)
class ServedRun:
    """A run with its name in addresses, and the number format in which it computes where a request says none."""

    name: str
    run: Run
    precision: str = "fp32"

    @cached_property
    def gives(self) -> Gives:
        """The kind of its answers."""
        return self.run.task.gives(self.run.loaded)

    @property
    def writes(self) -> bool:
        """Whether it continues texts, token by token."""
        return self.gives.streams

    @property
    def translates(self) -> bool:
        """Whether it makes a text of a text."""
        return self.gives.kind == "text" and self.run.task.asks[0].kind == "text" and not self.writes

    @property
    def embeds_texts(self) -> bool:
        """Whether it gives vectors of texts."""
        return any(one.kind == "text" for one in self.run.task.embeds)

    @cached_property
    def window(self) -> int | None:
        """The most tokens that it reads at once; None where it reads on without end, or writes no texts."""
        return Session(self.run.loaded.stream).window if self.writes else None

    @property
    def talks(self) -> bool:
        """Whether it knows the marks of turns, by its training or a chat template."""
        return "turns" in self.run.loaded.codecs

    @cached_property
    def native(self) -> bool:
        """Whether texts are written in native code, where an answer has the same bits alone and beside others."""
        return self.writes and steps_of(self.run.loaded.stream).program is not None

    def prepared(self) -> "ServedRun":
        """Itself, with what takes a moment already known: no request waits for it."""
        assert self.run.task.asks  # refuses a run without a task
        _ = self.native, self.window
        return self

    def settings(self, use: Use = "predict") -> list[dict[str, Any]]:
        """What can be set: names, types, usual values, words. Settings that name files are not among them."""
        task = self.run.task
        kind: type[Config] = {"predict": task.Predict, "look": task.Look, "embed": task.Embed}[use] or NoSettings
        usual = kind() if use == "look" or kind is NoSettings else self.run.loaded.usual(kind, use)
        about, hidden = getattr(kind, "about", {}), {*WAYS, *getattr(kind, "names_files", ())}
        return [
            {"name": name, **_type(type_), "default": _plain(getattr(usual, name)), "about": about.get(name, "")}
            for name, type_ in field_types(kind).items()
            if name not in hidden
        ]

    def described(self) -> dict[str, Any]:
        """The run for those who want to use it."""
        run, gives = self.run, self.gives
        return {
            "name": self.name,
            "task": run.task.name,
            "model": run.config.get("model_name"),
            "ability": run.task.ability(run.loaded),
            "parameters": parameters(run.model),
            "data": str((run.config.get("data") or {}).get("described") or ""),
            "asks": [
                {"kind": one.kind, "called": one.called, "endings": list(one.endings), "may_lack": one.may_lack}
                for one in run.task.asks
            ],
            "gives": {"kind": gives.kind, "streams": gives.streams, "continues": gives.continues},
            "embeds": [one.kind for one in run.task.embeds],
            "looks": run.task.Look is not None,
            "settings": self.settings(),
            **({"talks": self.talks, "native": self.native} if self.writes else {}),
        }


class RunTable(Mapping[str, ServedRun]):
    """All runs that are served."""

    def __init__(self, runs: Iterable[ServedRun]):
        self._runs = {one.name: one for one in runs}
        self.training: dict[str, WatchedRun] = {}  # as the runs: replaced as a whole, so that readers need no lock

    def __getitem__(self, name: str) -> ServedRun:
        return self._runs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def having(self, quality: str) -> list[ServedRun]:
        """The runs with a quality: writes, translates, embeds_texts."""
        return [one for one in self.values() if getattr(one, quality)]

    def add(self, served: ServedRun) -> None:
        """Serve one more."""
        self._runs = {**self._runs, served.name: served}

    def watch(self, watched: WatchedRun) -> None:
        """Show one more in training."""
        self.training = {**self.training, watched.name: watched}

    def watched(self, path: Path) -> WatchedRun | None:
        """The run in training that is this folder."""
        return next((one for one in self.training.values() if one.path.resolve() == path.resolve()), None)

    def free_name(self, path: Path) -> str:
        """A name for a run that no other has."""
        return _free_name(path, {*self._runs, *self.training})

    @classmethod
    def of(
        cls, places: Iterable[str | Path], *, precision: str = "fp32", device: str = "auto", broken: bool = False
    ) -> "RunTable":
        """The runs that are these folders, or stand in them: those that are finished, and those in training."""
        named, training = dict[str, Path](), dict[str, Path]()
        for path, state in _folders(places):
            (training if state == TRAINING else named)[_free_name(path, {*named, *training})] = path
        if not named and not training:
            raise WeftError("no finished run", where="weft serve", fix="train one first: weft train DATA")
        made = cls(ServedRun(name, _loaded(path, device, broken), precision).prepared() for name, path in named.items())
        for name, path in training.items():
            made.watch(WatchedRun(name, path))
        return made


def _free_name(path: Path, taken: Collection[str]) -> str:
    name = path.resolve().name
    if name in taken:
        name = f"{path.resolve().parent.name}-{name}"
    while name in taken:
        name += "-"
    return name


def _folders(places: Iterable[str | Path]) -> Iterator[tuple[Path, str]]:
    """The folders of runs: one that is named is taken as it is, of others those that are finished or in training."""
    for place in places:
        path = require_run(place)
        if is_foreign(path):
            yield path, IMPORTED
        elif RunFolder(path).exists:
            yield path, describe(path).state
        else:
            found = [(Path(one.run), one.state) for one in runs_in([path])]
            yield from sorted(one for one in found if one[1] in (FINISHED, IMPORTED, TRAINING))


def _loaded(path: Path, device: str, broken: bool) -> Run:
    run = load(path, device=device, broken=broken)
    if not is_foreign(path) and describe(path).state not in (FINISHED, IMPORTED):
        raise WeftError("this run is not finished", where=str(path), fix="finish it: weft train --resume")
    return run


def _type(kind: Any) -> dict[str, Any]:
    """A field's type in the words of JSON Schema."""
    kinds = [one for one in (get_args(kind) or (kind,)) if one is not type(None)]
    if getattr(kind, "__origin__", None) is tuple:
        return {"type": "array", "items": _type(kinds[0])}
    if all(isinstance(one, str) for one in kinds):  # a Literal
        return {"type": "string", "enum": kinds}
    if len(kinds) == 1 and kinds[0] is not kind:
        return _type(kinds[0])
    known = {bool: "boolean", int: "integer", float: "number", str: "string"}
    names = sorted({known[one] for one in kinds if one in known})
    return {"type": names[0] if len(names) == 1 else names} if names else {}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
