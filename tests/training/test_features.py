"""Features of a frozen encoder: computed once, kept by digest, trained on; stopped anywhere, nothing is torn."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.pictures import encoded, write

import weft
from weft.batches.features import Features, KeptInputs
from weft.domains.captions.sample.album import scenes
from weft.errors import WeftError
from weft.modalities.image import Picture
from weft.models.stream import Stream
from weft.runs.cleaning import clean_run
from weft.tokens import Tokens
from weft.training.features import AT_ONCE, FEATURES, FeatureStore, kept_files

SCENES = scenes(40, 0).train
FEW: dict[str, Any] = {"task": "caption", "model": "swift", "tokenizer": "characters", "batch": 4, "steps": 2,
                       "evaluate_every": 100, "quiet": True, "baselines": False}  # fmt: skip
CLASSES: dict[str, Any] = {"task": "classify-images", "preset": "tiny", "dim": 16, "heads": 2, "batch": 8, "steps": 1,
                           "quiet": True, "baselines": False}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scenes with captions, and in their folder a run `eyes` of a classifier."""
    folder = tmp_path_factory.mktemp("data")
    for i in range(len(SCENES)):
        write(folder / "photos" / f"{i}.png", encoded(SCENES.read(i).pixels))
        write(folder / "classes" / "ab"[i % 2] / f"{i}.png", encoded(SCENES.read(i).pixels))
    weft.train(folder / "classes", out=folder / "eyes", model="vit", **CLASSES)
    rows = ("\t".join((f"{i}.png", SCENES.captions[i][0])) for i in range(len(SCENES)))
    return write(folder / "captions.tsv", "\n".join(rows) + "\n")


@pytest.fixture
def encodings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of pictures that an encoder has read, pass after pass, while features were computed."""
    seen: list[int] = []
    plain = FeatureStore.__call__

    def counted(self: FeatureStore, given: Any) -> Features:
        forward = self.encoder.encode

        def encode(raw: Any) -> Tokens:
            seen.append(len(raw))
            return forward(raw)

        self.encoder.encode = encode  # type: ignore[method-assign]
        try:
            return plain(self, given)
        finally:
            del self.encoder.encode  # type: ignore[misc]

    monkeypatch.setattr(FeatureStore, "__call__", counted)
    return seen


def captioner(data: Path, out: Path, **more: Any) -> weft.Run:
    return weft.train(data, from_=data.parent / "eyes", out=out, freeze=True, **{**FEW, **more})


def test_a_decoder_learns_on_kept_features_as_on_its_encoder(data: Path, tmp_path: Path) -> None:
    more = {"strength": "none", "batch": 36, "lr": 1e-3, "precision": "fp32"}
    once, always = (captioner(data, tmp_path / str(n), versions=n, **more) for n in (1, 0))
    assert kept_files(once.folder) and not kept_files(always.folder)
    for name, tensor in always.model.state_dict().items():
        assert torch.allclose(once.model.state_dict()[name], tensor, atol=2e-3), name
    assert once.evaluate()["metrics"]["loss"] == pytest.approx(always.evaluate()["metrics"]["loss"], rel=1e-2)


def test_a_run_that_was_killed_goes_on_with_the_features_that_are_there(
    data: Path, tmp_path: Path, encodings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = captioner(data, tmp_path / "whole", versions=2)
    everything, rows = sum(encodings), whole.config["data"]["amounts"]
    assert everything == 2 * rows["pictures"] + rows["held_out"]
    encodings.clear()
    torn = FeatureStore._found

    def killed(self: FeatureStore, path: Path, rows: int) -> Features | None:
        if len(kept_files(tmp_path / "parts")) == 2:
            raise KeyboardInterrupt
        return torn(self, path, rows)

    monkeypatch.setattr(FeatureStore, "_found", killed)
    with pytest.raises(KeyboardInterrupt):
        captioner(data, tmp_path / "parts", versions=2)
    monkeypatch.setattr(FeatureStore, "_found", torn)
    damaged = min(kept_files(tmp_path / "parts"), key=lambda path: path.stat().st_size)
    left = tmp_path / "parts" / FEATURES / ".tmp-0123456789ab"
    left.write_bytes(b"half a file")
    damaged.write_bytes(damaged.read_bytes()[:100])
    parts = weft.train(out=tmp_path / "parts", resume=True, quiet=True)
    assert sum(encodings) == everything + rows["pictures"] % AT_ONCE, "but for the damaged file, nothing twice"
    assert not left.exists()
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, parts.model.state_dict()[name]), name


def test_features_of_other_weights_or_pictures_are_other_files(data: Path, tmp_path: Path) -> None:
    first = weft.load(data.parent / "eyes").model
    assert isinstance(first, Stream)
    store = FeatureStore(first, tmp_path, torch.device("cpu"), torch.float32, writes=True)
    picture = _picture(0.5)
    for one in (picture, picture, _picture(0.6)):
        store(one)
    assert len(kept_files(tmp_path)) == 2
    with torch.no_grad():
        next(first.trunk.parameters()).add_(1)
    FeatureStore(first, tmp_path, torch.device("cpu"), torch.float32, writes=True)(picture)
    assert len(kept_files(tmp_path)) == 3


def _picture(grey: float) -> Picture:
    return Picture(torch.full((2, 3, 48, 48), grey))


def test_as_many_held_out_rows_are_read_as_without_features() -> None:
    held = [(np.arange(5), _features(5)), (np.arange(5, 8), _features(3))]
    kept = KeptInputs("key", _features(6), 2, held, probed=2)
    assert [rows.tolist() for rows, _ in kept.held_out(None)] == [[0, 1, 2, 3, 4], [5, 6, 7]]
    assert [(rows.tolist(), len(given)) for rows, given in kept.held_out(2)] == [([0, 2], 2), ([5, 7], 2)]
    assert [len(given) for _, given in kept.held_out(100)] == [5, 3]


def test_versions_are_drawn_by_the_global_index_alone() -> None:
    x = torch.arange(40.0)[:, None, None].expand(40, 1, 2)
    kept = KeptInputs("key", Features(x, {}), 4, [])
    rows, indices = np.arange(200) % 10, np.arange(200)
    found = kept.training(rows, indices).x[:, 0, 0].long().numpy()
    assert (found % 10 == rows).all() and set(found // 10) == {0, 1, 2, 3}
    again = kept.training(rows[50:60], indices[50:60]).x[:, 0, 0].long().numpy()
    assert (again == found[50:60]).all()


def _features(rows: int) -> Features:
    return Features(torch.zeros(rows, 2, 3), {})


def test_clean_removes_the_features_of_a_finished_run(data: Path, tmp_path: Path) -> None:
    run = captioner(data, tmp_path / "run", versions=1)
    found = clean_run(run.folder)
    assert found.features and found.bytes > 0 and not (Path(run.folder) / FEATURES).exists()
    assert weft.load(run.folder).predict(SCENES.read(0).pixels)[0]["text"] is not None


@pytest.mark.parametrize("task", ["classify-images", "answer"])
def test_other_tasks_keep_features_too(task: str, data: Path, tmp_path: Path) -> None:
    few: dict[str, Any] = {"steps": 10, "batch": 4, "quiet": True, "baselines": False, "freeze": True, "task": task}
    if task == "answer":
        files = _questions(data, tmp_path / "questions.jsonl")
        few["tokenizer"] = "characters"
    else:
        files = [data.parent / "classes"]
    run = weft.train(files, from_=data.parent / "eyes", out=tmp_path / "run", **few)
    assert run.config["training"]["versions"] >= 1 and kept_files(run.folder)
    before = weft.load(data.parent / "eyes").model.state_dict()
    prefix = "source.picture." if task == "answer" else ""
    after = run.model.state_dict()
    assert all(torch.equal(t, after[f"{prefix}{n}"]) for n, t in before.items() if not n.startswith("head."))


@pytest.mark.slow
@pytest.mark.parametrize("task", ["caption", "classify-images", "answer"])
def test_after_frozen_features_lora_or_everything_learns(task: str, data: Path, tmp_path: Path) -> None:
    few: dict[str, Any] = {"steps": 3, "batch": 4, "quiet": True, "baselines": False, "task": task}
    given = {"caption": [data], "classify-images": [data.parent / "classes"]}
    files = given[task] if task in given else _questions(data, tmp_path / "questions.jsonl")
    text = {} if task == "classify-images" else {"tokenizer": "characters"}
    first = weft.train(files, from_=data.parent / "eyes", out=tmp_path / "frozen", freeze=True, **few, **text)
    encoder = {"caption": "source.", "answer": "source.picture.", "classify-images": ""}[task]
    before = first.model.state_dict()
    beside = weft.train(files, from_=first.folder, out=tmp_path / "lora", lora=2, **few)
    after = beside.model.state_dict()
    blocks = [name for name in before if name.startswith(f"{encoder}trunk.")]
    assert blocks and all(torch.equal(before[name], after[name]) for name in blocks)
    adapters = [after[name] for name in set(after) - set(before) if name.startswith(encoder) and name.endswith(".b")]
    assert adapters and all(matrix.abs().max() > 0 for matrix in adapters)  # they start at zero
    whole = weft.train(files, from_=first.folder, out=tmp_path / "all", **few)
    matrices = [name for name in blocks if before[name].ndim == 2]
    assert all(not torch.equal(before[name], whole.model.state_dict()[name]) for name in matrices)
    for run in (beside, whole):  # pictures are encoded anew at every step: the encoder changes
        assert run.config["training"]["versions"] == 0 and not kept_files(run.folder)
        assert weft.load(run.folder).evaluate()["metrics"] == run.evaluate()["metrics"]


def _questions(data: Path, path: Path) -> list[Path]:
    rows = [
        {"image": f"{i}.png", "question": one.text, "answer": one.answers[0]}
        for i in range(len(SCENES))
        for one in SCENES.questions[i][:2]
    ]
    return [write(path, "\n".join(map(json.dumps, rows)) + "\n"), data.parent / "photos"]


def test_a_new_decoder_on_a_wide_encoder_is_small_and_reads_normed_features(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.domains.captions.recipe.captioners.NEW_DECODERS", ((50_000, 8, 1),))
    for name in ("show-attend-tell", "swift", "one-stream"):
        run = captioner(data, tmp_path / name, model=name, versions=1)
        made = run.config["model"]
        assert (made["target"]["dim"], made["bridge"], made["memory_dropout"]) == (8, 8, 0.3)
        assert run.config["training"]["smoothing"] == 0.1 and made["memory_norm"] is not None
        assert run.config["training"]["most_epochs"] == 40
        again = weft.load(run.folder)
        pixels = SCENES.read(0).pixels
        assert run.predict(pixels, max_tokens=5) == again.predict(pixels, max_tokens=5)


def test_an_encoder_with_learned_places_keeps_its_size(data: Path, tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="learned places"):
        captioner(data, tmp_path / "run", size=24)
