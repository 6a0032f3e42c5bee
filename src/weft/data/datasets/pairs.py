"""Pairs of texts to learn from and sources held out: sentences with translations, or sentences with trees."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, final

from weft.data.datasets.dataset import Count, Dataset, Reader, held_in
from weft.data.known_roles import PAIR
from weft.data.readers import pairs, trees
from weft.data.readers.pair_texts import Held, Pair, Pairs, overlap, split_pairs
from weft.data.readers.pairs import read_pairs
from weft.data.readers.trees import read_trees
from weft.data.samples.phrasebook import LANGUAGES, phrasebook
from weft.data.samples.trees import sample_trees
from weft.data.survey import Judgement, Survey
from weft.data.trees import Tree, sentence
from weft.errors import ConfigError, listed, nearest


class PairColumns(Protocol):
    """What may be said of the rows."""

    source: str | None
    target: str | None

    @property
    def allowed(self) -> int | float | None: ...


@dataclass(frozen=True, kw_only=True)
class PairData(Dataset[Sequence[Pair], Sequence[Held]]):
    """Pairs, and the names of their sides in `columns`."""

    @property
    def overlap(self) -> int:
        """Held-out sources that are also trained on."""
        return overlap(self.train, self.held_out)

    @cached_property
    def characters(self) -> int:
        """Characters on both sides of what is trained on."""
        return sum(len(pair.source) + len(pair.target) for pair in self.train)


@final
class Translations(Reader[PairData]):
    """Sentences with their translations."""

    sample = "phrasebook"
    roles = PAIR

    def judge(self, survey: Survey) -> Judgement:
        return pairs.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: PairColumns, count: Count | None = None
    ) -> PairData:
        if not sources:
            return _phrasebook(asked)
        found = _read(sources, asked)
        held = None if valid is None else _read([valid], asked)
        given = None if held is None or valid is None else (held.rows, held.fingerprint, valid)
        return replace(
            _split(found.rows, found.fingerprint, given),
            columns=found.columns,
            described=listed([file.path.name for file in found.files]),
            notes=tuple(found.report()),
            skipped=found.skipped,
        )


@final
class Trees(Reader[PairData]):
    """Sentences with their bracketed trees."""

    sample = "trees"
    leaves_out = False

    def judge(self, survey: Survey) -> Judgement:
        return trees.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: PairColumns, count: Count | None = None
    ) -> PairData:
        for name in ("source", "target", "allowed"):
            if getattr(asked, name) is not None:
                where = f"--set {name.replace('allowed', 'skip')}"
                raise ConfigError("trees have no columns or rows to choose", where=where, fix="leave it out")
        given = None
        if valid is not None:
            other = read_trees([valid])
            given = [tree_pair(tree) for tree in other], other.fingerprint, valid
        if sources:
            found = read_trees(sources)
            data = _split([tree_pair(tree) for tree in found], found.fingerprint, given)
            names = listed([str(source).rpartition("/")[2] for source in sources])
            data = replace(data, described=names, notes=tuple(found.report()), skipped=tuple(found.skipped))
        else:
            rows = [tree_pair(tree) for tree in sample_trees()]
            data = _split(rows, f"sample {len(rows)}", given)
            data = replace(data, described="weft's own small grammar", notes=(f"{len(rows):,} trees",))
        rule = data.rule.replace("sources", "sentences").replace("translations", "trees")
        return replace(data, columns=("sentence", "tree"), rule=rule)


def tree_pair(tree: Tree) -> Pair:
    """A sentence with its tree in brackets."""
    return Pair(sentence(tree), str(tree))


def grouped(rows: Sequence[Pair]) -> list[Held]:
    """Pairs with one source as that source with several references."""
    references: dict[str, dict[str, None]] = {}
    for pair in rows:
        references.setdefault(pair.source, {})[pair.target] = None
    return [Held(source, tuple(targets)) for source, targets in references.items()]


def _read(sources: Sequence[str], asked: PairColumns) -> Pairs:
    return read_pairs(list(sources), source=asked.source, target=asked.target, skip=asked.allowed)


def _split(rows: Sequence[Pair], fingerprint: str, given: tuple[Sequence[Pair], str, str] | None) -> PairData:
    """What to learn from and what is held out: other data that was `given`, or a part that is split off."""
    if given is None:
        split = split_pairs(rows)
        return _data(split.train, split.held_out, fingerprint, split.rule)
    held, mark, name = given
    return _data(rows, grouped(held), f"{fingerprint} {mark}", held_in(name))


def _data(train: Sequence[Pair], held: Sequence[Held], fingerprint: str, rule: str) -> PairData:
    amounts = {"pairs": len(train), "held_out": len(held), "overlap": overlap(train, held)}
    return PairData(train=train, held_out=held, fingerprint=fingerprint, rule=rule, described="", amounts=amounts)


def _phrasebook(asked: PairColumns) -> PairData:
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
        _data(rows, held, mark, rule),
        columns=("en", target),
        described="weft's phrasebook",
        notes=(f"{len(rows):,} pairs, en -> {target}", f"the first: {rows[0].source} -> {rows[0].target}"),
    )
