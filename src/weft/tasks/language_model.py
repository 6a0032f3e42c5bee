"""language-model: learn to continue a text. Files of text in, a model that writes on and scores text out."""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from weft.config import from_json
from weft.data import samples
from weft.data.readers import corpus
from weft.data.readers.corpus import ENDINGS, Given, read_corpus
from weft.data.survey import Judgement, Survey
from weft.data.windows import score_windows
from weft.errors import DataError, WeftError
from weft.generate import Sampling, Session, generate
from weft.generate.compute import Compute, prepared
from weft.modalities.encoding import encode_pieces
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream
from weft.models.zoo import PRESETS
from weft.objectives import NextToken
from weft.tasks.planning import first_weights
from weft.tasks.task import Ending, Loaded, Measured, Plan, Request, Task, View, with_settings
from weft.tasks.text_data import data_record, named, read_text, tokenizer_of
from weft.tasks.text_plan import CATALOGUE, KEPT, TextTraining, budget_for, choose_model, context_of, plan_lines, shape
from weft.tasks.text_views import Glancing, Vectors, text_vectors, text_view
from weft.training.card import finite
from weft.training.folder import RunFolder
from weft.training.progress import Progress
from weft.training.run import Budget, Outcome, Work

SAMPLE = 300  # tokens shown of what a new run writes
UNITS = {"characters": "character", "bytes": "byte"}  # what a token is; a token elsewhere


class Writing(Sampling, Compute):
    """Settings of a language model's prediction."""

    about: ClassVar[Mapping[str, str]] = {
        "temperature": "0 takes the likeliest token; below 1 is safer, above 1 bolder",
        "top_k": "drop all but the k likeliest tokens",
        "top_p": "drop tokens beyond this share of the probability",
        "min_p": "drop tokens below this share of the likeliest one's probability",
        "repetition_penalty": "above 1 avoids what was already said",
        "max_tokens": "the most tokens to write",
        "stop": "texts that end the writing, separated by commas",
        "samples": "continuations of each input",
        "seed": "another seed, another text",
        "precision": "fp32, bf16 or int8",
    }


class LanguageModel(Task):
    """GPT and its relatives."""

    name = "language-model"
    summary = "learn to continue a text"
    files = "text of any ending, or .jsonl (field text), gzip of these, several files, or a folder of them"
    models = {
        "swift": "the default: rotary, normalised queries and keys, squared ReLU, Muon",
        "gpt": "GPT-2's layout: learned positions, pre-norm, GELU",
        "llama": "Llama's layout: rotary, RMS norm, gated MLP, shared key heads",
        "lstm": "stacked LSTMs, the recurrent baseline",
    }
    presets = {n: f"{s.depth} layers, {s.dim} wide, {s.heads} heads, context {s.context}" for n, s in PRESETS.items()}
    sample = "the help texts that every Python carries (pydoc_data.topics)"
    settings = TextTraining
    use = Writing
    streams = True

    def judge(self, survey: Survey) -> Judgement:
        return corpus.judge(survey)

    def plan(self, request: Request) -> Plan:
        CATALOGUE.check(request)
        settings = CATALOGUE.first_settings(request, TextTraining, KEPT)
        tokenizer = None if request.origin is None else _tokenizer(request.origin)
        sources = request.sources or _sample()
        read = read_text(sources, request.valid, tokenizer, kind=settings.tokenizer, vocab=settings.vocab)
        budget = budget_for(request, read)
        config, settings = choose_model(request, settings, read, budget)
        work = Work(
            model=config,
            objective=NextToken.Config(),
            source=read.windows(context_of(config), settings.seed),
            training=settings,
            budget=budget,
            record={
                **CATALOGUE.record(self.name, request),
                "data": data_record(request.sources, request.valid, read),
            },
            files={"tokenizer.json": read.tokenizer.to_json()},
            start=first_weights(request),
        )
        lines = {"task": f"{self.name}: {self.summary}", **plan_lines(request, read, config, settings, budget)}
        return Plan(work, lines, _stem(sources))

    def restore(self, folder: RunFolder, config: Mapping[str, Any], sources: tuple[str, ...]) -> Work:
        where = f"{folder.path}/config.json"
        settings = from_json(config["training"], TextTraining, where=f"{where}: training")
        model = from_json(config["model"], Stream.Config, where=f"{where}: model")
        tokenizer, data = tokenizer_of(folder, config, model.embed.size), config["data"]
        read = read_text(sources or tuple(data["sources"]) or _sample(), data["valid"], tokenizer)
        moved = {"data": {**data, **named(sources)}} if sources else {}
        return Work(
            model=model,
            objective=from_json(config["objective"], NextToken.Config, where=f"{where}: objective"),
            source=read.windows(context_of(model), settings.seed),
            training=settings,
            budget=Budget(**config["budget"]),
            record=moved,
            files={"tokenizer.json": tokenizer.to_json()},
        )

    def finish(self, run: Loaded, outcome: Outcome, progress: Progress) -> Ending:
        data, folder = run.config["data"], run.folder.path
        return Ending(
            metrics=self.evaluate(run, (), progress).metrics,
            summary=f"A language model trained by weft on {data['described']}.",
            use=f'weft predict {shlex.quote(str(folder))} "Once upon a"',
            facts={
                "model": f"{run.config['model_name']}, {shape(from_json(run.config['model'], Stream.Config))}",
                "tokens": f"{data['tokenizer']}, vocabulary {data['vocabulary']}",
                "held out": data["rule"],
                "seed": str(run.config["training"]["seed"]),
            },
            unit=UNITS.get(data["tokenizer"], "token"),
            sample=self.predict(run, [""], {"max_tokens": SAMPLE}, None)[0]["text"],
        )

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        how = with_settings(Writing(), settings)
        for text in inputs:
            if not isinstance(text, str):
                raise WeftError(f"expected a text to continue, found {text!r}")
        tokenizer, model = _tokenizer(run), prepared(run.model, how.precision)
        opening = opening_of(run, tokenizer)
        prompts = [[*opening, *tokenizer.encode(text).tolist()] or [tokenizer.end] for text in inputs]
        session = Session(model, capacity=max(map(len, prompts), default=1) + how.max_tokens)  # type: ignore[arg-type]
        many = generate(session, tokenizer, prompts, how, listen=listen)
        return [
            {
                "prompt": text,
                "text": one.text,
                **({"sample": i} if how.samples > 1 else {}),
                **_unread(text, prompt, session.window, tokenizer),
            }
            for text, prompt, made in zip(inputs, prompts, many, strict=True)
            for i, one in enumerate(made)
        ]

    def shown(self, prediction: Mapping[str, Any]) -> str:
        return str(prediction["prompt"] + prediction["text"])

    looking = Glancing

    def look(self, run: Loaded, input: Any, settings: Mapping[str, Any]) -> View:
        tokenizer = _tokenizer(run)
        (ids,) = self.framed(run, [input])
        return text_view(run.model, tokenizer, ids, input, with_settings(Glancing(), settings))  # type: ignore[arg-type]

    def vectors(self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any]) -> np.ndarray:
        return text_vectors(run.model, self.framed(run, inputs), with_settings(Vectors(), settings))  # type: ignore[arg-type]

    def framed(self, run: Loaded, inputs: Sequence[Any]) -> list[np.ndarray]:
        """Texts as the model reads them: what does not fit its context is left out in front."""
        tokenizer, context = _tokenizer(run), run.config["training"]["context"]
        for text in inputs:
            if not isinstance(text, str):
                raise WeftError(f"expected a text, found {text!r}")
        opening = opening_of(run, tokenizer)
        return [np.array([*opening, *tokenizer.encode(text)][-context:] or [tokenizer.end]) for text in inputs]

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        tokenizer, more = _tokenizer(run), {}
        if data:
            corpus, what = read_corpus(data), ", ".join(data)
            ids, size, documents = encode_pieces(tokenizer, corpus.pieces()), corpus.bytes, corpus.documents
            unknown = sum(tokenizer.unknown(piece) for piece in corpus.pieces() if piece)
            more = {"unknown": unknown} if unknown else {}
        else:
            record = run.config["data"]
            read = read_text(tuple(record["sources"]) or _sample(), record["valid"], tokenizer)
            if read.fingerprint != run.config["fingerprint"]:
                problem = "the data of this run has changed since it was trained"
                raise DataError(problem, where=str(run.folder.path), fix="name the data to evaluate on")
            ids, size, what = read.valid, read.valid_bytes, f"held out: {read.rule}"
            documents = max(1, int((ids[1:] == tokenizer.end).sum()))
        total, seen = score(run.model, ids, run.config["training"]["context"])  # type: ignore[arg-type]
        loss = total / max(1, seen)
        metrics = {
            "loss": loss,
            "perplexity": math.exp(min(loss, 700)),
            "bits_per_byte": total / math.log(2) / max(1, size),
        }
        return Measured(what, documents, finite(metrics), {"tokens": seen, "bytes": size, **more})


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


def opening_of(run: Loaded, tokenizer: Tokenizer) -> list[int]:
    """What stands before a text: the end of the one before, or what a model from elsewhere is used to."""
    imported = run.config.get("imported")
    return [tokenizer.end] if imported is None else list(imported["opening"])


def _unread(text: str, prompt: list[int], window: int | None, tokenizer: Tokenizer) -> dict[str, int]:
    """What of a prompt the model does not see, where there is any: tokens before its context, unknown characters."""
    late = len(prompt) - window if window is not None and len(prompt) > window else 0
    return {name: n for name, n in (("unread", late), ("unknown", tokenizer.unknown(text))) if n}


def _tokenizer(run: Loaded) -> Tokenizer:
    config: Any = run.model.config
    return tokenizer_of(run.folder, run.config, config.embed.size)


def _sample() -> tuple[Given, ...]:
    return (samples.python_topics(),)


def _stem(sources: Sequence[str | Given]) -> str:
    name = Path(str(sources[0])).absolute().name
    for end in (".gz", *ENDINGS):
        name = name.removesuffix(end)
    return name
