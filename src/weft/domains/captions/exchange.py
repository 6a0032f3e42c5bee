"""Models of pictures and texts from elsewhere and for elsewhere: codecs, marks, and captions that prove an export."""

from dataclasses import replace

from weft.core import Attention
from weft.domains.captions.answering import Answering, AnswerWriter
from weft.domains.captions.continuing import AnswerContinuer, continues
from weft.domains.captions.writing import Captioning, PictureWriter
from weft.domains.pairs.exchange import searched, their_search
from weft.domains.pairs.writing import EXTRA_TOKENS
from weft.domains.pictures.exchange import as_sent, picture_codec_of, picture_settings, trial_pictures, with_pictures
from weft.domains.pictures.given import given_pictures
from weft.domains.pictures.settings import Ground
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.exchange import generation, marks_of, text_codec, text_files, tokenizer_of, with_text
from weft.errors import ConfigError, WeftError
from weft.generate.decode import Decoding
from weft.interop import Imported, Marks
from weft.interop.families import FAMILIES
from weft.interop.family import counterpart
from weft.interop.tokenizer_files import marked_tokenizer
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.dual_encoder import DualEncoder
from weft.models.grounded import Grounded
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model
from weft.objectives import Several, TargetAnswer, TargetToken
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
    """A model that answers questions about pictures by its labels, or writes answers."""
    tokenizer, codecs = tokenizer_of(imported), dict[str, Codec.Config](picture_codec_of(imported))
    if tokenizer is not None:
        codecs["question"] = TextCodec.Config(digest=tokenizer.digest)
    if isinstance(imported.model, Seq2Seq):
        if tokenizer is not None:
            codecs["answer"] = _caption_codec(imported)["caption"]
        return Adopted(codecs, TargetAnswer.Config(), picture_settings(imported), text_files(imported))
    codecs["answer"] = SeveralCodec.Config(names=imported.labels)
    return Adopted(codecs, Several.Config(), picture_settings(imported), text_files(imported))


def answer_outgoing(run: Loaded, how: type[Decoding]) -> Outgoing:
    """What an export of a run that answers questions about pictures asks for."""
    answers = run.codecs.get("answer")
    if not isinstance(answers, SeveralCodec):
        question = text_codec(run, "question")
        found = caption_outgoing(run, "answer", how)
        if question is None:
            return found
        if continues(run.model):  # the answer goes on from the question
            opening = AnswerContinuer(run).opening
            return replace(found, tokenizer_json=marked_tokenizer(question.tokenizer, opening, ()))
        return replace(found, tokenizer_json=_marked(question))
    found = with_text(Outgoing(plain_model(run), labels=answers.names), run, text_codec(run, "question"))
    return with_pictures(found, run)


def answer_proof(task: AnyTask, run: Loaded) -> Proof | None:
    """Pictures with a question, and the answers that a run gives; None where it cannot read them."""
    refuse_layout(run.model.config)
    pictures = trial_pictures(run.model.config, MOST)
    if not pictures or text_codec(run, "question") is None:
        return None
    run = as_sent(run)
    given = [Questioned(one, TRIED_QUESTION) for one in pictures]
    sent = [{"picture": one, "question": TRIED_QUESTION} for one in pictures]
    if not isinstance(run.model, Seq2Seq):
        return Proof("picture answer", sent, [one["text"] for one in predicted(task, run, given)])
    how = searched(run, Answering)
    who = AnswerContinuer(run) if continues(run.model) else AnswerWriter(run)
    most = how.max_tokens or who.limit
    answers = [one["text"] for one in predicted(task, run, given, temperature=0.0, max_tokens=most)]
    return Proof("picture answer text", sent, answers, their_search(how), limits=[most] * len(sent))


def refuse_layout(config: Model.Config) -> None:
    """Refuse a model that none of the Hugging Face library computes, and say what is different there."""
    try:
        counterpart(config, FAMILIES.values())
    except ConfigError as error:
        if not isinstance(config, Seq2Seq.Config) or not isinstance(config.source, Grounded.Config):
            why = (
                "picture and question are one stream with a decoder behind it; ViLT has labels there, BLIP two streams"
            )
        elif not any(isinstance(block.read, Attention.Config) for block in config.target.trunk.all_blocks()):
            why = "its decoder takes the mean of what the question's words saw; BLIP's decoder reads each word"
        else:
            why = error.problem
        problem = f"the Hugging Face library has no model of this layout: {why}"
        fix = "go on from a BLIP (weft import Salesforce/blip-vqa-base, then --from): its runs are exported"
        raise ConfigError(problem, where="export", fix=fix) from None


def _marked(codec: TextCodec) -> str:
    """The tokenizer with the marks that stand around texts."""
    return marked_tokenizer(codec.tokenizer, codec.marks.before, codec.marks.after)


def caption_outgoing(run: Loaded, end: str, how: type[Decoding] | None) -> Outgoing:
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
        before, after, embed = codec.marks.before, codec.marks.after, run.model.config.text.embed
        filler = embed.filler if isinstance(embed, TextEmbed.Config) else None
        pad = next(iter(after), None) if filler is None else filler
        return Marks(bos=next(iter(before), None), eos=after[:1], pad=pad)
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
    most = how.max_tokens or writer.limit
    answers = [best[0][0] for best in writer.write(frames, how.replace(max_tokens=most))]
    limits = [most + len(writer.marks.written_from) - 1 + how.forced_end] * len(pictures)
    return Proof("picture text", pictures, answers, their_search(how), limits=limits)
