"""Every task makes a study of its inputs, whose answer can be followed; or says in words that it does not."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.kept_runs import KEPT, RUNS

import weft
from weft.core import Without, changed
from weft.domains.graphs.views.reading import hops
from weft.errors import WeftError
from weft.inspect.attribution import NotAdditive, direct, integrated_gradients
from weft.inspect.effects import branch_ablation
from weft.inspect.kinds import kinds
from weft.inspect.lens import lens
from weft.modalities.graph import Graph
from weft.runs.run import Run

WITHOUT_LAYERS = {"embed-words": "read from a table"}  # tasks whose answers cannot be followed, and why
COMPLETE = ("classify-text", "graph", "sets", "forecast")  # of which the parts of an answer are added up, too


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Kept runs, each loaded once."""
    home, known = tmp_path_factory.mktemp("kept"), dict[str, Run]()

    def run(name: str) -> Run:
        if name not in known:
            known[name] = weft.load(shutil.copytree(RUNS / name / "finished", home / name))
        return known[name]

    return run


@pytest.mark.parametrize("name", sorted({path.name for path in RUNS.iterdir()} & set(KEPT)))
def test_the_answer_of_every_task_can_be_followed_from_layer_to_layer(opened: Any, name: str):
    run, kept = opened(name), KEPT[name]
    given = kept.input if not isinstance(kept.input, list) else kept.input[0]
    asked = {"question": kept.predict["question"]} if "question" in kept.predict else {}
    if name in WITHOUT_LAYERS:
        with pytest.raises(WeftError, match=WITHOUT_LAYERS[name]):
            run.study(given, **asked)
        return
    study = run.study(given, **asked)
    found = lens(study)
    with torch.no_grad():
        values = study.values()[0]
    assert np.allclose(found.values[-1], values.float().cpu().numpy(), atol=1e-4)
    assert found.answer == study.label(study.answer) and found.to_json()["steps"][0]["name"] == "embedding"
    names = study.tokens[study.stream]
    assert len(names) == study.recorded(keep=("states",)).stream(study.stream).tokens.shape[1]
    if study.trunk.layers:
        table = branch_ablation(study)
        first = int(np.flatnonzero(~np.isnan(table.measures[0]))[0])
        with changed(study.model, table.changes[0][first]), torch.no_grad():
            assert table.measures[0, first] == pytest.approx(float(study.measure(study._alone(()))[0]), abs=1e-3)
    try:
        parts = direct(study)
    except NotAdditive as refused:
        assert "not" in str(refused)
    else:
        assert abs(parts.missing) <= 1e-4 * max(1.0, abs(parts.measure), *(abs(one.value) for one in parts.parts))
    if name not in COMPLETE:
        return
    total = integrated_gradients(study)
    assert abs(total.values.sum() - total.total) < 0.05 * max(1.0, abs(total.total), np.abs(total.values).sum())


def test_other_inputs_are_named_by_themselves(opened: Any, tmp_path: Path):
    run = opened("language-model")
    plain = run.predict("The weaver", temperature=0.0, max_tokens=8)[0]["text"]
    study = run.study("The weaver")
    with run.changed(weft.Replaced(1, of="The spinner", tokens=(3,))) as found, torch.no_grad():
        one = study.values()
    assert not found.unmet and not torch.equal(one, study.values())
    with run.changed(weft.Added(1, of="wool", minus="loom", strength=50.0)):
        assert run.predict("The weaver", temperature=0.0, max_tokens=8)[0]["text"] != plain
    with run.changed(Without(1)) as found:
        assert run.predict("The weaver", temperature=0.0, max_tokens=8)[0]["text"] != plain
    assert run.predict("The weaver", temperature=0.0, max_tokens=8)[0]["text"] == plain


def test_tokens_that_are_no_line_know_how_far_apart_they_are(opened: Any):
    study = opened("forecast").study(KEPT["forecast"].input)
    far, unit = study.distances()
    assert unit in ("km", "cells") and far.shape == (len(study.tokens[""]),) * 2
    assert np.allclose(far, far.T) and not far.diagonal().any() and far.max() > 0
    ring = Graph(name="ring", size=6, edges=np.array([[n, (n + 1) % 6] for n in range(5)] + [[0, 5]]))
    assert hops(ring)[0].tolist() == [0, 1, 2, 3, 2, 1]
    assert np.isinf(hops(Graph(name="two", size=3, edges=np.array([[0, 1]])))[0, 2])
    assert kinds(study).unit == unit and "near" in kinds(study).shares


def test_a_hidden_patch_is_filled_in_from_the_others_alone(opened: Any):
    run, pixels = opened("reconstruct-images"), KEPT["reconstruct-images"].input
    inside, outside = pixels.copy(), pixels.copy()
    inside[5:, 5:], outside[:3, :3] = 255, 255  # the patch in the middle of 2 x 2 is the last one
    one, same, other = (run.study(given) for given in (pixels, inside, outside))
    assert "patch 2,2" in one.measured and "patch 2,2" not in one.tokens["encoder"]
    with torch.no_grad():
        value, again, apart = (float(study.measure(study.values())[0]) for study in (one, same, other))
    assert value == again != apart
    assert run.study(pixels, patch="1,1").measured != one.measured
    with pytest.raises(WeftError, match="from 1,1 to 2,2"):
        run.study(pixels, patch="3,1")


def test_of_several_streams_a_sweep_names_the_one_that_answers(opened: Any):
    study = opened("distill-images").study(KEPT["distill-images"].input)
    assert {one.stream for row in branch_ablation(study).changes for one in row if one is not None} == {"teacher"}
    assert study.label(study.answer).startswith("prototype ")


def test_where_an_answer_cannot_be_followed_the_page_says_why(opened: Any):
    (document,) = opened("embed-words").look(KEPT["embed-words"].input).documents()
    assert not document.lens and any("not followed" in note and "table" in note for note in document.notes)
    (document,) = opened("fit-field").look(KEPT["fit-field"].input).documents()
    assert document.lens and any("not a sum of parts" in note for note in document.notes)
