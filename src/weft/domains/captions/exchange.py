"""Models of pictures and texts from elsewhere and for elsewhere: codecs, marks, and captions that prove an export."""

from dataclasses import replace

from weft.domains.captions.writing import Captioning, PictureWriter
from weft.domains.pairs.exchange import searched, their_search
from weft.domains.pairs.writing import EXTRA_TOKENS
from weft.domains.pictures.exchange import as_sent, picture_codec_of, picture_settings, trial_pictures, with_pictures
from weft.domains.pictures.given import given_pictures
from weft.domains.pictures.settings import Ground
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.exchange import generation, marks_of, text_codec, text_files, tokenizer_of, with_text
from weft.errors import WeftError
from weft.generate.decode import Decoding
from weft.interop import Imported, Marks
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.dual_encoder import DualEncoder
from weft.models.seq2seq import Seq2Seq
from weft.objectives import Several, TargetToken
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Given, Questioned
from weft.tasks.codec import Codec
from weft.tasks.labels.several import SeveralCodec
from weft.tasks.outgoing import Outgoing, plain_model, with_labels
from weft.tasks.planning import AnyTask
from weft.tasks.proof import MOST, Proof, predicted
from weft.tasks.request import Loaded

TRIED_QUESTION = "what is it"


def adopted_captions(imported: Imported) -> Adopted:
    """A writer of captions, or a common space of pictures and texts. Nothing is learned; others start from it."""
    common = isinstance(imported.model, DualEncoder)
    objective = None if common else TargetToken.Config()
    codecs: dict[str, Codec.Config] = {**_caption_codec(imported), **picture_codec_of(imported)}
    return Adopted(codecs, objective, picture_settings(imported), text_files(imported))


def _caption_codec(imported: Imported) -> dict[str, TextCodec.Config]:
    tokenizer = tokenizer_of(imported)
    if tokenizer is None:
        return {}
    text = TextCodec.Config(digest=tokenizer.digest)
    if isinstance(imported.model, DualEncoder):
        _check_end(imported.model, tokenizer)
        return {"caption": text}
    opening, ends = tuple(imported.marks.opening()) or None, imported.marks.eos
    return {"caption": text.replace(role="caption", opening=opening, end=next(iter(ends), None), ends=ends)}


def _check_end(model: DualEncoder, tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that ends texts by another mark than the one where the model reads their vectors."""
    embed, after = model.config.text.embed, tokenizer.marks[1]
    if isinstance(embed, TextEmbed.Config) and embed.end is not None and after[:1] != (embed.end,):
        problem = f"texts end by the ids {list(after)}, and the model reads their vectors at {embed.end}"
        fix = "fetch the model's config.json and tokenizer.json from one place"
        raise WeftError(problem, where="tokenizer.json", fix=fix)


def adopted_answers(imported: Imported) -> Adopted:
    """A model that answers questions about pictures by its labels."""
    tokenizer, codecs = tokenizer_of(imported), dict[str, Codec.Config](picture_codec_of(imported))
    if tokenizer is not None:
        codecs["question"] = TextCodec.Config(digest=tokenizer.digest)
    codecs["answer"] = SeveralCodec.Config(names=imported.labels)
    return Adopted(codecs, Several.Config(), picture_settings(imported), text_files(imported))


def answer_outgoing(run: Loaded, how: type[Decoding]) -> Outgoing:
    """What an export of a run that answers questions about pictures asks for."""
    answers = run.codecs.get("answer")
    if not isinstance(answers, SeveralCodec):
        return caption_outgoing(run, "answer", None)
    found = with_text(Outgoing(plain_model(run), labels=answers.names), run, text_codec(run, "question"))
    return with_pictures(found, run)


def answer_proof(task: AnyTask, run: Loaded) -> Proof | None:
    """Pictures with a question, and the answers that a run gives; None where it cannot read them."""
    pictures = trial_pictures(run.model.config, MOST)
    if not pictures or text_codec(run, "question") is None:
        return None
    run = as_sent(run)
    given = [Questioned(one, TRIED_QUESTION) for one in pictures]
    answers = [one["text"] for one in predicted(task, run, given)]
    return Proof("picture answer", [{"picture": one, "question": TRIED_QUESTION} for one in pictures], answers)


def caption_outgoing(run: Loaded, end: str, how: type[Captioning] | None) -> Outgoing:
    """What an export of a run that writes about pictures asks for. `end` is the text it writes, `how` the search."""
    codec = text_codec(run, end)
    marks = _marks(run, codec)
    found = with_pictures(with_text(with_labels(run), run, codec, marks), run)
    if how is None or not isinstance(run.model, Seq2Seq):
        return found
    return replace(found, generation=generation(run, how, marks, EXTRA_TOKENS))


def _marks(run: Loaded, codec: TextCodec | None) -> Marks:
    """The ids that begin and end captions, under the names that the other library has for them."""
    if codec is not None and isinstance(run.model, DualEncoder):
        before, after = codec.marks.before, codec.marks.after
        return Marks(bos=next(iter(before), None), eos=after[:1], pad=next(iter(after), None))
    if codec is None or run.imported:
        return marks_of(run, codec)
    marks = codec.marks
    return Marks(bos=marks.end, eos=(marks.end,), pad=marks.end, start=marks.start)


def caption_proof(run: Loaded) -> Proof | None:
    """Pictures and the captions that a run writes about them; None where it writes none, or reads no colours."""
    writes = isinstance(run.model, Seq2Seq) and text_codec(run, "caption") is not None
    pictures = trial_pictures(run.model.config, MOST) if writes else []
    if not pictures:
        return None
    run = as_sent(run)
    how = searched(run, Captioning)
    writer, frames = PictureWriter(run), given_pictures(run, [Given(one) for one in pictures], Ground())[1]
    answers = [best[0][0] for best in writer.write(frames, how)]
    return Proof("picture text", pictures, answers, their_search(how))
