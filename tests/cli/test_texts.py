"""Commands on texts read whole, and on models from and for elsewhere."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Weft

TINY = ["--steps", "4", "--set", "dim=16", "--set", "depth=1", "--set", "heads=2", "--set", "baselines=false"]


def labelled(folder: Path) -> None:
    rows = [f"the {'cat' if i % 2 else 'dog'} number {i}\t{'good' if i % 2 else 'bad'}" for i in range(60)]
    (folder / "labels.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n")


def test_labels_are_learned_given_measured_and_looked_at(weft: Weft) -> None:
    labelled(weft.folder)
    report = weft("train", "labels.tsv", *TINY, "--out", "run", "--json").json
    assert report["task"] == "classify-text" and {"accuracy", "macro_f1"} <= set(report["metrics"])
    (found,) = weft("predict", "run", "the cat number 3", "--json").json["predictions"]
    assert set(found) == {"input", "label", "probabilities"} and set(found["probabilities"]) == {"good", "bad"}
    assert weft("predict", "run", "the cat").out.split()[0] in ("good", "bad")
    measured = weft("evaluate", "run", "labels.tsv", "--json").json
    assert measured["examples"] == 60 and len(measured["intervals"]["accuracy"]) == 2
    assert weft("look", "run", "the cat", "-o", "a.png").code == 0 and (weft.folder / "a.png").stat().st_size > 1000
    assert "the" in weft("look", "run", "the cat").out
    nearest = weft("look", "run", "cat", "--set", "table=true", "--json").json["look"]["nearest"]
    assert len(nearest) == 10


def test_vectors_are_written_and_searched(weft: Weft) -> None:
    labelled(weft.folder)
    assert weft("train", "labels.tsv", *TINY, "--out", "run").code == 0
    (weft.folder / "some.txt").write_text("the cat\nthe dog ran\n\nthe cat number 3\n")
    report = weft("embed", "run", "some.txt", "-o", "v.npy", "--query", "the cat", "--best", "2", "--json").json
    vectors = np.load(weft.folder / "v.npy", allow_pickle=False)
    assert vectors.shape == (3, 16) == (report["count"], report["width"])
    assert report["nearest"][0] == {"input": "the cat", "similarity": 1.0} and len(report["nearest"]) == 2
    for words in (
        ["embed", "run", "some.txt"],
        ["embed", "run", "some.txt", "-o", "v.txt"],
        ["embed", "run", "-o", "v.npy"],
    ):
        assert "\n  -> " in weft.refused(*words), words


def test_a_soup_says_what_it_gained(weft: Weft) -> None:
    labelled(weft.folder)
    for seed in ("1", "2"):
        assert weft("train", "labels.tsv", *TINY, "--seed", seed, "--out", f"run{seed}").code == 0
    report = weft("soup", "run1", "run2", "--out", "soup", "--json").json
    assert report["soup"]["gain"] >= 0 and len(report["soup"]["scores"]) == 2
    assert weft("predict", "soup", "the cat", "--json").json["predictions"]
    assert weft("soup", "run1", "--out", "other").code == 2


def test_a_run_goes_to_the_hugging_face_library_and_back(weft: Weft) -> None:
    pytest.importorskip("transformers")
    labelled(weft.folder)
    assert weft("train", "labels.tsv", *TINY, "--model", "bert", "--out", "run").code == 0
    report = weft("export", "run", "--to", "hf", "--out", "hf", "--json").json
    assert report["difference"] < 1e-4 and report["model_type"] == "bert"
    again = weft("import", "hf", "--out", "back", "--json").json
    assert (
        again["task"] == "classify-text" and json.loads((weft.folder / "back" / "config.json").read_text())["imported"]
    )
    texts = ["the cat number 3", "the dog"]
    first, second = (weft("predict", run, *texts, "--json").json["predictions"] for run in ("run", "back"))
    for a, b in zip(first, second, strict=True):
        assert a["label"] == b["label"] and a["probabilities"]["good"] == pytest.approx(
            b["probabilities"]["good"], abs=1e-5
        )
    assert weft("export", "run", "--to", "hf", "--out", "hf").code != 0  # exists already
    assert weft("export", "run", "--to", "pdf", "--out", "x").code == 2


def test_pickles_are_refused_with_advice(weft: Weft) -> None:
    (weft.folder / "old").mkdir()
    (weft.folder / "old" / "config.json").write_text('{"model_type": "bert", "architectures": ["BertModel"]}')
    (weft.folder / "old" / "pytorch_model.bin").write_bytes(b"\x80\x02}q\x00.")
    done = weft("import", "old", "--out", "run")
    assert done.code == 2 and "pickle" in done.err and not (weft.folder / "run").exists()
