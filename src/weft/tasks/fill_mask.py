"""Fill in blanks: BERT's way to learn a language from running text. What it learns, other tasks start from (--from)."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from weft.config import Config, from_json
from weft.core import PerToken
from weft.data import samples
from weft.data.masking import SHARE, MaskedWindows, TokenMasker
from weft.data.readers.corpus import read_corpus
from weft.data.source import Source
from weft.errors import ConfigError, DataError, WeftError
from weft.modalities.encoding import encode_pieces
from weft.modalities.framing import frame_blanks
from weft.modalities.text import Text
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream
from weft.objectives import MaskedToken
from weft.objectives.objective import Objective
from weft.tasks.encoder_data import TextData, vocabulary
from weft.tasks.encoder_plan import EncoderTraining, Wish, embed_of
from weft.tasks.encoders import EncoderTask, model_of
from weft.tasks.task import Loaded, Measured, with_settings
from weft.tasks.text_data import Read, described, read_text
from weft.training.card import finite
from weft.training.progress import Progress, counter


class MaskTraining(EncoderTraining):
    """Settings of a training on hidden tokens."""

    batch: int = 32
    micro: int | None = None
    hide: float = SHARE
    whole_words: bool = False

    about = {
        **{name: text for name, text in EncoderTraining.about.items() if name not in ("tokens", "rows", "summary")},
        "batch": "windows of text in a step",
        "micro": "windows computed at once",
        "hide": "share of the tokens that are hidden",
        "whole_words": "hide all tokens of a word, or none",
    }

    def check(self) -> None:
        super().check()
        if not 0 < self.hide < 1:
            raise ConfigError(f"must be above 0 and below 1, found {self.hide}", where="hide")


class Guessing(Config):
    """Settings of a prediction."""

    top: int = 5

    about = {"top": "candidates for each blank"}

    def check(self) -> None:
        if self.top < 1:
            raise ConfigError(f"must be at least 1, found {self.top}", where="top")


@dataclass(frozen=True)
class Running(TextData):
    """Running text as ids."""

    read: Read | None = None

    @property
    def counts(self) -> dict[str, int]:
        return {}  # there are windows, of a size that is not known yet


class FillMask(EncoderTask):
    """BERT and its relatives."""

    name = "fill-mask"
    summary = "learn to fill in blanks in texts"
    files = "text as .txt, .md or .jsonl (field text), gzip of these, several files, or a folder of them"
    sample = "English sentences by a grammar of weft's own"
    settings = MaskTraining
    use = Guessing
    head = "fill"
    unit = "hidden token"
    example = "Once ___ a time"
    takes = ("fill-mask",)

    def recognises(self, sources: Sequence[Path]) -> bool:
        return False  # a text is for continuing, unless someone asks for this

    def read(
        self, sources: Sequence[str], valid: str | None, settings: Any, tokenizer: Tokenizer | None = None
    ) -> Running:
        given = tuple(sources) or (samples.english_sentences(),)
        kind = settings.tokenizer or "bpe"
        vocab = settings.vocab
        if kind == "bpe" and vocab is None and tokenizer is None:
            vocab = vocabulary(read_corpus(given).bytes)
        read = read_text(given, valid, tokenizer, kind=kind, vocab=vocab, mask=True)
        return Running(
            (), (), read.rule, read.fingerprint, described(read.corpus), [described(read.corpus)],
            {"train_tokens": len(read.train), "held_out_tokens": len(read.valid)}, read,
        )  # fmt: skip

    def made_tokenizer(self, data: TextData, settings: Any) -> Tokenizer:
        return _read_of(data).tokenizer

    def wish(self, data: TextData, tokenizer: Tokenizer) -> Wish:
        tokens = len(_read_of(data).train)
        return Wish(self.head, None, tokenizer.size, tokens, min(512, tokens), running=True)

    def texts(self, things: Sequence[Any]) -> Iterator[str]:
        return iter(())

    def outputs(self, data: TextData) -> int | None:
        return None

    def objective(self, data: TextData, settings: Any) -> Objective.Config:
        return MaskedToken.Config()

    def source(self, data: TextData, tokenizer: Tokenizer, settings: Any) -> Source:
        read = _read_of(data)
        masker = TokenMasker(tokenizer, share=settings.hide, whole_words=settings.whole_words)
        return MaskedWindows(
            read.train, read.valid, tokenizer, masker,
            context=settings.context, fingerprint=data.fingerprint, seed=settings.seed,
        )  # fmt: skip

    def batch_line(self, settings: Any) -> str:
        return f"batch {settings.batch}"

    def ability(self, data: Mapping[str, Any]) -> str:
        return "Fills in blanks in texts"

    def amounts(self, data: Mapping[str, Any]) -> dict[str, str]:
        tokens = f"{data['tokenizer']}, vocabulary {data['vocabulary']}; {data['train_tokens']:,} to train on"
        return {"tokens": tokens}

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        how, model, tokenizer = with_settings(Guessing(), settings), filler(run), self.tokenizer(run)
        found = []
        for text in inputs:
            if not isinstance(text, str):
                raise WeftError(f"expected a text with a blank, found {text!r}")
            ids, places = frame_blanks(tokenizer, text, embed_of(model.config).context)
            if not len(places):
                raise WeftError(
                    "there is no blank to fill in", where=repr(text[:60]), fix="write ___ where a word is missing"
                )
            guesses = candidates(model, tokenizer, ids, places, how.top)
            found.append({"input": text, "candidates": guesses[0], **({"blanks": guesses} if len(guesses) > 1 else {})})
        return found

    def shown(self, prediction: Mapping[str, Any]) -> str:
        lines = [prediction["input"]]
        for i, guesses in enumerate(prediction.get("blanks", [prediction["candidates"]])):
            listed = ", ".join(
                f"{one['token'].strip() or repr(one['token'])} {one['probability']:.2f}" for one in guesses
            )
            lines.append(f"  {i + 1}. {listed}")
        return "\n".join(lines)

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        settings, tokenizer = from_json(run.config["training"], MaskTraining), self.tokenizer(run)
        if data:
            corpus, what = read_corpus(data), ", ".join(data)
            ids, examples, mark = encode_pieces(tokenizer, corpus.pieces()), corpus.documents, corpus.fingerprint
        else:
            record = run.config["data"]
            if "sources" not in record:
                raise DataError("this model was not trained here: it has no data of its own",
                                where=str(run.folder.path), fix="name the data to evaluate on")  # fmt: skip
            read = _read_of(self.read(tuple(record["sources"]), record["valid"], settings, tokenizer))
            if read.fingerprint != run.config["fingerprint"]:
                problem = "the data of this run has changed since it was trained"
                raise DataError(problem, where=str(run.folder.path), fix="name the data to evaluate on")
            ids, examples, what, mark = read.valid, 1, f"held out: {read.rule}", read.fingerprint
        context = embed_of(model_of(run).config).context
        masker = TokenMasker(tokenizer, share=settings.hide, whole_words=settings.whole_words)
        windows = MaskedWindows(ids, ids, tokenizer, masker, context=context, fingerprint=mark, seed=0)
        total, right, seen = score(run, windows, progress)
        loss = total / max(1, seen)
        metrics = {"loss": loss, "perplexity": math.exp(min(loss, 700)), "accuracy": right / max(1, seen)}
        return Measured(what, examples, finite(metrics), {"hidden": seen})


def filler(run: Loaded) -> Stream:
    """The run's model, if it can tell tokens."""
    model = model_of(run)
    if not isinstance(model.head, PerToken):
        fix = "use weft embed and weft look, or start a task of yours from it: --from"
        raise WeftError("this model has no head that could fill in blanks", where=str(run.folder.path), fix=fix)
    return model


@torch.inference_mode()
def candidates(
    model: Any, tokenizer: Tokenizer, ids: np.ndarray, places: np.ndarray, top: int
) -> list[list[dict[str, Any]]]:
    """For each blank the likeliest tokens that are not special, and how likely they are."""
    model.eval()
    values = model.head.values(model.encode(Text(torch.from_numpy(ids)[None])).x[0, torch.from_numpy(places)])
    shares = values.softmax(-1)[:, : tokenizer.size]
    shares[:, torch.from_numpy(tokenizer.special)] = 0
    best = shares.topk(min(top, shares.shape[1]))
    return [
        [
            {"token": tokenizer.decode([id]), "probability": round(p, 6)}
            for id, p in zip(row.tolist(), ps.tolist(), strict=True)
        ]
        for row, ps in zip(best.indices, best.values, strict=True)
    ]


@torch.inference_mode()
def score(run: Loaded, windows: MaskedWindows, progress: Progress) -> tuple[float, int, int]:
    """The summed loss of hidden tokens in nats, how many were guessed right, and their number."""
    model = filler(run).eval()
    count = counter(progress, -(-len(windows.valid) // windows.room), "windows")
    total, right, seen, done = 0.0, 0, 0, 0
    for batch in windows.held_out():
        assert model.head is not None
        logits = model.head.values(model.encode(batch.text()).x[batch.hidden])
        truth = batch.truth[batch.hidden]
        total += float(torch.nn.functional.cross_entropy(logits, truth, reduction="sum"))
        right, seen, done = right + int((logits.argmax(-1) == truth).sum()), seen + truth.numel(), done + len(batch)
        count(done)
    progress.stop()
    return total, right, seen


def _read_of(data: TextData) -> Read:
    assert isinstance(data, Running) and data.read is not None
    return data.read
