"""Talks to learn from and talks held out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from weft.amounts import amount
from weft.domains.texts.reading.talks import Talk, read_talks
from weft.errors import listed
from weft.files.bad_rows import Skip
from weft.files.dataset import Dataset, held_in
from weft.files.decoding import shown
from weft.files.gather import fingerprint
from weft.files.held_out import SHARE, split_rows


@dataclass(frozen=True)
class TalkTexts:
    """The texts of talks, as a stream, and how much that is."""

    talks: Sequence[Talk]

    def pieces(self) -> Iterator[str | None]:
        """What was said, each turn a document."""
        for talk in self.talks:
            for turn in talk.turns:
                yield from (turn.text, None)

    @cached_property
    def characters(self) -> int:
        """All that was said."""
        return sum(len(turn.text) for talk in self.talks for turn in talk.turns)

    @cached_property
    def bytes(self) -> int:
        """The same in UTF-8."""
        return sum(len(piece.encode("utf-8", "replace")) for piece in self.pieces() if piece)

    @cached_property
    def distinct(self) -> int:
        """Different characters."""
        return len({character for piece in self.pieces() for character in piece or ""})


@dataclass(frozen=True, kw_only=True)
class TalkData(Dataset[Sequence[Talk], Sequence[Talk]]):
    """Talks. A question that several talks begin with is on one side."""

    @cached_property
    def said(self) -> TalkTexts:
        """The text to train on."""
        return TalkTexts(self.train)

    @cached_property
    def extent(self) -> TalkTexts:
        """All text, by how much there is."""
        return TalkTexts((*self.train, *self.held_out))

    def example(self) -> str | None:
        return self.held_out[0].question


def talk_data(sources: Sequence[str], valid: str | None, skip: Skip = None) -> TalkData:
    """The talks in files, split by what is asked first."""
    found = read_talks(sources, skip)
    mark = _fingerprint(found.rows)
    if valid is None:
        train, held_out = split_rows(found.rows, [talk.digest() for talk in found.rows], what="talks")
        rule = (
            f"{len(held_out):,} of {len(found.rows):,} talks: about {SHARE:.0%}, whose first question has the lowest "
            "SHA-256, so that equal questions fall on the same side"
        )
    else:
        train, held_out = found.rows, read_talks([valid], learn=False).rows
        rule, mark = held_in(valid), f"{mark} {_fingerprint(held_out)}"
    answers, texts = sum(len(talk.answers) for talk in found.rows), TalkTexts(found.rows)
    skipped = listed([f"{name} ({reason})" for name, reason in found.skipped])
    return TalkData(
        train=train,
        held_out=held_out,
        fingerprint=mark,
        rule=rule,
        described=f"{listed([shown(path) for path in found.files])} ({len(found.rows):,} talks)",
        notes=(
            f"{amount(texts.bytes)} in {len(found.rows):,} talks with {answers:,} answers; these alone are learned",
            *found.notes,
            *([f"skipped: {skipped}"] if skipped else []),
        ),
        skipped=found.skipped,
        amounts={"talks": len(found.rows), "answers": answers, "bytes": texts.bytes, "characters": texts.characters},
    )


def _fingerprint(talks: Sequence[Talk]) -> str:
    return fingerprint(text for talk in talks for turn in talk.turns for text in (turn.role, turn.text))
