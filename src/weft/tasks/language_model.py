"""language-model: learn to continue a text. Files of text in, a model that writes on and scores text out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from weft.config import from_json
from weft.data import samples
from weft.data.files import ending
from weft.data.text import ENDINGS, Corpus, Part, read_corpus, split
from weft.data.windows import TextWindows, score_windows
from weft.errors import ConfigError, DataError, WeftError, nearest
from weft.generate import Sampling, Session, generate
from weft.generate.compute import Compute, prepared
from weft.inspect.curves import loss_curve
from weft.modalities import tokenizer as tokenizers
from weft.modalities.tokenizer import Tokenizer, encode_pieces
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, PRESETS, Size
from weft.objectives import NextToken
from weft.tasks import sizing
from weft.tasks.task import Loaded, Measured, Plan, Request, Task
from weft.training.card import finite, model_card
from weft.training.folder import RunFolder
from weft.training.precision import pick_precision, product_rate
from weft.training.progress import Progress, count, duration
from weft.training.run import Budget, Outcome, Work, parameters
from weft.training.settings import Training

QUICK_STEPS = 150  # of the preset that trains in seconds
RECIPES: dict[str, dict[str, Any]] = {  # what learns best for each model, where it differs from the default
    "gpt": {"lr": 3e-3},
    "llama": {"lr": 3e-3},
    "lstm": {"lr": 3e-3, "optimizer": "adamw"},
}


class TextTraining(Training):
    """Settings of a language model's training.

    tokenizer is bytes, characters, bpe or the path of a tokenizer.json; vocab the size of a bpe vocabulary.
    """

    context: int | None = None
    dropout: float | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    dim: int | None = None
    depth: int | None = None
    heads: int | None = None

    def check(self) -> None:
        super().check()
        for name in ("context", "dim", "depth", "heads"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= 2**20:
                raise ConfigError(f"expected from 1 to {2**20}, found {value}", where=name)
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise ConfigError(f"must be at least 0 and below 1, found {self.dropout}", where="dropout")


class Writing(Sampling, Compute):
    """Settings of a language model's prediction."""


@dataclass(frozen=True)
class Read:
    """The user's text as ids, with what was learned on the way."""

    corpus: Corpus
    tokenizer: Tokenizer
    train: np.ndarray
    valid: np.ndarray
    valid_bytes: int
    rule: str
    fingerprint: str


class LanguageModel(Task):
    """GPT and its relatives."""

    name = "language-model"
    summary = "learn to continue a text"
    files = "text as .txt, .md or .jsonl (field text), gzip of these, several files, or a folder of them"
    models = {
        "swift": "the default: rotary, normalised queries and keys, squared ReLU; learns fastest per minute",
        "gpt": "GPT-2's layout: learned positions, pre-norm, GELU",
        "llama": "Llama's layout: rotary, RMS norm, gated MLP, shared key heads",
        "lstm": "stacked LSTMs, the recurrent baseline",
    }
    presets = {n: f"{s.depth} layers, {s.dim} wide, {s.heads} heads, context {s.context}" for n, s in PRESETS.items()}
    sample = "the help texts that every Python carries (pydoc_data.topics)"
    settings = TextTraining
    use = Writing

    def recognises(self, sources: Sequence[Path]) -> bool:
        return all(_looks_like_text(source) for source in sources)

    def samples(self) -> tuple[str, ...]:
        return (str(samples.python_topics()),)

    def plan(self, request: Request) -> Plan:
        settings = self._settings(request)
        if request.origin is not None:
            read = read_text(request.sources, request.valid, tokenizer_of(request.origin), settings)
        else:
            read = read_text(request.sources, request.valid, None, settings)
        budget, quick = _budget(request, read), request.preset == "tiny"
        config, settings = self._model(request, settings, read, budget)
        context = config.embed.context  # type: ignore[attr-defined]
        source = TextWindows(read.train, read.valid, context=context, fingerprint=read.fingerprint, seed=settings.seed)
        name = self._model_name(request)
        record = {
            "task": self.name,
            "model_name": name,
            "preset": request.preset,
            "from": None if request.origin is None else str(request.origin.folder.path),
            "data": _data_record(request, read),
        }
        work = Work(
            model=config,
            objective=NextToken.Config(),
            source=source,
            training=settings,
            budget=budget,
            record=record,
            files={"tokenizer.json": read.tokenizer.to_json()},
            start=None if request.origin is None else request.origin.model.state_dict(),
        )
        lines = _lines(request, read, config, settings, budget, name)
        return Plan(work, lines, "tiny" if quick and not request.sources else _stem(request.sources))

    def _settings(self, request: Request) -> TextTraining:
        recipe = RECIPES.get(self._model_name(request), {})
        settings = TextTraining(**recipe)
        for key, value in request.settings.items():
            if not key.startswith("model."):
                settings = settings.set(key, value)
        return settings

    def _model_name(self, request: Request) -> str:
        if request.origin is not None:
            return request.origin.config.get("model_name", "swift")
        name = request.model or "swift"
        if name not in LANGUAGE_MODELS:
            raise WeftError(
                f"there is no model {name!r} for this task", where="--model", fix=nearest(name, LANGUAGE_MODELS)
            )
        return name

    def _model(
        self, request: Request, settings: TextTraining, read: Read, budget: Budget
    ) -> tuple[Stream.Config, TextTraining]:
        """The model's config, and the settings with everything decided."""
        given = {n: getattr(settings, n) for n in ("dim", "depth", "heads", "context") if getattr(settings, n)}
        if request.origin is not None:
            config = from_json(request.origin.config["model"], Stream.Config)
            was = request.origin.config["training"]
            settings = settings.replace(
                **{n: was[n] for n in ("dim", "depth", "heads", "context", "dropout", "tokenizer", "vocab")}
            )
            if given:
                raise ConfigError(f"{', '.join(given)}: the size is that of the run to start from", where="--set")
            return config, settings
        vocab = read.tokenizer.size
        if request.preset is not None:
            if request.preset not in PRESETS:
                raise WeftError(
                    f"there is no preset {request.preset!r}", where="--preset", fix=nearest(request.preset, PRESETS)
                )
            size = PRESETS[request.preset]
            sized = sizing.with_batch(size, 0.0, len(read.train))
        else:
            dtype = pick_precision(settings.precision, request.device)
            seconds = budget.seconds or 300.0
            sized = sizing.for_budget(seconds, product_rate(request.device, dtype), vocab, len(read.train))
        size = _fitted(sized.size, given, len(read.train))
        size.check()
        dropout = sized.dropout if settings.dropout is None else settings.dropout
        asked_batch = "batch" in request.settings
        settings = settings.replace(
            dim=size.dim,
            depth=size.depth,
            heads=size.heads,
            context=size.context,
            dropout=dropout,
            tokenizer=settings.tokenizer or read.tokenizer.kind,
            batch=settings.batch if asked_batch else sized.batch,
        )
        config = LANGUAGE_MODELS[self._model_name(request)](size, vocab=vocab, dropout=dropout)
        for key, value in request.settings.items():
            if key.startswith("model."):
                config = config.set(key.removeprefix("model."), value)
        return config, settings

    def restore(self, folder: RunFolder, config: Mapping[str, Any], sources: tuple[str, ...]) -> Work:
        settings = from_json(config["training"], TextTraining, where=f"{folder.path}/config.json: training")
        data, model = config["data"], from_json(config["model"], Stream.Config)
        tokenizer = Tokenizer.from_json(folder.text("tokenizer.json"), str(folder.path / "tokenizer.json"))
        named = sources or tuple(data["sources"])
        if data.get("sample"):
            named = self.samples()
        read = read_text(named, data["valid"], tokenizer, settings)
        source = TextWindows(
            read.train, read.valid, context=model.embed.context, fingerprint=read.fingerprint, seed=settings.seed
        )
        return Work(
            model=model,
            objective=from_json(config["objective"], NextToken.Config),
            source=source,
            training=settings,
            budget=Budget(**config["budget"]),
        )

    def finish(self, outcome: Outcome, config: Mapping[str, Any], progress: Progress) -> Mapping[str, Any]:
        folder, model = outcome.folder, outcome.model
        loaded = Loaded(folder, config, model)
        measured = self.evaluate(loaded, (), progress)
        metrics = finite(measured.metrics)
        sample = self.predict(loaded, [""], {"max_tokens": 300}, None)[0]["text"]
        data, unit = config["data"], _unit(config["training"]["tokenizer"])
        card = model_card(
            folder.path.name,
            summary=f"A language model trained by weft on {data['described']}.",
            use=f'weft predict {folder.path} "Once upon a"',
            facts={
                "model": f"{config['model_name']}, {_shape(config['training'])}",
                "tokens": f"{data['tokenizer']}, vocabulary {data['vocabulary']}",
                "held out": data["rule"],
                "seed": str(config["training"]["seed"]),
            },
            metrics=metrics,
            parameters=parameters(model),
            steps=outcome.steps,
            seconds=outcome.seconds,
            sample=sample,
        )
        picture = loss_curve(folder.metrics(), unit=unit, title=folder.path.name)
        folder.finish(outcome.weights, {"README.md": card, "loss.png": picture})
        return {
            "run": str(folder.path),
            "task": self.name,
            "model": config["model_name"],
            "parameters": parameters(model),
            "steps": outcome.steps,
            "seconds": round(outcome.seconds, 1),
            "metrics": metrics,
            "sample": sample,
        }

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        how = Writing()
        for key, value in settings.items():
            how = how.set(key, value)
        for text in inputs:
            if not isinstance(text, str):
                raise WeftError(f"expected a text to continue, found {text!r}")
        tokenizer = tokenizer_of(run)
        prompts = [[tokenizer.end, *tokenizer.encode(text).tolist()] for text in inputs]
        model = prepared(run.model, how.precision)
        capacity = max(map(len, prompts), default=1) + how.max_tokens
        session = Session(model, capacity=capacity)  # type: ignore[arg-type]
        many = generate(session, tokenizer, prompts, how, listen=listen)
        return [
            {"prompt": prompt, "text": one.text, **({"sample": i} if how.samples > 1 else {})}
            for prompt, made in zip(inputs, many, strict=True)
            for i, one in enumerate(made)
        ]

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        tokenizer, settings = tokenizer_of(run), from_json(run.config["training"], TextTraining)
        if data:
            corpus = read_corpus(data)
            ids, size, documents = encode_pieces(tokenizer, corpus.pieces()), corpus.bytes, corpus.documents
            named = ", ".join(data)
        else:
            record = run.config["data"]
            sources = self.samples() if record.get("sample") else tuple(record["sources"])
            read = read_text(sources, record["valid"], tokenizer, settings)
            if read.fingerprint != run.config["fingerprint"]:
                raise DataError(
                    "the data of this run has changed since it was trained", fix="name the data to evaluate on"
                )
            ids, size, documents, named = read.valid, read.valid_bytes, 1, f"held out: {read.rule}"
        total, seen = score(run.model, ids, run.config["training"]["context"])  # type: ignore[arg-type]
        loss = total / max(1, seen)
        metrics = {
            "loss": loss,
            "perplexity": math.exp(min(loss, 700)),
            "bits_per_byte": total / math.log(2) / max(1, size),
        }
        more = {"tokens": seen, "bytes": size}
        return Measured(named, documents, finite(metrics), more)


@torch.inference_mode()
def score(model: Stream, ids: np.ndarray, context: int) -> tuple[float, int]:
    """The summed loss of a text in nats, every token scored once after at least half a context, and their number."""
    objective, device = NextToken.Config().build(), next(model.parameters()).device
    model.eval()
    total, seen = 0.0, 0
    for batch in score_windows(ids, context):
        loss = objective(model, batch.to(device))
        total, seen = total + float(loss.total), seen + loss.count
    return total, seen


def read_text(sources: Sequence[str], valid: str | None, tokenizer: Tokenizer | None, settings: TextTraining) -> Read:
    """The user's files as ids, split into what is trained on and what is held out."""
    corpus = read_corpus(sources)
    train: Corpus | Part
    held: Corpus | Part
    if valid is not None:
        train, held = corpus, read_corpus([valid])
        rule, fingerprint = f"the file {valid}", f"{corpus.fingerprint} {held.fingerprint}"
    else:
        parts = split(corpus)
        train, held, rule, fingerprint = parts.train, parts.valid, parts.rule, corpus.fingerprint
    if tokenizer is None:
        kind, vocab = tokenizers.choose(corpus.characters, corpus.distinct, corpus.bytes)
        kind = settings.tokenizer or kind
        vocab = settings.vocab or (vocab or 1024 if kind == "bpe" else None)
        tokenizer = tokenizers.train(kind, train.pieces(), vocab)
    ids, held_ids = encode_pieces(tokenizer, train.pieces()), encode_pieces(tokenizer, held.pieces())
    if len(ids) < 3 or len(held_ids) < 2:
        raise DataError(f"{corpus.characters} characters are too few to train on", where=", ".join(sources))
    return Read(corpus, tokenizer, ids, held_ids, held.bytes, rule, fingerprint)


def tokenizer_of(run: Loaded) -> Tokenizer:
    """The tokenizer of a run, checked against its model."""
    where = str(run.folder.path / "tokenizer.json")
    tokenizer = Tokenizer.from_json(run.folder.text("tokenizer.json"), where)
    size = run.model.config.embed.size  # type: ignore[union-attr]
    if tokenizer.size != size:
        raise ConfigError(
            f"the tokenizer has {tokenizer.size} tokens, the model {size}",
            where=where,
            fix="they are of different runs",
        )
    return tokenizer


def _fitted(size: Size, given: Mapping[str, int], tokens: int) -> Size:
    """A size with the user's numbers in place of its own, and no longer context than there is text."""
    values = {"dim": size.dim, "depth": size.depth, "heads": size.heads, "context": size.context, **given}
    if "dim" in given and "heads" not in given:
        width = max(1, size.dim // size.heads)
        fitting = [h for h in range(1, values["dim"] + 1) if values["dim"] % h == 0 and values["dim"] // h % 2 == 0]
        values["heads"] = min(fitting or [1], key=lambda h: abs(values["dim"] / h - width))
    if "context" not in given:
        values["context"] = max(2, min(values["context"], tokens - 1))
    return Size(**values)


def _budget(request: Request, read: Read) -> Budget:
    """The user's, or some minutes that suit the amount of text."""
    if request.budget != Budget():
        return request.budget
    if request.preset == "tiny":
        return Budget(steps=QUICK_STEPS)
    return Budget(minutes=round(min(10.0, max(1.0, read.corpus.bytes / 2e5)), 1))


def _looks_like_text(source: Path) -> bool:
    if any(mark in str(source) for mark in "*?["):
        return ending(source, ENDINGS) is not None
    if source.is_dir():
        return any(ending(path, ENDINGS) for path in source.rglob("*"))
    return ending(source, ENDINGS) is not None


def _data_record(request: Request, read: Read) -> dict[str, Any]:
    shipped = request.sources and "weft-" in request.sources[0] and request.sources[0].endswith("python-topics.txt")
    files = len(read.corpus.files)
    names = ", ".join(file.path.name for file in read.corpus.files[:3]) + (
        f" and {files - 3} more" if files > 3 else ""
    )
    return {
        "sources": [] if shipped else [str(Path(s).absolute()) for s in request.sources],
        "sample": bool(shipped),
        "valid": request.valid,
        "rule": read.rule,
        "documents": read.corpus.documents,
        "bytes": read.corpus.bytes,
        "characters": read.corpus.characters,
        "described": f"{names} ({read.corpus.bytes / 1e6:.2f} MB)",
        "tokenizer": read.tokenizer.kind,
        "vocabulary": read.tokenizer.size,
        "train_tokens": len(read.train),
        "held_out_tokens": len(read.valid),
        "skipped": [list(item) for item in read.corpus.skipped],
    }


def _lines(
    request: Request, read: Read, config: Stream.Config, settings: TextTraining, budget: Budget, name: str
) -> dict[str, str]:
    """The plan for people."""
    with torch.device("meta"):
        size = parameters(config.build())
    corpus = read.corpus
    documents = f"{corpus.documents} document{'s' if corpus.documents != 1 else ''}"
    skipped = (
        f"; {len(corpus.skipped)} files skipped: " + ", ".join(n for n, _ in corpus.skipped[:3])
        if corpus.skipped
        else ""
    )
    precision = "bf16" if pick_precision(settings.precision, request.device) is torch.bfloat16 else "fp32"
    if budget.minutes is not None:
        length = duration(60 * budget.minutes)
    else:
        length = f"{budget.steps} steps" if budget.steps else f"{budget.epochs:g} epochs"
    text = f"{corpus.bytes / 1e6:.2f} MB in {documents}{skipped}"
    return {
        "data": text,
        "task": f"{LanguageModel.name}: {LanguageModel.summary}",
        "tokens": f"{read.tokenizer.kind}, vocabulary {read.tokenizer.size}; {count(len(read.train))} to train on",
        "held out": f"{read.rule} ({count(len(read.valid))} tokens)",
        "model": f"{name}, {_shape(vars(settings))}, {count(size)} parameters",
        "training": f"{length} on {request.device.type} in {precision}, batch {settings.batch}, lr {settings.lr:g}",
    }


def _shape(values: Mapping[str, Any]) -> str:
    return f"{values['depth']} layers, {values['dim']} wide, {values['heads']} heads, context {values['context']}"


def _stem(sources: Sequence[str]) -> str:
    name = Path(sources[0]).name if sources else "text"
    for end in (".gz", *ENDINGS):
        name = name.removesuffix(end)
    return name


def _unit(kind: str) -> str:
    return {"characters": "character", "bytes": "byte"}.get(kind, "token")
