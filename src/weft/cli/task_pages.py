"""What `weft tasks` prints: tasks in plain words, in lines that fit a terminal, with the defaults marked."""

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from weft.cli.output import emit
from weft.config import Config, field_types

NARROWEST, WIDEST = 60, 120  # columns of a page


def tasks(chosen: Sequence[Any], full: bool, as_json: bool) -> None:
    """The result of `weft tasks`; `full` adds what every model, preset and setting means."""
    if as_json:
        emit({"tasks": [_as_json(card) for card in chosen]})
        return
    for card in chosen:
        for line in _page(card) if full else _entry(card):
            print(line)
    if not full:
        print("weft tasks TASK lists its models, presets and settings")
        print("lectures on all of these, row by row: docs/lectures.md")
        print("what lectures claim, as experiments: weft lab, docs/lab.md")


def _as_json(card: Any) -> dict[str, Any]:
    task = card.task
    return {"task": card.name, "summary": card.summary, "data": card.files, "models": dict(card.models),
            "presets": dict(card.presets), "settings": _defaults(card.training), "predict": _defaults(task.Predict),
            "evaluate": _defaults(task.Evaluate),
            "export": _defaults(task.Export) if task.Export else {},
            "look": _defaults(task.Look) if task.Look else {}}  # fmt: skip


def _entry(card: Any) -> Iterator[str]:
    """A task among others. The first of its models is the default."""
    first, *others = card.models
    yield from _head(card)
    yield from _row(f"  {'models':<10}", ", ".join([f"{first} (default)", *others]))
    yield from _row(f"  {'presets':<10}", ", ".join(card.presets))
    yield ""


def _page(card: Any) -> Iterator[str]:
    """A task in full."""
    yield from _head(card)
    for title, entries in (("models", card.models), ("presets", card.presets)):
        yield f"\n  {title}"
        width = max(map(len, entries))
        for name, text in entries.items():
            yield from _row(f"    {name:<{width}}  ", text)
    task = card.task
    used = {
        "train": card.training,
        "predict": task.Predict,
        "evaluate": task.Evaluate,
        "export": task.Export,
        "look": task.Look,
    }
    for command, settings in used.items():
        if settings is None:
            continue
        more = {"model.PATH": "any part of the model's config: model.trunk.block.mix.heads=8"}
        yield from _settings(f"weft {command}", settings, more if settings is card.training else {})


def _settings(command: str, settings: Any, more: Mapping[str, str]) -> Iterator[str]:
    """The settings of a command, each with its default and what it means."""
    values, about = {**_defaults(settings), **dict.fromkeys(more)}, {**_about(settings), **more}
    if not values:
        return
    width = max(map(len, values))
    yield f"\n  {command} --set NAME=VALUE"
    yield f"    {'name':<{width}}  default   meaning"
    for name, value in values.items():
        yield from _row(f"    {name:<{width}}  {_plain(value):<8}  ", about.get(name, "not used by this task"))


def _head(card: Any) -> Iterator[str]:
    yield from _row(f"{card.name}: ", card.summary)
    yield from _row(f"  {'data':<10}", card.files)
    yield from _row(f"  {'':<10}", f"without data: {card.sample}")


def _row(start: str, text: str) -> list[str]:
    """A text behind the start of a line, in as many lines as it takes."""
    width = min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)
    room = max(width - len(start), 30)
    first, *others = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    return [start + first, *(" " * len(start) + line for line in others)]


def _defaults(settings: Any) -> dict[str, Any]:
    """All settings with their defaults; those of a part under its name, as in augment.flip."""
    default = settings()
    found: dict[str, Any] = {}
    for name in field_types(settings):
        value = getattr(default, name)
        if isinstance(value, Config):
            found |= {f"{name}.{inner}": own for inner, own in _defaults(type(value)).items()}
        else:
            found[name] = list(value) if isinstance(value, tuple) else value
    return found


def _about(settings: Any) -> dict[str, str]:
    """What each of them means."""
    default, found = settings(), dict(getattr(settings, "about", {}))
    for name in field_types(settings):
        if isinstance(value := getattr(default, name), Config):
            found |= {f"{name}.{inner}": words for inner, words in _about(type(value)).items()}
    return found


def _plain(value: Any) -> str:
    """A default as one would type it; - where there is none."""
    if value is None or value == []:
        return "-"
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
