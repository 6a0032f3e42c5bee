"""caption: learn to write about pictures. Pictures with sentences in, a model that writes about new ones out."""

from collections.abc import Mapping, Sequence
from typing import final

from torch import Tensor

from weft.codecs import Codecs, PictureCodec, TextCodec
from weft.config import from_json
from weft.data.datasets.captions import columns_of
from weft.data.datasets.pictures import PictureData
from weft.data.encoded.captions import SeenCaptions, captioned_pictures
from weft.data.images.album import Album
from weft.data.images.settings import Ground
from weft.data.readers.captions import read_captions
from weft.data.source import Source
from weft.inspect.captioning import CaptionView, LookAtCaption, WordView, Written
from weft.inspect.views import View
from weft.inspect.vision import LearnedView, learned_names
from weft.models.backbone import embed_of
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model
from weft.objectives import TargetToken
from weft.tasks import known_captions, pictures
from weft.tasks.caption_measures import known_files, measured_captions
from weft.tasks.captioners import continued_captioner, new_captioner, taken_over
from weft.tasks.finetuning import start_weights
from weft.tasks.picture_writing import Captioning, PictureWriter
from weft.tasks.recipes import captions as recipes
from weft.tasks.recipes.language import context_of
from weft.tasks.recipes.pictures import batch_in_words
from weft.tasks.request import Listen, Loaded, Measured, Prediction, Request
from weft.tasks.settings import CaptionTraining
from weft.tasks.task import Task
from weft.training.progress import Progress, read_counter


@final
class Caption(Task[PictureData, SeenCaptions, CaptionTraining]):
    """A picture encoder, and a decoder that reads its tokens and writes."""

    name = "caption"
    training = CaptionTraining
    recipe = recipes.CAPTIONING
    unit = "token"
    starts_from = ("classify-images", "reconstruct-images", "distill-images")
    keeps = (known_captions.FILE,)
    Predict = Captioning
    Look = LookAtCaption

    def starting(self, request: Request) -> Request:
        return taken_over(request)

    def codecs(self, data: PictureData, training: CaptionTraining, known: Codecs) -> Codecs:
        picture = pictures.picture_codec(data, training, known)
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

    def start(self, origin: Loaded, codecs: Codecs) -> Mapping[str, Tensor]:
        if isinstance(origin.model, Seq2Seq):
            return start_weights(origin, backbone=False, same_head=True)
        weights = start_weights(origin, backbone=True, same_head=False)
        return {f"source.{name}": tensor for name, tensor in weights.items()}

    def model_name(self, request: Request) -> str:
        return recipes.writer_name(request)

    def objective(self, encoded: SeenCaptions, codecs: Codecs, training: CaptionTraining) -> TargetToken.Config:
        return TargetToken.Config(smoothing=training.smoothing, coverage=training.coverage)

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

    def predict(
        self, run: Loaded, inputs: Sequence[object], how: Captioning, listen: Listen | None
    ) -> list[Prediction]:
        names, frames = pictures.given_pictures(run, inputs, Ground())
        return [
            {"input": name, "text": text, "score": round(one.score, 4), **({} if one.ended else {"cut": True})}
            for name, best in zip(names, PictureWriter(run).write(frames, how), strict=True)
            for text, one in best
        ]

    def shown(self, prediction: Prediction) -> str:
        return f"{prediction['input']}: {prediction['text']}"

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Album:
        training = from_json(run.config["training"], CaptionTraining)
        found = read_captions(sources, **columns_of(training), skip=training.allowed, learn=False)
        return found.held_out or found.train

    def measure(self, run: Loaded, held_out: Album, progress: Progress, seconds: float | None = None) -> Measured:
        return measured_captions(run, held_out, progress)

    def look(self, run: Loaded, input: object, how: LookAtCaption) -> View:
        writer, chosen = PictureWriter(run), how.chosen
        if how.what is not None:
            return LearnedView(writer.model.source, learned_names(how.what))
        name, picture, read = pictures.one_picture(run, input, Ground())
        if how.caption is None:
            ids = writer.written(read, Captioning(beam=how.beam))[0][0][1].ids
        else:
            ids = tuple(writer.caption.tokenizer.encode(how.caption).tolist())
        what = Written(picture.pixels, read, writer.marks.written_from, ids, name)
        view = CaptionView(writer.model, writer.caption.tokenizer, what, chosen)
        return view if how.word is None else WordView(view, how.word, every=how.every)
