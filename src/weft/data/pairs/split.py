"""Pairs to learn from and sources held out: a pure function of the texts."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from weft.data.pairs.reading import Pair
from weft.errors import ConfigError, DataError

SHARE, MOST = 0.1, 1000  # of the sources that are held out


@dataclass(frozen=True, slots=True)
class Held:
    """A source that is held out, with all its different translations."""

    source: str
    references: tuple[str, ...]


class PairSplit(NamedTuple):
    """Pairs to learn from, sources held out, and the rule in words."""

    train: list[Pair]
    held_out: list[Held]
    rule: str


def split_pairs(pairs: Iterable[Pair], share: float = SHARE, *, most: int = MOST) -> PairSplit:
    """Hold out about a share of the sources, at most `most`, by the hash of the source alone.

    So all translations of a source fall on one side, and pairs that are added later move no source from training to
    the held-out side, unless nothing was held out by its hash. Those held out come in order of their hash: the first
    few are as good a sample as all.
    """
    if not 0 < share < 1 or most < 1:
        raise ConfigError(
            f"expected a share between 0 and 1 and at least 1 source, found {share} and {most}", where="split"
        )
    references: dict[str, dict[str, None]] = {}
    rows = list(pairs)
    for pair in rows:
        references.setdefault(pair.source, {})[pair.target] = None
    if len(references) < 2:
        problem = f"{len(references)} different sources are too few to hold some out"
        raise DataError(problem, fix="add more pairs, or name other data to validate on")
    order = sorted((hashlib.sha256(source.encode("utf-8")).digest(), source) for source in references)
    bound = int(share * 2**64)
    below = sum(int.from_bytes(digest[:8], "big") < bound for digest, _ in order)
    held = {source: references[source] for _, source in order[: max(1, min(below, most, len(order) - 1))]}
    train = [pair for pair in rows if pair.source not in held]
    rule = (
        f"{len(held):,} of {len(order):,} different sources are held out with all their translations "
        f"({len(rows) - len(train):,} of {len(rows):,} pairs): about {share:.0%}, at most {most:,}, those whose text "
        "has the lowest SHA-256"
    )
    return PairSplit(train, [Held(source, tuple(texts)) for source, texts in held.items()], rule)


def overlap(train: Iterable[Pair], test: Iterable[Pair | Held]) -> int:
    """How many different sources of a test are also trained on."""
    return len({pair.source for pair in train} & {pair.source for pair in test})
