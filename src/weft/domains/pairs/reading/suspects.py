"""Pairs that look wrong: repeated, untranslated, the wrong way round. Knows texts; refuses to know their languages."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

LOOKED_AT = 200_000  # pairs of many, spread evenly over them, that are looked at to find swapped ones
SEEN = 4  # times that a word must occur before it says anything about its side
SURE = 6.0  # natural log of the odds at which a pair is called swapped
MOST = 3.0  # what one word can add to it


def duplicates(pairs: Sequence[tuple[str, str]]) -> int:
    """Pairs that equal an earlier one."""
    return len(pairs) - len(set(pairs))


def identical(pairs: Iterable[tuple[str, str]]) -> int:
    """Pairs whose target is the source itself."""
    return sum(source == target for source, target in pairs)


def swapped(pairs: Sequence[tuple[str, str]]) -> int:
    """Pairs whose source reads like the targets and whose target like the sources.

    Every word votes with the log of how much more often it stands among sources than among targets (naive Bayes); both
    texts must speak for the other side, and together clearly.
    """
    sides = [Counter(word for pair in pairs for word in _words(pair[side])) for side in (0, 1)]
    totals = [sum(side.values()) + 1 for side in sides]
    votes = {}
    for word in sides[0].keys() | sides[1].keys():
        a, b = sides[0][word], sides[1][word]
        if a + b >= SEEN:
            vote = math.log((a + 0.5) / totals[0]) - math.log((b + 0.5) / totals[1])
            votes[word] = max(-MOST, min(MOST, vote))
    count = 0
    for source, target in pairs:
        first, second = (sum(votes.get(word, 0.0) for word in _words(text)) for text in (source, target))
        count += first < 0 < second and second - first > SURE
    return count


def _words(text: str) -> list[str]:
    """Words in lower case; beyond ASCII also the letters, which is all there is where words are not set apart."""
    words = text.lower().split()
    return words if text.isascii() else [*words, *(c for c in text if c > "\x7f")]
