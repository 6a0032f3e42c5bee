"""TaggedTexts: sentences with a tag for each word, what people should know of them, and what is held out."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from weft.domains.texts.reading.schemes import Scheme, entities, parted
from weft.files.decoding import shown
from weft.files.gather import ReadFile, fingerprint
from weft.files.held_out import SHARE, Split, split_rows

LISTED = 10  # kinds that are listed


@dataclass(frozen=True, slots=True)
class Tagged:
    """The words of a sentence and a tag for each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


class CutText(str):
    """A text that came in words, with a space between each two; `words` are those."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> "CutText":
        """The text of some words."""
        text = cls(" ".join(words))
        text.words = tuple(words)
        return text


@dataclass(frozen=True)
class TaggedTexts:
    """What a number of files hold. Tags of entities are BIO here, whatever they were in the files.

    `scheme` is what the files had, `mended` how many tags broke its rules. `fingerprint` is the SHA-256 over all words
    and tags in order: names, formats, other columns and gzip do not change it.
    """

    sentences: list[Tagged] = field(repr=False)
    tags: tuple[str, ...]
    scheme: Scheme
    mended: int
    files: tuple[ReadFile, ...]
    skipped: tuple[tuple[str, str], ...] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    fingerprint: str
    bad: int

    @staticmethod
    def given(sentences: list[Tagged], name: str) -> "TaggedTexts":
        """Sentences with BIO tags that come from no file."""
        return TaggedTexts(
            sentences=sentences,
            tags=in_order({tag for one in sentences for tag in one.tags}),
            scheme="BIO",
            mended=0,
            files=(ReadFile(Path(name), len(sentences)),),
            skipped=(),
            notes=(),
            fingerprint=fingerprint_of(sentences),
            bad=0,
        )

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Tagged]:
        return iter(self.sentences)

    @property
    def words(self) -> int:
        """How many words there are."""
        return sum(len(sentence.words) for sentence in self.sentences)

    @cached_property
    def kinds(self) -> dict[str, int]:
        """How many entities of each kind there are, or words of each tag, the commonest first."""
        if self.scheme == "plain":
            counts = Counter(tag for sentence in self.sentences for tag in sentence.tags)
        else:
            counts = Counter(one.kind for sentence in self.sentences for one in entities(sentence.tags))
        return dict(counts.most_common())

    def report(self) -> list[str]:
        """What people should know before they train on this, a sentence a line."""
        what = "tags" if self.scheme == "plain" else f"kinds of entity ({self.scheme})"
        listed = ", ".join(f"{shown(name)} {count:,}" for name, count in list(self.kinds.items())[:LISTED])
        more = f" and {len(self.kinds) - LISTED} more" if len(self.kinds) > LISTED else ""
        again = len(self.sentences) - len({_mark(sentence.words) for sentence in self.sentences})
        return [
            f"{len(self.sentences):,} sentences, {self.words:,} words, {len(self.kinds)} {what}: {listed}{more}",
            *self.notes,
            *(
                [f"tags that break the rules of {self.scheme}: {self.mended:,}; they are corrected"]
                if self.mended
                else []
            ),
            *([f"sentences equal to an earlier one: {again:,}; they are kept"] if again else []),
            *([f"sentences left out, not usable: {self.bad:,}"] if self.bad else []),
        ]


def in_order(tags: set[str]) -> tuple[str, ...]:
    """Tags in the order of their numbers: O first, then by kind, B before I. A kind with only one of both has both."""
    kinds = sorted({parted(tag)[1] for tag in tags} - {""})
    plain = sorted(tag for tag in tags if not parted(tag)[1])
    return (*plain, *(f"{prefix}-{kind}" for kind in kinds for prefix in "BI"))


def split_tagged(sentences: Sequence[Tagged], share: float = SHARE) -> Split[list[Tagged], list[Tagged]]:
    """Hold out about a share of the sentences, those whose words have the lowest SHA-256."""
    digests = [hashlib.sha256(" ".join(one.words).casefold().encode("utf-8")).digest() for one in sentences]
    sides = split_rows(sentences, digests, share, what="sentences")
    rule = (
        f"{len(sides[1]):,} of {len(sentences):,} sentences: about {share:.0%} are held out, those whose words have "
        "the lowest SHA-256 (letter case aside), so that equal sentences fall on the same side"
    )
    return Split(*sides, rule)


def _mark(words: Sequence[str]) -> int:
    """64 bits of a digest of words: a few bytes for each of many sentences."""
    data = b"".join(b"%d:%b" % (len(word), word.encode("utf-8", "surrogatepass")) for word in words)
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def fingerprint_of(sentences: Iterable[Tagged]) -> str:
    """The SHA-256 over all words and tags in order."""
    return fingerprint(piece for one in sentences for piece in _pieces(one))


def _pieces(one: Tagged) -> list[str | bytes]:
    return [*one.words, *one.tags, b"\n"]
