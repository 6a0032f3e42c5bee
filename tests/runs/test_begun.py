"""Runs that earlier versions began or finished: they go on, on the same batches, and answer the same.

tests/fixtures/README.md says how they were made.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import processes
from helpers.trials import DATA, PIXELS

import weft
from weft.batches.samples import AtTokens, EvenIds, Samples
from weft.batches.source import Source
from weft.domains.registry import card_named
from weft.tasks.codec import codecs_from_json
from weft.tasks.labels.numbers import NumberCodec
from weft.tasks.planning import record_of, restore, training_of
from weft.training.folder import RunFolder
from weft.training.progress import Progress

HOME = DATA.parent
BEGUN: dict[str, Any] = json.loads((HOME / "begun.json").read_text())
FINISHED: dict[str, Any] = json.loads((HOME / "finished.json").read_text())
STOPPED, STEPS = 2, 4
ASKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "language-model": ("The weaver", {"temperature": 0.0, "max_tokens": 8}),
    "translate": ("The dog is small.", {"beam": 1, "max_tokens": 12}),
    "classify-text": ("the soup was fine", {}),
    "classify-images": (PIXELS, {}),
    "caption": (PIXELS, {"beam": 1, "max_tokens": 12}),
}


def source_of(folder: Path, data: list[Path]) -> Source:
    """The source of a run that was begun, with its data named again. How to reach it is known here and nowhere else."""
    run, sources = RunFolder(folder), tuple(map(str, data))
    config, where = run.config(), str(folder)
    card = card_named(config["task"])
    training, valid = training_of(card.task, config, where), record_of(config, where).valid
    read = card.reader.read(sources, valid, training)
    return restore(card.task, run, read, sources, Progress(quiet=True)).work.source


def scale_of(folder: Path) -> NumberCodec | None:
    """The scale on which a run learns numbers, if it does."""
    run = RunFolder(folder)
    label = codecs_from_json(run.config()["codecs"], run.content, str(folder)).get("label")
    return label if isinstance(label, NumberCodec) else None


def is_shifted(batch: Samples) -> bool:
    """Whether what is wanted is the next token of a window."""
    given, wanted = batch.given, batch.wanted
    if not isinstance(given, EvenIds) or not isinstance(wanted, AtTokens):
        return False
    return torch.equal(given.ids[:, 1:], wanted.values[:, :-1])


def tensors_of(batch: Any) -> Iterator[torch.Tensor]:
    """All tensors of a batch, in the order of its fields."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, Samples) and is_shifted(batch):  # stored as one window, a token longer than the model reads
        yield torch.cat([batch.given.ids, batch.wanted.values[:, -1:]], 1)
        yield from tensors_of(batch.wanted.where)
    elif is_dataclass(batch):
        for field in fields(batch):
            yield from tensors_of(getattr(batch, field.name))
    elif isinstance(batch, tuple | list):
        for part in batch:
            yield from tensors_of(part)


def described(batch: Any, scale: NumberCodec | None = None) -> dict[str, Any]:
    """A batch in few words: digests of whole numbers, whatever their type and order; two means a row of all others.

    Numbers to be learned are in the user's unit. Augmented pixels may differ in their last bits from machine to
    machine, so they are compared within a tolerance.
    """
    digests, means = [], []
    for tensor in tensors_of(batch):
        if tensor.is_floating_point():
            rows = (tensor if scale is None else scale.restored(tensor)).double().reshape(len(tensor), -1)
            ramp = torch.linspace(-1, 1, rows.shape[1], dtype=torch.float64)
            means.append([[round(float(row.mean()), 6), round(float((row * ramp).mean()), 6)] for row in rows])
        else:
            whole = tensor.to(torch.int64).contiguous().numpy()
            digests.append(hashlib.sha256(f"{whole.shape}".encode() + whole.astype("<i8").tobytes()).hexdigest()[:16])
    return {"digests": sorted(digests), "means": means}


def first_batches(folder: Path, data: list[Path]) -> dict[str, list[Any]]:
    """The three batches that follow the stop, the held-out part, and the little of it that training looks at."""
    source, scale = source_of(folder, data), scale_of(folder)
    batch = json.loads((folder / "config.json").read_text())["training"]["batch"]
    steps = [np.arange(step * batch, (step + 1) * batch) for step in range(STOPPED, STOPPED + 3)]
    return {
        "next": [described(source.batch(indices), scale) for indices in steps],
        "held_out": [described(found, scale) for found in source.held_out()],
        "probe": [described(found, scale) for found in source.held_out(most=1)],
    }


def data_of(folder: Path) -> list[Path]:
    """The fixture's data where it is now."""
    return [DATA / Path(path).name for path in json.loads((folder / "config.json").read_text())["data"]["sources"]]


def test_a_run_that_goes_on_has_its_files_as_they_are_on_disk(tmp_path: Path) -> None:
    """Those of its codecs, to the byte, and those that it keeps of its training data."""
    place = Path(shutil.copytree(HOME / "begun" / "caption", tmp_path / "caption"))
    tokenizer = json.dumps(json.loads((place / "tokenizer.json").read_bytes()), indent=7).encode()
    (place / "tokenizer.json").write_bytes(tokenizer)
    (place / "known.safetensors").write_bytes(b"what it keeps")
    run, card = RunFolder(place), card_named("caption")
    sources, config = tuple(map(str, data_of(place))), RunFolder(place).config()
    read = card.reader.read(sources, record_of(config, "").valid, training_of(card.task, config, ""))
    work = restore(card.task, run, read, sources, Progress(quiet=True)).work
    assert work.files == {"tokenizer.json": tokenizer, "known.safetensors": b"what it keeps"}
    run.go_on({**config, **work.record}, work.files)
    assert RunFolder(place).content("known.safetensors") == b"what it keeps"


@pytest.fixture(params=BEGUN)
def begun(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a run that was stopped."""
    return Path(shutil.copytree(HOME / "begun" / request.param, tmp_path / request.param))


def test_every_run_has_its_expectations_and_every_task_a_run() -> None:
    for kind, expected in (("begun", BEGUN), ("finished", FINISHED)):
        assert sorted(path.name for path in (HOME / kind).iterdir()) == sorted(expected)
    tasks = {json.loads((HOME / "begun" / name / "config.json").read_text())["task"] for name in BEGUN}
    assert tasks >= {"language-model", "fill-mask", "translate", "parse", "classify-text", "tag-text"}
    assert tasks >= {"classify-images", "reconstruct-images", "distill-images", "caption"}


def test_a_run_of_an_earlier_version_draws_the_same_batches(begun: Path) -> None:
    expected, found = BEGUN[begun.name]["batches"], first_batches(begun, data_of(begun))
    assert found.keys() == expected.keys()
    for part, batches in found.items():
        assert len(batches) == len(expected[part]), part
        for batch, known in zip(batches, expected[part], strict=True):
            assert batch["digests"] == known["digests"], part
            assert len(batch["means"]) == len(known["means"])
            for rows, were in zip(batch["means"], known["means"], strict=True):
                assert np.allclose(rows, were, rtol=0, atol=2e-4), part


def test_a_run_of_an_earlier_version_goes_on_and_ends(begun: Path) -> None:
    before = [json.loads(line) for line in (begun / "metrics.jsonl").read_text().splitlines()]
    run = weft.train(data_of(begun), out=begun, resume=True, quiet=True)
    assert run.report["steps"] == STEPS and [line["step"] for line in run.metrics] == [1, 2, 3, 4]
    assert run.metrics[:STOPPED] == before
    assert [line["loss"] for line in run.metrics[STOPPED:]] == pytest.approx(BEGUN[begun.name]["losses"], rel=2e-3)
    assert run.report["metrics"].keys() >= BEGUN[begun.name]["metrics"].keys()  # measures may be added
    if "loss" in run.report["metrics"]:
        assert run.report["metrics"]["loss"] == pytest.approx(BEGUN[begun.name]["metrics"]["loss"], rel=2e-3)


def test_a_stopped_run_of_an_earlier_version_can_be_used(begun: Path) -> None:
    run = weft.load(begun)
    found = run.evaluate(data_of(begun), baselines=False)
    assert found["examples"] > 0 and found["metrics"].keys() >= BEGUN[begun.name]["metrics"].keys()


def alike(found: Any, known: Any) -> bool:
    """Whether answers are the same: words exactly, numbers to 1e-4."""
    if isinstance(known, dict):
        return found.keys() == known.keys() and all(alike(found[key], value) for key, value in known.items())
    if isinstance(known, list):
        return len(found) == len(known) and all(map(alike, found, known))
    return found == pytest.approx(known, abs=1e-4) if isinstance(known, float) else found == known


@pytest.mark.parametrize("name", FINISHED)
def test_a_finished_run_of_an_earlier_version_answers_and_measures_the_same(name: str, tmp_path: Path) -> None:
    run = weft.load(shutil.copytree(HOME / "finished" / name, tmp_path / name))
    given, settings = ASKED[name.removesuffix("-sealed")]
    found = run.predict(given, **settings)
    assert alike(found, FINISHED[name]["answers"]), found
    loss = run.evaluate(data_of(run.folder), baselines=False)["metrics"]["loss"]
    assert loss == pytest.approx(FINISHED[name]["loss"], rel=1e-3, abs=1e-4)
    assert run.report["metrics"].keys() == FINISHED[name]["metrics"].keys()


def test_a_fresh_process_knows_every_part_of_every_run() -> None:
    """Tasks are loaded when they are used, so the parts of their models must be known without them."""
    code = (
        "import json, pathlib, sys, weft.runs.run\n"
        "from weft.config import from_json\n"
        "from weft.models.stream import Model\n"
        "from weft.objectives.objective import Objective\n"
        "from weft.training.folder import RunFolder\n"
        "for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):\n"
        "    config = RunFolder(folder).config()\n"
        "    from_json(config['model'], Model.Config), from_json(config['objective'], Objective.Config)\n"
        "    print(config['task'])\n"
    )
    done = processes.run([sys.executable, "-c", code, str(HOME / "begun")], capture_output=True, text=True)
    assert done.returncode == 0 and len(done.stdout.split()) == len(BEGUN), done.stderr
