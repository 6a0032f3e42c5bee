"""What surrounds each atom of a molecule, in words: its bonds, its smallest ring, the atoms beside it."""

from collections import deque
from collections.abc import Sequence

LARGEST_RING = 8  # atoms; a larger ring is none that says more of an atom
SURROUNDINGS = ("bonds", "ring", "beside")  # the names of what is said


def surroundings(elements: Sequence[str], bonds: Sequence[tuple[int, int, str]]) -> list[tuple[str, str, str]]:
    """For each atom: the kinds of its bonds, the size of its smallest ring (0: none), its bonds with their atoms."""
    near: list[list[tuple[int, str]]] = [[] for _ in elements]
    for a, b, kind in bonds:
        near[a].append((b, kind))
        near[b].append((a, kind))
    return [
        (
            " ".join(sorted(kind for _, kind in own)),
            str(min((_ring(near, atom, other) for other, _ in own), default=0) % (LARGEST_RING + 1)),
            f"{elements[atom]}: " + " ".join(sorted(f"{kind} {elements[other]}" for other, kind in own)),
        )
        for atom, own in enumerate(near)
    ]


def _ring(near: Sequence[Sequence[tuple[int, str]]], atom: int, other: int) -> int:
    """The atoms of the smallest ring through a bond; more than the largest that counts where there is none."""
    steps, waiting = {atom: 1}, deque([atom])
    while waiting:
        here = waiting.popleft()
        for place, _ in near[here]:
            if {here, place} == {atom, other} or place in steps:
                continue
            steps[place] = steps[here] + 1
            if place == other:
                return steps[place]
            if steps[place] < LARGEST_RING:
                waiting.append(place)
    return LARGEST_RING + 1
