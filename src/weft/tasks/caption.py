"""caption: learn to write about pictures. Pictures with sentences in, a model that writes a sentence about a new one out."""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from weft.config import from_json
from weft.data.captions.batches import CaptionedPictures
from weft.data.images.album import Album
from weft.data.readers import captions
from weft.data.readers.captions import read_captions
from weft.data.readers.pair_texts import Held
from weft.data.source import Source
from weft.data.survey import Judgement, Survey
from weft.errors import ConfigError, WeftError
from weft.inspect.captioning import CaptionView, WordView, Written
from weft.inspect.vision import LearnedView
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.zoo.captioning import CAPTION_MODELS
from weft.objectives import TargetToken
from weft.tasks.backbones import backbone_weights
from weft.tasks.caption_data import (
    CaptionData,
    caption_facts,
    caption_lines,
    encoded,
    read_captioned,
)
from weft.tasks.caption_plan import CAPTIONING, CaptionTraining, caption_shape, writer_operations, writer_size
from weft.tasks.caption_writing import Captioning, CaptionLooking, Writer
from weft.tasks.picture_data import PictureData, Seen
from weft.tasks.picture_input import Ground, as_read, frames_for, given_pictures
from weft.tasks.picture_plan import PictureTraining, embed_of, operations
from weft.tasks.pictures import Known, PictureTask
from weft.tasks.sequences import SHOWN, model_of
from weft.tasks.task import Ending, Loaded, Measured, Request, View, with_settings
from weft.tasks.text_data import around_of, tokenizer_of
from weft.tasks.translation_measures import translation_measures
from weft.training.card import finite
from weft.training.progress import Progress, counter
from weft.training.run import Outcome


class Caption(PictureTask):
    """A picture encoder, and a decoder that reads its tokens and writes."""

    name = "caption"
    summary = "learn to write about pictures"
    files = (
        ".tsv, .csv or .jsonl (gzip too) with pictures' names and captions, the pictures beside it or named too "
        "(captions.tsv photos/ or photos.tar); a folder, .zip or .tar of pictures with a .txt of the same name each"
    )
    models = {
        "swift": "the default: a transformer on convolutional features, and the decoder of translation's swift",
        "transformer": "a Vision Transformer, and a decoder of GPT-2's layout; weft export --to hf writes it",
        "cnn-transformer": "the same decoder, and a transformer on convolutional features",
    }
    sample = "weft's shapes (1,500 pictures of 32 x 32 pixels with sentences)"
    sampled = "shapes"
    settings = CaptionTraining
    use = Captioning
    looking = CaptionLooking
    catalogue = CAPTIONING
    ladders = {"swift": "vit-hybrid", "transformer": "vit", "cnn-transformer": "vit-hybrid"}
    without = ("flip", "colour", "strong", "mixup", "cutmix")  # captions tell left from right, and red from green
    frozen = ("source",)
    takes = ("classify-images", "reconstruct-images", "distill-images")

    def judge(self, survey: Survey) -> Judgement:
        return captions.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, settings: PictureTraining, progress: Progress | None = None
    ) -> PictureData:
        assert isinstance(settings, CaptionTraining)
        return read_captioned(sources, valid, settings, progress)

    def prepared(self, data: PictureData, settings: PictureTraining, run: Known | None) -> CaptionData:
        """With captions as ids, by the tokenizer of a run that wrote captions before."""
        assert isinstance(settings, CaptionTraining)
        if run is None or run[1].get("task") != self.name:
            return encoded(data, settings)
        folder, config = run
        embed: Any = from_json(config["model"], Seq2Seq.Config).target.embed
        tokenizer = tokenizer_of(folder, config, embed.size)
        settings = settings.replace(tokenizer=None, vocab=None, context=embed.context)
        return encoded(data, settings, (tokenizer, around_of(config, tokenizer)))

    def model(
        self, request: Request, backbone: Stream.Config, data: PictureData, settings: PictureTraining
    ) -> Model.Config:
        assert isinstance(data, CaptionData) and isinstance(settings, CaptionTraining)
        if request.origin is not None and self.goes_on(request):
            config = from_json(request.origin.config["model"], Seq2Seq.Config)
            return config.replace(source=config.source.replace(embed=backbone.embed))
        size = writer_size(backbone, settings, data.context)
        build = CAPTION_MODELS[self.model_name(request)]
        return build(backbone, size, vocab=data.tokenizer.size, dropout=settings.dropout or 0.0)

    def first_settings(self, request: Request) -> PictureTraining:
        if "summary" in request.settings:
            problem = "the decoder reads all of the encoder's tokens, not a summary of them"
            raise ConfigError(problem, where="--set summary", fix="leave it out")
        fixed = [name for name in ("tokenizer", "vocab") if name in request.settings]
        if fixed and self.goes_on(request):
            problem = f"{', '.join(fixed)}: the tokenizer is that of the run to start from"
            raise ConfigError(problem, where="--from", fix="leave it out")
        return super().first_settings(request)

    def model_name(self, request: Request) -> str:
        if request.origin is None or self.goes_on(request):
            return self.catalogue.model_name(request)
        return request.model or self.catalogue.default

    def cost(self, backbone: Stream.Config, settings: PictureTraining) -> float:
        assert isinstance(settings, CaptionTraining)
        size = writer_size(backbone, settings, 1)
        return operations(backbone) + writer_operations(size, settings)

    def objective(self, settings: PictureTraining) -> TargetToken.Config:
        return TargetToken.Config(smoothing=settings.smoothing)

    def source(self, data: PictureData, seen: Seen, settings: PictureTraining, stride: int) -> Source:
        assert isinstance(data, CaptionData) and isinstance(settings, CaptionTraining)
        return CaptionedPictures(
            (seen.train, data.ids),
            (seen.held_out, data.held_ids),
            around=data.around,
            visit=settings.visit,
            how=settings.augment,
            stride=stride,
            fingerprint=data.fingerprint,
            seed=settings.seed,
        )

    def facts(self, data: PictureData) -> dict[str, Any]:
        assert isinstance(data, CaptionData)
        return caption_facts(data)

    def lines(self, data: PictureData, seen: Seen) -> Mapping[str, str]:
        assert isinstance(data, CaptionData)
        return {**super().lines(data, seen), **caption_lines(data)}

    def files_of(self, data: PictureData) -> Mapping[str, str]:
        assert isinstance(data, CaptionData)
        return {"tokenizer.json": data.tokenizer.to_json()}

    def shape(self, model: Model.Config) -> str:
        assert isinstance(model, Seq2Seq.Config)
        return caption_shape(model)

    def outgoing(self, backbone: Stream.Config, data: PictureData) -> Stream.Config:
        return backbone.replace(head=None, outputs=None)

    def start(self, request: Request, data: PictureData) -> Mapping[str, Tensor]:
        """All weights of a run that wrote captions; of others those of the encoder."""
        assert request.origin is not None
        if self.goes_on(request):
            return super().start(request, data)
        weights = backbone_weights(request.origin.model)
        return {f"source.{name}": t for name, t in weights.items() if not name.startswith("head.")}

    def finish(self, run: Loaded, outcome: Outcome, progress: Progress) -> Ending:
        data = run.config["data"]
        measured = self.evaluate(run, (), progress)
        return Ending(
            metrics=measured.metrics,
            summary=f"Writes about pictures: trained by weft on {data['described']}.",
            use=f"weft predict {shlex.quote(str(run.folder.path))} picture.jpg",
            facts={
                "model": f"{run.config['model_name']}, {caption_shape(model_of(run).config)}",
                "pictures": f"{data['pictures']:,} to train on with {data['captions']:,} captions, "
                f"{data['held_out']:,} held out",
                "tokens": f"{data['tokenizer']}, vocabulary {data['vocabulary']}",
                "held out": data["rule"],
                "seed": str(run.config["training"]["seed"]),
            },
            unit="token",
            sample="\n".join(f"{one['input']}: {one['text']}" for one in measured.more["samples"]),
        )

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        how, writer, found = with_settings(Captioning(), settings), Writer(run), []
        names, pictures = given_pictures(run, inputs)
        for name, picture in zip(names, pictures, strict=True):
            (best,) = writer.write(as_read(run, picture, embed_of(writer.config.source), Ground()), how)
            for text, hypothesis in best:
                cut = {} if hypothesis.ended else {"cut": True}
                found.append({"input": name, "text": text, "score": round(hypothesis.score, 4), **cut})
        return found

    def shown(self, prediction: Mapping[str, Any]) -> str:
        return f"{prediction['input']}: {prediction['text']}"

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        album, what = self.named_data(run, data) if data else self.own_data(run)
        writer, frames = Writer(run), frames_for(run, album)
        total, tokens = writer.score(frames, album.captions)
        found, done = [""] * len(album), 0
        count = counter(progress, len(album), "captions")
        for rows, texts in writer.write_all(frames, Captioning()):
            for row, text in zip(rows, texts, strict=True):
                found[row] = text
            done += len(rows)
            count(done)
        progress.stop()
        held = [Held(name, texts) for name, texts in zip(album.names, album.captions, strict=True)]
        measures, more = translation_measures(found, held, parted=True)
        loss = total / max(1, tokens)
        metrics = {**measures, "loss": loss, "perplexity": math.exp(min(loss, 700))}
        examples = [{"input": one.source, "text": text, "references": list(one.references)}
                    for one, text in zip(held[:SHOWN], found[:SHOWN], strict=True)]  # fmt: skip
        return Measured(what, len(held), finite(metrics), {**more, "tokens": tokens, "samples": examples})

    def named_data(self, run: Loaded, data: Sequence[str]) -> tuple[Album, str]:
        """Pictures with captions to measure on; of data that holds some out, those."""
        settings = from_json(run.config["training"], CaptionTraining)
        columns = {"picture": settings.picture_column, "caption": settings.caption_column}
        found = read_captions(data, **columns, skip=settings.allowed, learn=False)
        return found.held_out or found.train, ", ".join(data)

    def look(self, run: Loaded, input: Any, settings: Mapping[str, Any]) -> View:
        how, writer = with_settings(CaptionLooking(), settings), Writer(run)
        if how.every and how.word is None:
            raise ConfigError("every head of every layer is shown for one word", where="every", fix="set word too")
        if how.wanted:
            return LearnedView(writer.model.source, how.wanted)
        names, pictures = given_pictures(run, [] if input is None else [input])
        if len(pictures) != 1:
            raise WeftError(f"expected one picture, found {len(pictures)}", where="weft look")
        raw = as_read(run, pictures[0], embed_of(writer.config.source), Ground())
        if how.caption is None:
            ids = writer.write(raw, Captioning(beam=how.beam))[0][0][1].ids
        else:
            ids = tuple(writer.tokenizer.encode(how.caption).tolist())
        what = Written(pictures[0].pixels, raw, writer.around.opening, ids, names[0])
        view = CaptionView(writer.model, writer.tokenizer, what, layer=how.layer, head=how.head)
        return view if how.word is None else WordView(view, how.word, every=how.every)
