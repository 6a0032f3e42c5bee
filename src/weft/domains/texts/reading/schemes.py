"""How tags spell out entities. Knows BIO, IOB1 and IOBES; refuses to know words and files.

words    Ada  Lovelace  met   Babbage  in  London
BIO      B-P  I-P       O     B-P      O   B-L      the first word of an entity is B
IOB1     I-P  I-P       O     I-P      O   I-L      B only where one entity follows another of its kind
IOBES    B-P  E-P       O     S-P      O   S-L      the last is E, a single one S (also written L and U)
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

Scheme = Literal["BIO", "IOB1", "IOBES", "plain"]

TAG = re.compile(r"([BIESLU])[-_](.+)")
LOWER = re.compile(r"([bieslu])-(.+)")
ENDS = "ESLU"  # prefixes after which an entity cannot go on
ALONE = "BSU"  # prefixes with which one always begins


class Entity(NamedTuple):
    """The words from `start` up to but not including `end`, and what they name."""

    start: int
    end: int
    kind: str


def parted(tag: str) -> tuple[str, str]:
    """A tag's prefix and kind; O and plain tags have no kind."""
    found = TAG.fullmatch(tag)
    return (found[1], found[2]) if found else ("O", "")


def spelled(tag: str) -> str:
    """A tag of entities as it is usually written: b-PER and B_PER are B-PER, o is O."""
    found = TAG.fullmatch(tag) or LOWER.fullmatch(tag)
    return f"{found[1].upper()}-{found[2]}" if found else "O" if tag == "o" else tag


def entities(tags: Sequence[str]) -> tuple[Entity, ...]:
    """The entities that tags of any scheme spell out. One that begins in the middle is believed, as conlleval does."""
    found: list[Entity] = []
    open_from, before, ended = -1, "", True
    for place, tag in enumerate([*tags, "O"]):
        prefix, kind = parted(tag)
        if open_from >= 0 and (ended or kind != before or prefix in ALONE):
            found.append(Entity(open_from, place, before))
            open_from = -1
        if kind and open_from < 0:
            open_from = place
        before, ended = kind, prefix in ENDS
    return tuple(found)


def as_bio(spans: Iterable[Entity], length: int) -> tuple[str, ...]:
    """The BIO tags of a sentence of `length` words with these entities."""
    tags = ["O"] * length
    for span in spans:
        tags[span.start : span.end] = [f"B-{span.kind}"] + [f"I-{span.kind}"] * (span.end - span.start - 1)
    return tuple(tags)


def violations(tags: Sequence[str], scheme: Scheme) -> int:
    """How many tags break the rules of a scheme."""
    pairs = [("O", ""), *map(parted, tags), ("O", "")]
    return sum(_breaks(before, now, scheme) for before, now in pairwise(pairs))


def _breaks(before: tuple[str, str], now: tuple[str, str], scheme: Scheme) -> bool:
    (earlier, old), (prefix, kind) = before, now
    if scheme == "BIO":
        return prefix == "I" and kind != old
    if scheme == "IOB1":
        return prefix == "B" and kind != old
    if scheme == "IOBES":
        inside = prefix in ("I", "E", "L")
        return not (inside and kind == old) if earlier in ("B", "I") else inside
    return False


def scheme_of(sentences: Iterable[Sequence[str]]) -> Scheme:
    """The scheme whose rules the tags break least; plain where they do not spell out entities. Goes over them again."""
    tags = {tag for sentence in sentences for tag in sentence}
    prefixes = {parted(spelled(tag))[0] for tag in tags} - {"O"}
    if not prefixes or any(spelled(tag) != "O" and not TAG.fullmatch(spelled(tag)) for tag in tags):
        return "plain"
    schemes: tuple[Scheme, ...] = ("IOBES",) if prefixes & set(ENDS) else ("BIO", "IOB1")
    return min(schemes, key=lambda scheme: sum(violations([*map(spelled, one)], scheme) for one in sentences))
