"""Which pictures are copies of each other: saved again, in another size, turned or mirrored. Knows thumbnails alone.

A copy held out while its original is learned from would be measured as if it were new.
"""

from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np

from weft.files.pictures.decoding import Decoded

SIDE = 16  # of a thumbnail
COLOUR = 6.0  # levels by which the mean of a channel may differ between two copies
CONTRAST = 4.0  # levels; a thumbnail whose spread is below this has too little in it to be compared
NEAR = 0.06  # the root of the mean square difference of two copies, in spreads
BLOCK = 2048  # pictures that are compared with others at once


def thumbnail(picture: Decoded) -> bytes:
    """A picture in small and grey, SIDE x SIDE levels, and then the means of red, green and blue."""
    from PIL import Image

    pixels = np.broadcast_to(picture.pixels, (*picture.pixels.shape[:2], 3)).astype(np.float32)
    small = Image.fromarray(pixels.mean(2)).resize((SIDE, SIDE), Image.Resampling.BOX)
    levels = np.concatenate([np.asarray(small).ravel(), pixels.mean((0, 1))])
    return levels.round().astype(np.uint8).tobytes()


def copied(thumbnails: Sequence[bytes | None], labels: Sequence[str] | None) -> list[int]:
    """For each picture the first that it is a copy of, itself where there is none.

    Pictures of different labels are no copies where one of them is turned: left and right are not the same.
    """
    first = list(range(len(thumbnails)))
    for a, b, turned in _pairs(thumbnails):
        if not turned or labels is None or labels[a] == labels[b]:
            low, high = sorted((_root(first, a), _root(first, b)))
            first[high] = low
    return [_root(first, i) for i in range(len(first))]


def _root(first: list[int], i: int) -> int:
    while first[i] != i:
        first[i] = i = first[first[i]]
    return i


def _pairs(thumbnails: Sequence[bytes | None]) -> Iterator[tuple[int, int, bool]]:
    """Pairs of pictures that are copies, and whether one of them is turned."""
    known = [thumb is not None for thumb in thumbnails]
    joined = b"".join(compress((thumb or b"" for thumb in thumbnails), known))
    numbers = np.frombuffer(joined, np.uint8).reshape(-1, SIDE**2 + 3).astype(np.float32)
    levels, colours = numbers[:, :-3].reshape(-1, SIDE, SIDE), numbers[:, -3:]
    mean, spread = levels.mean((1, 2), keepdims=True), levels.std((1, 2), keepdims=True)
    clear = np.flatnonzero(spread >= CONTRAST)
    index, colours = np.flatnonzero(known)[clear], colours[clear]
    forms = (levels[clear] - mean[clear]) / spread[clear]
    for a, b in _candidates(forms):
        if abs(colours[a] - colours[b]).max() <= COLOUR:
            apart = [float(np.sqrt(((turned - forms[b]) ** 2).mean())) for turned in _turns(forms[a])]
            if min(apart) <= NEAR:
                yield int(index[a]), int(index[b]), apart[0] > NEAR


def _candidates(forms: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs that may be copies: they are near each other in numbers that turning does not change."""
    features = _features(forms)
    direction = np.random.default_rng(0).standard_normal(features.shape[1:], dtype=np.float32)
    along = features @ (direction / np.linalg.norm(direction))
    order = np.argsort(along, kind="stable")
    features, along = features[order], along[order]
    squares, reach = (features**2).sum(1), SIDE * NEAR  # features of copies differ by no more than the pictures do
    ends = np.searchsorted(along, along + reach, side="right")
    for top in range(0, len(order), BLOCK):
        some = slice(top, top + BLOCK)
        for left in range(top, int(ends[some].max()), BLOCK):
            others = slice(left, left + BLOCK)
            apart = squares[some, None] + squares[None, others] - 2 * features[some] @ features[others].T
            for i, j in zip(*np.nonzero(apart <= reach**2), strict=True):
                if top + i < left + j:
                    yield int(order[top + i]), int(order[left + j])


def _features(forms: np.ndarray) -> np.ndarray:
    """Numbers that are the same for every turn of a picture, of which a picture's length is an upper bound."""
    folded = np.stack(_turns(forms.transpose(1, 2, 0))).mean(0)
    rows, columns = np.triu_indices(SIDE // 2)
    repeats = np.where(rows == columns, 4, 8)  # places of a picture that a number stands for
    return (folded[rows, columns].T * np.sqrt(repeats)).astype(np.float32)


def _turns(form: np.ndarray) -> list[np.ndarray]:
    """A picture as it is, turned by a quarter one to three times, and each of them mirrored."""
    mirrored = form.swapaxes(0, 1)
    return [np.rot90(one, k) for one in (form, mirrored) for k in range(4)]
