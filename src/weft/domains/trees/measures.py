"""How alike trees are: labelled bracket F1, as the program evalb measures it. Knows spans; refuses to know models."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence

from weft.domains.trees.reading.tree import ROOTS, Tree, leaves, walk
from weft.errors import DataError

Bracket = tuple[str, int, int]  # a label, the first word, the word after the last

PUNCTUATION = frozenset((",", ":", "``", "''", "."))  # parts of speech
ALIKE = {"PRT": "ADVP"}


def brackets(tree: Tree, *, without: Container[int] = (), alike: Mapping[str, str] | None = None) -> Counter[Bracket]:
    """The labelled spans of a tree, each as often as it occurs; parts of speech and roots (TOP and its like) are none.

    Words at the positions `without` count as absent, and so does a node over no other words. `alike` gives labels that
    are taken for another.
    """
    found: Counter[Bracket] = Counter()
    starts: list[int] = []
    position = place = 0
    for event, node in walk(tree):
        if event == "open":
            starts.append(place)
        elif event == "leaf":
            place += position not in without
            position += 1
        elif (start := starts.pop()) < place and node.label not in ROOTS:
            found[(alike or {}).get(node.label, node.label), start, place] += 1
    return found


def punctuation(tree: Tree) -> frozenset[int]:
    """The positions of the words that are punctuation by their part of speech."""
    return frozenset(position for position, leaf in enumerate(leaves(tree)) if leaf.label in PUNCTUATION)


def labelled_f1(
    gold: Sequence[Tree], found: Sequence[Tree], *, well_formed: Sequence[bool] | None = None
) -> dict[str, float]:
    """Precision, recall and F1 of all brackets together, and the share of sentences without a fault, from 0 to 1.

    As evalb does with its COLLINS.prm: a bracket is a label and a span, matched as often as both trees have it; roots
    and parts of speech are no brackets; words whose part of speech in the gold tree is one of , : `` '' . are deleted
    from both trees before spans are counted, with the nodes that become empty; PRT is the same as ADVP. Counts are
    summed over all sentences, long ones too, and divided once; what would be divided by nothing is 0. Unlike evalb,
    which leaves a sentence with other words out, different numbers of words are an error; words are not compared.

    `exact` is the share of sentences with the same brackets, `well_formed` that of outputs that needed no repair,
    where this is known. `matched`, `gold`, `found` and `sentences` are the counts behind these.
    """
    if len(gold) != len(found) or (well_formed is not None and len(well_formed) != len(gold)):
        marks = "" if well_formed is None else f", {len(well_formed)} marks of form"
        raise DataError(f"{len(gold)} gold trees, {len(found)} found{marks}", fix="compare tree by tree")
    matched = wanted = offered = exact = 0
    for number, (right, guess) in enumerate(zip(gold, found, strict=True), 1):
        lengths = len(leaves(right)), len(leaves(guess))
        if lengths[0] != lengths[1]:
            problem = f"{lengths[0]} words in the gold tree, {lengths[1]} in the one found"
            raise DataError(problem, where=f"sentence {number}", fix="compare trees over the same words")
        without = punctuation(right)
        one, other = (brackets(tree, without=without, alike=ALIKE) for tree in (right, guess))
        matched += (one & other).total()
        wanted += one.total()
        offered += other.total()
        exact += one == other
    result = {
        "precision": _share(matched, offered),
        "recall": _share(matched, wanted),
        "f1": _share(2 * matched, wanted + offered),
        "exact": _share(exact, len(gold)),
        "sentences": len(gold),
        "matched": matched,
        "gold": wanted,
        "found": offered,
    }
    return result if well_formed is None else result | {"well_formed": _share(sum(well_formed), len(gold))}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
