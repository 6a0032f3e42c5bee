"""Plain methods for trees: one bracket over all words, and brackets that all end with the sentence."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from weft.domains.pairs.reading.texts import Held, Pair
from weft.domains.trees.measures import ALIKE, Bracket, brackets, punctuation
from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.reading.tree import Tree
from weft.objectives.measures.tallies import Tally
from weft.tasks.baselines import Baseline

MOST_TREES = 2_000  # whose labels are counted


def tree_baselines(train: Sequence[Pair], held_out: Sequence[Held]) -> Iterator[Baseline]:
    """Trees that know the commonest labels and nothing of the words."""
    gold = [_gold(read_tree(one.references[0])) for one in held_out]
    whole, inner = Counter[str](), Counter[str]()
    for pair in train[:MOST_TREES]:
        found, size = _gold(read_tree(pair.target))
        for label, first, last in found:
            (whole if (first, last) == (0, size) else inner)[label] += 1
    top, part = (counts.most_common(1)[0][0] if counts else "S" for counts in (whole, inner or whole))

    def flat(size: int) -> Counter[Bracket]:
        return Counter({(top, 0, size): 1})

    def branching(size: int) -> Counter[Bracket]:
        return flat(size) + Counter({(part, first, size): 1 for first in range(1, size - 1)})

    for name, words, guess in (
        ("flat", "one bracket over all words", flat),
        ("right-branching", "brackets that branch to the right", branching),
    ):
        yield Baseline(name, words, f1_tally([one for one, _ in gold], [guess(size) for _, size in gold]))


def f1_tally(gold: Sequence[Counter[Bracket]], found: Sequence[Counter[Bracket]]) -> Tally:
    """The F1 of labelled brackets, sentence by sentence."""
    rows = [(2 * (a & b).total(), a.total() + b.total()) for a, b in zip(gold, found, strict=True)]
    return Tally("f1", np.array(rows, float))


def tree_tally(gold: Sequence[Tree], found: Sequence[Tree]) -> Tally:
    """The same of trees, as `labelled_f1` counts."""
    sides = [
        [brackets(tree, without=punctuation(right), alike=ALIKE) for right, tree in zip(gold, trees, strict=True)]
        for trees in (gold, found)
    ]
    return f1_tally(*sides)


def _gold(tree: Tree) -> tuple[Counter[Bracket], int]:
    """The brackets of a tree without its punctuation, and the words that it has then."""
    found = brackets(tree, without=punctuation(tree), alike=ALIKE)
    return found, max((last for _, _, last in found), default=0)
