"""WordCodec: whole words to numbers and back, by a list of words. Knows a vocabulary; refuses to know vectors."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Self

import numpy as np

from weft.errors import ConfigError
from weft.json_text import read_json
from weft.modalities.encoding import parts_of
from weft.modalities.words import Breaks, plain_words
from weft.tasks.codec import Codec, ReadFile

WORDS = "words.json"
PART_CHARACTERS = 2**20  # of text whose words are found at a time
UNKNOWN = -1


class WordCodec(Codec):
    """Words in the order of their numbers, most frequent first. What is not in the list has no number."""

    class Config(Codec.Config):
        """`lower` says that texts are read in lower case; `breaks` is where sentences end."""

        file: str = WORDS
        digest: str | None = None
        lower: bool = True
        breaks: Breaks = "lines"

    config: Config

    def __init__(self, config: Config, *, read: ReadFile):
        super().__init__(config, read=read)
        self._read = read

    @classmethod
    def of(
        cls, words: Sequence[str], counts: Sequence[int] | None = None, *, lower: bool, breaks: Breaks = "lines"
    ) -> Self:
        """The codec of a list of words, and how often each was seen, where that is known."""
        known = {"words": list(words), "counts": None if counts is None else list(counts)}
        data = json.dumps(known, ensure_ascii=False).encode()
        return cls(cls.Config(digest=_digest(data), lower=lower, breaks=breaks), read=lambda name: data)

    @property
    def words(self) -> Sequence[str]:
        """The words; refused where they are not those that the run was trained with."""
        data = self._read(self.config.file)
        if self.config.digest not in (None, _digest(data)):
            problem = "these are not the words that the run was trained with"
            raise ConfigError(problem, where=self.config.file, fix=f"put the run's own {self.config.file} back")
        return _parsed(data, self.config.file)[0]

    @property
    def counts(self) -> np.ndarray:
        """How often each word was seen; where unknown, by Zipf's law: the n-th word 1/n as often as the first."""
        counts = _parsed(self._read(self.config.file), self.config.file)[2]
        return np.array(counts) if counts is not None else len(self.words) / np.arange(1, len(self.words) + 1)

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of each word."""
        return _parsed(self._read(self.config.file), self.config.file)[1]

    def find(self, word: str) -> int | None:
        """The number of a word as people write it: as it stands, in lower case, with a capital; None where unknown."""
        numbers, word = self.numbers, word.strip()
        found = (numbers.get(form) for form in (word, word.lower(), word.capitalize()))
        return next((number for number in found if number is not None), None)

    def files(self) -> Mapping[str, bytes]:
        return {self.config.file: self._read(self.config.file)}

    def ids(self, pieces: Iterable[str | None]) -> tuple[np.ndarray, int]:
        """A stream of documents as numbers of words, and how many words there were, unknown ones included.

        Unknown words are left out. The number of words in the list stands where a sentence ends.
        """
        numbers, end, many, found = self.numbers, len(self.numbers), 0, []
        for words in stream(pieces, lower=self.config.lower, breaks=self.config.breaks):
            ids = np.fromiter((numbers.get(w, end if w.isspace() else UNKNOWN) for w in words), np.int32, len(words))
            many += int((ids != end).sum())
            ids = ids[ids != UNKNOWN]
            again = (ids[1:] == end) & (ids[:-1] == end)  # empty lines end nothing
            found.append(np.concatenate((ids[:1], ids[1:][~again])))
        return np.concatenate([*found, np.array([end], np.int32)]), many


def stream(pieces: Iterable[str | None], *, lower: bool, breaks: Breaks) -> Iterator[list[str]]:
    """The words of documents, a part of the text at a time; white space where a sentence ends."""
    for part in parts_of(pieces, PART_CHARACTERS, PART_CHARACTERS):
        if part is None:
            yield ["\n"]
        else:
            yield plain_words(part.lower() if lower else part, breaks)


def count_words(pieces: Iterable[str | None], *, lower: bool, breaks: Breaks) -> Counter[str]:
    """How often each word stands in some documents."""
    counts: Counter[str] = Counter()
    for words in stream(pieces, lower=lower, breaks=breaks):
        counts.update(words)
    return Counter({word: n for word, n in counts.items() if not word.isspace()})


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@lru_cache(maxsize=4)
def _parsed(data: bytes, where: str) -> tuple[tuple[str, ...], dict[str, int], list[int] | None]:
    found = read_json(data, where=where)
    words, counts = (found.get(name) if isinstance(found, dict) else None for name in ("words", "counts"))
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise ConfigError("expected a list of words", where=where)
    if counts is not None and not (
        isinstance(counts, list) and len(counts) == len(words) and all(type(n) is int and 0 < n < 2**63 for n in counts)
    ):
        raise ConfigError("expected a count above 0 for each word", where=where)
    return tuple(words), {word: i for i, word in enumerate(words)}, counts
