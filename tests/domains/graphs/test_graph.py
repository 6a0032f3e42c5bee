"""graph and sets from files to answers: nodes and wholes, numbers and classes, baselines, faults in words."""

import csv
import json
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch

import weft
from weft.cli.app import run as command
from weft.domains.graphs import recipe
from weft.domains.registry import card_named
from weft.errors import ConfigError, DataError, WeftError
from weft.runs.start import Asked
from weft.runs.training import planned_lines
from weft.training.progress import Progress
from weft.training.schedule import Budget

FEW = {"dim": 8, "depth": 2, "heads": 2, "steps": 3, "evaluate_every": 3, "precision": "fp32", "quiet": True}


def ring(size: int, label: str, *, shift: float, chord: bool) -> list[str]:
    """A graph of the TU collection's text: a ring, with a chord or without."""
    rows = []
    for node in range(size):
        near = [(node - 1) % size, (node + 1) % size]
        near += [(node + size // 2) % size] if chord and node in (0, size // 2) else []
        rows.append(f"{node % 2} {len(near)} {' '.join(map(str, near))} {shift + node}")
    return [f"{size} {label}", *rows]


@pytest.fixture(scope="module")
def rings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty rings, half of them with a chord."""
    path = tmp_path_factory.mktemp("rings") / "rings.txt"
    graphs = [ring(4 + 2 * (i % 3), "chord" if i % 2 else "plain", shift=i / 7, chord=bool(i % 2)) for i in range(40)]
    path.write_text("\n".join(["40", *(line for one in graphs for line in one)]) + "\n")
    return path


@pytest.fixture(scope="module")
def ring_run(rings: Path, tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    return weft.train(rings, out=tmp_path_factory.mktemp("rings-run") / "run", **FEW)


def test_whole_graphs_are_labelled_with_probabilities(ring_run: weft.Run, rings: Path):
    assert ring_run.config["task"] == "graph"
    found = ring_run.predict(str(rings))
    assert len(found) == 40 and set(found[0]) == {"input", "label", "probabilities"}
    assert set(found[0]["probabilities"]) == {"chord", "plain"}
    assert sum(found[0]["probabilities"].values()) == pytest.approx(1, abs=1e-5)


def test_simple_rules_are_measured_beside_the_model(ring_run: weft.Run):
    found = ring_run.evaluate()
    assert found["metrics"].keys() >= {"accuracy"} and found["intervals"]["accuracy"][0] <= found["metrics"]["accuracy"]
    assert set(found["baselines"]) == {"majority", "linear", "forest"}
    assert found["baselines"]["majority"]["accuracy"] == 0.5
    assert "Beside plain methods" in (ring_run.folder / "README.md").read_text()


def test_numbers_of_whole_graphs_may_grow_with_the_nodes_and_classes_do_not(ring_run: weft.Run, tmp_path: Path):
    graphs = [ring(4 + i % 9, f"{(4 + i % 9) * 1.5 + i / 1000}", shift=0.0, chord=False) for i in range(40)]
    path = tmp_path / "sizes.txt"
    path.write_text("\n".join(["40", *(line for one in graphs for line in one)]) + "\n")
    run = weft.train(path, task="graph", labels="numbers", out=tmp_path / "run", **FEW)
    assert 4 < run.config["model"]["head"]["typical"] < 12
    assert ring_run.config["model"]["head"].get("typical") is None


def nodes_file(folder: Path, *, numbers: bool = False) -> Path:
    """Two groups of ten nodes, each joined in a ring, with train, val and test nodes."""
    edges = [(i, (i + 1) % 10) for i in range(10)] + [(10 + i, 10 + (i + 1) % 10) for i in range(10)]
    labels = np.arange(20) * 1.5 if numbers else np.array(["left"] * 10 + ["right"] * 10)
    x = np.random.default_rng(0).normal(size=(20, 3))
    parts = {"train": np.arange(0, 20, 2), "val": np.arange(1, 20, 4), "test": np.arange(3, 20, 4)}
    np.savez(folder / "nodes.npz", edges=np.array(edges), x=x, labels=labels, **parts)
    return folder / "nodes.npz"


def test_nodes_are_labelled_and_those_to_test_on_are_measured_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    data = nodes_file(tmp_path)
    run = weft.train(data, out=tmp_path / "run", model="gat", **FEW)
    (found,) = run.predict(str(data))
    assert [one["node"] for one in found["nodes"]] == [str(i) for i in range(20)]
    assert set(found["nodes"][0]) == {"node", "label", "probabilities"}
    measured = run.evaluate()
    assert measured["examples"] == 5 and measured["test"]["examples"] == 5
    assert measured["baselines"]["propagation"]["accuracy"] == 1.0, "labels handed on along edges are right here"
    assert command(["predict", str(run.folder), str(data)]) == 0
    assert len(capsys.readouterr().out.strip().splitlines()) == 20
    assert command(["evaluate", str(run.folder)]) == 0
    said = capsys.readouterr().out.partition("test, over 5 examples")[2]
    assert f"{measured['test']['accuracy']:.4f}" in said.splitlines()[1]


def test_positions_of_the_nodes_are_drawn_and_near_ones_are_alike(tmp_path: Path):
    data = tmp_path / "path.npz"
    np.savez(data, edges=np.array([(i, i + 1) for i in range(19)]), labels=np.array(["left"] * 10 + ["right"] * 10))
    run = weft.train(data, out=tmp_path / "run", **FEW)
    view = run.look(what="positions")
    near, far = view.similarity[1], view.similarity[5]
    assert view.similarity[0] == 1.0 and near > far + 0.3, "a neighbour is more alike than a node far away"
    assert len(view.to_json()["positions"]) == 20 and "similarity of positions" in view.text()
    assert view.save(tmp_path / "positions.png").read_bytes().startswith(b"\x89PNG") and view.note() is None
    assert command(["look", str(run.folder), "--what", "positions", "-o", str(tmp_path / "look.svg")]) == 0
    with pytest.raises(ConfigError, match="expected positions, found 'codes'"):
        run.look(what="codes")


def test_a_plan_says_what_a_large_graph_goes_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = nodes_file(tmp_path)
    card = card_named("graph")
    asked = Asked((str(data),), None, "graph-transformer", None, Budget(steps=1), None, None, {})
    read = card.reader.read(asked.sources, None, card.training())

    def positions() -> str:
        return planned_lines(asked, card, read, Progress(quiet=True))["positions"]

    assert positions() == "8 eigenvectors of the Laplacian"
    monkeypatch.setattr(recipe, "MOST_FOR_ALL", 10)
    assert "8 eigenvectors" in positions() and "20 nodes are too many for attention between all of them" in positions()
    monkeypatch.setattr(recipe, "solvable", lambda size: False)
    assert "none: eigenvectors of large graphs need SciPy" in positions()


def test_nodes_have_a_row_of_a_table_and_a_vector_each(tmp_path: Path):
    data, out = nodes_file(tmp_path), tmp_path / "answers.csv"
    run = weft.train(data, out=tmp_path / "run", model="appnp", **FEW)
    assert command(["predict", str(run.folder), str(data), "--output", str(out)]) == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    answers = run.predict(str(data))[0]["nodes"]
    assert [(row["node"], row["label"]) for row in rows] == [(one["node"], one["label"]) for one in answers]
    assert [float(row["p(left)"]) for row in rows] == [one["probabilities"]["left"] for one in answers]
    vectors = run.embed(str(data))
    head = run.model.head.out
    said = torch.from_numpy(vectors).to(head.weight) @ head.weight.T + head.bias
    assert vectors.shape == (20, 8)
    assert [("left", "right")[i] for i in said.argmax(1)] == [one["label"] for one in answers]
    assert command(["embed", str(run.folder), str(data), "--query", str(data)]) != 0, (
        "which node is nearest has no name"
    )


def test_whole_graphs_have_a_row_of_a_table_and_a_vector_each(ring_run: weft.Run, rings: Path, tmp_path: Path):
    found = ring_run.predict(str(rings), output=str(tmp_path / "answers.tsv"))
    lines = (tmp_path / "answers.tsv").read_text().splitlines()
    assert len(lines) == 41 and lines[0].split("\t") == ["input", "label", "p(chord)", "p(plain)"]
    assert lines[1].split("\t")[:2] == [found[0]["input"], found[0]["label"]]
    assert ring_run.embed(str(rings)).shape == (40, 8)
    with pytest.raises(ConfigError, match=r"expected one of \.csv, \.tsv"):
        ring_run.predict(str(rings), output="answers.png")


def test_numbers_of_nodes_are_learned(tmp_path: Path):
    data = nodes_file(tmp_path, numbers=True)
    run = weft.train(data, out=tmp_path / "run", model="gcn", **FEW)
    (found,) = run.predict(str(data))
    assert set(found["nodes"][0]) == {"node", "value"}
    assert run.report["metrics"]["rmse"] > 0 and "rmse" in run.evaluate()["baselines"]["mean"]


def test_tables_named_together_are_one_graph_and_columns_are_found_by_name(tmp_path: Path):
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text("source,target\n" + "".join(f"p{i},p{(i + 1) % 24}\n" for i in range(24)))
    rows = [(f"p{i}", i / 3, "wet" if i % 3 else "dry", "a" if i < 12 else "b") for i in range(24)]
    nodes.write_text("id,height,ground,label\n" + "".join(f"{n},{h},{g},{x}\n" for n, h, g, x in rows))
    run = weft.train([edges, nodes], out=tmp_path / "run", **FEW)
    (found,) = run.predict([str(edges), str(nodes)])
    assert [one["node"] for one in found["nodes"]] == [f"p{i}" for i in range(24)]
    nodes.write_text("ground,id,height\n" + "".join(f"{g},{n},{h}\n" for n, h, g, _ in rows))
    assert run.predict([str(edges), str(nodes)])[0]["nodes"] == found["nodes"], "without labels, in another order"
    nodes.write_text("id,ground\n" + "".join(f"{n},{g}\n" for n, _, g, _ in rows))
    with pytest.raises(DataError, match="0 features for each node, the model learned from 1"):
        run.predict([str(edges), str(nodes)])


def test_files_to_predict_need_no_column_of_labels(tmp_path: Path):
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text("source,target\n" + "".join(f"p{i},p{(i + 1) % 24}\n" for i in range(24)))
    nodes.write_text("id,height,side\n" + "".join(f"p{i},{i / 3},{'ab'[i // 12]}\n" for i in range(24)))
    run = weft.train([edges, nodes], out=tmp_path / "run", label_column="side", **FEW)
    (found,) = run.predict([str(edges), str(nodes)])
    nodes.write_text("id,height\n" + "".join(f"p{i},{i / 3}\n" for i in range(24)))
    assert run.predict([str(edges), str(nodes)]) == [found]
    out = tmp_path / "answers.csv"
    assert command(["predict", str(run.folder), str(edges), str(nodes), "--output", str(out)]) == 0
    rows = list(csv.DictReader(out.open()))
    assert list(rows[0]) == ["id", "height", "node", "label", "probability"] and len(rows) == 24
    assert [(row["id"], row["label"]) for row in rows] == [(one["node"], one["label"]) for one in found["nodes"]]
    with pytest.raises(DataError, match="no node with a label"):
        run.evaluate([str(edges), str(nodes)])


def test_a_graph_beyond_memory_is_refused_before_anything_is_computed(ring_run: weft.Run, tmp_path: Path):
    size = 20_000
    star = "\n".join(["1", f"{size} plain", *(f"0 {int(i > 0)} {'0 ' * int(i > 0)}{i}" for i in range(size))])
    (tmp_path / "star.txt").write_text(star + "\n")
    with pytest.raises(ConfigError, match=r"(?s)20,000 nodes.*--model gat"):
        ring_run.predict(str(tmp_path / "star.txt"))


def test_a_look_at_a_node_names_what_it_read(tmp_path: Path, rings: Path, ring_run: weft.Run):
    data = nodes_file(tmp_path)
    for name, note in (("gat", "10 nodes farther away"), ("gcn", "no attention")):
        run = weft.train(data, out=tmp_path / name, model=name, **FEW)
        view = run.look(str(data), node="3")
        shares = view.to_json()["read"]
        assert set(shares) == {"node 2", "node 3", "node 4"}, "its neighbours and itself"
        assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
        assert note in (view.note() or "")
    with pytest.raises(WeftError, match="no node '99'"):
        run.look(str(data), node="99")
    with pytest.raises(WeftError, match="from 1 to 2"):
        ring_run.look(str(rings), layer=7)


# Sets


def test_sets_in_lines_arrays_and_tables_are_the_same_sets(tmp_path: Path):
    chance = np.random.default_rng(0)
    sizes = chance.integers(1, 5, 24)
    values = [np.round(chance.normal(size=(n, 2)), 3) for n in sizes]
    names = ["odd" if n % 2 else "even" for n in sizes]
    lines = [json.dumps({"set": v.tolist(), "label": name}) for v, name in zip(values, names, strict=True)]
    (tmp_path / "sets.jsonl").write_text("\n".join(lines) + "\n")
    np.savez(
        tmp_path / "sets.npz", x=np.concatenate(values), set=np.repeat(np.arange(24), sizes), labels=np.array(names)
    )
    rows = [f"s{i},{x},{y},{names[i]}" for i, v in enumerate(values) for x, y in v.tolist()]
    (tmp_path / "sets.csv").write_text("set,x,y,label\n" + "\n".join(rows) + "\n")
    found = []
    for name in ("sets.jsonl", "sets.npz", "sets.csv"):
        run = weft.train(tmp_path / name, task="sets", model="deepsets", out=tmp_path / f"run-{name}", **FEW)
        found.append([one["probabilities"] for one in run.predict(str(tmp_path / "sets.jsonl"))])
    assert found[0] == found[1] == found[2] and len(found[0]) == 24
    out = tmp_path / "answers.csv"
    assert command(["predict", str(run.folder), str(tmp_path / "sets.csv"), "--output", str(out)]) == 0
    answered = list(csv.DictReader(out.open()))
    assert [f"{row['set']},{row['x']},{row['y']},{row['label']}" for row in answered] == rows
    said = {row["set"]: float(row["probability"]) for row in answered}
    assert list(said.values()) == [max(one.values()) for one in found[0]] and "predicted_label" in answered[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deepsets", pytest.param("transformer", marks=pytest.mark.slow)])
def test_sets_are_exported_to_take_vectors_in_their_own_unit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for library in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    chance = np.random.default_rng(0)
    sets = [1000 + 50 * chance.normal(size=(n, 2)) for n in chance.integers(1, 5, 24)]
    lines = [json.dumps({"set": v.tolist(), "label": float(v.mean())}) for v in sets]
    (tmp_path / "sets.jsonl").write_text("\n".join(lines) + "\n")
    run = weft.train(tmp_path / "sets.jsonl", task="sets", model=name, out=tmp_path / "run", **FEW)
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # while a graph is traced, sizes are symbols
    run.export(tmp_path / "onnx", to="onnx")
    import onnxruntime

    session = onnxruntime.InferenceSession(tmp_path / "onnx/model.onnx", providers=["CPUExecutionProvider"])
    vectors = np.zeros((1, 7, 2), np.float32)
    vectors[0, 2 : 2 + len(sets[0])] = sets[0]
    mask = (vectors != 0).any(-1).astype(np.int64)
    (value,) = session.run(None, {"vectors": vectors, "attention_mask": mask})
    assert value.item() == pytest.approx(run.predict([sets[0]])[0]["value"], rel=1e-4)


def test_a_model_of_edges_has_no_onnx_graph(ring_run: weft.Run, tmp_path: Path):
    with pytest.raises(WeftError, match=r"edges of graphs|not installed"):
        ring_run.export(tmp_path / "onnx", to="onnx")


@pytest.mark.parametrize(
    "line, message",
    [
        ('{"set": [[1, 2], [3]], "label": "a"}', "line 2.*vector 1 has 1 numbers"),
        ('{"set": [[1, "x"]], "label": "a"}', "line 2.*vector 0 is no list of numbers"),
        ('{"set": [[1, 2, 3]], "label": "a"}', "line 2.*vectors of 3 numbers, those before have 2"),
        ('{"label": "a"}', "line 2.*no field of vectors"),
    ],
)
def test_bad_sets_are_named_with_the_line(line: str, message: str, tmp_path: Path):
    good = '{"set": [[1, 2], [3, 4]], "label": "b"}'
    (tmp_path / "sets.jsonl").write_text(f"{good}\n{line}\n")
    with pytest.raises(DataError, match=f"(?s){message}"):
        weft.train(tmp_path / "sets.jsonl", task="sets", out=tmp_path / "run", **FEW)


def test_a_set_of_rows_has_one_label(tmp_path: Path):
    rows = [f"s{i // 2},{i},{'a' if i % 2 else 'b'}" for i in range(40)]
    (tmp_path / "sets.csv").write_text("set,x,label\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError, match=r"line 3.*'s0' has the label 'b' in other rows, here 'a'"):
        weft.train(tmp_path / "sets.csv", task="sets", out=tmp_path / "run", **FEW)
