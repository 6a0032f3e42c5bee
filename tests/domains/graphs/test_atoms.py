"""What surrounds atoms: bonds, rings and neighbours, whatever the order in which a molecule is written."""

import numpy as np

from weft.domains.graphs.codec import GraphCodec
from weft.domains.graphs.elements import aligned
from weft.domains.graphs.reading.atoms import SURROUNDINGS, surroundings
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.modalities.graph import Graph

ELEMENTS = ["C", "C", "C", "O", "C", "N"]  # a ring of three with a tail O - C # N
BONDS = [(0, 1, "SINGLE"), (1, 2, "DOUBLE"), (0, 2, "SINGLE"), (2, 3, "SINGLE"), (3, 4, "SINGLE"), (4, 5, "TRIPLE")]


def ring(size: int) -> list[tuple[int, int, str]]:
    return [(i, (i + 1) % size, "SINGLE") for i in range(size)]


def test_bonds_rings_and_neighbours_are_said_of_each_atom() -> None:
    found = surroundings(ELEMENTS, BONDS)
    assert found[2] == ("DOUBLE SINGLE SINGLE", "3", "C: DOUBLE C SINGLE C SINGLE O")
    assert [one[1] for one in found] == ["3", "3", "3", "0", "0", "0"]
    assert surroundings(["He"], []) == [("", "0", "He: ")]


def test_the_smallest_ring_counts_and_one_of_nine_is_none() -> None:
    fused = [*ring(6), (0, 6, "SINGLE"), (6, 1, "SINGLE")]  # a ring of six and one of three share a bond
    assert [one[1] for one in surroundings(["C"] * 7, fused)] == ["3", "3", "6", "6", "6", "6", "3"]
    sizes = {size: {one[1] for one in surroundings(["C"] * size, ring(size))} for size in (5, 8, 9, 12)}
    assert sizes == {5: {"5"}, 8: {"8"}, 9: {"0"}, 12: {"0"}}


def test_the_order_of_atoms_and_bonds_changes_nothing() -> None:
    order = np.random.default_rng(0).permutation(len(ELEMENTS))
    place = {int(old): new for new, old in enumerate(order)}
    moved = [(place[b], place[a], kind) for a, b, kind in reversed(BONDS)]
    found = surroundings([ELEMENTS[old] for old in order], moved)
    assert found == [surroundings(ELEMENTS, BONDS)[old] for old in order]


def test_a_run_that_knows_less_of_atoms_reads_what_it_knows() -> None:
    """As runs from before there were surroundings do."""
    kinds = np.array(
        [[element, "0", *around] for element, around in zip(ELEMENTS, surroundings(ELEMENTS, BONDS), strict=True)],
        object,
    )
    found = GraphSet(graphs=[Graph(name="m", size=6, kinds=kinds)], kinds=("element", "charge", *SURROUNDINGS))
    codec = GraphCodec(GraphCodec.Config(kinds=(("0",), ("C", "O")), kind_names=("charge", "element")))
    (graph,) = aligned(found, codec)
    assert graph.kinds is not None and graph.kinds.tolist() == [["0", element] for element in ELEMENTS]
