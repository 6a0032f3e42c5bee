"""n-grams of texts as numbers, counted and compared between texts. Knows words; refuses to know measures."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

ORDERS = 4  # n-grams of one to four words
FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], np.uint64)
Words = Sequence[str]


@dataclass(frozen=True)
class Grams:
    """The different n-grams of one order: `code` stands `often` times in `text`; ordered by code, then text."""

    text: np.ndarray
    code: np.ndarray
    often: np.ndarray


@lru_cache(maxsize=2**18)
def _code(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def count_grams(texts: Sequence[Words]) -> tuple[Grams, ...]:
    """The n-grams of each order.

    An n-gram is known by a hash of 64 bits: in 1 of 10^7 collections of a million n-grams two have the same hash.
    """
    lengths = np.array([len(words) for words in texts], np.int64)
    text = np.repeat(np.arange(len(texts)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(text))  # words from here to the end of the text
    words = np.fromiter((_code(word) for words in texts for word in words), np.uint64, len(text))
    code, found = np.zeros(len(text), np.uint64), list[Grams]()
    for order in range(ORDERS):
        code = code + np.roll(words, -order) * FACTORS[order]
        whole = left > order
        found.append(_tallied(text[whole], code[whole]))
    return tuple(found)


def _tallied(text: np.ndarray, code: np.ndarray) -> Grams:
    order = np.lexsort((text, code))
    text, code = text[order], code[order]
    first = np.flatnonzero(np.r_[True, (text[1:] != text[:-1]) | (code[1:] != code[:-1])][: len(text)])
    return Grams(text[first], code[first], np.diff(np.append(first, len(text))).astype(np.float64))


def places_of(sorted_values: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each value stands in a sorted array, and whether it is there."""
    at = np.searchsorted(sorted_values, asked)
    inside = np.minimum(at, max(len(sorted_values) - 1, 0))
    there = sorted_values[inside] == asked if len(sorted_values) else np.zeros(len(asked), bool)
    return inside, there


def longest_common(a: Words, b: Words) -> int:
    """The length of the longest common subsequence of two texts, computed on the bits of a number (Hyyrö, 2004)."""
    where: dict[str, int] = {}
    for place, word in enumerate(a):
        where[word] = where.get(word, 0) | 1 << place
    full = (1 << len(a)) - 1
    unmatched = full
    for word in b:
        hit = unmatched & where.get(word, 0)
        unmatched = (unmatched + hit | unmatched - hit) & full
    return len(a) - unmatched.bit_count()
