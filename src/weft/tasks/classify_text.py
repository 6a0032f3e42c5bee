"""Classify texts: from a table of texts and labels to a model that labels new ones; numbers are learned as numbers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from weft.config import Config, from_json
from weft.data import samples
from weft.data.bundles import Lines
from weft.data.labelled.batches import LabelledBundles
from weft.data.readers import labelled
from weft.data.readers.labelled import read_labelled
from weft.data.readers.labelled_texts import Example, LabelledTexts, overlap, split_labelled, targets
from weft.data.survey import Judgement, Survey
from weft.errors import DataError
from weft.inspect.calibration import calibration
from weft.inspect.confusion import confusion
from weft.modalities.framing import frame_texts
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream
from weft.objectives import Number, TextClass
from weft.objectives.measures import class_measures, confusion_counts, number_measures, reliability
from weft.objectives.number import standardised
from weft.objectives.objective import Objective
from weft.objectives.text_class import balanced
from weft.tasks.encoder_data import TextData
from weft.tasks.encoder_plan import EncoderTraining
from weft.tasks.encoders import EncoderTask, model_of
from weft.tasks.task import Loaded, Measured, with_settings
from weft.tasks.text_data import several
from weft.tasks.text_views import AT_ONCE
from weft.training.card import finite
from weft.training.progress import Progress, counter

MISTAKES = 8  # listed in an evaluation


class LabelTraining(EncoderTraining):
    """Settings of a training on labelled texts."""

    text_column: str | None = None
    label_column: str | None = None
    labels: Literal["classes", "numbers"] | None = None
    fewest: int = 1
    balance: bool = False
    smoothing: float = 0.0

    about = {
        **EncoderTraining.about,
        "text_column": "the column or field of the texts: its name, or its number from 1",
        "label_column": "the one of the labels",
        "labels": "classes or numbers; by default as they look",
        "fewest": "leave out classes with fewer texts than this",
        "balance": "let every class count alike in training, however rare it is",
        "smoothing": "share of belief given to all classes alike, in training",
    }


class Labelling(Config):
    """Settings of a prediction."""

    top: int = 0

    about = {"top": "so many of the likeliest labels; 0 lists all"}


class ClassifyText(EncoderTask):
    """A label for each text."""

    name = "classify-text"
    summary = "learn to label texts"
    files = (
        "texts with labels as .csv, .tsv or .jsonl (gzip too), or a folder with one sub-folder of .txt files a class"
    )
    sample = "short opinions by a grammar of weft's own"
    settings = LabelTraining
    use = Labelling
    head = "pooled"
    things, unit = "texts", "text"
    example = "A text of yours."
    bundles = LabelledBundles

    def judge(self, survey: Survey) -> Judgement:
        return labelled.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, settings: Any, tokenizer: Tokenizer | None = None
    ) -> TextData:
        found = _read(sources or samples.labelled_opinions(), settings)
        if valid is not None:
            held = _read([valid], settings, kind=found.kind)
            train, held_out, rule = found.rows, held.rows, f"{len(held)} texts: those in {Path(valid).name}"
            mark = f"{found.fingerprint} {held.fingerprint}"
        else:
            train, held_out, rule = split_labelled(found.rows, found.kind)
            mark = found.fingerprint
        classes = list(found.classes) if found.kind == "classes" else None
        known(held_out, classes)
        names = several([file.path.name for file in found.files])
        twice = overlap(train, held_out)
        lines = [*found.report(), *([f"texts both trained on and held out: {twice:,}"] if twice else [])]
        record = {
            "classes": classes,
            "kind": found.kind,
            "columns": list(found.columns),
            "skipped": [list(s) for s in found.skipped[:100]],
        }
        return TextData(train, held_out, rule, mark, f"{len(found):,} texts ({names})", lines, record)

    def texts(self, things: Sequence[Example]) -> Iterator[str]:
        return (one.text for one in things)

    def outputs(self, data: TextData) -> int | None:
        return len(data.record["classes"] or [0])

    def objective(self, data: TextData, settings: Any) -> Objective.Config:
        classes = data.record["classes"]
        if classes is None:
            return standardised(targets(data.train, None))
        numbers = targets(data.train, classes)
        weights = balanced(np.bincount(numbers, minlength=len(classes)).tolist()) if settings.balance else ()
        return TextClass.Config(smoothing=settings.smoothing, weights=weights)

    def rows(self, things: Sequence[Example], data: TextData, tokenizer: Tokenizer, context: int) -> Any:
        texts = frame_texts(tokenizer, [one.text for one in things], context).rows
        return texts, targets(things, data.record["classes"])

    def ability(self, data: Mapping[str, Any]) -> str:
        classes = data["classes"]
        return f"Gives a text {'a number' if classes is None else f'one of {several(classes)}'}"

    def same_head(self, origin: Loaded, data: TextData) -> bool:
        return super().same_head(origin, data) and origin.config["data"].get("classes") == data.record["classes"]

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        how = with_settings(Labelling(), settings)
        framed, classes = self.framed(run, inputs), run.config["data"]["classes"]
        said = values(model_of(run), framed.rows)
        whole = frame_texts(self.tokenizer(run), list(inputs), 2**30).rows if framed.cut else framed.rows
        lost = [len(all_of) - len(read) for all_of, read in zip(whole, framed.rows, strict=True)]
        cut = [{"unread_end": n} if n else {} for n in lost]
        if classes is None:
            numbers = _objective(run).restored(said[:, 0]).tolist()
            return [{"input": t, "value": round(v, 6), **c} for t, v, c in zip(inputs, numbers, cut, strict=True)]
        found = []
        for text, shares, more in zip(inputs, said.softmax(-1).tolist(), cut, strict=True):
            ranked = sorted(zip(classes, shares, strict=True), key=lambda pair: -pair[1])
            listed = {label: round(p, 6) for label, p in ranked[: how.top or None]}
            found.append({"input": text, "label": ranked[0][0], "probabilities": listed, **more})
        return found

    def shown(self, prediction: Mapping[str, Any]) -> str:
        if "value" in prediction:
            return f"{prediction['value']:g}\t{prediction['input']}"
        best = prediction["label"]
        return f"{best} {prediction['probabilities'][best]:.2f}\t{prediction['input']}"

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        classes = run.config["data"]["classes"]
        if data:
            settings = from_json(run.config["training"], LabelTraining)
            read = _read(data, settings, kind="numbers" if classes is None else "classes", learn=False)
            rows, what = read.rows, ", ".join(data)
            known(rows, classes)
        else:
            own, what = self.own_held_out(run)
            rows = list(own.held_out)
        said = values(model_of(run), self.framed(run, [one.text for one in rows]).rows, progress)
        truth = targets(rows, classes)
        if classes is None:
            numbers = _objective(run).restored(said[:, 0]).numpy()
            metrics, more = number_measures(numbers, truth)
            return Measured(what, len(rows), finite(metrics), more)
        shares = said.softmax(-1).double().numpy()
        metrics, more = class_measures(shares, truth, classes)
        pictures = {
            "confusion.png": confusion(confusion_counts(shares.argmax(1), truth, len(classes)), classes),
            "calibration.png": calibration(reliability(shares, truth)),
        }
        return Measured(
            what, len(rows), finite(metrics), {**more, "mistakes": _mistakes(rows, shares, truth, classes)}, pictures
        )


def known(rows: Sequence[Example], classes: Sequence[str] | None) -> None:
    """Refuse labels that were never learned, all of them named."""
    unknown = sorted({row.label for row in rows} - set(classes)) if classes is not None else []
    if unknown:
        count = sum(row.label in unknown for row in rows)
        problem = f"{count:,} of {len(rows):,} texts have labels that the model has not learned: {several(unknown)}"
        raise DataError(problem, fix=f"the classes are {several(list(classes or ()))}")


@torch.inference_mode()
def values(model: Stream, rows: Sequence[np.ndarray], progress: Progress | None = None) -> torch.Tensor:
    """What the model says of each text, texts of like length computed together."""
    model.eval()
    order = np.argsort([len(row) for row in rows], kind="stable")
    found = torch.zeros(len(rows), model.config.outputs or 1)
    count = None if progress is None else counter(progress, len(rows), "texts")
    for start in range(0, len(order), AT_ONCE):
        some = order[start : start + AT_ONCE]
        found[torch.from_numpy(some)] = model(Lines.of([rows[i] for i in some]).text()).float()
        if count is not None:
            count(start + len(some))
    if progress is not None:
        progress.stop()
    return found


def _mistakes(
    rows: Sequence[Example], shares: np.ndarray, truth: np.ndarray, classes: Sequence[str]
) -> list[dict[str, Any]]:
    """The texts about which the model was most sure and wrong."""
    found = shares.argmax(1)
    worst = [int(i) for i in np.argsort(-shares.max(1)) if found[i] != truth[i]][:MISTAKES]
    return [
        {
            "text": rows[i].text[:200],
            "label": classes[truth[i]],
            "said": classes[found[i]],
            "sure": round(float(shares[i].max()), 4),
        }
        for i in worst
    ]


def _read(sources: Any, settings: LabelTraining, *, kind: Any = None, learn: bool = True) -> LabelledTexts:
    if isinstance(sources, LabelledTexts):
        return sources
    return read_labelled(
        sources, text=settings.text_column, label=settings.label_column, kind=kind or settings.labels,
        skip=settings.allowed, fewest=settings.fewest if learn else 1, learn=learn,
    )  # fmt: skip


def _objective(run: Loaded) -> Number.Config:
    return from_json(run.config["objective"], Number.Config)
