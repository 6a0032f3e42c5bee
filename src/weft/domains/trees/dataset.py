"""Sentences with their bracketed trees to learn from, and sentences held out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import final

from weft.domains.pairs.dataset import PairColumns, PairData, split_off
from weft.domains.pairs.reading.texts import Pair
from weft.domains.texts.dataset.running import RunningText
from weft.domains.trees.reading import treebanks
from weft.domains.trees.reading.tree import Tree, sentence
from weft.domains.trees.reading.treebanks import read_trees
from weft.domains.trees.sample import sample_trees
from weft.errors import ConfigError, DataError, listed
from weft.files.dataset import Count, Reader
from weft.files.survey import Judgement, Survey, Surveyed


@final
class Trees(Reader[PairData]):
    """Sentences with their bracketed trees."""

    sample = "trees"
    leaves_out = False
    overrules = (RunningText,)

    def judge(self, survey: Survey) -> Judgement:
        return treebanks.judge(survey)

    def refusal(self, source: Surveyed) -> DataError | None:
        return treebanks.refusal(source)

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
            data = split_off([tree_pair(tree) for tree in found], found.fingerprint, given)
            names = listed([str(source).rpartition("/")[2] for source in sources])
            data = replace(data, described=names, notes=tuple(found.report()), skipped=tuple(found.skipped))
        else:
            rows = [tree_pair(tree) for tree in sample_trees()]
            data = split_off(rows, f"sample {len(rows)}", given)
            data = replace(data, described="weft's own small grammar", notes=(f"{len(rows):,} trees",))
        rule = data.rule.replace("sources", "sentences").replace("translations", "trees")
        return replace(data, columns=("sentence", "tree"), rule=rule)


def tree_pair(tree: Tree) -> Pair:
    """A sentence with its tree in brackets."""
    return Pair(sentence(tree), str(tree))
