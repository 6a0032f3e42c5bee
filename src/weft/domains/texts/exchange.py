"""Models of texts from elsewhere and for elsewhere: their codec, marks and tokenizer, and texts that try an export."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, final

from weft.config import Config
from weft.domains.texts.codec.text import TOKENIZER, TextCodec
from weft.domains.texts.codec.turns import TurnCodec
from weft.domains.texts.dataset.documents import CorpusPart
from weft.domains.texts.reading.labelled_texts import Example
from weft.domains.texts.reading.questions import PassageQuestion
from weft.domains.texts.reading.tagged_texts import Tagged
from weft.domains.texts.reading.talks import Talk
from weft.domains.texts.settings import TextTraining
from weft.domains.texts.views.vectors import TextVectors
from weft.errors import WeftError
from weft.interop import Imported, Marks
from weft.interop.generation import write_generation
from weft.interop.signatures import TextPooling
from weft.interop.tokenizer_files import marked_tokenizer, unmarked_tokenizer
from weft.modalities.framing import blanks
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.backbone import context_of
from weft.storage.store import shown
from weft.tasks.adopting import Adopted, shape_of
from weft.tasks.asks import Questioned
from weft.tasks.exchange import Exchange
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.planning import AnyTask
from weft.tasks.proof import MOST, Proof, label_answers, predicted
from weft.tasks.request import Loaded
from weft.tasks.using import own_data

USUAL_BATCH = 8  # texts in a step, where a run goes on from a model that does not say
WRITTEN = 24  # tokens of a continuation
MOST_BYTES = 20_000_000  # of the files that held-out texts are looked for in; more would take long to read
CHARACTERS = 200  # of a text
USUAL = (
    "The quick brown fox jumps over the lazy dog.",
    "Once upon a time, 12 kings met.",
    "Ja, naïve façades: ½ × 3!",
    "I do not know what to say about it",
)


# From elsewhere


def tokenizer_of(imported: Imported) -> Tokenizer | None:
    """The tokenizer that came with a model."""
    if imported.tokenizer_json is None:
        return None
    return Tokenizer.from_json(imported.tokenizer_json, shown(imported.source / "tokenizer.json"))


def whole_texts(imported: Imported) -> dict[str, TextCodec.Config]:
    """The end of a model that reads whole texts; none where it came without a tokenizer."""
    tokenizer = tokenizer_of(imported)
    return {} if tokenizer is None else {"text": TextCodec.Config(digest=tokenizer.digest)}


def without_new_marks(imported: Imported) -> Imported:
    """A decoder that labels texts, with a tokenizer that puts nothing around them but what its makers put there."""
    embed, text = imported.config.reader().embed, imported.tokenizer_json
    line = isinstance(embed, TextEmbed.Config) and embed.reading == "line"
    return replace(imported, tokenizer_json=unmarked_tokenizer(text)) if line and text is not None else imported


def lines_of_text(imported: Imported) -> dict[str, TextCodec.Config]:
    """The end of a model that continues texts, with the marks that its makers put before and after them."""
    tokenizer = tokenizer_of(imported)
    if tokenizer is None:
        return {}
    before = tuple(tokenizer.marks[0]) if tokenizer.processed else ()
    return {"text": TextCodec.Config(digest=tokenizer.digest, role="line", opening=before, ends=imported.marks.eos)}


def turns_of_text(imported: Imported) -> dict[str, TurnCodec.Config]:
    """How a model that came with a chat template marks the turns of a talk; none where it came with none."""
    template, names = imported.chat_template, imported.tokenizer_config
    if template is None or imported.tokenizer_json is None:
        return {}
    bos, eos = (names.get(key) for key in ("bos_token", "eos_token"))
    bos, eos = (one.get("content") if isinstance(one, dict) else one for one in (bos, eos))
    return {"turns": TurnCodec.Config(template=template, bos=bos or "", eos=eos or "")}


def text_settings(imported: Imported) -> dict[str, Any]:
    """The settings of a training that later runs take over from a model of texts."""
    embed = imported.config.reader().embed
    texts = {"context": embed.context, "batch": USUAL_BATCH} if isinstance(embed, TextEmbed.Config) else {}
    return {**shape_of(imported), **texts, **imported.settings}


def text_files(imported: Imported) -> dict[str, str]:
    """The tokenizer.json that the codecs of a model's texts read; none where it came without a tokenizer."""
    tokenizer = tokenizer_of(imported)
    return {} if tokenizer is None else {TOKENIZER: tokenizer.to_json()}


# For elsewhere


def with_text(found: Outgoing, run: Loaded, codec: TextCodec | None, marks: Marks | None = None) -> Outgoing:
    """What an export has of a run's texts, beside what is `found`; `marks` stand for the usual ones of such a codec."""
    vectors = run.usual(TextVectors, "embed")
    found = replace(found, pooling=TextPooling(vectors.summary, vectors.normalise))
    marks = marks if marks is not None else marks_of(run, codec)
    if codec is None:
        return replace(found, marks=marks)
    writes = codec.config.role in ("source", "target", "caption")  # a decoder starts from an opening of its own
    text = marked_tokenizer(codec.tokenizer, () if writes else codec.marks.before, codec.marks.after)
    return replace(found, tokenizer=codec.tokenizer, tokenizer_json=text, marks=marks, trial_texts=USUAL)


def text_codec(run: Loaded, end: str = "text") -> TextCodec | None:
    """The codec of an end that is text; None of an imported model that came without a tokenizer."""
    codec = run.codecs.get(end)
    return codec if isinstance(codec, TextCodec) else None


def marks_of(run: Loaded, codec: TextCodec | None) -> Marks:
    """The ids that begin and end texts, under the names that the other library has for them."""
    if run.imported:
        return Marks.read(run.config["imported"]["marks"], where="config.json")
    if codec is None:
        return Marks()
    end = codec.tokenizer.end
    return Marks(bos=end, eos=(end,), pad=end)


def generation(run: Loaded, kind: type[Config], marks: Marks, extra: int | None = None) -> dict[str, Any]:
    """How texts are written, by the settings that predictions have by default, as generation_config.json has it.

    `extra` are the tokens that an answer may have beyond the longest learned; None: as many as the model reads.
    """
    context = context_of(getattr(run.model.config, "target", run.model.config))
    longest = context - (len(marks.opening()) or 1) + 1
    known = run.data.amounts.get("longest")
    if extra is not None and known is not None:
        longest = min(longest, int(known) + extra)
    return write_generation(run.usual(kind).to_json(), longest=longest, marks=marks)


# Without a task


@final
class TextsWithoutTask(Exchange):
    """Models that no task uses: encoder–decoders of texts without a head, and what is composed by hand."""

    @property
    def training(self) -> type[TextTraining]:
        return TextTraining

    def adopted(self, model: Imported) -> Adopted:
        return Adopted(whole_texts(model), settings=text_settings(model), files=text_files(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_text(with_labels(run), run, text_codec(run))


# Proofs


def continuation_proof(task: AnyTask, run: Loaded) -> Proof | None:
    """Texts and their likeliest continuations."""
    codec, context = text_codec(run), context_of(run.model.config)
    if codec is None:
        return None
    most = max(1, min(WRITTEN, context // 2))
    room = context - most - len(codec.marks.around(()))
    texts = [_fitting(codec, text, room) for text in trial_texts(task, run, codec)]
    texts = [text for text in dict.fromkeys(texts) if text][:MOST]
    found = predicted(task, run, texts, temperature=0.0, max_tokens=most, samples=1, prompt="text")
    settings = {"do_sample": False, "max_new_tokens": most}
    return Proof("text", texts, [one["text"] for one in found], settings)


def blank_proof(task: AnyTask, run: Loaded) -> Proof | None:
    """Texts with a blank, and what fills it."""
    codec, context = text_codec(run), context_of(run.model.config)
    if codec is None:
        return None
    texts = []
    for text in trial_texts(task, run, codec):
        parts = _fitting(codec, text, context // 2).split(" ")
        parts[len(parts) // 2] = "___"
        if len(blanks(" ".join(parts))) == 2:
            texts.append(" ".join(parts))
    found = predicted(task, run, texts[:MOST])
    return Proof("blank", texts[:MOST], [one["candidates"][0]["token"] for one in found])


def label_proof(task: AnyTask, run: Loaded, tolerance: float) -> Proof | None:
    """Texts and their labels; numbers may differ by twice the tolerance."""
    codec = text_codec(run)
    if codec is None:
        return None
    texts = trial_texts(task, run, codec)[:MOST]
    return Proof("label", texts, label_answers(run, predicted(task, run, texts)), within=2 * tolerance)


def tag_proof(task: AnyTask, run: Loaded) -> Proof | None:
    """Sentences and the tags of their words."""
    codec = text_codec(run)
    if codec is None:
        return None
    found = predicted(task, run, trial_texts(task, run, codec)[:MOST])
    return Proof("tags", [one["words"] for one in found], [one["tags"] for one in found])


def passage_proof(task: AnyTask, run: Loaded) -> Proof | None:
    """Questions about passages that the model reads at once, and the answers."""
    codec, context = text_codec(run), context_of(run.model.config)
    if codec is None:
        return None
    texts = [_fitting(codec, text, context // 3) for text in trial_texts(task, run, codec)[:MOST]]
    pairs = [(text, other) for text, other in zip(texts, reversed(texts), strict=True) if text and other]
    found = predicted(task, run, [Questioned(text, other) for text, other in pairs], no_answer=False)
    sent = [{"context": text, "question": other} for text, other in pairs]
    longest = run.usual(task.Predict).longest  # type: ignore[attr-defined]
    return Proof("span", sent, [one["text"] for one in found], {"longest": longest})


def row_text(row: Example | Tagged | Talk | PassageQuestion) -> str:
    """The text of a held-out row."""
    if isinstance(row, Talk):
        return row.question
    if isinstance(row, PassageQuestion):
        return row.passage
    return row.text if isinstance(row, Example) else " ".join(row.words)


def trial_texts(task: AnyTask, run: Loaded, codec: TextCodec, text: Callable[[Any], str] = row_text) -> list[str]:
    """Texts that the run was not trained on, where its data is at hand and soon read; else usual ones.

    Names of special tokens are text here, and special there: texts that hold one are left out. `text` is that of a row.
    """
    special = [codec.tokenizer.names[id] for id in codec.tokenizer.special.tolist()]
    found = [text[:CHARACTERS].strip() for text in (*_held_out(task, run, text), *USUAL)]
    return [text for text in dict.fromkeys(found) if text and not any(name in text for name in special)]


def _held_out(task: AnyTask, run: Loaded, text: Callable[[Any], str]) -> list[str]:
    try:
        sizes = [Path(source).stat().st_size for source in run.data.sources if Path(source).is_file()]
        if run.imported or len(sizes) != len(run.data.sources) or sum(sizes) > MOST_BYTES:
            return []
        rows = own_data(task, run).held_out
    except (WeftError, OSError):
        return []
    if isinstance(rows, CorpusPart):
        lines = (line for piece in rows.pieces() for line in (piece or "").splitlines())
        return [line for line, _ in zip((line for line in lines if line.strip()), range(MOST), strict=False)]
    return [text(row) for row in rows[:MOST]]


def _fitting(codec: TextCodec, text: str, room: int) -> str:
    """The beginning of a text that fits into a number of tokens: cut between words, or within the first word."""
    while text and len(codec.ids([text])[0]) > room:
        shorter = text.rpartition(" ")[0] if " " in text.strip() else text[: len(text) // 2]
        text = shorter.rstrip()
    return text
