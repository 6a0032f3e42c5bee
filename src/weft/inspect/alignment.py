"""Alignment: how much each word of a translation read of each word of its source (Bahdanau et al., 2015, figure 3).

`Alignment` is the data: by pieces as the model sees them, or by words as people do. The picture is drawn in `matrix`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.errors import DataError
from weft.inspect.views import AttentionChoice
from weft.modalities.tokenizer import Tokenizer
from weft.modalities.tokenizer_json import UNKNOWN
from weft.modalities.words import spans as word_spans

END = "<end>"  # how the end token is shown
MIN_LISTED_WEIGHT = 0.1  # weights below this are not listed in words
ROWS = "attention: each token, and the tokens to which it gives the largest attention weights"

Span = tuple[int, int]  # the characters of a text from start up to end
Spans = tuple[Span | None, ...]  # None: a token without text, such as the end
Cut = Callable[[str], list[Span]]  # where each word of a text begins and ends


@dataclass(frozen=True)
class Alignment:
    """How much each target token read of each source token while it was being written.

    weights[layer, head, row, column]: each row adds up to 1, or to 0 where nothing was read.
    """

    source: tuple[str, ...]  # labels of the columns
    target: tuple[str, ...]  # labels of the rows
    weights: np.ndarray  # (layers, heads, rows, columns) float32
    source_spans: Spans = ()  # which characters of its text each column covers; needed by `by_words`
    target_spans: Spans = ()

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, np.float32)
        expected = (len(self.target), len(self.source))
        if weights.ndim != 4 or weights.shape[2:] != expected or 0 in weights.shape[:2]:
            problem = (
                f"expected weights of (layers, heads, {expected[0]} rows, {expected[1]} columns), found {weights.shape}"
            )
            raise DataError(problem, where="alignment")
        if not np.isfinite(weights).all():
            raise DataError("some weights are not finite numbers", where="alignment")
        for name, labels, given in (
            ("source", self.source, self.source_spans),
            ("target", self.target, self.target_spans),
        ):
            if given and len(given) != len(labels):
                raise DataError(f"expected {len(labels)} spans, found {len(given)}", where=f"alignment, {name}")
        object.__setattr__(self, "weights", weights)

    def of(self, choice: AttentionChoice) -> "Alignment":
        """Only the chosen layer and head."""
        layer, head = choice.indices(*self.weights.shape[:2])
        weights = self.weights if layer is None else self.weights[layer : layer + 1]
        return replace(self, weights=weights if head is None else weights[:, head : head + 1])

    def mean(self) -> "Alignment":
        """The average over all layers and heads, as one head of one layer."""
        return replace(self, weights=self.weights.mean((0, 1), keepdims=True))

    def by_words(self, source: str, target: str, cut: Cut = word_spans) -> "Alignment":
        """The same by whole words of the two texts, whose characters the spans count; `cut` says what a word is.

        What was read of a word is the sum over its pieces; what a word read is the average over its pieces that read.
        """
        columns = words_of(source, self.source, self.source_spans, cut)
        rows = words_of(target, self.target, self.target_spans, cut)
        summed = np.stack([self.weights[..., word.pieces].sum(-1) for word in columns], -1) if columns else self.weights
        return Alignment(
            source=tuple(word.label for word in columns),
            target=tuple(word.label for word in rows),
            weights=np.stack([_average(summed[:, :, word.pieces]) for word in rows], 2) if rows else summed,
            source_spans=tuple(word.span for word in columns),
            target_spans=tuple(word.span for word in rows),
        )


def _average(rows: np.ndarray) -> np.ndarray:
    """(L H pieces K) -> (L H K) over the pieces that read something."""
    read = (rows.sum(-1) > 0).sum(-1, keepdims=True)
    return rows.sum(-2) / np.maximum(read, 1)


@dataclass
class Word:
    """A word of a text with the characters that it covers, and the numbers of its pieces."""

    label: str
    span: Span | None
    pieces: list[int]


def words_of(text: str, labels: Sequence[str], spans: Spans, cut: Cut = word_spans) -> list[Word]:
    """The pieces of a text put together by words, in the order of the pieces; no piece and no word is lost.

    A piece belongs to the word it has most characters of; white space alone to the word after it. A word of which no
    piece has the most, such as the second of two signs in one piece, is shown with the word that has its piece.
    """
    if labels and not spans:
        raise DataError("the pieces do not say which characters they cover", where="alignment", fix="give their spans")
    if max((span[1] for span in spans if span), default=0) > len(text):
        raise DataError(f"the pieces cover more than the {len(text)} characters of the text", where="alignment")
    words = cut(text)
    owner = [_owner(span, words) for span in spans]
    owned = set(owner)
    reach = {n: list(words[n]) for n in owned if n is not None}
    for n, word in enumerate(words):
        if n in owned:
            continue
        holder = next((o for o, span in zip(owner, spans, strict=True) if o is not None and _shared(span, word)), None)
        if holder is not None:
            reach[holder] = [min(reach[holder][0], word[0]), max(reach[holder][1], word[1])]
    found: dict[int | str, Word] = {}
    for piece, (word_of, label) in enumerate(zip(owner, labels, strict=True)):
        if word_of is None:
            found[f"alone {piece}"] = Word(label, spans[piece], [piece])
        elif word_of in found:
            found[word_of].pieces.append(piece)
        else:
            start, end = reach[word_of]
            found[word_of] = Word(text[start:end], (start, end), [piece])
    return list(found.values())


def _owner(span: Span | None, words: list[Span]) -> int | None:
    """The number of the word a piece belongs to; None for a token without text."""
    if span is None or not words:
        return None
    shared = [_shared(span, word) for word in words]
    if any(shared):
        return int(np.argmax(shared))
    return next((n for n, word in enumerate(words) if word[0] >= span[0]), len(words) - 1)


def _shared(span: Span | None, word: Span) -> int:
    return 0 if span is None else max(0, min(span[1], word[1]) - max(span[0], word[0]))


def piece_spans(tokenizer: Tokenizer, ids: Iterable[int]) -> list[Span | None]:
    """Which characters of the decoded text each id covers; None for one that has no text, such as the end.

    A piece that holds a part of a character covers that character, so that pieces may overlap in it.
    """
    decoder, spans = tokenizer.stream(), list[Span | None]()
    place, waiting = 0, list[int]()  # pieces that hold the beginning of the character at `place`
    for number, id in enumerate(int(id) for id in ids):
        text = decoder.feed(id)
        silent = id == tokenizer.end or (not text and not tokenizer.decode([id]))
        if silent and not text:
            spans.append(None)
            continue
        if not text:
            waiting.append(number)
            spans.append((place, place + 1))
            continue
        broken = bool(waiting) and len(text) > 1 and text[0] == UNKNOWN  # what waited was never completed
        spans.append((place + broken, place + len(text)))
        place, waiting = place + len(text), []
    rest = len(decoder.finish())
    for number in waiting:
        spans[number] = (place, place + rest)
    return spans


def piece_labels(tokenizer: Tokenizer, ids: Iterable[int]) -> list[str]:
    """What each id is called in a picture: its text with white space made visible, and the end as <end>."""
    ids = [int(id) for id in ids]
    text, spans = tokenizer.decode(ids), piece_spans(tokenizer, ids)
    shared = [sum(a is not None and b is not None and _shared(a, b) > 0 for b in spans) > 1 for a in spans]
    labels = []
    for id, span, part in zip(ids, spans, shared, strict=True):
        if id == tokenizer.end:
            labels.append(END)
        elif span is None:
            labels.append("<special>")
        else:
            labels.append(f"‹{text[slice(*span)]}›" if part else text[slice(*span)])
    return labels


def text_labels(tokenizer: Tokenizer, ids: Iterable[int]) -> list[str]:
    """What each id is called: marks by their names, other tokens as they are written."""
    ids, special = [int(id) for id in ids], set(tokenizer.special.tolist())
    named = zip(ids, piece_labels(tokenizer, ids), strict=True)
    return [tokenizer.names[id] if id in special else label for id, label in named]


def most_read(alignment: Alignment) -> list[str]:
    """A line for each row of the first layer and head: its word, and the columns that it read most."""
    return lines_of_read(alignment.source, alignment.target, alignment.weights[0, 0])


def lines_of_read(columns: Sequence[str], rows: Sequence[str], weights: Iterable[np.ndarray]) -> list[str]:
    """A line for each row: its word, and the columns that it read most."""
    source, target = ([_seen(label) for label in side] for side in (columns, rows))
    width, lines = max(map(len, target), default=0), []
    for word, row in zip(target, weights, strict=True):
        best = sorted(np.flatnonzero(row >= MIN_LISTED_WEIGHT).tolist(), key=lambda i: -row[i])
        read = ", ".join(f"{source[i]} {row[i]:.2f}" for i in best or ([int(np.argmax(row))] if row.size else []))
        lines.append(f"  {word:<{width}}  {read if best else f'spread over many, most {read}'}")
    return lines


def _seen(label: str) -> str:
    """A label for a list: without spaces around it, and with signs for white space that is all of it or ends a line."""
    return (label.strip(" ") or label.replace(" ", "␣")).replace("\n", "↵")


Links = frozenset[tuple[int, int]]  # (source word, target word)


def links(weights: np.ndarray) -> Links:
    """Each target word joined to the source word that was read most for it."""
    return frozenset((int(np.argmax(row)), t) for t, row in enumerate(weights) if row.size)


def alignment_error_rate(found: Iterable[Links], gold: Iterable[Links]) -> float:
    """1 - 2 |A and G| / (|A| + |G|) over all sentences (Och and Ney, 2003, all gold links being sure)."""
    both = [(len(a & g), len(a) + len(g)) for a, g in zip(found, gold, strict=True)]
    return 1 - 2 * sum(hit for hit, _ in both) / max(1, sum(all_ for _, all_ in both))
