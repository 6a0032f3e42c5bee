"""The tasks in plain words, in the order in which they are listed. Imports no torch.

A task itself, and the reader of its data, are imported when they are first used.
"""

from weft.errors import WeftError, nearest
from weft.tasks.cards import elements, fields, pairs, pictures, texts
from weft.tasks.cards.card import Card

__all__ = ["CARDS", "Card", "card_named"]

CARDS: dict[str, Card] = {
    card.name: card
    for card in (
        texts.LANGUAGE_MODEL,
        texts.FILL_MASK,
        pairs.TRANSLATE,
        pairs.PARSE,
        texts.CLASSIFY_TEXT,
        texts.TAG_TEXT,
        pictures.CLASSIFY_IMAGES,
        pictures.RECONSTRUCT_IMAGES,
        pictures.DISTILL_IMAGES,
        pictures.CAPTION,
        pictures.ANSWER,
        fields.FORECAST,
        fields.FIT_FIELD,
        texts.EMBED_WORDS,
        elements.GRAPH,
        elements.SETS,
    )
}


def card_named(name: str, where: str = "--task") -> Card:
    """The task of that name, which stands in some place."""
    if name not in CARDS:
        raise WeftError(f"there is no task {name!r}", where=where, fix=nearest(name, CARDS))
    return CARDS[name]
