"""Small runs that are kept in tests/fixtures/runs: of every task and every codec, begun and finished. Loads no weft.

`keep_runs` made them, `opened` uses them in processes of their own, and tests/runs/test_kept_runs.py compares.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FIXTURES = Path(__file__).parents[1] / "fixtures"
DATA, RUNS, FOREIGN = FIXTURES / "data", FIXTURES / "runs", FIXTURES / "foreign"
EXPECTED = FIXTURES / "runs.json"
EXPECTED_LINKED = FIXTURES / "linked_runs.json"
SOMEWHERE = "/somewhere"  # stands for the folder of fixtures in the config.json of a kept run
STOPPED, STEPS = 2, 4  # of begun runs
TINY: dict[str, Any] = {"dim": 8, "depth": 1, "heads": 1, "precision": "fp32"}
LETTERS: dict[str, Any] = {"tokenizer": "characters"}
FEW_GRAMS: dict[str, Any] = {**LETTERS, "model.embed.grams.buckets": 64}
PIXELS = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
BRIEF: dict[str, Any] = {"beam": 1, "max_tokens": 12}


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How a kept run is trained, and what it is asked. `drawn` are settings of the begun run that use chance."""

    task: str
    files: tuple[str, ...]
    settings: dict[str, Any]
    drawn: dict[str, Any] = field(default_factory=dict)
    steps: int = 200  # of the finished run
    input: Any
    predict: dict[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> list[str]:
        """The files, with their places."""
        return [str(DATA / name) for name in self.files]


DROPOUT = {"dropout": 0.1}
KEPT: dict[str, Kept] = {
    "language-model": Kept(
        task="language-model",
        files=("book.txt",),
        settings={"context": 16, "batch": 4, **FEW_GRAMS},
        drawn=DROPOUT,
        input="The weaver",
        predict={"temperature": 0.0, "max_tokens": 8},
    ),
    "language-model-talks": Kept(
        task="language-model",
        files=("talks.jsonl",),
        settings={"context": 96, "batch": 4, **FEW_GRAMS},
        drawn=DROPOUT,
        input="Who spins the wool?",
        predict={"temperature": 0.0, "max_tokens": 8},
    ),
    "fill-mask": Kept(
        task="fill-mask",
        files=("book.txt",),
        settings={"context": 16, "rows": 4, **FEW_GRAMS},
        drawn=DROPOUT,
        input="The weaver [MASK] the warp.",
    ),
    "translate": Kept(
        task="translate",
        files=("pairs.tsv",),
        settings={"tokens": 128, **LETTERS},
        drawn={**DROPOUT, "average": 2},
        input="The dog is small.",
        predict=BRIEF,
    ),
    "parse": Kept(
        task="parse",
        files=("trees.mrg",),
        settings={"tokens": 128},
        drawn=DROPOUT,
        input="The dog sees a house .",
        predict={"beam": 1},
    ),
    "parse-texts": Kept(
        task="parse",
        files=("trees.mrg",),
        settings={"model": "transformer", "tokens": 128, **LETTERS},
        drawn=DROPOUT,
        input="The dog sees a house .",
        predict=BRIEF,
    ),
    "parse-gaps": Kept(
        task="parse",
        files=("trees.mrg",),
        settings={"model": "gaps", "tokens": 128, **FEW_GRAMS},
        drawn=DROPOUT,
        input="The dog sees a house .",
    ),
    "classify-text": Kept(
        task="classify-text",
        files=("opinions.tsv",),
        settings={"rows": 4, **FEW_GRAMS},
        drawn=DROPOUT,
        input="the soup was fine",
    ),
    "classify-text-numbers": Kept(
        task="classify-text",
        files=("prices.tsv",),
        settings={"rows": 4, **FEW_GRAMS},
        drawn=DROPOUT,
        input="a large loom",
    ),
    "classify-text-several": Kept(
        task="classify-text",
        files=("topics.tsv",),
        settings={"rows": 4, **FEW_GRAMS},
        drawn=DROPOUT,
        input="rain on the market",
    ),
    "tag-text": Kept(
        task="tag-text",
        files=("names.conll",),
        settings={"rows": 4, **FEW_GRAMS},
        drawn=DROPOUT,
        input="Ada lives in New Town .",
    ),
    "answer-text": Kept(
        task="answer-text",
        files=("lives.jsonl",),
        settings={"rows": 4, **FEW_GRAMS},
        drawn=DROPOUT,
        input={"question": "What does Ada sell?", "context": "Ada lives near the moon and sells wool."},
    ),
    "classify-images": Kept(
        task="classify-images",
        files=("sides.npz",),
        settings={"model": "vit", "batch": 4, "patch": 4, "strength": "none"},
        drawn={"strength": "heavy", "drop": 0.25},
        input=PIXELS,
    ),
    "reconstruct-images": Kept(
        task="reconstruct-images",
        files=("sides.npz",),
        settings={"batch": 4, "patch": 4, "strength": "none"},
        drawn={"strength": "light"},
        input=PIXELS,
    ),
    "distill-images": Kept(
        task="distill-images",
        files=("sides.npz",),
        settings={
            "batch": 4,
            "patch": 4,
            "near": 2,
            "model.projector.outputs": 16,
            "model.projector.hidden": 16,
            "model.projector.narrow": 8,
        },
        drawn={"strength": "medium"},
        steps=10,  # its loss grows while the teacher still moves
        input=PIXELS,
    ),
    "caption": Kept(
        task="caption",
        files=("shapes.tsv", "shapes.zip"),
        settings={"model": "transformer", "batch": 4, "patch": 4, "strength": "none", **LETTERS},
        drawn={**DROPOUT, "strength": "light"},
        input=PIXELS,
        predict=BRIEF,
    ),
    "answer": Kept(
        task="answer",
        files=("shape_questions.jsonl", "shapes.zip"),
        settings={"model": "transformer", "batch": 4, "patch": 4, "strength": "none", **LETTERS},
        drawn={**DROPOUT, "strength": "light"},
        input={"picture": PIXELS, "question": "What colour is the shape?"},
        predict=BRIEF,
    ),
    "answer-swift": Kept(
        task="answer",
        files=("shape_questions.jsonl", "shapes.zip"),
        settings={"model": "swift", "batch": 4, "strength": "none", **LETTERS},
        drawn={**DROPOUT, "strength": "light"},
        input={"picture": PIXELS, "question": "What colour is the shape?"},
        predict=BRIEF,
    ),
    "forecast": Kept(
        task="forecast",
        files=("basin.nc",),
        settings={"batch": 2, "history": 3, "ahead": 2, "patch": 2},
        drawn=DROPOUT,
        input=str(DATA / "basin.nc"),
    ),
    "fit-field": Kept(
        task="fit-field",
        files=("terrain.csv",),
        settings={"batch": 1, "code": "fourier", "features": 8},
        drawn=DROPOUT,
        input="48.1, 11.6",
    ),
    "fit-field-colours": Kept(
        task="fit-field",
        files=("tile.png",),
        settings={"batch": 1, "code": "fourier", "features": 8},
        drawn=DROPOUT,
        input="0.25, 0.75",
    ),
    "embed-words": Kept(
        task="embed-words",
        files=("book.txt",),
        settings={"batch": 4},
        input="loom",
    ),
    "graph": Kept(
        task="graph",
        files=("villages.json",),
        settings={},
        drawn={**DROPOUT, "input_dropout": 0.1},
        input=str(DATA / "villages.json"),
    ),
    "sets": Kept(
        task="sets",
        files=("throws.jsonl",),
        settings={"rows": 4},
        drawn=DROPOUT,
        input="[[0.5, 1.0], [1.5, -0.5], [0.0, 0.0]]",
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Linked:
    """A run that begins with kept runs, which the settings in `begins` name. `input` is "pixels" or a text."""

    task: str
    files: tuple[str, ...]
    begins: dict[str, str]
    settings: dict[str, Any]
    input: str | dict[str, str]
    predict: dict[str, Any] = field(default_factory=dict)


SHAPES = ("shapes.tsv", "shapes.zip")
LINKED: dict[str, Linked] = {
    "adapters": Linked(
        task="classify-text",
        files=("opinions.tsv",),
        begins={"from_": "classify-text"},
        settings={"lora": 2, "rows": 4},
        input="the soup was fine",
    ),
    "tuned": Linked(
        task="classify-text",
        files=("opinions.tsv",),
        begins={"from_": "classify-text"},
        settings={"rows": 4},
        input="the soup was fine",
    ),
    "blanks to labels": Linked(
        task="tag-text",
        files=("names.conll",),
        begins={"from_": "fill-mask"},
        settings={"rows": 4},
        input="Ada lives in New Town .",
    ),
    "pictures to captions": Linked(
        task="caption",
        files=SHAPES,
        begins={"from_": "classify-images"},
        settings={"model": "transformer", "batch": 4, "strength": "none", **LETTERS},
        input="pixels",
        predict=BRIEF,
    ),
    "texts to captions": Linked(
        task="caption",
        files=SHAPES,
        begins={"decoder": "language-model"},
        settings={"model": "transformer", "batch": 4, "patch": 4, "strength": "none", "dim": 8, "depth": 1, "heads": 1},
        input="pixels",
        predict=BRIEF,
    ),
    "captions to answers": Linked(
        task="answer",
        files=("shape_questions.jsonl", "shapes.zip"),
        begins={"from_": "caption"},
        settings={"model": "transformer", "batch": 4, "strength": "none"},
        input={"picture": "pixels", "question": "What colour is the shape?"},
        predict=BRIEF,
    ),
}  # fmt: skip
SLOW = {
    "parse-texts",
    "parse-gaps",
    "classify-text-numbers",
    "fit-field-colours",
    "tuned",
    "blanks to labels",
    "captions to answers",
}
MIXED = ("classify-text", "tuned")  # the kept run and the linked one of which a soup is made
IMPORTED: dict[str, str] = {
    "bert": "the [MASK] sat",
    "bert-headless": "the [MASK] sat",
    "bert-several": "the cat sat by the sea",
    "vit-headless": "pixels",
}  # an input for each folder of another library


def settings_of(kept: Kept) -> dict[str, Any]:
    """The settings of both of its runs."""
    sizes = {"dim": 8, "precision": "fp32"} if kept.task == "embed-words" else TINY
    return {**sizes, "evaluate_every": 100, **kept.settings}


def expected(path: Path = EXPECTED) -> dict[str, Any]:
    """What every kept run gave when it was made, by its name; of linked and imported runs in `EXPECTED_LINKED`."""
    return json.loads(path.read_text(encoding="utf-8"))


Call = Callable[..., Any]  # of a function of `opened` by its name, in a process of its own: `fresh.Fresh.call`


def of_kept(call: Call, name: str, kind: str, home: Path) -> Any:
    """What a kept run gives now; `kind` is "begun" or "finished"."""
    folder = shutil.copytree(RUNS / name / kind, home / name / kind)
    return call("helpers.opened.resumed" if kind == "begun" else "helpers.opened.answered", str(folder), name)


def of_linked(call: Call, name: str, home: Path) -> dict[str, Any]:
    """What a linked run gives: it is made in one process in `home` and answers in another."""
    linked, out = LINKED[name], home / name
    places = {
        word: shutil.copytree(RUNS / kept / "finished", home / f"{name} {word}") for word, kept in linked.begins.items()
    }
    began = call("helpers.opened.started", str(out), name, {word: str(place) for word, place in places.items()})
    return {"began": began, **call("helpers.opened.predicted", str(out), linked.input, linked.predict)}


def of_soup(call: Call, home: Path) -> dict[str, Any]:
    """What a soup gives that is made of a kept run and of one that begins with it."""
    kept, name = MIXED
    of_linked(call, name, home)
    members, out = [str(home / f"{name} from_"), str(home / name)], str(home / "soup")
    kind = call("helpers.opened.mixed", out, members, KEPT[kept].data)
    return {"kind": kind, **call("helpers.opened.predicted", out, KEPT[kept].input, KEPT[kept].predict)}


def of_imported(call: Call, name: str, home: Path) -> dict[str, Any]:
    """What a model of another library gives: its folder as it is, and imported as a run."""
    source, out, given = str(FOREIGN / name), str(home / name), IMPORTED[name]
    return {
        "folder": call("helpers.opened.predicted", source, given, {}),
        "config": call("helpers.opened.imported", source, out),
        "run": call("helpers.opened.predicted", out, given, {}),
        "vectors": call("helpers.opened.embedded", out, given),
    }
