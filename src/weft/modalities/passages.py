"""A question and a passage in one row of ids, as encoders read them; long passages as windows that overlap.

Knows ids; refuses to know models and files of data.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weft.errors import ConfigError
from weft.modalities.tokenizer_json import PairMarks

LEAST = 8  # tokens of a passage in a window


@dataclass(frozen=True)
class PassageWindow:
    """A question with a part of a passage: its `count` tokens from the one numbered `first`, at `place` in the row."""

    ids: np.ndarray
    segments: np.ndarray
    first: int
    place: int
    count: int

    def at(self, token: int) -> int | None:
        """Where a token of the passage stands in the row; None where it is not in this window."""
        inside = self.first <= token < self.first + self.count
        return token - self.first + self.place if inside else None


def passage_windows(
    marks: PairMarks, question: np.ndarray, passage: np.ndarray, longest: int, overlap: int
) -> Iterator[PassageWindow]:
    """The windows of a passage, of at most `longest` ids each; neighbours have `overlap` tokens in common, or fewer.

    A question has at most half of a window.
    """
    room = longest - len(marks.before) - len(marks.between) - len(marks.after)
    question = question[: room // 2]
    room -= len(question)
    if room < LEAST:
        problem = f"{longest} ids leave no room for a question with a passage"
        raise ConfigError(problem, where="context", fix=f"read at least {longest + 2 * (LEAST - room)} ids")
    step = room - min(overlap, room // 2)
    for first in range(0, max(1, len(passage)), step):
        part = passage[first : first + room]
        parts = (marks.before, question, marks.between, part, marks.after)
        ids = np.concatenate([np.asarray(one, np.int64) for one in parts])
        segments = np.repeat(np.array(marks.segments, np.int64), [len(one) for one in parts])
        yield PassageWindow(ids, segments, first, len(ids) - len(marks.after) - len(part), len(part))
        if first + room >= len(passage):
            return
