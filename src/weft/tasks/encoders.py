"""What tasks share that read a text whole: planning, going on with another run's model, the words of a model card.

`EncoderTask` leaves to the tasks built on it what the data is, what is learned, and how answers are given and measured.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from safetensors.torch import save

from weft.config import from_json
from weft.core.adapters import adapters
from weft.data.source import Source
from weft.errors import DataError, WeftError
from weft.modalities.framing import Framed, frame_texts
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream
from weft.models.zoo.encoders import Wanted
from weft.objectives.objective import Objective
from weft.tasks.encoder_data import TextData, tokenizer_for
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
from weft.tasks.task import Ending, Loaded, Measured, Plan, Request, Task, View, with_settings
from weft.tasks.text_data import named, tokenizer_of
from weft.tasks.text_plan import shape
from weft.tasks.text_views import Glancing, Vectors, text_vectors, text_view
from weft.training.folder import RunFolder
from weft.training.progress import Progress
from weft.training.run import Outcome, Work
from weft.training.schedule import Budget


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
    things: ClassVar[str]  # what the data holds
    unit: ClassVar[str]  # what the loss is per
    example: ClassVar[str]  # a text to try
    bundles: ClassVar[type[Any]]  # the source of `rows`

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

    def rows(self, things: Sequence[Any], data: TextData, tokenizer: Tokenizer, context: int) -> Any:
        """Things as a model reads them, with what it learns of each."""
        raise NotImplementedError

    def ability(self, data: Mapping[str, Any]) -> str:
        """What a model does that was trained on this data."""
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
                "data": data.recorded(request.sources, request.valid, tokenizer),
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

    def source(self, data: TextData, tokenizer: Tokenizer, settings: Any) -> Source:
        """The samples."""
        train, held_out = (self.rows(s, data, tokenizer, settings.context) for s in (data.train, data.held_out))
        return self.bundles(
            train, held_out, tokens=settings.tokens, rows=settings.rows,
            fingerprint=data.fingerprint, seed=settings.seed,
        )  # fmt: skip

    def finish(self, run: Loaded, outcome: Outcome, progress: Progress) -> Ending:
        data, measured = run.config["data"], self.last_measured(run, progress)
        return Ending(
            metrics=measured.metrics,
            summary=f"{self.ability(data)}: trained by weft on {data['described']}.",
            use=f"weft predict {shlex.quote(str(run.folder.path))} {shlex.quote(self.example)}",
            facts={
                "model": f"{run.config['model_name']}, {shape(model_of(run).config)}",
                **self.amounts(data),
                "held out": data["rule"] + measured.more.get("part", ""),
                "seed": str(run.config["training"]["seed"]),
            },
            unit=self.unit,
            pictures={**measured.pictures, **adapter_file(run)},
        )

    def last_measured(self, run: Loaded, progress: Progress) -> Measured:
        """The evaluation at the end of a run."""
        return self.evaluate(run, (), progress)

    def amounts(self, data: Mapping[str, Any]) -> dict[str, str]:
        """How much there was to learn from, for the model card."""
        return {
            self.things: f"{data['train']:,} to train on, {data['held_out']:,} held out",
            "tokens": f"{data['tokenizer']}, vocabulary {data['vocabulary']}",
        }

    def wish(self, data: TextData, tokenizer: Tokenizer) -> Wish:
        """What is wanted of a model for this data."""
        lengths = [len(row) for row in frame_texts(tokenizer, list(self.texts(data.train)), 2**20).rows]
        longest = int(np.quantile(lengths, 0.995)) if lengths else 8
        return Wish(self.head, self.outputs(data), tokenizer.size, sum(lengths), longest)

    def batch_line(self, settings: Any) -> str:
        """The size of a step in words."""
        return f"up to {settings.rows} texts a step"

    def made_tokenizer(self, data: TextData, settings: Any) -> Tokenizer:
        """A tokenizer for the texts."""
        return tokenizer_for(list(self.texts(data.train)), settings.tokenizer, settings.vocab)

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
