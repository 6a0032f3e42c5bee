"""Whether words looked at what they are about: attention inside a word's region, beside its share of the picture."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from weft.domains.captions.views.reading import patch_grid, patch_middle, picture_weights
from weft.files.pictures.regions import Region
from weft.inspect.alignment import Span, piece_spans
from weft.modalities.image import Picture
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq
from weft.objectives.measures.resampling import bootstrap
from weft.tasks.measuring import spread

MOST_LOOKED_AT = 100  # pictures whose attention is measured
Box = tuple[float, float, float, float]


def covered(boxes: Iterable[Box], rows: int, columns: int, middle: float = 0.5) -> np.ndarray:
    """(rows * columns): the share of each patch that lies inside the boxes, which do not overlap.

    With another `middle` patches stand around that place of their squares.
    """
    total = np.zeros((rows, columns))
    for top, left, bottom, right in boxes:
        total += np.outer(_overlap(top, bottom, rows, middle), _overlap(left, right, columns, middle))
    return total.clip(max=1.0).ravel()


def _overlap(start: float, stop: float, parts: int, middle: float) -> np.ndarray:
    """The share of each of some equal parts of a line from 0 to 1 that lies between start and stop."""
    edges = (np.arange(parts + 1) + middle - 0.5) / parts
    return (np.minimum(edges[1:], stop) - np.maximum(edges[:-1], start)).clip(min=0) * parts


def words_inside(
    weights: np.ndarray,
    spans: Sequence[Span | None],
    regions: Sequence[Region],
    grid: tuple[int, int],
    middle: float = 0.5,
) -> list[tuple[float, float]]:
    """For each word with a region: the share of its attention inside, and the share of the picture that is inside.

    `weights` (tokens, patches) are those with which each token was predicted; `spans` are its characters in the text;
    `middle` is that of `covered`. The tokens of a word count alike. A word without weights is left out.
    """
    boxes: dict[Span, list[Box]] = {}
    for region in regions:
        boxes.setdefault((region.start, region.stop), []).append(region.box)
    found = []
    for (start, stop), several in boxes.items():
        tokens = [n for n, span in enumerate(spans) if span is not None and span[0] < stop and start < span[1]]
        total = weights[tokens].sum(1, keepdims=True) if tokens else np.zeros((0, 1))
        if not len(total) or (total <= 0).any():
            continue
        inside = covered(several, *grid, middle)
        found.append((float(((weights[tokens] / total) @ inside).mean()), float(inside.mean())))
    return found


def looked_at(rows: Sequence[int]) -> Sequence[int]:
    """Of the rows of pictures with regions, those whose attention is measured."""
    return rows if len(rows) <= MOST_LOOKED_AT else spread(rows, MOST_LOOKED_AT)


def text_spans(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[Span | None]:
    """The characters of a text that each of its tokens stands for."""
    ahead = max(tokenizer.decode(ids).find(text), 0)
    return [None if span is None else (span[0] - ahead, span[1] - ahead) for span in piece_spans(tokenizer, ids)]


def inside_measures(found: Sequence[tuple[float, float]], pictures: int) -> tuple[dict[str, float], Mapping[str, Any]]:
    """The mean shares of all words as measures, and their ratio with its interval; nothing where there are no words."""
    if not found:
        return {}, {}
    shares = np.array(found)
    inside, area = shares.mean(0)
    ratio = bootstrap(len(shares), lambda places: {"ratio": shares[places, 0].mean() / shares[places, 1].mean()})
    more = {
        "ratio": round(float(inside / area), 4),
        "interval": ratio["ratio"],
        "words": len(found),
        "pictures": pictures,
    }
    return {"attention_inside": float(inside), "area_inside": float(area)}, {"attention": more}


def attention_inside(
    model: Seq2Seq,
    picture: Picture,
    text: str,
    regions: Sequence[Region],
    tokenizer: Tokenizer,
    opening: Sequence[int],
) -> list[tuple[float, float]]:
    """The same for one picture and a true text about it, averaged over layers and heads, when each word was due."""
    ids = tokenizer.encode(text).tolist()
    first = len(opening) - 1  # what stands here was read to predict the text's first token
    weights = picture_weights(model, picture, [*opening, *ids][:-1]).mean((0, 1))[first : first + len(ids)]
    spans = text_spans(tokenizer, ids, text)
    return words_inside(weights, spans, regions, patch_grid(model, picture), patch_middle(model))
