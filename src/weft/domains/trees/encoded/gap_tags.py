"""Trees as what stands in the gaps between words: the labels that open before a word, how many brackets close after it.

(S (NP (DT The) (NN cat)) (VP (VBD slept)) (. .))      The "S NP" 0   cat "" 1   slept "VP" 1   . "" 1
"""

from collections.abc import Sequence

from weft.domains.trees.reading.tree import TAG, Tree, walk

Gap = tuple[str, int]


def gaps_of(tree: Tree) -> list[Gap]:
    """The gaps of a tree, one for each word."""
    found: list[Gap] = []
    opened: list[str] = []
    for event, node in walk(tree):
        if event == "open":
            opened.append(node.label)
        elif event == "leaf":
            found.append((" ".join(opened), 0))
            opened = []
        else:
            found[-1] = (found[-1][0], found[-1][1] + 1)
    return found


def tree_of(gaps: Sequence[Gap], words: Sequence[str]) -> Tree:
    """The tree that gaps spell, which must have one root and balance."""
    stack: list[tuple[str, list[Tree]]] = [("", [])]
    for (opens, closes), word in zip(gaps, words, strict=True):
        stack.extend((label, []) for label in opens.split())
        stack[-1][1].append(Tree(TAG, (word,)))
        for _ in range(closes):
            label, children = stack.pop()
            stack[-1][1].append(Tree(label, tuple(children)))
    ((_, (root,)),) = stack
    return root
