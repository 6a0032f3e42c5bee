"""Texts as encoders read them: between marks, no longer than a model's context, whole or by words, with blanks to fill.

Knows ids; refuses to know models and files of data.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from weft.errors import ConfigError, DataError
from weft.json_text import read_json
from weft.modalities.tokenizer import Tokenizer
from weft.modalities.tokenizer_json import bytes_by_id
from weft.modalities.words import is_unspaced

BLANK = re.compile(r"_{2,}|\[MASK\]|<\|?mask\|?>", re.IGNORECASE)


class Framed(NamedTuple):
    """Texts as ids with their marks, and how many of them were cut to fit."""

    rows: list[np.ndarray]
    cut: int


class FramedWords(NamedTuple):
    """Sentences as ids with their marks, where each word's first id is, and how many sentences and words were cut."""

    rows: list[np.ndarray]
    places: list[np.ndarray]
    cut: int
    lost: int


def ids_of(tokenizer: Tokenizer, texts: Sequence[str]) -> list[np.ndarray]:
    """The ids of texts, without marks and uncut."""
    if tokenizer.kind in ("bytes", "characters"):
        return [tokenizer.encode(text) for text in texts]
    return tokenizer.encode_all(list(texts))


def frame_texts(tokenizer: Tokenizer, texts: Sequence[str], longest: int) -> Framed:
    """Texts with their marks, in at most `longest` ids: what does not fit is cut off the end, and the marks stay."""
    return frame_ids(tokenizer, ids_of(tokenizer, texts), longest)


def frame_ids(tokenizer: Tokenizer, found: Sequence[np.ndarray], longest: int) -> Framed:
    """The same for texts that are ids already."""
    room = room_for(tokenizer, longest)
    return Framed([marked(tokenizer, ids[:room]) for ids in found], sum(len(ids) > room for ids in found))


def frame_word_ids(tokenizer: Tokenizer, found: Sequence[tuple[np.ndarray, np.ndarray]], longest: int) -> FramedWords:
    """Sentences of ids, each with the places where its words begin, likewise.

    A word whose first id does not fit has no place and is counted as lost.
    """
    room, shift = room_for(tokenizer, longest), len(tokenizer.marks[0])
    places = [starts[starts < room] + shift for _, starts in found]
    return FramedWords(
        rows=[marked(tokenizer, ids[:room]) for ids, _ in found],
        places=places,
        cut=sum(len(ids) > room for ids, _ in found),
        lost=sum(len(starts) for _, starts in found) - sum(map(len, places)),
    )


def marked(tokenizer: Tokenizer, ids: np.ndarray) -> np.ndarray:
    """Ids between the marks of a text."""
    before, after = tokenizer.marks
    return np.concatenate([np.array(before, np.int64), ids.astype(np.int64), np.array(after, np.int64)])


def room_for(tokenizer: Tokenizer, longest: int) -> int:
    """How many ids of a text fit between its marks."""
    room = longest - len(tokenizer.marks[0]) - len(tokenizer.marks[1])
    if room < 1:
        problem = f"{longest} ids leave no room for a text between {longest - room} marks"
        raise ConfigError(problem, where="context", fix=f"read at least {longest - room + 1} ids")
    return room


def blanks(text: str) -> list[str]:
    """The pieces of a text between its blanks, which are two or more underscores, [MASK] or <mask>."""
    return BLANK.split(text)


def frame_blanks(tokenizer: Tokenizer, text: str, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """A text with the mask for each blank, between its marks, and where the blanks are."""
    if tokenizer.mask is None:
        raise ConfigError("this tokenizer has no token that stands for a blank", where="tokenizer")
    pieces, ids, places = blanks(text), list[int](), list[int]()
    if tokenizer.kind not in ("bytes", "characters"):
        # The white space around a word belongs to the tokens, so that what is hidden begins with its own.
        pieces = [*(piece.rstrip() for piece in pieces[:-1]), pieces[-1]]
        if not tokenizer.cuts_at_words:
            pieces = [pieces[0], *(piece.lstrip() for piece in pieces[1:])]
    for i, piece in enumerate(pieces):
        if i:
            places.append(len(ids))
            ids.append(tokenizer.mask)
        ids += tokenizer.encode(piece).tolist()
    room = room_for(tokenizer, longest)
    if places and places[-1] >= room:
        problem = f"the last blank stands {places[-1] + 1} tokens into the text; the model reads {room}"
        raise DataError(problem, fix="shorten the text before it")
    return marked(tokenizer, np.array(ids[:room], np.int64)), np.array(places, np.int64) + len(tokenizer.marks[0])


def token_texts(tokenizer: Tokenizer) -> list[str]:
    """What each token adds to a text, with the space that it begins or ends with; "" for special ones without bytes."""
    data = read_json(tokenizer.to_json(), where="tokenizer.json")
    special, names = set(tokenizer.special.tolist()), list(tokenizer.names)
    if tokenizer.kind == "wordpiece":
        goes_on = data["model"].get("continuing_subword_prefix") or "##"
        return [name.removeprefix(goes_on) if name.startswith(goes_on) else f" {name}" for name in names]
    table = bytes_by_id(data, names, special, tokenizer.kind)
    texts = names if table is None else [piece.decode("utf-8", "replace") for piece in table]
    return [text.replace("▁", " ").replace("</w>", " ") for text in texts]


@dataclass(frozen=True)
class Joins:
    """Which tokens can go on a word that another began: by id, whether one joins to what stands before and after it."""

    before: np.ndarray
    after: np.ndarray

    @staticmethod
    def of(tokenizer: Tokenizer) -> "Joins":
        """Letters and digits join; where the vocabulary itself marks what goes on a word (##ing), that decides."""
        texts = [text or " " for text in token_texts(tokenizer)]
        before, after = [_in_word(text[0]) for text in texts], [_in_word(text[-1]) for text in texts]
        if tokenizer.kind == "wordpiece":
            before, after = [not text.startswith(" ") for text in texts], [True] * len(texts)
        special, names = set(tokenizer.special.tolist()), tokenizer.names
        plain = np.array([id not in special for id in range(len(names))])
        return Joins(np.array(before) & plain, np.array(after) & plain)

    def starts(self, ids: np.ndarray) -> np.ndarray:
        """Where words begin in rows of ids; the first id of a row always begins one."""
        goes_on = np.zeros(ids.shape, bool)
        goes_on[..., 1:] = self.before[ids[..., 1:]] & self.after[ids[..., :-1]]
        return ~goes_on


def _in_word(sign: str) -> bool:
    """Letters, marks, digits and bytes that are only part of a character."""
    return (unicodedata.category(sign)[0] in "LMN" or sign in "_\ufffd") and not is_unspaced(sign)
