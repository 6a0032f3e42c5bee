"""What a run keeps of its training pictures for baselines: thumbnails with one caption each, and the best for all.

Both are baselines: a model that looks has to beat the nearest training picture's caption and the best for all.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from weft.domains.captions.measures.captions import CaptionScorer
from weft.domains.pictures.encoded.frames import Frames, scaled
from weft.errors import DataError
from weft.tasks.request import Loaded

FILE = "known.safetensors"
SIDE = 16  # pixels of a thumbnail
SIDES = (4, 8, 16)  # at which thumbnails are compared; the one that does best in training is kept
MOST = 3000  # training pictures that are kept
MOST_FROM_FILES = 1000  # of pictures that are not in memory
AT_ONCE = 1000  # pictures compared with all known ones
TRIED, CANDIDATES = 300, 1000  # training pictures on which baselines are chosen; captions that are tried for all


@dataclass(frozen=True)
class KnownCaptions:
    """Thumbnails (pictures, 16, 16, channels) of training pictures, their captions, and how the nearest is found."""

    thumbnails: np.ndarray
    captions: tuple[str, ...]
    constant: str
    side: int
    centred: bool  # compared by direction from the mean picture, else by distance

    @classmethod
    def of(cls, frames: Frames, captions: Sequence[Sequence[str]]) -> Self:
        """What is worth keeping of training pictures; everything is chosen on these pictures alone."""
        rows = _spread(len(frames), MOST if frames.kept else MOST_FROM_FILES)
        references = [tuple(captions[row]) for row in rows]
        central = central_captions(references)
        tried = _spread(len(rows), TRIED)
        scorer = CaptionScorer([references[row] for row in tried])
        different = list(dict.fromkeys(central[row] for row in _spread(len(rows), CANDIDATES)))
        constant = max(different, key=lambda text: (scorer.cider_d_of_one(text).mean(), text))
        known = cls(thumbnails_of(frames, rows), tuple(central), constant, SIDE, centred=False)
        return known._best(tried, scorer)

    def _best(self, tried: np.ndarray, scorer: CaptionScorer) -> Self:
        """The same with the comparison of thumbnails that finds the best captions of other training pictures."""
        ways = [type(self)(self.thumbnails, self.captions, self.constant, side, centred)
                for side in SIDES for centred in (True, False)]  # fmt: skip
        asked = self.thumbnails[tried]
        return max(ways, key=lambda way: scorer.cider_d(way.nearest(asked, without=tried)).mean())

    def nearest(self, thumbnails: np.ndarray, *, without: np.ndarray | None = None) -> list[str]:
        """The caption of the training picture nearest to each thumbnail; `without` has one to ignore for each."""
        known, found = self._compared(self.thumbnails), list[int]()
        for start in range(0, len(thumbnails), AT_ONCE):
            asked = self._compared(thumbnails[start : start + AT_ONCE])
            far = (known**2).sum(1) - 2 * asked @ known.T
            if without is not None and len(known) > 1:
                far[np.arange(len(asked)), without[start : start + AT_ONCE]] = np.inf
            found += far.argmin(1).tolist()
        return [self.captions[row] for row in found]

    def _compared(self, thumbnails: np.ndarray) -> np.ndarray:
        """Thumbnails as rows of numbers whose distances are compared."""
        rows = self._coarse(thumbnails)
        if not self.centred:
            return rows
        rows = rows - self._mean
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)

    def _coarse(self, thumbnails: np.ndarray) -> np.ndarray:
        step, channels = SIDE // self.side, thumbnails.shape[-1]
        parts = thumbnails.reshape(-1, self.side, step, self.side, step, channels)
        return parts.mean((2, 4), dtype=np.float32).reshape(len(thumbnails), -1)

    @cached_property
    def _mean(self) -> np.ndarray:
        return self._coarse(self.thumbnails).mean(0)

    def content(self) -> bytes:
        """The file that a run keeps."""
        texts = {"captions": self.captions, "constant": self.constant, "side": self.side, "centred": self.centred}
        arrays = {"thumbnails": self.thumbnails, "texts": np.frombuffer(json.dumps(texts).encode(), np.uint8)}
        return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})

    @classmethod
    def kept_by(cls, run: Loaded) -> Self | None:
        """What a run keeps; None where it keeps nothing, as imported models and runs of earlier versions."""
        if not (run.folder.path / FILE).exists():
            return None
        where = f"{run.folder.path}/{FILE}"
        fix = "put the run's own file back, or remove it: the baselines are then left out"
        try:
            arrays = load(run.folder.content(FILE))
            texts = json.loads(arrays["texts"].tobytes())
            known = cls(arrays["thumbnails"], **{**texts, "captions": tuple(texts["captions"])})
            fits = known.thumbnails.dtype == np.uint8 and known.thumbnails.shape[:3] == (
                len(known.captions),
                SIDE,
                SIDE,
            )
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"not what a run keeps of its training pictures: {error}", where=where, fix=fix) from None
        if not fits or known.side not in SIDES or not known.captions:
            raise DataError("thumbnails and captions do not fit each other", where=where, fix=fix)
        return known


def central_captions(references: Sequence[Sequence[str]]) -> list[str]:
    """Of each picture's captions, the one most like the others, by CIDEr-D."""
    scorer, most = CaptionScorer(references), max(map(len, references))
    scores = np.stack([scorer.cider_d([texts[min(n, len(texts) - 1)] for texts in references]) for n in range(most)], 1)
    return [texts[int(row[: len(texts)].argmax())] for texts, row in zip(references, scores, strict=True)]


def thumbnails_of(frames: Frames, rows: np.ndarray | None = None) -> np.ndarray:
    """(pictures, 16, 16, channels) in bytes."""
    chosen = np.arange(len(frames)) if rows is None else rows
    found = [scaled(picture.pixels, SIDE, SIDE).permute(1, 2, 0).numpy() for picture in frames.read(chosen)]
    return np.stack(found)


def _spread(count: int, most: int) -> np.ndarray:
    """Some rows, spread evenly over all."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))
