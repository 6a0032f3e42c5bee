"""Tag words: from sentences whose words have tags to a model that tags new ones: names, parts of speech."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from weft.config import Config, from_json
from weft.data import samples
from weft.data.readers import tagged as tagged_files
from weft.data.readers.schemes import entities
from weft.data.readers.tagged import read_tagged
from weft.data.readers.tagged_texts import Tagged, TaggedTexts, split_tagged
from weft.data.survey import Judgement, Survey
from weft.data.tagged.batches import TaggedBundles, TaggedRows, tagged
from weft.errors import DataError, WeftError
from weft.modalities.framing import frame_words
from weft.modalities.tokenizer import Tokenizer
from weft.modalities.words import words
from weft.objectives import Tags
from weft.objectives.measures import tag_measures
from weft.objectives.objective import Objective
from weft.objectives.tags import word_values
from weft.tasks.encoder_data import TextData
from weft.tasks.encoder_plan import EncoderTraining, embed_of
from weft.tasks.encoders import EncoderTask, model_of
from weft.tasks.task import Loaded, Measured, with_settings
from weft.tasks.text_data import several
from weft.tasks.text_views import AT_ONCE
from weft.training.card import finite
from weft.training.progress import Progress, counter


class TagTraining(EncoderTraining):
    """Settings of a training on tagged sentences."""

    word_column: int | None = None
    tag_column: int | None = None

    about = {
        **EncoderTraining.about,
        "word_column": "the column of the words, from 1; by default the first",
        "tag_column": "the column of the tags, from 1, or from the end with -1; by default the last",
    }


class Tagging(Config):
    """Settings of a prediction: none."""


class TagText(EncoderTask):
    """A tag for each word."""

    name = "tag-text"
    summary = "learn to tag words: names, parts of speech"
    files = "sentences as columns of words and tags (.conll, .conllu, .bio, .tsv, .txt), or .jsonl with tokens and tags"
    sample = "sentences with names by a grammar of weft's own"
    settings = TagTraining
    use = Tagging
    head = "tags"
    things, unit = "sentences", "word"
    example = "Ada Lovelace lived in London."
    bundles = TaggedBundles

    def judge(self, survey: Survey) -> Judgement:
        return tagged_files.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, settings: Any, tokenizer: Tokenizer | None = None
    ) -> TextData:
        found = _read(sources or samples.tagged_names(), settings)
        train, held_out, rule = split_tagged(found.sentences) if valid is None else (found.sentences, [], "")
        mark = found.fingerprint
        if valid is not None:
            held = _read([valid], settings, learn=False)
            held_out, rule = held.sentences, f"{len(held)} sentences: those in {Path(valid).name}"
            mark = f"{mark} {held.fingerprint}"
        known(held_out, found.tags)
        names = several([file.path.name for file in found.files])
        record = {"tags": list(found.tags), "scheme": found.scheme, "skipped": [list(s) for s in found.skipped[:100]]}
        return TextData(train, held_out, rule, mark, f"{len(found):,} sentences ({names})", found.report(), record)

    def texts(self, things: Sequence[Tagged]) -> Iterator[str]:
        return (" ".join(one.words) for one in things)

    def outputs(self, data: TextData) -> int | None:
        return len(data.record["tags"])

    def objective(self, data: TextData, settings: Any) -> Objective.Config:
        return Tags.Config()

    def rows(self, things: Sequence[Tagged], data: TextData, tokenizer: Tokenizer, context: int) -> Any:
        return tagged_rows(tokenizer, things, data.record["tags"], context)

    def ability(self, data: Mapping[str, Any]) -> str:
        return f"Tags the words of a text ({several(data['tags'])})"

    def same_head(self, origin: Loaded, data: TextData) -> bool:
        return super().same_head(origin, data) and origin.config["data"].get("tags") == data.record["tags"]

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        with_settings(Tagging(), settings)
        for text in inputs:
            if not isinstance(text, str) or not text.strip():
                raise WeftError(f"expected a text, found {text!r}")
        sentences = [tuple(words(text)) for text in inputs]
        found = self.tag(run, sentences)
        return [
            {"input": text, "words": list(said), "tags": list(tags),
             "entities": [{"text": " ".join(said[e.start : e.end]), "kind": e.kind} for e in entities(tags)]}
            for text, said, tags in zip(inputs, sentences, found, strict=True)
        ]  # fmt: skip

    def tag(self, run: Loaded, sentences: Sequence[Sequence[str]], progress: Progress | None = None) -> list[list[str]]:
        """The tags of words. Words beyond the model's context have the tag that words mostly have: O, or the first."""
        model, tags = model_of(run), run.config["data"]["tags"]
        rows = tagged_rows(self.tokenizer(run), [Tagged(tuple(s), (tags[0],) * len(s)) for s in sentences], tags,
                           embed_of(model.config).context)  # fmt: skip
        found = [[tags[0]] * len(sentence) for sentence in sentences]
        count = None if progress is None else counter(progress, len(sentences), "sentences")
        model.eval()
        with torch.inference_mode():
            for start in range(0, len(sentences), AT_ONCE):
                some = range(start, min(len(sentences), start + AT_ONCE))
                bundle = tagged(rows, some)
                said = iter(word_values(model, bundle).argmax(-1).tolist())
                for i in some:
                    for place in range(len(rows.places[i])):
                        found[i][place] = tags[next(said)]
                if count is not None:
                    count(some.stop)
        if progress is not None:
            progress.stop()
        return found

    def shown(self, prediction: Mapping[str, Any]) -> str:
        return " ".join(
            f"{w}/{t}" if t != "O" else w for w, t in zip(prediction["words"], prediction["tags"], strict=True)
        )

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        if data:
            held = _read(data, from_json(run.config["training"], TagTraining), learn=False).sentences
            what = ", ".join(data)
            known(held, run.config["data"]["tags"])
        else:
            own, what = self.own_held_out(run)
            held = list(own.held_out)
        found = self.tag(run, [one.words for one in held], progress)
        spans = run.config["data"]["scheme"] != "plain"
        metrics, more = tag_measures(found, [one.tags for one in held], spans=spans)
        return Measured(what, len(held), finite(metrics), more)


def known(sentences: Sequence[Tagged], tags: Sequence[str]) -> None:
    """Refuse tags that were never learned."""
    unknown = sorted({tag for one in sentences for tag in one.tags} - set(tags))
    if unknown:
        problem = f"words have tags that the model has not learned: {several(unknown)}"
        raise DataError(problem, fix=f"the tags are {several(list(tags))}")


def tagged_rows(tokenizer: Tokenizer, sentences: Sequence[Tagged], tags: Sequence[str], context: int) -> TaggedRows:
    """Sentences as a model reads them, with the numbers of their tags."""
    number = {tag: i for i, tag in enumerate(tags)}
    framed = frame_words(tokenizer, [one.words for one in sentences], context)
    return TaggedRows(framed.rows, framed.places, [np.array([number[t] for t in one.tags]) for one in sentences])


def _read(sources: Any, settings: TagTraining, *, learn: bool = True) -> TaggedTexts:
    if isinstance(sources, TaggedTexts):
        return sources
    return read_tagged(sources, word=settings.word_column, tag=settings.tag_column, skip=settings.allowed, learn=learn)
