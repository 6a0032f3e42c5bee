"""What tasks share that read a text whole: planning, going on with another run's model, vectors of texts, looking inside.

`EncoderTask` leaves to the tasks built on it what the data is, what is learned, and how answers are given and measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from safetensors.torch import save

from weft.config import Config, from_json
from weft.core.adapters import adapters
from weft.data.bundles import Lines
from weft.data.source import Source
from weft.errors import DataError, WeftError
from weft.inspect.nearest import NearestView
from weft.inspect.reading import ReadingView
from weft.inspect.translation import Look
from weft.modalities import tokenizer as tokenizers
from weft.modalities.framing import Framed, frame_texts
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream
from weft.models.zoo.encoders import Wanted
from weft.objectives.objective import Objective
from weft.tasks.encoder_plan import (
    CATALOGUE,
    PRESETS,
    EncoderTraining,
    Wish,
    choose_encoder,
    embed_of,
    first_settings,
    minutes_for,
    model_name,
    plan_lines,
    start_weights,
    stream_config,
)
from weft.tasks.task import Loaded, Plan, Request, Task, View, with_settings
from weft.tasks.text_data import named, tokenizer_of
from weft.training.folder import RunFolder
from weft.training.run import Budget, Work

AT_ONCE = 64  # texts that are computed together in use


@dataclass(frozen=True)
class TextData:
    """What a task has read: things to learn from and things held out, and what is to be said of them."""

    train: Sequence[Any]
    held_out: Sequence[Any]
    rule: str
    fingerprint: str
    described: str
    lines: Sequence[str]  # what people should know of the data
    record: Mapping[str, Any] = field(default_factory=dict)  # for config.json


class Glancing(Config):
    """What to look at."""

    layer: int | None = None
    head: int | None = None
    every: bool = False
    table: bool = False

    about: ClassVar[Mapping[str, str]] = {
        "layer": "one layer, from 1; by default the average of all",
        "head": "one head, from 1; by default the average of all",
        "every": "every head of every layer in a panel of its own",
        "table": "what lies nearest in the table of tokens to a word, or to a sum such as king - man + woman",
    }


class Vectors(Config):
    """Settings of the vectors of texts."""

    summary: Literal["mean", "class"] = "mean"
    normalise: bool = True

    about: ClassVar[Mapping[str, str]] = {
        "summary": "mean (of all tokens) or class (the first token)",
        "normalise": "bring each vector to length 1, so that products are cosines",
    }


class EncoderTask(Task):
    """Learns from whole texts."""

    models = {
        "swift": "the default: rotary, normalised queries and keys, squared ReLU, Muon; reads both ways",
        "bert": "BERT's layout: post-norm, learned positions, GELU",
    }
    presets = {
        n: f"{s.depth} layers, {s.dim} wide, {s.heads} heads"
        + (f"; model {CATALOGUE.of_preset[n]}" if n in CATALOGUE.of_preset else "")
        for n, s in PRESETS.items()
    }
    settings: ClassVar[type[EncoderTraining]] = EncoderTraining
    looking = Glancing
    takes: ClassVar[tuple[str, ...]] = ("fill-mask", "classify-text", "tag-text", "language-model")
    head: ClassVar[Wanted]

    # What a task on texts says of itself

    def read(
        self, sources: Sequence[str], valid: str | None, settings: Any, tokenizer: Tokenizer | None = None
    ) -> TextData:
        """The data in files, or the sample where none are named; `tokenizer` is the one that is known already, if any."""
        raise NotImplementedError

    def texts(self, things: Sequence[Any]) -> Iterator[str]:
        """The texts of things that were read, for a tokenizer to be made of."""
        raise NotImplementedError

    def outputs(self, data: TextData) -> int | None:
        """The size of the head, where the task decides it."""
        raise NotImplementedError

    def objective(self, data: TextData, settings: Any) -> Objective.Config:
        """What is learned."""
        raise NotImplementedError

    def source(self, data: TextData, tokenizer: Tokenizer, settings: Any) -> Source:
        """The samples."""
        raise NotImplementedError

    def same_head(self, origin: Loaded, data: TextData) -> bool:
        """Whether the head of the run to start from answers what is asked here."""
        return origin.config.get("task") == self.name

    # What all of them do

    def plan(self, request: Request) -> Plan:
        CATALOGUE.check(request)
        settings = first_settings(request, self.settings)
        inherited = None if request.origin is None else self.tokenizer(request.origin)
        data = self.read(request.sources, request.valid, settings, inherited)
        tokenizer = inherited or self.made_tokenizer(data, settings)
        wish = self.wish(data, tokenizer)
        budget = minutes_for(request, wish.tokens)
        same = request.origin is not None and self.same_head(request.origin, data)
        config, settings = choose_encoder(request, settings, wish, budget, same=same)
        settings = settings.replace(tokenizer=settings.tokenizer or tokenizer.kind)
        work = Work(
            model=config,
            objective=self.objective(data, settings),
            source=self.source(data, tokenizer, settings),
            training=settings,
            budget=budget,
            record={
                "task": self.name,
                "model_name": model_name(request),
                "preset": request.preset,
                "from": None if request.origin is None else str(request.origin.folder.path.absolute()),
                "data": self.data_record(request, data, tokenizer),
            },
            files={"tokenizer.json": tokenizer.to_json()},
            start=start_weights(request, same),
            frozen=settings.frozen,
        )
        lines = {
            "task": f"{self.name}: {self.summary}",
            "data": "; ".join(data.lines),
            "tokens": f"{tokenizer.kind}, vocabulary {tokenizer.size}; about {wish.tokens:,} to train on",
            "held out": data.rule.partition(":")[0],
            **plan_lines(request, config, settings, budget, self.batch_line(settings)),
        }
        return Plan(work, lines, self.stem(request.sources))

    def restore(self, folder: RunFolder, config: Mapping[str, Any], sources: tuple[str, ...]) -> Work:
        where, record = f"{folder.path}/config.json", config["data"]
        settings = from_json(config["training"], self.settings, where=f"{where}: training")
        model = stream_config(config, where)
        tokenizer = tokenizer_of(folder, config, model.embed.size)
        data = self.read(sources or tuple(record["sources"]), record["valid"], settings, tokenizer)
        return Work(
            model=model,
            objective=from_json(config["objective"], Objective.Config, where=f"{where}: objective"),
            source=self.source(data, tokenizer, settings),
            training=settings,
            budget=Budget(**config["budget"]),
            record={"data": {**record, **named(sources)}} if sources else {},
            files={"tokenizer.json": tokenizer.to_json()},
            frozen=settings.frozen,
        )

    def wish(self, data: TextData, tokenizer: Tokenizer) -> Wish:
        """What is wanted of a model for this data."""
        lengths = [len(row) for row in frame_texts(tokenizer, list(self.texts(data.train)), 2**20).rows]
        longest = int(np.quantile(lengths, 0.995)) if lengths else 8
        return Wish(self.head, self.outputs(data), tokenizer.size, sum(lengths), longest)

    def batch_line(self, settings: Any) -> str:
        """The size of a step in words."""
        return f"up to {settings.rows} texts a step"

    def made_tokenizer(self, data: TextData, settings: Any) -> Tokenizer:
        """A tokenizer for the texts: word pieces, so that a token says something by itself."""
        size = sum(len(text.encode("utf-8", "replace")) for text in self.texts(data.train))
        kind = settings.tokenizer or "bpe"
        vocab = settings.vocab or (vocabulary(size) if kind == "bpe" else None)
        return tokenizers.train(kind, pieces(self.texts(data.train)), vocab)

    def data_record(self, request: Request, data: TextData, tokenizer: Tokenizer) -> dict[str, Any]:
        """What config.json says of the data."""
        return {
            **named(request.sources),
            "valid": None if request.valid is None else str(Path(request.valid).absolute()),
            "rule": data.rule,
            "described": data.described,
            "train": len(data.train),
            "held_out": len(data.held_out),
            "tokenizer": tokenizer.kind,
            "tokenizer_digest": tokenizer.digest,
            "vocabulary": tokenizer.size,
            **data.record,
        }

    def stem(self, sources: Sequence[str]) -> str:
        """A name for a run."""
        name = Path(sources[0]).absolute().name if sources else self.name
        return name.removesuffix(".gz").rsplit(".", 1)[0] or self.name

    def own_held_out(self, run: Loaded) -> tuple[TextData, str]:
        """The run's own data, if that is still what it was."""
        record = run.config["data"]
        if "sources" not in record:
            raise DataError("this model was not trained here: it has no data of its own", where=str(run.folder.path),
                            fix="name the data to evaluate on")  # fmt: skip
        settings = from_json(run.config["training"], self.settings)
        data = self.read(tuple(record["sources"]), record["valid"], settings)
        if data.fingerprint != run.config["fingerprint"]:
            problem = "the data of this run has changed since it was trained"
            raise DataError(problem, where=str(run.folder.path), fix="name the data to evaluate on")
        return data, f"held out: {data.rule}"

    def tokenizer(self, run: Loaded) -> Tokenizer:
        """The run's tokenizer."""
        return tokenizer_of(run.folder, run.config, model_of(run).config.embed.size)

    def framed(self, run: Loaded, texts: Sequence[Any]) -> Framed:
        """Texts as the run's model reads them."""
        for text in texts:
            if not isinstance(text, str):
                raise WeftError(f"expected a text, found {text!r}")
        return frame_texts(self.tokenizer(run), list(texts), embed_of(model_of(run).config).context)

    def vectors(self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any]) -> np.ndarray:
        return text_vectors(model_of(run), self.framed(run, inputs).rows, with_settings(Vectors(), settings))

    def look(self, run: Loaded, input: Any, settings: Mapping[str, Any]) -> View:
        (ids,) = self.framed(run, [input]).rows
        return text_view(model_of(run), self.tokenizer(run), ids, input, with_settings(Glancing(), settings))


def model_of(run: Loaded) -> Stream:
    """The run's model, which is one stream."""
    assert isinstance(run.model, Stream)
    return run.model


def adapter_file(run: Loaded) -> dict[str, bytes]:
    """What was learned beside a trunk that stayed as it is, as a small file of its own: adapters and head."""
    small = adapters(run.model)
    if not small:
        return {}
    head = {name: t for name, t in run.model.state_dict().items() if name.startswith("head.")}
    return {
        "adapters.safetensors": save({name: t.contiguous() for name, t in {**small, **head}.items()}, {"format": "pt"})
    }


def text_view(model: Stream, tokenizer: Tokenizer, ids: np.ndarray, text: str, how: Glancing) -> View:
    """What was read within a text, or what lies near it in the table."""
    if how.table:
        embed: Any = model.embed
        return NearestView(embed.table.weight.detach().float().cpu().numpy(), tokenizer, text)
    return ReadingView(model, tokenizer, ids, text, Look(how.layer, how.head, how.every))


def vocabulary(size: int) -> int:
    """Word pieces for so many bytes of texts: the more there are, the more words are met often enough to be learned."""
    return 1024 << sum(size >= step for step in (100_000, 400_000, 2_000_000, 10_000_000, 50_000_000))


def pieces(texts: Iterator[str]) -> Iterator[str | None]:
    """Texts one after the other, each ended."""
    for text in texts:
        yield text
        yield None


@torch.inference_mode()
def text_vectors(model: Stream, rows: Sequence[np.ndarray], how: Vectors) -> np.ndarray:
    """One vector for each text, texts of like length computed together."""
    found = np.zeros((len(rows), model.config.dim), np.float32)
    order = np.argsort([len(row) for row in rows], kind="stable")
    model.eval()
    for start in range(0, len(order), AT_ONCE):
        some = order[start : start + AT_ONCE]
        lines = Lines.of([rows[i] for i in some])
        x = model.encode(lines.text()).x.float()
        real = lines.real[..., None]
        vector = x[:, 0] if how.summary == "class" else (x * real).sum(1) / real.sum(1)
        found[some] = (torch.nn.functional.normalize(vector, dim=-1) if how.normalise else vector).numpy()
    return found
