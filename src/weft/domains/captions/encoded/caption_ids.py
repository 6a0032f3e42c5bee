"""Captions as ids, picture by picture: in memory where they are few, else in mapped files that are kept."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import overload

import numpy as np

from weft.batches.id_rows import IdRows, id_rows
from weft.domains.pictures.reading.album import Album
from weft.domains.texts.codec.text import TextCodec, TextMarks
from weft.storage.prepared import StagedEntry, key_of, store_for

Texts = Sequence[np.ndarray]  # the captions of a picture as ids


@dataclass(frozen=True, eq=False)
class CaptionIds(Sequence[Texts]):
    """The captions of each picture as ids, without marks: the rows up to its end, from that of the picture before."""

    rows: IdRows
    ends: np.ndarray

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, picture: int) -> Texts: ...
    @overload
    def __getitem__(self, picture: slice) -> Sequence[Texts]: ...
    def __getitem__(self, picture: int | slice) -> Texts | Sequence[Texts]:
        if isinstance(picture, slice):
            return [self[i] for i in range(*picture.indices(len(self)))]
        if not 0 <= picture < len(self):
            raise IndexError(f"picture {picture} of {len(self)}")
        return self.rows[int(self.ends[picture - 1]) if picture else 0 : int(self.ends[picture])]

    def counts(self) -> np.ndarray:
        """The number of captions of each picture."""
        return np.diff(self.ends.astype(np.int64), prepend=0)

    def fitting(self, marks: TextMarks, context: int) -> "CaptionIds":
        """Those for which a decoder with this context has room, of the same pictures."""
        fits = len(marks.before) + self.rows.lengths() <= context
        if fits.all():
            return self
        before = np.concatenate(([0], np.cumsum(fits)))
        return CaptionIds(self.rows.only(np.flatnonzero(fits)), before[self.ends.astype(np.int64)])

    def of_pictures(self, pictures: np.ndarray) -> "CaptionIds":
        """Those of some pictures, of which the others have none."""
        return CaptionIds(self.rows, self.ends[pictures])

    @staticmethod
    def of(captions: Iterable[Texts]) -> "CaptionIds":
        """Ids in memory."""
        some = [list(texts) for texts in captions]
        return CaptionIds(IdRows.together([text for texts in some for text in texts]), np.cumsum(list(map(len, some))))

    @staticmethod
    def encoded(codec: TextCodec, captions: Sequence[Sequence[str]]) -> "CaptionIds":
        """Texts to ids in memory."""
        flat = iter(codec.ids(text for texts in captions for text in texts))
        return CaptionIds.of([list(islice(flat, len(texts))) for texts in captions])

    @staticmethod
    def kept(codec: TextCodec, album: Album) -> "CaptionIds":
        """The captions of an album as ids; many of them in mapped files, which the next start finds."""
        store = store_for(sum(len(text) for texts in album.captions for text in texts))
        if store is None:
            return CaptionIds.encoded(codec, album.captions)

        def make(staged: StagedEntry) -> None:
            ends, end = staged.array("ends", np.uint64), 0

            def texts() -> Iterator[str]:
                nonlocal end
                for some in album.captions:
                    found = tuple(some)
                    yield from found
                    end += len(found)
                    ends.append(np.array([end], np.uint64))

            id_rows(staged, "captions", codec.tokenizer.dtype, texts(), codec.ids)

        key = key_of("ids of captions", album.fingerprint, codec.tokenizer.digest)
        entry = store.entry(key, make, {"kind": "ids of captions"})
        return CaptionIds(IdRows.of(entry, "captions"), entry.arrays["ends"])
