"""For each task: a little data of our own, a tiny model, an input, and what is promised of its answers.

Everything goes through what users see: `weft.train`, `weft.load`, the methods of a run and the names of settings.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft

DATA = Path(__file__).parents[1] / "fixtures" / "data"
TINY: dict[str, Any] = {"dim": 8, "depth": 1, "heads": 1, "steps": 4, "evaluate_every": 2, "precision": "fp32"}
FEW_GRAMS: dict[str, Any] = {"model.embed.grams.buckets": 64}
PIXELS = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
COUNTED = {"accuracy", "macro_f1", "loss", "calibration_error"}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """How one task is tried. What `weft train` is given besides `TINY` stands in `settings`."""

    files: tuple[str, ...]
    settings: dict[str, Any]
    drawn: dict[str, Any] = field(default_factory=dict)  # settings that let chance into training
    sample: dict[str, Any] = field(default_factory=dict)  # other settings for the sample that ships
    few: int = 0  # rows of the data to hold out beside the sample, instead of its own
    named: bool = False  # the files are recognised as another task's, so this one has to be named
    input: Any
    answer: set[str]  # keys of every prediction
    metrics: set[str]
    embeds: bool = False
    vectors: int = 1  # that an input gives
    hf: dict[str, Any] | None = None  # settings of a model that the Hugging Face library has too
    returns: str | None = None  # the task that it comes back from there with, where that is another
    onnx: bool = True
    needs: str | None = None  # a package of an extra, without which the trial is skipped

    @property
    def data(self) -> list[Path]:
        """The files, with their places."""
        return [DATA / name for name in self.files]


TRIALS: dict[str, Trial] = {
    "language-model": Trial(
        files=("book.txt",),
        settings={"context": 16, "batch": 4, "tokenizer": "characters", **FEW_GRAMS},
        drawn={"dropout": 0.1},
        input="The weaver",
        answer={"prompt", "text"},
        metrics={"loss", "perplexity", "bits_per_byte"},
        embeds=True,
        hf={"model": "gpt", "model.embed.grams.buckets": None, "tokenizer": "bytes"},
    ),
    "fill-mask": Trial(
        files=("book.txt",),
        settings={"context": 16, "rows": 4, "tokenizer": "characters", **FEW_GRAMS},
        drawn={"dropout": 0.1},
        named=True,
        input="The weaver [MASK] the warp.",
        answer={"input", "candidates"},
        metrics={"loss", "perplexity", "accuracy"},
        embeds=True,
        hf={"model": "bert", "model.embed.grams.buckets": None, "tokenizer": "bytes"},
    ),
    "translate": Trial(
        files=("pairs.tsv",),
        settings={"tokens": 128, "tokenizer": "characters"},
        drawn={"dropout": 0.1, "smoothing": 0.1, "average": 2, "batch": 2},
        sample={"tokens": 256, "tokenizer": "bytes", "context": 64},
        few=2,
        input="The dog is small.",
        answer={"source", "text", "score"},
        metrics={"bleu", "chrf", "exact", "loss", "perplexity"},
        hf={"model": "transformer", "tokenizer": "bytes"},
    ),
    "parse": Trial(
        files=("trees.mrg",),
        settings={"tokens": 128, "tokenizer": "characters"},
        drawn={"dropout": 0.1, "batch": 2},
        sample={"tokens": 256},
        few=2,
        input="The dog sees a house .",
        answer={"source", "text", "score", "well_formed"},
        metrics={"f1", "precision", "recall", "exact", "well_formed", "loss", "perplexity"},
        hf={"model": "transformer", "tokenizer": "bytes"},
        returns="translate",
    ),
    "classify-text": Trial(
        files=("opinions.tsv",),
        settings={"rows": 4, "tokenizer": "characters", **FEW_GRAMS},
        drawn={"dropout": 0.1},
        input="the soup was fine",
        answer={"input", "label", "probabilities"},
        metrics=COUNTED,
        embeds=True,
        hf={"model": "bert", "model.embed.grams.buckets": None, "tokenizer": "bytes"},
    ),
    "tag-text": Trial(
        files=("names.conll",),
        settings={"rows": 4, "tokenizer": "characters", **FEW_GRAMS},
        drawn={"dropout": 0.1},
        input="Ada lives in New Town .",
        answer={"input", "words", "tags", "entities"},
        metrics={"tag_accuracy", "precision", "recall", "f1"},
        embeds=True,
        hf={"model": "bert", "model.embed.grams.buckets": None, "tokenizer": "bytes"},
    ),
    "answer-text": Trial(
        files=("lives.jsonl",),
        settings={"rows": 4, "tokenizer": "characters", **FEW_GRAMS},
        drawn={"dropout": 0.1},
        input={"question": "What does Ada sell?", "context": "Ada lives near the moon and sells wool."},
        answer={"input", "question", "text", "score", "start", "end"},
        metrics={"exact", "f1"},
        hf={"model": "bert", "model.embed.grams.buckets": None, "tokenizer": "bytes"},
        onnx=False,
    ),
    "classify-images": Trial(
        files=("sides.npz",),
        settings={"model": "vit", "batch": 4, "patch": 4},
        drawn={"dropout": 0.1, "drop": 0.25, "strength": "heavy"},
        input=PIXELS,
        answer={"input", "label", "probabilities"},
        metrics=COUNTED,
        embeds=True,
        hf={},
    ),
    "reconstruct-images": Trial(
        files=("sides.npz",),
        settings={"batch": 4, "patch": 4},
        drawn={"strength": "heavy"},
        named=True,
        input=PIXELS,
        answer={"input", "output", "rmse"},
        metrics={"loss", "rmse_25_hidden", "rmse_50_hidden", "rmse_75_hidden", "sharpness"},
        embeds=True,
        hf={},
        onnx=False,
    ),
    "distill-images": Trial(
        files=("sides.npz",),
        settings={"batch": 4, "patch": 4},
        drawn={"drop": 0.25, "strength": "heavy", "near": 4},
        named=True,
        input=PIXELS,
        answer={"input", "vector"},
        metrics={"loss", "variety"},
        embeds=True,
        onnx=False,
    ),
    "caption": Trial(
        files=("shapes.tsv", "shapes.zip"),
        settings={"model": "transformer", "batch": 4, "patch": 4, "tokenizer": "characters"},
        drawn={"dropout": 0.1, "drop": 0.25, "strength": "medium"},
        sample={"patch": 8},
        input=PIXELS,
        answer={"input", "text", "score"},
        metrics={
            "cider_d",
            "bleu",
            "bleu_1",
            "bleu_2",
            "bleu_3",
            "bleu_4",
            "rouge_l",
            "chrf",
            "exact",
            "loss",
            "perplexity",
            "shuffled_cider_d",
            "constant_cider_d",
            "nearest_cider_d",
        },  # fmt: skip
        hf={},
        onnx=False,
    ),
    "answer": Trial(
        files=("shape_questions.jsonl", "shapes.zip"),
        settings={"model": "transformer", "batch": 4, "patch": 4, "tokenizer": "characters"},
        drawn={"dropout": 0.1, "drop": 0.25, "strength": "medium"},
        sample={"patch": 12},
        input={"picture": PIXELS, "question": "What colour is the shape?"},
        answer={"input", "question", "text", "score"},
        metrics={
            "accuracy",
            "chosen_accuracy",
            "shuffled_accuracy",
            "constant_accuracy",
            "question_accuracy",
            "kind_accuracy",
            "loss",
            "perplexity",
        },
        onnx=False,
    ),
    "forecast": Trial(
        files=("ripples.nc",),  # 20 fields of 4 x 4 cells
        settings={"batch": 2, "history": 3, "ahead": 2, "patch": 2},
        drawn={"dropout": 0.1},
        sample={"patch": 12},
        input=str(DATA / "ripples.nc"),
        answer={"input", "made", "times", "layers"},
        metrics={
            "rmse",
            "acc",
            "crps",
            "spread_skill",
            "persistence_rmse",
            "climatology_rmse",
            "monthly_rmse",
            "damped_rmse",
            "fill_rmse",
            "interpolation_rmse",
            "dineof_rmse",
        },
        onnx=False,
        needs="xarray",
    ),
    "fit-field": Trial(
        files=("terrain.csv",),
        settings={"batch": 1, "code": "fourier", "features": 8},
        drawn={"dropout": 0.1},
        input="48.1, 11.6",
        answer={"input", "label", "probabilities"},
        metrics={*COUNTED, "nearest_accuracy", "constant_accuracy"},
    ),
    "embed-words": Trial(
        files=("book.txt",),
        settings={"batch": 4},
        named=True,
        input="loom",
        answer={"input", "nearest"},
        metrics={"loss", "frequency_loss"},
        embeds=True,
        onnx=False,
    ),
    "graph": Trial(
        files=("villages.json",),
        settings={"depth": 2, "seed": 1},  # with seed 0 two held-out nodes are worse after four steps: a report warns
        drawn={"dropout": 0.1, "input_dropout": 0.1},
        input=str(DATA / "villages.json"),
        answer={"input", "nodes"},
        metrics=COUNTED,
        embeds=True,
        vectors=24,
        onnx=False,
    ),
    "sets": Trial(
        files=("throws.jsonl",),
        settings={"rows": 4},
        drawn={"dropout": 0.1},
        input="[[0.5, 1.0], [1.5, -0.5], [0.0, 0.0]]",
        answer={"input", "label", "probabilities"},
        metrics=COUNTED,
        embeds=True,
    ),
}

PLUGGED: dict[str, Trial] = {  # the tasks of the package in tests/plugins
    "classify-series": Trial(
        files=("slopes.csv",),
        settings={},
        drawn={"dropout": 0.1},
        input="10.5, 11.2, 11.9, 12.1, 13, 13.2, 14.1, 14.4, 15",
        answer={"input", "label", "probabilities"},
        metrics=COUNTED,
        embeds=True,
        onnx=False,
    ),
}
EVERY = {**TRIALS, **PLUGGED}


def train(name: str, data: Any, **settings: Any) -> weft.Run:
    """A tiny run of a task, without plain methods beside it; None takes a setting of the trial out."""
    trial = EVERY[name]
    if trial.needs is not None:
        pytest.importorskip(trial.needs, reason=f"{trial.needs} is not installed")
    given = {**TINY, "baselines": False, **trial.settings, **settings}
    task = name if trial.named or not data else None
    return weft.train(data, task=task, quiet=True, **{key: value for key, value in given.items() if value is not None})
