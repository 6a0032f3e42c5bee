"""What an export is asked besides numbers: texts or pictures, and the run's own answers to them.

The other library has to come to the same answers by its own tokenizer, processor and settings of generation.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from weft.codecs import NumberCodec, TextCodec
from weft.core import PerToken
from weft.data.images.settings import Ground
from weft.data.readers.labelled_texts import Example
from weft.data.readers.pair_texts import Held
from weft.data.readers.tagged_texts import Tagged
from weft.data.split import CorpusPart
from weft.errors import DataError, WeftError
from weft.generate.decode import Decoding
from weft.modalities.framing import blanks
from weft.modalities.image import PictureEmbed
from weft.tasks.asks import Given
from weft.tasks.picture_writing import Captioning, PictureWriter
from weft.tasks.pictures import given_pictures
from weft.tasks.recipes.language import context_of
from weft.tasks.registry import card_named
from weft.tasks.request import Loaded
from weft.tasks.settings import with_settings
from weft.tasks.using import own_data
from weft.tasks.writing import TextWriter, WrittenText

D = TypeVar("D", bound=Decoding)
MOST = 8  # inputs that are tried
WRITTEN = 24  # tokens of a continuation
MOST_BYTES = 20_000_000  # of the files that held-out texts are looked for in; more would take long to read
CHARACTERS = 200  # of a text
USUAL = (
    "The quick brown fox jumps over the lazy dog.",
    "Once upon a time, 12 kings met.",
    "Ja, naïve façades: ½ × 3!",
    "I do not know what to say about it",
)


@dataclass(frozen=True)
class Trial:
    """Questions of one kind, and the run's answers. `settings` go to their generation."""

    kind: str
    inputs: list[Any]
    answers: list[Any]
    settings: dict[str, Any] = field(default_factory=dict)
    limits: list[int] = field(
        default_factory=list
    )  # new tokens for each input; by default as generation_config.json says
    within: float = 0.0  # by which numbers may differ

    def asked(self) -> dict[str, Any]:
        """The questions for the other process, as JSON: the kind of answer, the inputs and the settings."""
        inputs = [one.tolist() if isinstance(one, np.ndarray) else one for one in self.inputs]
        return {"kind": self.kind, "inputs": inputs, "settings": self.settings, "limits": self.limits}

    def compare(self, found: Sequence[Any], folder: Path) -> None:
        """Refuse answers that are not the run's."""
        for given, ours, theirs in zip(self.inputs, self.answers, found, strict=True):
            if not self._same(ours, theirs):
                shown = "a picture" if isinstance(given, np.ndarray) else f"{given!r:.80}"
                problem = f"the Hugging Face library answers {theirs!r:.120} to {shown}, the run answers {ours!r:.120}"
                raise DataError(problem, where=str(folder))

    def _same(self, ours: Any, theirs: Sequence[Any]) -> bool:
        if self.kind == "tags":  # words that the model does not read have no answer
            return all(not near or tag in near for tag, near in zip(ours, theirs, strict=True))
        if isinstance(ours, float):
            return abs(ours - theirs[0]) <= self.within
        if isinstance(ours, list):  # labels that are given together: all the sure ones, and none but the possible ones
            sure, possible = theirs
            return set(sure) <= set(ours) <= set(possible)
        if "text" in self.kind:
            return bool(ours.strip() == theirs[0].strip())
        return ours in theirs


def trial_of(run: Loaded, tolerance: float) -> Trial | None:
    """What an export of a run is tried with; None where it has no answers: without a head, a tokenizer or a mask.

    Answers that are numbers may differ by twice the `tolerance`.
    """
    task = run.config.get("task")
    kinds: dict[str, Callable[[Loaded], Trial | None]] = {
        "translate": _translated, "parse": _translated, "language-model": _continued, "fill-mask": _blanks,
        "classify-text": _labels, "tag-text": _tags, "classify-images": _pictures, "caption": _pictures,
    }  # fmt: skip
    tokenizers = [codec.tokenizer for codec in run.codecs.values() if isinstance(codec, TextCodec)]
    if task not in kinds or (task != "classify-images" and not tokenizers):
        return None
    if task == "parse" and not isinstance(run.codecs.get("target"), TextCodec):
        return None  # trees that are not written as text
    if task == "fill-mask" and (
        tokenizers[0].mask is None or not isinstance(getattr(run.model, "head", None), PerToken)
    ):
        return None
    found = kinds[task](run)
    return replace(found, within=2 * tolerance) if found is not None and found.inputs else None


def _predicted(run: Loaded, inputs: Sequence[Any], **settings: Any) -> list[dict[str, Any]]:
    task = card_named(run.config["task"]).task
    how = with_settings(run.usual(task.Predict), settings)
    return [one.values for one in task.predict(run, [Given(one) for one in inputs], how, None)]


def _translated(run: Loaded) -> Trial:
    writer, how = TextWriter(run), _searched(run, Decoding)
    texts = [text for text in _texts(run, "source") if len(writer.source_ids([text])[0]) < writer.context][:MOST]
    forced = len(writer.target.marks.written_from) - 1  # tokens of the opening that count as written there
    limits = [how.max_tokens or writer.limit(len(ids) + 1) for ids in writer.source_ids(texts)]
    plain = _plain(writer.write(texts, how))
    if not plain:  # a model that has learned little: its greedy texts at least
        how = how.replace(beam=1, best=1)
        plain = _plain(writer.write(texts, how))
    return Trial(
        kind="text",
        inputs=[texts[i] for i in plain],
        answers=list(plain.values()),
        settings=_their_search(how),
        limits=[limits[i] + forced for i in plain],
    )


def _searched(run: Loaded, kind: type[D]) -> D:
    """The run's usual search with all that it finds: what is drawn is drawn by other dice there."""
    how = run.usual(kind)
    return how.replace(temperature=0.0, best=how.beam)


def _their_search(how: Decoding) -> dict[str, Any]:
    return {"do_sample": False, "num_beams": how.beam, "length_penalty": how.length_penalty}


def _plain(found: Sequence[Sequence[WrittenText]]) -> dict[int, str]:
    """The best answers by row, without those of which only some ended before the limit: there the libraries differ."""
    every = {i: {one.ended for _, one in best} for i, best in enumerate(found)}
    return {i: found[i][0][0] for i, ended in every.items() if len(ended) == 1}


def _continued(run: Loaded) -> Trial:
    codec, context = run.codec("text", TextCodec), context_of(run.model.config)
    most = max(1, min(WRITTEN, context // 2))
    texts = [_fitting(codec, text, context - most - len(codec.marks.before)) for text in _texts(run, "text")]
    texts = [text for text in dict.fromkeys(texts) if text][:MOST]
    found = _predicted(run, texts, temperature=0.0, max_tokens=most, samples=1)
    settings = {"do_sample": False, "max_new_tokens": most}
    return Trial("text", texts, [one["text"] for one in found], settings)


def _blanks(run: Loaded) -> Trial:
    codec, context = run.codec("text", TextCodec), context_of(run.model.config)
    texts = []
    for text in _texts(run, "text"):
        parts = _fitting(codec, text, context // 2).split(" ")
        parts[len(parts) // 2] = "___"
        if len(blanks(" ".join(parts))) == 2:
            texts.append(" ".join(parts))
    found = _predicted(run, texts[:MOST])
    return Trial("blank", texts[:MOST], [one["candidates"][0]["token"] for one in found])


def _labels(run: Loaded) -> Trial:
    texts = _texts(run, "text")[:MOST]
    return Trial("label", texts, _said(run, _predicted(run, texts)))


def _tags(run: Loaded) -> Trial:
    found = _predicted(run, _texts(run, "text")[:MOST])
    return Trial("tags", [one["words"] for one in found], [one["tags"] for one in found])


def _pictures(run: Loaded) -> Trial | None:
    """Pictures of the model's own size."""
    embed = run.model.config.reader().embed
    if not isinstance(embed, PictureEmbed.Config) or embed.channels != 3:
        return None
    height, width = (side * embed.stride for side in embed.grid)
    draw, (rows, columns) = np.random.default_rng(0), np.mgrid[0:height, 0:width]
    inputs = []
    for _ in range(MOST // 2):
        waves = [np.sin(rows * draw.uniform(0, 1) + columns * draw.uniform(0, 1)) for _ in range(3)]
        noise = draw.normal(0, 20, (height, width, 3))
        inputs.append((127 + 90 * np.stack(waves, -1) + noise).clip(0, 255).astype(np.uint8))
    if run.config["task"] == "classify-images":
        return Trial("picture label", inputs, _said(run, _predicted(run, inputs)))
    how = _searched(run, Captioning)
    writer, frames = PictureWriter(run), given_pictures(run, [Given(one) for one in inputs], Ground())[1]
    plain = _plain(writer.write(frames, how))
    if not plain:  # a model that has learned little: its greedy texts at least
        how = how.replace(beam=1, best=1)
        plain = _plain(writer.write(frames, how))
    found = Trial("picture text", [inputs[i] for i in plain], list(plain.values()), _their_search(how))
    return found


def _said(run: Loaded, found: Iterable[dict[str, Any]]) -> list[Any]:
    number = isinstance(run.codecs.get("label"), NumberCodec)
    return [
        float(one["value"]) if number else sorted(one["labels"]) if "labels" in one else one["label"] for one in found
    ]


def _texts(run: Loaded, end: str) -> list[str]:
    """Texts that the run was not trained on, where its data is at hand and soon read; else usual ones.

    Names of special tokens are text here, and special there: texts that hold one are left out.
    """
    codec = run.codec(end, TextCodec)
    special = [codec.tokenizer.names[id] for id in codec.tokenizer.special.tolist()]
    found = [text[:CHARACTERS].strip() for text in (*_held_out(run), *USUAL)]
    return [text for text in dict.fromkeys(found) if text and not any(name in text for name in special)]


def _held_out(run: Loaded) -> list[str]:
    try:
        sizes = [Path(source).stat().st_size for source in run.data.sources if Path(source).is_file()]
        if run.imported or len(sizes) != len(run.data.sources) or sum(sizes) > MOST_BYTES:
            return []
        rows = own_data(card_named(run.config["task"]).task, run).held_out
    except (WeftError, OSError):
        return []
    if isinstance(rows, CorpusPart):
        lines = (line for piece in rows.pieces() for line in (piece or "").splitlines())
        return [line for line, _ in zip((line for line in lines if line.strip()), range(MOST), strict=False)]
    return [_text(row) for row in rows[:MOST]]


def _text(row: Held | Example | Tagged) -> str:
    return row.source if isinstance(row, Held) else row.text if isinstance(row, Example) else " ".join(row.words)


def _fitting(codec: TextCodec, text: str, room: int) -> str:
    """The beginning of a text that fits into a number of tokens: cut between words, or within the first word."""
    while text and len(codec.ids([text])[0]) > room:
        shorter = text.rpartition(" ")[0] if " " in text.strip() else text[: len(text) // 2]
        text = shorter.rstrip()
    return text
