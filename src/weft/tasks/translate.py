"""translate: learn to translate from sentence pairs. Pairs in, a model that translates sentences and documents out."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

from weft.config import Config
from weft.data import documents
from weft.data.files import ending
from weft.data.languages import language
from weft.data.readers import pairs
from weft.data.readers.pair_texts import Held, Pair, Pairs
from weft.data.readers.pairs import read_pairs
from weft.data.samples.phrasebook import LANGUAGES, phrasebook
from weft.data.survey import Judgement, Survey
from weft.errors import ConfigError, WeftError, nearest
from weft.generate.beam import Hypothesis
from weft.generate.decode import Decoding
from weft.inspect.translation import Look, StepView, TranslationView
from weft.tasks.pair_data import PairData, grouped, held_apart, stem
from weft.tasks.pair_plan import PairTraining, context_of
from weft.tasks.pair_scoring import marked
from weft.tasks.sequences import Finding, PairTask, model_of
from weft.tasks.task import Loaded, View, with_settings
from weft.tasks.text_data import around_of, several
from weft.tasks.translation_measures import translation_measures
from weft.training.progress import Progress

SENTENCE = re.compile(r"(?<=[.!?…。！？।؟])[\"'»”’)\]]*\s+|(?<=[。！？])")
UNSPACED = re.compile(r"[。！？]$")


class Looking(Config):
    """What to look at."""

    layer: int | None = None
    head: int | None = None
    every: bool = False
    pieces: bool = False
    target: str | None = None
    beam: int = 5
    token: str | None = None
    side: Literal["across", "source", "target"] = "across"

    about: ClassVar[Mapping[str, str]] = {
        "layer": "one layer of the decoder, from 1; by default the average of all",
        "head": "one head, from 1; by default the average of all",
        "every": "every head of every layer in a panel of its own",
        "pieces": "tokens as the model has them, instead of whole words",
        "target": "align with this translation instead of the model's own",
        "beam": "the beam of the model's own translation",
        "token": "the numbers of one token step by step: a word, or its place from 1",
        "side": "of which attention: across (from target to source), source or target",
    }


class Translate(PairTask):
    """Encoder–decoders, from the LSTM to the Transformer."""

    name = "translate"
    summary = "learn to translate from sentence pairs"
    files = "pairs as .tsv, .csv, .jsonl, .tmx or .po, gzip of these, folders of them, or two parallel text files"
    sample = "weft's phrasebook: English with French (--set target=it for Italian, de for German)"
    example = "My house is tiny and cozy."
    looking = Looking

    def judge(self, survey: Survey) -> Judgement:
        return pairs.judge(survey)

    def read(self, sources: Sequence[str], valid: str | None, settings: PairTraining) -> PairData:
        if not sources:
            return _phrasebook(settings)
        pairs = _pairs(sources, settings)
        held = None if valid is None else _pairs([valid], settings)
        apart = held_apart(
            pairs.rows, pairs.fingerprint, None if held is None else (held.rows, held.fingerprint, valid or "")
        )
        train, held_out, fingerprint, rule = apart
        names = [file.path.name for file in pairs.files]
        return PairData(
            train=train,
            held_out=held_out,
            columns=pairs.columns,
            fingerprint=fingerprint,
            rule=rule,
            described=several(names),
            notes=tuple(pairs.report()),
            skipped=pairs.skipped,
        )

    def read_held(self, run: Loaded, data: Sequence[str]) -> tuple[Sequence[Held], str]:
        training = run.config["training"]
        source, target = run.config["data"].get("columns", ("source", "target"))  # an imported model knows of none
        asked = training["source"] or language(source), training["target"] or language(target)
        pairs = read_pairs(data, source=asked[0], target=asked[1])
        return grouped(pairs.rows), ", ".join(data)

    def measures(self, found: Sequence[str], held: Sequence[Held]) -> tuple[dict[str, float], dict[str, Any]]:
        return translation_measures(found, held)

    def stem(self, sources: Sequence[str]) -> str:
        return stem(sources) if sources else "phrasebook"

    def find(
        self, run: Loaded, texts: Sequence[str], how: Decoding, progress: Progress | None = None
    ) -> list[list[tuple[str, Hypothesis]]]:
        """As for all pairs; a text beyond the model's context is translated sentence by sentence."""
        tokenizer, context = self.tokenizer(run), context_of(model_of(run).config)
        parts = [[text] if len(tokenizer.encode(text)) < context else sentences(text) for text in texts]
        flat = super().find(run, [part for pieces in parts for part in pieces], how, progress)
        result, place = [], 0
        for pieces in parts:
            result.append(_joined(flat[place : place + len(pieces)]))
            place += len(pieces)
        return result

    def document(self, path: Path) -> documents.Document | None:
        return documents.units(path) if ending(path, documents.ENDINGS) else None

    def look(self, run: Loaded, input: Any, settings: Mapping[str, Any]) -> View:
        """The alignment of a sentence with its translation by the model, or with one that is given."""
        how = with_settings(Looking(), settings)
        if not isinstance(input, str):
            raise WeftError(f"expected a text, found {input!r}")
        tokenizer = self.tokenizer(run)
        around = around_of(run.config, tokenizer)
        if how.target is None:
            found = PairTask.find(self, run, [input], Finding(beam=how.beam))[0][0][1].ids
            target = [*around.opening[1:], *found]
        else:
            target = marked(tokenizer, around.first, how.target).tolist()
        chosen = Look(layer=how.layer, head=how.head, every=how.every, pieces=how.pieces)
        source = marked(tokenizer, around.before, input).tolist()
        view = TranslationView(model_of(run), tokenizer, source, target, chosen, around=around)
        return view if how.token is None else StepView(view, how.token, how.side)


def sentences(text: str) -> list[str]:
    """A text cut behind the marks that end sentences."""
    cuts = [0, *(found.end() for found in SENTENCE.finditer(text)), len(text)]
    found = (text[a:b].strip() for a, b in pairwise(cuts))
    return [sentence for sentence in found if sentence]


def _joined(parts: list[list[tuple[str, Hypothesis]]]) -> list[tuple[str, Hypothesis]]:
    """The answers to the sentences of one text as answers to the text, the n-th best of each with one another."""
    if len(parts) == 1:
        return parts[0]
    several = [[best[min(k, len(best) - 1)] for best in parts] for k in range(max(map(len, parts)))]
    return [
        (
            "".join(text if UNSPACED.search(text) else f"{text} " for text, _ in one).strip(),
            replace(
                one[0][1],
                ids=tuple(i for _, h in one for i in h.ids),
                log_probability=sum(h.log_probability for _, h in one),
                score=sum(h.score for _, h in one),
                ended=all(h.ended for _, h in one),
            ),
        )
        for one in several
    ]


def _pairs(sources: Sequence[str], settings: PairTraining) -> Pairs:
    return read_pairs(list(sources), source=settings.source, target=settings.target, skip=settings.allowed)


def _phrasebook(settings: PairTraining) -> PairData:
    """English with the language asked for, from weft's own grammar."""
    target = settings.target or "fr"
    if target not in LANGUAGES or settings.source not in (None, "en"):
        languages = ", ".join(LANGUAGES)
        problem = f"the phrasebook goes from en to {languages}, not {settings.source or 'en'} to {target}"
        raise ConfigError(problem, where="--set target", fix=nearest(target, LANGUAGES))
    book = phrasebook(target)
    rows = [Pair(phrase.source, phrase.target) for phrase in book.train]
    held = [Held(phrase.source, (phrase.target,)) for phrase in book.held_out]
    return PairData(
        train=rows,
        held_out=held,
        columns=("en", target),
        fingerprint=hashlib.sha256(repr((rows, held)).encode()).hexdigest(),
        rule=f"{len(held):,} sentences whose combinations of words are not trained on",
        described="weft's phrasebook",
        notes=(f"{len(rows):,} pairs, en -> {target}", f"the first: {rows[0].source} -> {rows[0].target}"),
    )
