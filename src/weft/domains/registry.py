"""The tasks in plain words: weft's own, then those of installed plug-ins. Imports no torch.

A task itself, and the reader of its data, are imported when they are first used. A plug-in is an entry point of the
group `weft.domains` that names a module of cards: one that ends with a tuple `CARDS`, as weft's own do. Plug-ins are
looked for once, and only for a name or files that no task of weft's claims, or for a list.
"""

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from weft.config import is_known
from weft.domains.captions import cards as captions
from weft.domains.fields import cards as fields
from weft.domains.graphs import cards as graphs
from weft.domains.pairs import cards as pairs
from weft.domains.pictures import cards as pictures
from weft.domains.places import cards as places
from weft.domains.texts import cards as texts
from weft.domains.trees import cards as trees
from weft.domains.words import cards as words
from weft.errors import WeftError, harmless, nearest
from weft.tasks.card import Card

if TYPE_CHECKING:
    from weft.tasks.exchange import Exchange
    from weft.tasks.task import Task

GROUP = "weft.domains"
MODULES = (texts, pairs, trees, pictures, captions, fields, places, words, graphs)
# Weft's own, by name and in the order in which they are listed.
CARDS: Mapping[str, Card] = {
    card.name: card
    for card in sorted((card for module in MODULES for card in module.CARDS), key=lambda card: card.listed)
}


def all_cards() -> dict[str, Card]:
    """The tasks of weft and of all plug-ins, by name."""
    return {**CARDS, **plugged_in()}


def card_named(name: str, where: str = "--task") -> Card:
    """The task of that name, which stands in some place."""
    found = CARDS.get(name) or plugged_in().get(name)
    if found is None:
        raise WeftError(f"there is no task {name!r}", where=where, fix=nearest(name, all_cards()))
    return found


def card_of(config: Mapping[str, Any], where: str) -> Card | None:
    """The task that a config.json names; None for a run composed by hand. `where` is the file."""
    name = config.get("task")
    if name is None:
        return None
    found = CARDS.get(name) or plugged_in().get(name)
    if found is None:
        problem = f"there is no task {name!r} here: the one that this run is of is not installed"
        fix = f"{nearest(name, all_cards())} — or install the package that the task came with, or its newest version"
        raise WeftError(problem, where=where, fix=fix)
    return found


def task_of(config: Mapping[str, Any], where: str) -> "Task[Any, Any, Any] | None":
    """The task that a config.json names, imported, so that its codecs, settings and model can be read; or None.

    Codecs may be of other tasks: those of an imported model that no task uses, or of a model of pictures that came with
    a tokenizer. Then all tasks of weft's are imported.
    """
    card = card_of(config, where)
    task = None if card is None else _imported(card, where)
    if not all(is_known(codec.get("type")) for codec in config.get("codecs", {}).values()):
        for own in CARDS.values():
            _ = own.task
    return task


def exchange_of(name: str | None, where: str = "--task") -> "Exchange":
    """Who says what models of the task of that name need that come from other tools or go to them.

    Without a task it is the domain of texts: other models have one.
    """
    if name is not None:
        return card_named(name, where).task
    from weft.domains.texts.exchange import TextsWithoutTask

    return TextsWithoutTask()


def _imported(card: Card, where: str) -> "Task[Any, Any, Any]":
    """The task of a card; one of a plug-in may fail to import."""
    try:
        return card.task
    except Exception as error:  # whatever a stranger's module raises
        if card.name in CARDS:
            raise
        problem = f"the task {card.name!r} of this run cannot be used: {_said(error)}"
        raise WeftError(problem, where=where, fix="install the package that the task came with again") from None


@cache
def plugged_in() -> Mapping[str, Card]:
    """The tasks of plug-ins, by name. One that cannot be used is named on stderr, and all others stay."""
    found: dict[str, Card] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            cards = tuple(_cards_of(point))
        except Exception as error:  # whatever a stranger's module raises
            remark(f"the plug-in {_called(point)} cannot be used: {_said(error)}")
            continue
        for card in cards:
            if card.name in CARDS or card.name in found:
                owner = "weft" if card.name in CARDS else "another plug-in"
                remark(
                    f"the plug-in {_called(point)}: its task {card.name!r} is left out, {owner} has one of that name"
                )
            else:
                found[card.name] = card
    return found


def _cards_of(point: EntryPoint) -> Iterator[Card]:
    """The cards in the module that an entry point names."""
    cards = getattr(point.load(), "CARDS", None)
    if not isinstance(cards, tuple) or not cards or not all(isinstance(card, Card) for card in cards):
        raise TypeError("it has no tuple CARDS of cards")
    yield from cards


def remark(text: str) -> None:
    """A line for people on stderr."""
    if sys.stderr is not None:
        print(f"weft: {harmless(text)}", file=sys.stderr)


def _called(point: EntryPoint) -> str:
    package = None if point.dist is None else point.dist.name
    return f"{point.name!r} ({package or point.value})"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error!s:.200}"
