"""Pairs of texts to learn from and sources held out: sentences with their translations."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

from weft.domains.pairs.reading import pairs
from weft.domains.pairs.reading.formats import by_file_name
from weft.domains.pairs.reading.pairs import read_pairs
from weft.domains.pairs.reading.texts import Held, HeldMarks, Pair, Pairs, overlap, split_many, split_pairs
from weft.domains.pairs.sample.phrasebook import LANGUAGES, phrasebook
from weft.domains.pairs.settings import PairTraining
from weft.errors import ConfigError, listed, nearest
from weft.files.dataset import Count, Dataset, Reader, held_in
from weft.files.known_roles import PAIR
from weft.files.survey import Judgement, Survey
from weft.files.tables import Table
from weft.files.text_rows import TextRows


@dataclass(frozen=True, kw_only=True)
class PairData(Dataset[Sequence[Pair], Sequence[Held]]):
    """Pairs, and the names of their sides in `columns`."""

    @property
    def overlap(self) -> int:
        """Held-out sources that are also trained on."""
        return self.amounts["overlap"]

    @cached_property
    def characters(self) -> int:
        """Characters on both sides of what is trained on."""
        if isinstance(self.train, TextRows):
            return self.train.characters
        return sum(len(pair.source) + len(pair.target) for pair in self.train)


@final
class Translations(Reader[PairData]):
    """Sentences with their translations."""

    sample = "phrasebook"
    roles = PAIR
    doubtful = False

    def named(self, table: Table) -> Table:
        return by_file_name(table)

    def judge(self, survey: Survey) -> Judgement:
        return pairs.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: PairTraining, count: Count | None = None
    ) -> PairData:
        if not sources:
            return _phrasebook(asked)
        found = _read(sources, asked)
        held = None if valid is None else _read([valid], asked)
        given = None if held is None or valid is None else (held.rows, held.fingerprint, valid)
        return replace(
            split_off(found.rows, found.fingerprint, given, found.held),
            columns=found.columns,
            taken=dict(zip(("source", "target"), found.columns, strict=True)),
            described=listed([file.path.name for file in found.files]),
            notes=tuple(found.report()),
            skipped=found.skipped,
        )


def grouped(rows: Sequence[Pair]) -> list[Held]:
    """Pairs with one source as that source with several references."""
    references: dict[str, dict[str, None]] = {}
    for pair in rows:
        references.setdefault(pair.source, {})[pair.target] = None
    return [Held(source, tuple(targets)) for source, targets in references.items()]


def _read(sources: Sequence[str], asked: PairTraining) -> Pairs:
    return read_pairs(list(sources), source=asked.source, target=asked.target, skip=asked.allowed)


def split_off(
    rows: Sequence[Pair],
    fingerprint: str,
    given: tuple[Sequence[Pair], str, str] | None,
    by: HeldMarks | None = None,
) -> PairData:
    """What to learn from and what is held out: other data that was `given`, or a part that is split off.

    `by` decides the same for rows that are not held in memory.
    """
    if given is None:
        split = split_pairs(rows) if by is None or not isinstance(rows, TextRows) else split_many(rows, by)
        return _data(split.train, split.held_out, fingerprint, split.rule, 0)
    held, mark, name = given
    own = grouped(held)
    return _data(rows, own, f"{fingerprint} {mark}", held_in(name), overlap(rows, own))


def _data(train: Sequence[Pair], held: Sequence[Held], fingerprint: str, rule: str, twice: int) -> PairData:
    amounts = {"pairs": len(train), "held_out": len(held), "overlap": twice}
    return PairData(train=train, held_out=held, fingerprint=fingerprint, rule=rule, described="", amounts=amounts)


def _phrasebook(asked: PairTraining) -> PairData:
    """English with the language asked for, from weft's own grammar."""
    target = asked.target or "fr"
    if target not in LANGUAGES or asked.source not in (None, "en"):
        problem = f"the phrasebook goes from en to {', '.join(LANGUAGES)}, not {asked.source or 'en'} to {target}"
        raise ConfigError(problem, where="--set target", fix=nearest(target, LANGUAGES))
    book = phrasebook(target)
    rows = [Pair(phrase.source, phrase.target) for phrase in book.train]
    held = [Held(phrase.source, (phrase.target,)) for phrase in book.held_out]
    mark = hashlib.sha256(repr((rows, held)).encode()).hexdigest()
    rule = f"{len(held):,} sentences whose combinations of words are not trained on"
    return replace(
        _data(rows, held, mark, rule, overlap(rows, held)),
        columns=("en", target),
        described="weft's phrasebook",
        notes=(f"{len(rows):,} pairs, en -> {target}", f"the first: {rows[0].source} -> {rows[0].target}"),
    )
