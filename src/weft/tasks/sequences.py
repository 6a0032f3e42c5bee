"""What tasks share whose answer to a text is a text: an encoder–decoder learns pairs, and a search finds the target.

`PairTask` plans, restores, trains and decodes; the tasks built on it say where pairs come from and how answers are
measured.
"""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from weft.config import from_json
from weft.data.pairs.batches import PairBundles
from weft.data.readers.pair_texts import Held
from weft.errors import DataError, WeftError
from weft.generate.beam import Hypothesis
from weft.generate.decode import Decoding, decode
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq
from weft.objectives import TargetToken
from weft.tasks.pair_data import PairData, ReadPairs, encode_pairs, pair_lines, pair_record
from weft.tasks.pair_plan import (
    CATALOGUE,
    KEPT,
    PRESETS,
    PairTraining,
    budget_for,
    choose_model,
    context_of,
    plan_lines,
    shape,
)
from weft.tasks.pair_scoring import marked, score
from weft.tasks.planning import first_weights
from weft.tasks.task import Ending, Loaded, Measured, Plan, Request, Task, with_settings
from weft.tasks.text_data import around_of, named, tokenizer_of
from weft.training.card import finite
from weft.training.folder import RunFolder
from weft.training.progress import Progress, counter
from weft.training.run import Budget, Outcome, Work

ROOM = 10  # tokens that a target may have beyond what its source's length lets expect
SHOWN = 5  # held-out examples in a report


class Finding(Decoding):
    """Settings of a prediction."""

    about: ClassVar[Mapping[str, str]] = {
        "beam": "hypotheses that are followed side by side; 1 is greedy",
        "length_penalty": "above 0 favours longer answers: log p / ((5 + length) / 6)^this",
        "best": "answers to give for each input, the best first",
        "precision": "fp32, bf16 or int8",
        "temperature": "above 0 draws at random instead of searching; 1 as the model believes",
        "top_k": "drop all but the k likeliest tokens when drawing",
        "top_p": "drop tokens beyond this share of the probability when drawing",
        "seed": "another seed, another draw",
        "max_tokens": "the most tokens of an answer; by default a bound from the input's length",
    }


class PairTask(Task):
    """Learns to answer texts with texts."""

    models = {
        "swift": "the default: rotary, normalised queries and keys, squared ReLU, Muon",
        "transformer": "the Transformer of 2017: post-norm, sinusoids, label smoothing, warm-up, averaged weights",
        "lstm": "LSTM encoder and decoder through one context vector",
        "lstm-attention": "the same with a new context at each step, by additive attention",
    }
    presets = {
        n: f"{s.depth}+{s.depth} layers, {s.dim} wide, {s.heads} heads"
        + (f"; model {CATALOGUE.of_preset[n]}" if n in CATALOGUE.of_preset else "")
        for n, s in PRESETS.items()
    }
    settings = PairTraining
    use = Finding
    streams = False
    example: ClassVar[str]  # an input to try

    def read(self, sources: Sequence[str], valid: str | None, settings: PairTraining) -> PairData:
        """The pairs in files, or of the sample where none are named."""
        raise NotImplementedError

    def read_held(self, run: Loaded, data: Sequence[str]) -> tuple[Sequence[Held], str]:
        """The pairs to measure on, and what they are called."""
        raise NotImplementedError

    def measures(self, found: Sequence[str], held: Sequence[Held]) -> tuple[dict[str, float], dict[str, Any]]:
        """How good answers are, and what is to be said of the measures."""
        raise NotImplementedError

    def spelt(self, target: str) -> str:
        """A target as the text that the model learns to write."""
        return target

    def stem(self, sources: Sequence[str]) -> str:
        """A name for a run."""
        raise NotImplementedError

    def plan(self, request: Request) -> Plan:
        CATALOGUE.check(request)
        settings = CATALOGUE.first_settings(request, PairTraining, KEPT)
        tokenizer = None if request.origin is None else self.tokenizer(request.origin)
        data = self.read(request.sources, request.valid, settings)
        read = encode_pairs(data, tokenizer, settings.tokenizer, settings.vocab, settings.context, self.spelt)
        budget = budget_for(request, read)
        config, settings = choose_model(request, settings, read, budget)
        bundles = _bundles(read, settings)
        work = Work(
            model=config,
            objective=TargetToken.Config(smoothing=settings.smoothing),
            source=bundles,
            training=settings,
            budget=budget,
            record={
                **CATALOGUE.record(self.name, request),
                "data": {
                    **named(request.sources),
                    "valid": None if request.valid is None else str(Path(request.valid).absolute()),
                    **pair_record(data, read),
                    "real_share": round(bundles.real_share, 4),
                    "ratio": _ratio(read),
                },
            },
            files={"tokenizer.json": read.tokenizer.to_json()},
            start=first_weights(request),
        )
        lines = {
            "task": f"{self.name}: {self.summary}",
            **pair_lines(data, read),
            **plan_lines(request, config, settings, budget, bundles.real_share),
        }
        return Plan(work, lines, self.stem(request.sources))

    def restore(self, folder: RunFolder, config: Mapping[str, Any], sources: tuple[str, ...]) -> Work:
        where, record = f"{folder.path}/config.json", config["data"]
        settings = from_json(config["training"], PairTraining, where=f"{where}: training")
        model = from_json(config["model"], Seq2Seq.Config, where=f"{where}: model")
        tokenizer = tokenizer_of(folder, config, model.target.embed.size)
        data = self.read(sources or tuple(record["sources"]), record["valid"], settings)
        read = encode_pairs(data, tokenizer, None, None, settings.context, self.spelt)
        return Work(
            model=model,
            objective=from_json(config["objective"], TargetToken.Config, where=f"{where}: objective"),
            source=_bundles(read, settings),
            training=settings,
            budget=Budget(**config["budget"]),
            record={"data": {**record, **named(sources)}} if sources else {},
            files={"tokenizer.json": tokenizer.to_json()},
        )

    def finish(self, run: Loaded, outcome: Outcome, progress: Progress) -> Ending:
        data, folder = run.config["data"], run.folder.path
        measured = self.evaluate(run, (), progress)
        examples = measured.more["samples"]
        return Ending(
            metrics=measured.metrics,
            summary=f"{self.summary[0].upper()}{self.summary[1:]}: trained by weft on {data['described']}.",
            use=f"weft predict {shlex.quote(str(folder))} {shlex.quote(self.example)}",
            facts={
                "model": f"{run.config['model_name']}, {shape(from_json(run.config['model'], Seq2Seq.Config))}",
                "pairs": f"{data['pairs']:,} ({' -> '.join(data['columns'])}); {data['real_share']:.0%} of the tokens "
                "in a batch are real",
                "tokens": f"{data['tokenizer']}, vocabulary {data['vocabulary']}",
                "held out": data["rule"],
                "seed": str(run.config["training"]["seed"]),
            },
            unit="token",
            sample="\n".join(f"{one['source']}\n  -> {one['text']}" for one in examples),
        )

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        how = with_settings(Finding(), settings)
        for text in inputs:
            if not isinstance(text, str):
                raise WeftError(f"expected a text, found {text!r}")
        return [self.answer(run, text, one) for text, best in zip(inputs, self.find(run, inputs, how), strict=True)
                for one in best]  # fmt: skip

    def find(
        self, run: Loaded, texts: Sequence[str], how: Decoding, progress: Progress | None = None
    ) -> list[list[tuple[str, Hypothesis]]]:
        """The best answers to each text, with their tokens and scores. To a blank text nothing is said."""
        said = [text for text in texts if text.strip()]
        if len(said) < len(texts):
            found = iter(self.find(run, said, how, progress))
            return [next(found) if text.strip() else [("", Hypothesis((), 0.0, 0.0, True))] for text in texts]
        model, tokenizer = model_of(run), self.tokenizer(run)
        around = around_of(run.config, tokenizer)
        ids = [marked(tokenizer, around.before, text) for text in texts]
        context, ratio = context_of(model.config), run.config["data"].get("ratio", 2.0)
        for text, one in zip(texts, ids, strict=True):
            if len(one) >= context:
                raise WeftError(
                    f"a text of {len(one) + 1} tokens is longer than the model's context of {context}",
                    where=repr(text[:60]),
                    fix="give it in shorter parts, or train with a longer context (--set context=…)",
                )
        limits = [how.max_tokens or min(context, math.ceil(ratio * (len(one) + 1)) + ROOM) for one in ids]
        done = None if progress is None else counter(progress, len(texts), "answered")
        hypotheses = decode(model, ids, end=around.end, limits=limits, how=how, opening=around.opening, listen=done)
        if progress is not None:
            progress.stop()
        return [[(tokenizer.decode(h.ids).strip(), h) for h in best] for best in hypotheses]

    def answer(self, run: Loaded, text: str, found: tuple[str, Hypothesis]) -> dict[str, Any]:
        """One prediction as the user gets it."""
        answer, hypothesis = found
        ended = {} if hypothesis.ended else {"cut": True}
        return {"source": text, "text": answer, "score": round(hypothesis.score, 4), **ended}

    def shown(self, prediction: Mapping[str, Any]) -> str:
        return str(prediction["text"])

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        held, what = self.read_held(run, data) if data else self.own_held_out(run)
        model, tokenizer = model_of(run), self.tokenizer(run)
        context, around = context_of(model.config), around_of(run.config, tokenizer)
        fitting = [one for one in held if len(marked(tokenizer, around.before, one.source)) < context]
        if not fitting:
            raise DataError(f"no source has fewer than {context} tokens", where=what, fix="train with a longer context")
        pairs = [(one.source, self.spelt(one.references[0])) for one in fitting]
        total, tokens = score(model, tokenizer, pairs, context, around)
        loss = total / max(1, tokens)
        found = [best[0][0] for best in self.find(run, [one.source for one in fitting], Finding(), progress)]
        measures, more = self.measures(found, fitting)
        examples = [{"source": one.source, "text": text, "references": list(one.references)}
                    for one, text in zip(fitting[:SHOWN], found[:SHOWN], strict=True)]  # fmt: skip
        metrics = {**measures, "loss": loss, "perplexity": math.exp(min(loss, 700))}
        left = {"left_out_long": len(held) - len(fitting)} if len(fitting) < len(held) else {}
        return Measured(what, len(fitting), finite(metrics), {**more, "tokens": tokens, **left, "samples": examples})

    def own_held_out(self, run: Loaded) -> tuple[Sequence[Held], str]:
        """The held-out part of the run's own data, if that is still what it was."""
        record = run.config["data"]
        settings = from_json(run.config["training"], PairTraining)
        read = self.read(tuple(record["sources"]), record["valid"], settings)
        if read.fingerprint != run.config["fingerprint"]:
            problem = "the data of this run has changed since it was trained"
            raise DataError(problem, where=str(run.folder.path), fix="name the data to evaluate on")
        return read.held_out, f"held out: {read.rule}"

    def tokenizer(self, run: Loaded) -> Tokenizer:
        """The run's tokenizer."""
        return tokenizer_of(run.folder, run.config, model_of(run).config.target.embed.size)


def model_of(run: Loaded) -> Seq2Seq:
    """The run's model, which is an encoder–decoder."""
    assert isinstance(run.model, Seq2Seq)
    return run.model


def _bundles(read: ReadPairs, settings: PairTraining) -> PairBundles:
    return read.bundles(settings.tokens or 1024, settings.seed)


def _ratio(read: ReadPairs) -> float:
    """How much longer than its source a target may be expected to be: more than all but a few are."""
    ratios = [(len(target) + 1) / (len(source) + 1) for source, target in read.train]
    return round(1.2 * float(np.quantile(ratios, 0.999)), 3)
