"""Encoder–decoders of texts from elsewhere and for elsewhere: codecs, marks, and answers that prove an export."""

from dataclasses import replace
from typing import Any, TypeVar

from weft.domains.pairs.reading.texts import Held
from weft.domains.pairs.writing import EXTRA_TOKENS, TextWriter
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.exchange import generation, marks_of, text_codec, tokenizer_of, trial_texts, with_text
from weft.generate.decode import Decoding
from weft.interop import Imported, Marks
from weft.interop.language_marks import LanguageMarks
from weft.interop.tokenizer_files import marked_tokenizer
from weft.tasks.codec import Codec
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.planning import AnyTask
from weft.tasks.proof import MOST, Proof
from weft.tasks.request import Loaded

D = TypeVar("D", bound=Decoding)


def pair_codecs_of(imported: Imported) -> dict[str, Codec.Config]:
    """Both ends of a translator, with the marks and languages that its makers put around texts."""
    tokenizer = tokenizer_of(imported)
    if tokenizer is None:
        return {}
    marks = imported.marks
    known = LanguageMarks.read(tokenizer, marks, imported.tokenizer_config)
    end = next(iter(marks.eos), None)
    text = TextCodec.Config(digest=tokenizer.digest, languages=known.tokens, language_place=known.place, end=end)
    opening = tuple(marks.opening()) or None
    target = text.replace(role="target", opening=opening, ends=marks.eos, language=known.target)
    return {"source": text.replace(role="source", language=known.source), "target": target}


def pair_outgoing(run: Loaded, how: type[Decoding]) -> Outgoing:
    """What an export of a run that writes texts from texts asks for."""
    source, target = text_codec(run, "source"), text_codec(run, "target")
    codec = source if target is None else target  # trees may be written in symbols of their own
    marks = _marks(run, codec)
    found = with_text(with_labels(run), run, codec, marks)
    if codec is not None and source is not None and source.config.language is not None:
        text = marked_tokenizer(codec.tokenizer, source.marks.before, source.marks.after)
        found = replace(found, tokenizer_json=text)
    return replace(found, generation=generation(run, how, marks, EXTRA_TOKENS))


def _marks(run: Loaded, codec: TextCodec | None) -> Marks:
    """The ids that begin and end texts, and the one that names the language to write in."""
    known = marks_of(run, codec)
    if codec is None:
        return known
    if run.imported:
        named = codec.config.language is not None and len(codec.marks.before) > 1
        return replace(known, first=codec.marks.before[1]) if named else known
    written: Any = run.codecs.get("target", codec)
    marks = written.marks
    first = marks.before[1] if codec.config.languages and len(marks.before) > 1 else None
    return Marks(bos=marks.end, eos=(marks.end,), pad=marks.end, start=marks.start, first=first)


def answer_proof(task: AnyTask, run: Loaded) -> Proof | None:
    """Texts and a run's answers to them; None where it does not write text, or has no tokenizer."""
    source = text_codec(run, "source")
    if source is None or text_codec(run, "target") is None:
        return None
    writer, how = TextWriter(run), searched(run, Decoding)
    given = trial_texts(task, run, source, _source)
    texts = [text for text in given if len(writer.source_ids([text])[0]) < writer.context][:MOST]
    forced = len(writer.target.marks.written_from) - 1  # tokens of the opening that count as written there
    limits = [how.max_tokens or writer.limit(len(ids) + 1) for ids in writer.source_ids(texts)]
    answers = [best[0][0] for best in writer.write(texts, how)]
    counted = forced + how.forced_end  # their library counts a forced end as written too
    return Proof("text", texts, answers, their_search(how), limits=[limit + counted for limit in limits])


def _source(row: Held) -> str:
    return row.source


def searched(run: Loaded, kind: type[D]) -> D:
    """The run's usual search: what is drawn is drawn by other dice there."""
    return run.usual(kind).replace(temperature=0.0)


def their_search(how: Decoding) -> dict[str, Any]:
    """The settings of a search as the other library has them."""
    return {"do_sample": False, "num_beams": how.beam, "length_penalty": how.length_penalty}
