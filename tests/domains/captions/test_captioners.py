"""The captioners by name: each trains, writes, is looked at, rounded, stopped, resumed, and refuses what it lacks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.pictures import encoded, write

import weft
from weft.domains.captions.measures import captioning as caption_measures
from weft.domains.captions.sample.album import scenes
from weft.domains.captions.writing import PictureWriter
from weft.errors import ConfigError, DataError, WeftError

TINY: dict[str, Any] = {"preset": "tiny", "dim": 16, "heads": 2, "batch": 8, "vocab": 300, "steps": 2,
                        "task": "caption", "evaluate_every": 100, "quiet": True, "baselines": False}  # fmt: skip
NAMES = ["cnn-lstm", "one-stream", "show-attend-tell"]
SCENES = scenes(24, 0).train
PIXELS = SCENES.read(0).pixels


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, weft.Run]:
    """A run of each model, on some of weft's scenes."""
    folder = tmp_path_factory.mktemp("data")
    for i in range(len(SCENES)):
        write(folder / "photos" / f"{i}.png", encoded(SCENES.read(i).pixels))
    rows = ("\t".join((f"{i}.png", *SCENES.captions[i])) for i in range(len(SCENES)))
    table = write(folder / "captions.tsv", "\n".join(rows) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.domains.pairs.measures.RESAMPLES", 5)
        made = {name: weft.train(table, model=name, out=folder / name, **TINY) for name in NAMES}
        made["coverage"] = weft.train(table, model="show-attend-tell", out=folder / "coverage", coverage=1.0, **TINY)
        with pytest.raises(ConfigError, match="no attention to the picture"):
            weft.train(table, model="cnn-lstm", out=folder / "none", coverage=1.0, **TINY)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_run_writes_the_same_whatever_the_search_and_precision(name: str, runs: dict[str, weft.Run]) -> None:
    run, again = runs[name], weft.load(runs[name].folder)
    for how in ({}, {"beam": 1}, {"temperature": 1.0, "best": 2}, {"precision": "bf16"}, {"precision": "int8"}):
        found = run.predict([PIXELS, SCENES.read(1).pixels], max_tokens=6, **how)
        assert found == again.predict([PIXELS, SCENES.read(1).pixels], max_tokens=6, **how)
        assert all(np.isfinite(one["score"]) for one in found)


def test_a_look_shows_where_words_looked_or_says_why_not(runs: dict[str, weft.Run]) -> None:
    for name, layers, share in (("show-attend-tell", 1, 1.0), ("one-stream", 4, 0.999)):
        view = runs[name].look(PIXELS, caption="a red square")
        assert len(view.words) == 3 and view.shown.last.weights.shape[0] == layers
        read = view.maps.sum((1, 2))
        assert (read <= 1 + 1e-5).all() and (read > 0.2).all() and (share == 1.0) == bool((read > 0.9999).all())
        assert view.picture().startswith(b"\x89PNG")
    with pytest.raises(WeftError, match="one vector"):
        runs["cnn-lstm"].look(PIXELS, by="attention")
    assert runs["cnn-lstm"].look(PIXELS, caption="a red square").to_json()["by"] == "occlusion"


def test_an_empty_caption_shows_the_picture_and_says_so(runs: dict[str, weft.Run]) -> None:
    for name in NAMES:
        view = runs[name].look(PIXELS, caption="")
        assert view.words == () and view.picture().startswith(b"\x89PNG") and "wrote nothing" in view.text()


def test_attention_is_not_measured_where_there_is_none_and_other_faults_are_not_hidden(
    runs: dict[str, weft.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert caption_measures._inside(PictureWriter(runs["cnn-lstm"]._loaded), SCENES) == ({}, {})

    def broken(*given: Any) -> None:
        raise DataError("a fault")

    monkeypatch.setattr(caption_measures, "attention_inside", broken)
    with pytest.raises(DataError, match="a fault"):
        caption_measures._inside(PictureWriter(runs["one-stream"]._loaded), SCENES)


def test_the_encoders_are_of_the_same_size(runs: dict[str, weft.Run]) -> None:
    sources = [run.model.config.source for run in runs.values()]
    assert all(source == sources[0] for source in sources) and not sources[0].trunk.all_blocks()
    assert [len(runs[name].model.target.trunk.blocks) for name in NAMES] == [1, 4, 1]


def test_coverage_is_learned_beside_the_tokens_and_noted(runs: dict[str, weft.Run]) -> None:
    lines = (runs["coverage"].folder / "metrics.jsonl").read_text()
    assert '"coverage"' in lines and '"coverage"' not in (runs["one-stream"].folder / "metrics.jsonl").read_text()
    one, other = (runs[name].model.state_dict() for name in ("coverage", "show-attend-tell"))
    assert any(not torch.equal(tensor, other[name]) for name, tensor in one.items())


@pytest.mark.parametrize(
    "name, to", [*((name, "hf") for name in NAMES), ("cnn-lstm", "onnx"), ("show-attend-tell", "onnx")]
)
def test_exports_that_no_other_tool_knows_are_refused_with_a_reason(
    name: str, to: str, runs: dict[str, weft.Run], tmp_path: Path
) -> None:
    with pytest.raises(WeftError) as told:
        runs[name].export(tmp_path / "out", to=to)
    assert told.value.fix and not (tmp_path / "out").exists()
