"""Graphs in files: every layout gives the same graph, and bad input is named with its file and row."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from weft.domains.graphs.dataset.data import LabelledNodes
from weft.domains.graphs.dataset.reader import LabelledGraphs
from weft.domains.graphs.reading.files import read_graphs
from weft.domains.graphs.reading.properties import LabelColumn
from weft.domains.graphs.reading.smiles import parsed
from weft.domains.recognising import recognise
from weft.errors import DataError, WeftError
from weft.files.survey import Survey
from weft.modalities.graph import Graph, SparseRows

ASKED = SimpleNamespace(directed=None, label_column=None, labels=None, level=None)
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5)]
HEIGHTS = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]  # node 6 has no edge
LABELS = ["a", "b", "a", "b", "a", "b", "a"]


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def tables(folder: Path, edges: list[str] | None = None, nodes: list[str] | None = None) -> list[str]:
    rows = [f"n{i},{height},{label}" for i, (height, label) in enumerate(zip(HEIGHTS, LABELS, strict=True))]
    pairs = [f"n{a},n{b}" for a, b in EDGES]
    return [
        str(write(folder / "edges.csv", "source,target", *(pairs if edges is None else edges))),
        str(write(folder / "nodes.csv", "id,height,label", *(rows if nodes is None else nodes))),
    ]


def arrays(folder: Path, **changed: Any) -> list[str]:
    whole = {"edges": np.array(EDGES), "x": np.array(HEIGHTS)[:, None], "labels": np.array(LABELS), **changed}
    np.savez(folder / "graph.npz", **{name: value for name, value in whole.items() if value is not None})
    return [str(folder / "graph.npz")]


def node_link(folder: Path) -> list[str]:
    nodes = [
        {"id": f"n{i}", "height": h, "label": text} for i, (h, text) in enumerate(zip(HEIGHTS, LABELS, strict=True))
    ]
    links = [{"source": f"n{a}", "target": f"n{b}"} for a, b in EDGES]
    return [str(write(folder / "graph.json", json.dumps({"nodes": nodes, "links": links})))]


def packed(folder: Path) -> list[str]:
    (plain,) = node_link(folder)
    path = Path(f"{plain}.gz")
    path.write_bytes(gzip.compress(Path(plain).read_bytes()))
    return [str(path)]


def by_networkx(folder: Path, ending: str) -> list[str]:
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.Graph()
    for i, (height, label) in enumerate(zip(HEIGHTS, LABELS, strict=True)):
        graph.add_node(f"n{i}", height=height, label=label) if ending == "graphml" else graph.add_node(
            f"n{i}", height=height, category=label
        )
    graph.add_edges_from((f"n{a}", f"n{b}") for a, b in EDGES)
    path = folder / f"graph.{ending}"
    (networkx.write_graphml if ending == "graphml" else networkx.write_gml)(graph, path)
    return [str(path)]


LAYOUTS = {
    "arrays": arrays,
    "tables": tables,
    "node-link": node_link,
    "node-link, packed": packed,
    "graphml": lambda folder: by_networkx(folder, "graphml"),
    "gml": lambda folder: by_networkx(folder, "gml"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_graph_and_is_recognised(layout: str, tmp_path: Path):
    sources = LAYOUTS[layout](tmp_path)
    (graph,) = read_graphs(sources).graphs
    assert sorted(map(tuple, graph.edges.tolist())) == sorted(tuple(sorted(pair)) for pair in EDGES)
    assert graph.size == 7 and list(graph.labels) == LABELS and graph.features is not None
    assert graph.features[:, 0].tolist() == HEIGHTS
    assert recognise(sources)[0].name == "graph"


def test_sparse_features_are_read_without_their_zeros(tmp_path: Path):
    more = {"x": None, "x_indptr": np.array([0, 2, 3, 3, 3, 3, 3, 3]), "x_indices": np.array([0, 4, 2])}
    (graph,) = read_graphs(arrays(tmp_path, **more, x_shape=np.array([7, 5]))).graphs
    assert isinstance(graph.features, SparseRows)
    assert graph.features.dense()[:2].tolist() == [[1, 0, 0, 0, 1], [0, 0, 1, 0, 0]]


def test_the_parts_that_a_file_names_are_kept_apart(tmp_path: Path):
    labels = np.array(LABELS * 3)
    parts = {"train": np.arange(10), "val": np.arange(10, 15), "test": np.arange(15, 20)}
    sources = arrays(tmp_path, x=np.ones((21, 1)), labels=labels, **parts)
    data = LabelledGraphs().read(sources, None, ASKED)
    assert isinstance(data.train, LabelledNodes) and isinstance(data.held_out, LabelledNodes)
    found = (data.train.masks[0], data.held_out.masks[0], data.held_out.others[0])
    assert [np.flatnonzero(mask).tolist() for mask in found] == [
        list(range(10)),
        list(range(10, 15)),
        list(range(15, 20)),
    ]
    with pytest.raises(DataError, match="nodes are in two of train, val"):
        read_graphs(arrays(tmp_path, x=np.ones((21, 1)), labels=labels, **{**parts, "val": np.arange(9, 15)}))


# Many graphs

TU = ["2", "3 yes", "0 2 1 2", "0 1 0", "1 1 0", "1 no", "5 0"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_text_of_many_graphs_is_read(tmp_path: Path, packed: bool):
    path = tmp_path / ("graphs.txt.gz" if packed else "graphs.txt")
    text = "\n".join(TU) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    first, second = read_graphs([str(path)]).graphs
    assert first.edges.tolist() == [[0, 1], [0, 2]] and first.label == "yes" and second.size == 1
    assert first.kinds is not None and first.kinds[:, 0].tolist() == ["0", "0", "1"]
    assert recognise([str(path)])[0].name == "graph"


def test_a_folder_of_the_tu_collection_is_read(tmp_path: Path):
    folder = tmp_path / "DS"
    folder.mkdir()
    write(folder / "DS_A.txt", "1, 2", "2, 1", "3, 4", "4, 3")
    write(folder / "DS_graph_indicator.txt", "1", "1", "2", "2", "2")
    write(folder / "DS_graph_labels.txt", "1", "-1")
    write(folder / "DS_node_labels.txt", "0", "1", "0", "0", "2")
    write(folder / "DS_edge_labels.txt", "7", "7", "8", "8")
    first, second = read_graphs([str(folder)]).graphs
    assert (first.size, second.size, first.label, second.label) == (2, 3, "1", "-1")
    assert first.types is not None and first.types.tolist() == ["7"] and second.edges.tolist() == [[0, 1]]
    assert recognise([str(folder)])[0].name == "graph"
    write(folder / "DS_A.txt", "1, 2", "2, 1", "3, 9", "4, 3")
    with pytest.raises(DataError, match=r"DS_A.txt, line 3.*nodes from 1 to 5"):
        read_graphs([str(folder)])


def test_a_file_of_arrays_may_hold_many_graphs(tmp_path: Path):
    more = {"graph": np.array([0, 0, 0, 0, 1, 1, 2]), "labels": np.array(["u", "v", "w"])}
    graphs = read_graphs(arrays(tmp_path, **more)).graphs
    assert [graph.size for graph in graphs] == [4, 2, 1] and [graph.label for graph in graphs] == ["u", "v", "w"]
    assert graphs[1].edges.tolist() == [[0, 1]]
    with pytest.raises(DataError, match=r"edges\[5\].*two graphs"):
        read_graphs(arrays(tmp_path, **more, edges=np.array([*EDGES, (0, 5)])))


def test_tables_may_hold_many_graphs_with_a_label_each(tmp_path: Path):
    nodes = [f"n{i},{h},{'left' if i < 4 else 'right'}" for i, h in enumerate(HEIGHTS)]
    sources = [str(write(tmp_path / "edges.csv", "source,target", *(f"n{a},n{b}" for a, b in EDGES))),
               str(write(tmp_path / "nodes.csv", "id,height,graph", *nodes)),
               str(write(tmp_path / "graphs.csv", "graph,label", "left,3.5", "right,4.5"))]  # fmt: skip
    left, right = read_graphs(sources).graphs
    assert (left.size, right.size, left.label, right.label) == (4, 3, "3.5", "4.5")


# What is said aloud


def test_loops_repeats_and_edges_both_ways_are_left_out_and_counted(tmp_path: Path):
    edges = [*EDGES, (0, 0), (0, 1), (1, 0), (2, 1)]
    found = read_graphs(arrays(tmp_path, edges=np.array(edges)))
    assert len(found.graphs[0].edges) == len(EDGES)
    told = "; ".join(found.notes)
    assert "1 edges from a node to itself" in told and "1 repeated" in told and "2 undirected edges" in told
    assert "1 nodes without edges" in told
    way = read_graphs(arrays(tmp_path, edges=np.array(edges)), directed=True)
    assert len(way.graphs[0].edges) == len(EDGES) + 2
    assert "4 directed edges that are answered" in "; ".join(way.notes)


def test_weights_and_types_stay_with_their_edges(tmp_path: Path):
    edges = ["source,target,weight,type", "n1,n0,2.5,friend", "n1,n2,0,foe", "n2,n3,1,foe"]
    sources = tables(tmp_path)
    write(tmp_path / "edges.csv", *edges)
    found = read_graphs(sources)
    (graph,) = found.graphs
    assert graph.edges.tolist() == [[0, 1], [2, 3]] and graph.weights is not None and graph.types is not None
    assert graph.weights.tolist() == [2.5, 1.0] and graph.types.tolist() == ["friend", "foe"]
    assert "1 edges of weight 0" in "; ".join(found.notes)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"edges": np.array([(0, 7)])}, r"edges\[0\].*nodes from 0 to 6"),
        ({"edges": np.array([(0, 1), (-1, 2)])}, r"edges\[1\]"),
        ({"edges": np.array([(0.5, 1.0)])}, r"edges\[0\].*whole numbers"),
        ({"edges": np.arange(9).reshape(3, 3)}, r"shape \(3, 3\)"),
        ({"x": np.array([[1.0], [np.nan], [1], [1], [1], [1], [1]])}, "node 1.*nan"),
        ({"labels": np.array(LABELS[:5])}, "5 labels for 7 nodes"),
        ({"weight": np.array([1, 1, -1, 1, 1.0])}, r"edges\[2\].*at least 0"),
        ({"weight": np.ones(2)}, "2 entries for 5 edges"),
        ({"train": np.array([9])}, "train names the node 9"),
    ],
)
def test_bad_arrays_are_named_with_the_index(changed: dict[str, Any], message: str, tmp_path: Path):
    with pytest.raises(DataError, match=rf"(?s)graph.npz.*{message}|{message}"):
        read_graphs(arrays(tmp_path, **changed))


@pytest.mark.parametrize(
    "edges, nodes, message",
    [
        (["n0,n9"], None, r"edges.csv, line 2.*no node 'n9'"),
        (["n0,"], None, r"edges.csv, line 2.*one end"),
        (None, ["n0,1,a", "n0,2,b"], r"nodes.csv, line 3.*'n0' stands in line 2"),
        (["n0,n1"], ["n0,1,a", "n1,,b"], r"nodes.csv, line 3.*'height' is a number.*found nothing"),
    ],
)
def test_bad_tables_are_named_with_the_line(edges: Any, nodes: Any, message: str, tmp_path: Path):
    with pytest.raises(DataError, match=f"(?s){message}"):
        read_graphs(tables(tmp_path, edges, nodes))


@pytest.mark.parametrize(
    "line, text, message",
    [
        (2, "3 1 9", "line 3.*nodes from 0 to 2"),
        (3, "0 x 0", "line 4.*node 1 of graph 0"),
        (1, "4 yes", "line 6"),
        (0, "3", "graph 2, found 'the end of the file'"),
        (0, "1", "line 6.*more lines"),
    ],
)
def test_a_bad_text_of_graphs_is_named_with_the_line(line: int, text: str, message: str, tmp_path: Path):
    lines = [*TU]
    lines[line] = text
    with pytest.raises(DataError, match=f"(?s){message}"):
        read_graphs([str(write(tmp_path / "graphs.txt", *lines))])


def test_a_damaged_graph_file_is_refused_in_words(tmp_path: Path):
    for name in ("graph.graphml", "graph.gml", "graph.json", "graph.npz"):
        with pytest.raises(WeftError, match=name):
            read_graphs([str(write(tmp_path / name, "<graph"))])


def test_molecules_are_graphs_of_atoms_and_bonds(tmp_path: Path):
    path = write(tmp_path / "molecules.csv", "name,SMILES,label", "ethanol,CCO,1", "salt,[Na+].[Cl-],0", "gas,C#N,n/a")
    found = read_graphs([str(path)])
    ethanol, salt, gas = found.graphs
    assert found.kinds == ("element", "charge", "hydrogens", "aromatic", "bonds", "ring", "beside")
    assert ethanol.edges.tolist() == [[0, 1], [1, 2]] and ethanol.kinds is not None
    assert ethanol.kinds[:, 0].tolist() == ["C", "C", "O"] and ethanol.kinds[:, 2].tolist() == ["3", "2", "1"]
    assert salt.size == 2 and len(salt.edges) == 0 and salt.kinds is not None and salt.kinds[0, 1] == "1"
    assert gas.types is not None and gas.types.tolist() == ["TRIPLE"]
    assert [graph.label for graph in found.graphs] == ["1", "0", ""]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("C1CC", "line 3: 'C1CC' is no SMILES: a ring or a bracket is not closed"),
        ("C(C)(C)(C)(C)C", "line 3: 'C.*' is no possible molecule: atom 1, C, has 5 bonds and may have 4"),
        ("CC)C", "line 3: 'CC.C' is no SMILES: a bracket is closed that was not opened"),
        ("C[Qq+x]", "line 3: .* is no SMILES: .Qq.x. is no atom"),
        ("C C", "line 3: 'C C' is no SMILES: ' ' at character 2"),
        ("", "line 3: no SMILES in this row"),
    ],
)
def test_a_bad_molecule_is_named_with_its_line(text: str, message: str, tmp_path: Path):
    path = write(tmp_path / "molecules.csv", "smiles,label", "CCO,1", f"{text},0")
    with pytest.raises(DataError, match=message):
        read_graphs([str(path)])


def test_one_bad_molecule_in_a_hundred_is_left_out_and_named(tmp_path: Path):
    rows = [f"{'C' * (i % 9 + 1)}O,{i % 2}" for i in range(120)]
    rows[7] = "CFC,1"
    found = read_graphs([str(write(tmp_path / "a.csv", "smiles,label", *rows))])
    assert len(found.graphs) == 119
    assert any("molecules left out: 1 of 120" in note and "line 9: 'CFC'" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "hydrogens", "bonds"),
    [
        ("c1ccccc1O", [1, 1, 1, 1, 1, 0, 1], "AAAAASA"),
        ("c1ccccc1-c1ccccc1", [1] * 5 + [0, 0] + [1] * 5, "AAAAASAAAAAAA"),
        ("c1ccccc1c1ccccc1", [1] * 5 + [0, 0] + [1] * 5, "AAAAASAAAAAAA"),
        ("c1cc[nH]c1", [1, 1, 1, 1, 1], "AAAAA"),
        ("n1ccccc1", [0, 1, 1, 1, 1, 1], "AAAAAA"),
        ("F/C=C/F", [0, 1, 1, 0], "SDS"),
        ("C[C@@H](N)C(=O)[O-]", [3, 1, 2, 0, 0, 0], "SSSDS"),
        ("CS(=O)(=O)N%12CC%12", [3, 0, 0, 0, 0, 2, 2], "SDDSSSS"),
    ],
)
def test_molecules_have_the_hydrogens_and_bonds_that_chemists_expect(text: str, hydrogens: list[int], bonds: str):
    molecule = parsed(text)
    assert [atom.hydrogens for atom in molecule.atoms] == hydrogens
    assert sorted(kind[0] for _, _, kind in molecule.bonds) == sorted(bonds)


def test_molecules_of_several_numbers_ask_which_to_learn(tmp_path: Path):
    path = write(tmp_path / "a.csv", "smiles,expt,calc", *(f"C{'C' * i},{i}.5,{i}.25" for i in range(12)))
    with pytest.raises(DataError, match="--set label_column=expt"):
        recognise([str(path)])
    with pytest.raises(DataError, match="which column is the label of the molecules is not clear.*expt, calc"):
        read_graphs([str(path)])
    assert read_graphs([str(path)], label=LabelColumn("calc")).graphs[0].label == "0.25"


def test_graphs_without_labels_or_with_too_few_are_refused(tmp_path: Path):
    for changed, message in (({"labels": None}, "no labels of nodes"), ({}, "7 labelled nodes are too few")):
        with pytest.raises(DataError, match=message):
            LabelledGraphs().read(arrays(tmp_path, **changed), None, ASKED)


def test_a_node_named_for_a_part_needs_a_label(tmp_path: Path):
    labels = np.array([*LABELS, *LABELS, ""])
    parts = {"train": np.arange(12), "val": np.array([13, 14])}
    with pytest.raises(DataError, match="node 14 is named for val and has no label"):
        LabelledGraphs().read(arrays(tmp_path, x=np.ones((15, 1)), labels=labels, **parts), None, ASKED)


def test_equal_graphs_fall_on_the_same_side():
    one = Graph(name="a", size=2, edges=np.array([[0, 1]]), label="x")
    assert one.digest() == Graph(name="b", size=2, edges=np.array([[0, 1]]), label="y").digest()
    assert one.digest() != Graph(name="a", size=3, edges=np.array([[0, 1]]), label="x").digest()


def test_other_files_are_not_taken_for_graphs(tmp_path: Path):
    pairs = write(tmp_path / "pairs.csv", "source,target", *(f"the house {i},la maison {i}" for i in range(20)))
    numbers = write(tmp_path / "numbers.txt", *(str(i) for i in range(40)))
    for path in (pairs, numbers):
        assert not LabelledGraphs().judge(Survey([path]))
