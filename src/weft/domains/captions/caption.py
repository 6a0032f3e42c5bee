"""caption: learn to write about pictures. Pictures with sentences in, a model that writes about new ones out."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import final

from torch import Tensor

from weft.batches.source import Source
from weft.domains.captions import common_space
from weft.domains.captions.captioners import continued_captioner, new_captioner, taken_over
from weft.domains.captions.cards import CAPTION
from weft.domains.captions.dataset import columns_of
from weft.domains.captions.decoders import language_weights
from weft.domains.captions.encoded.captions import SeenCaptions, captioned_pictures
from weft.domains.captions.exchange import adopted_captions, caption_outgoing, caption_proof
from weft.domains.captions.measures import known as known_captions
from weft.domains.captions.measures.captioning import known_files, measured_captions
from weft.domains.captions.reading.captions import read_captions
from weft.domains.captions.recipe import captioners as recipes
from weft.domains.captions.sample.named import named_scene, scene_of
from weft.domains.captions.settings import CaptionTraining
from weft.domains.captions.views.captioning import LookAtCaption, WrittenCaption, caption_steps, caption_words
from weft.domains.captions.views.studies import study_words
from weft.domains.captions.views.words_view import look_at_words
from weft.domains.captions.writing import Captioning, PictureWriter, answers
from weft.domains.pictures import given as pictures
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.given import look_at_picture, one_picture, opened_pictures
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.reading.lookup import picture_beside
from weft.domains.pictures.recipe import batch_in_words
from weft.domains.pictures.settings import Ground
from weft.domains.pictures.views.learned_view import LearnedView, learned_names
from weft.domains.pictures.views.vision import LookAtPicture
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError
from weft.files.pictures.regions import Region
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.interop import Imported
from weft.modalities.image import PictureEmbed
from weft.models.backbone import context_of, embed_of
from weft.models.dual_encoder import DualEncoder
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model
from weft.objectives import Objective
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Asks, Given, Gives, Opened, Ways
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import start_weights
from weft.tasks.labels.labelling import cells as label_cells
from weft.tasks.labels.labelling import in_a_line
from weft.tasks.outgoing import Outgoing
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.request import Embedded, Listen, Loaded, Measured, Prediction, Request
from weft.tasks.table_inputs import InputRow
from weft.tasks.task import Task
from weft.training.progress import Progress, read_counter


def opened_to_look(words: Sequence[object]) -> Iterator[Given]:
    """The pictures that a user names to look at: files, or scenes of weft's own."""
    for word in words:
        scene = named_scene(word)
        if scene is None:
            yield from opened_pictures([word])
        else:
            yield Given(Opened(scene), str(word))


def look_at_caption(run: Loaded, inputs: Sequence[Given], how: LookAtCaption) -> View:
    """What counted for each word, or what the embedder learned."""
    if isinstance(run.model, DualEncoder):
        return look_at_picture(run, _as_pixels(inputs), _reading(how))
    how.chosen  # noqa: B018 (settings that contradict each other are refused before anything is computed)
    writer = PictureWriter(run)
    if how.what is not None:
        return LearnedView(writer.model.source, learned_names(how.what))
    name, picture, read = one_picture(run, _as_pixels(inputs), Ground())
    scene = scene_of(inputs[0])
    if how.caption is None:
        _, best = writer.written(read, Captioning(beam=how.beam))[0][0]
        ids, score, chance = best.ids, best.score, math.exp(best.log_probability)
    else:
        ids, score, chance = tuple(writer.caption.tokenizer.encode(how.caption).tolist()), None, None
    what = WrittenCaption(picture.pixels, read, writer.marks.written_from, ids, name, score, chance=chance)
    if scene is not None:
        what = replace(what, regions=_regions(scene.album, writer.caption.decode(ids).strip()))
    if how.token is not None:
        return caption_steps(writer.model, writer.caption.tokenizer, what, how)
    return look_at_words(caption_words(writer.model, writer.caption.tokenizer, what, how.by), how)


def study_caption(run: Loaded, inputs: Sequence[Given], how: LookAtCaption) -> Study:
    """The study of a caption, at its first token."""
    writer = PictureWriter(run)
    _, _, read = one_picture(run, _as_pixels(inputs), Ground())
    if how.caption is None:
        ids = writer.written(read, Captioning(beam=how.beam))[0][0][1].ids
    else:
        ids = tuple(writer.caption.tokenizer.encode(how.caption).tolist())
    opening = writer.marks.written_from
    return study_words(writer.model, read, writer.caption, [*opening, *ids], place=len(opening))


def _as_pixels(inputs: Sequence[Given]) -> list[Given]:
    """The inputs, with scenes as their pixels."""
    return [one if (scene := scene_of(one)) is None else Given(scene.pixels, one.name) for one in inputs]


def _reading(how: LookAtCaption) -> LookAtPicture:
    """The settings of a look at what was read of the picture, by a model that writes no words."""
    for name in ("word", "caption", "by"):
        if getattr(how, name) is not None:
            problem = "this model writes no captions: what its class token read of the picture is shown"
            raise ConfigError(problem, where=f"--set {name}", fix="leave it out")
    return LookAtPicture(layer=how.layer, head=how.head, every=how.every, what=how.what)


def _regions(scene: Album, caption: str) -> Sequence[Region]:
    """What the words of a caption are about, where the caption is one of those that the scene has."""
    ((captions, regions),) = zip(scene.captions, scene.regions, strict=True)
    return regions[captions.index(caption)] if caption in captions else ()


@final
class Caption(Task[PictureData, SeenCaptions, CaptionTraining]):
    """A picture encoder, and a decoder that reads its tokens and writes."""

    card = CAPTION
    parts = (
        Parts({"picture": End.of(PictureCodec), "caption": End.of(TextCodec, side="target")}, (Seq2Seq,), PictureEmbed),
        Parts(
            {"picture": End.of(PictureCodec, side="picture"), "caption": End.of(TextCodec, side="text")},
            (DualEncoder,),
            PictureEmbed,
        ),
    )
    recipe = recipes.CAPTIONING
    unit = "token"
    starts_from = ("classify-images", "reconstruct-images", "distill-images")
    keeps = (known_captions.FILE,)
    asks = (pictures.PICTURES,)
    embeds = (pictures.PICTURE, Asks("text", "a text"))
    Predict = Captioning
    Embed = common_space.Comparing
    Look = LookAtCaption

    def starting(self, request: Request) -> Request:
        return taken_over(request)

    def codecs(self, data: PictureData, training: CaptionTraining, known: Codecs) -> Codecs:
        picture = pictures.picture_codec(data, training, known, aspect=False)
        return {"picture": picture, "caption": recipes.caption_codec(data, training, known)}

    def encode(
        self,
        data: PictureData,
        codecs: Codecs,
        training: CaptionTraining,
        known: Model.Config | None,
        progress: Progress,
    ) -> SeenCaptions:
        picture, text = codecs["picture"], codecs["caption"]
        assert isinstance(picture, PictureCodec) and isinstance(text, TextCodec)
        context = context_of(known.target) if isinstance(known, Seq2Seq.Config) else training.context
        channels = None if known is None else embed_of(known).channels
        return SeenCaptions.captioned(data, (picture, text), context, channels, read_counter(progress))

    def sized(self, draft: recipes.CaptionDraft) -> tuple[Model.Config, CaptionTraining]:
        return new_captioner(draft)

    def continued(self, draft: recipes.CaptionDraft, origin: Loaded) -> tuple[Model.Config, CaptionTraining]:
        return continued_captioner(draft, origin)

    def start(self, origin: Loaded, codecs: Codecs, model: Model.Config) -> Mapping[str, Tensor]:
        if isinstance(origin.model, Seq2Seq):
            return start_weights(origin, backbone=False, same_head=True)
        weights = start_weights(origin, backbone=True, same_head=False)
        return {f"source.{name}": tensor for name, tensor in weights.items()}

    def start_decoder(self, origin: Loaded, model: Model.Config) -> Mapping[str, Tensor]:
        return language_weights(origin, model)

    def model_name(self, request: Request) -> str:
        return recipes.writer_name(request)

    def objective(self, encoded: SeenCaptions, codecs: Codecs, training: CaptionTraining) -> Objective.Config:
        return recipes.caption_objective(training)

    def source(self, encoded: SeenCaptions, codecs: Codecs, model: Model.Config, training: CaptionTraining) -> Source:
        how, stride = training.augment, embed_of(model).stride
        source = captioned_pictures(encoded, training.visit, how=how, stride=stride, seed=training.seed)
        return pictures.read_ahead(source, encoded)

    def kept_files(self, encoded: SeenCaptions) -> Mapping[str, bytes]:
        return known_files(encoded)

    def batch_in_words(self, training: CaptionTraining, source: Source) -> str:
        return batch_in_words(training)

    def ability(self, run: Loaded) -> str:
        return "Writes about pictures"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return {**recipes.caption_facts(run), "tokens": run.codec("caption", TextCodec).in_words()}

    def example(self, run: Loaded, measured: Measured) -> str:
        return "\n".join(f"{one['input']}: {one['text']}" for one in measured.more["samples"])

    def gives(self, run: Loaded) -> Gives:
        if isinstance(run.model, Seq2Seq):
            return Gives("text", columns=("text", "score"))
        return Gives("choices", columns=("label", "probability"))

    def cells(self, prediction: Prediction) -> Sequence[Prediction]:
        return [label_cells(prediction)]

    def file_in(self, row: InputRow) -> Path:
        return picture_beside(row.text(), row.table.path, row.where)

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        if isinstance(ways.how, common_space.Comparing):
            return common_space.opened_to_compare(words, ways.how)
        return opened_to_look(words) if ways.use == "look" else pictures.opened_pictures(words)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Captioning, listen: Listen | None) -> list[Answer]:
        return answers(run, inputs, how)

    def shown(self, prediction: Prediction) -> str:
        return in_a_line(prediction) if "label" in prediction else f"{prediction['input']}: {prediction['text']}"

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: common_space.Comparing) -> Embedded:
        return common_space.embedded(run, inputs)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Album:
        asked = self.read_by(run)
        found = read_captions(sources, **columns_of(asked), skip=asked.allowed)
        return found.held_out or found.train

    def measure(self, run: Loaded, held_out: Album, progress: Progress, seconds: float | None = None) -> Measured:
        return common_space.with_retrieval(measured_captions(run, held_out, progress), run, held_out)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtCaption) -> View:
        return look_at_caption(run, inputs, how)

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtCaption) -> Study:
        return study_caption(run, inputs, how)

    def adopted(self, model: Imported) -> Adopted:
        return adopted_captions(model)

    def outgoing(self, run: Loaded) -> Outgoing:
        return caption_outgoing(run, "caption", self.Predict)

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return caption_proof(run)
