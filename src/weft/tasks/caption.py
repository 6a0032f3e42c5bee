"""caption: learn to write about pictures. Pictures with sentences in, a model that writes a sentence about a new one out."""

import hashlib
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from weft.config import Config, from_json
from weft.data.captions import looks_captioned, read_captions
from weft.data.captions.batches import CaptionedPictures, Framing, whole
from weft.data.images.album import Album
from weft.data.images.frames import Frames, by_shape
from weft.data.pairs import Held
from weft.data.source import Source
from weft.errors import WeftError
from weft.generate.beam import Hypothesis
from weft.generate.compute import prepared
from weft.generate.decode import ROWS, Decoding, written
from weft.inspect.captioning import CaptionView, WordView, Written
from weft.inspect.vision import LearnedView
from weft.modalities.image import Picture
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.zoo.captioning import CAPTION_MODELS
from weft.objectives import TargetToken
from weft.tasks.caption_data import (
    CaptionData,
    caption_facts,
    caption_ids,
    caption_lines,
    encoded,
    read_captioned,
)
from weft.tasks.caption_plan import CAPTIONING, CaptionTraining, caption_shape, writer_operations, writer_size
from weft.tasks.picture_data import PictureData, Seen
from weft.tasks.picture_input import WHAT, Ground, as_read, frames_for, given_pictures
from weft.tasks.picture_plan import PictureTraining, embed_of, operations
from weft.tasks.pictures import Known, PictureTask, backbone_weights
from weft.tasks.sequences import ROOM, SHOWN, Finding, model_of
from weft.tasks.task import Ending, Loaded, Measured, Request, View, with_settings
from weft.tasks.text_data import tokenizer_of
from weft.tasks.translation_measures import translation_measures
from weft.training.card import finite
from weft.training.progress import Progress, counter
from weft.training.run import Outcome

USUAL = 40  # tokens of the longest caption, where nobody knows what a model learned from


class Captioning(Finding):
    """Settings of a prediction."""

    about: ClassVar[Mapping[str, str]] = {
        **Finding.about,
        "best": "captions to give for each picture, the best first",
        "max_tokens": "the most tokens of a caption; by default some more than any that was learned from has",
    }


class CaptionLooking(Config):
    """What to look at."""

    layer: int | None = None
    head: int | None = None
    word: str | None = None
    every: bool = False
    caption: str | None = None
    beam: int = 5
    what: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        "layer": "one layer of the decoder, from 1; by default the average of all",
        "head": "one head, from 1; by default the average of all",
        "word": "one word in large, with each head by itself: the word, or its place from 1",
        "every": "with word: every head of every layer in a panel of its own",
        "caption": "look with this caption instead of the model's own",
        "beam": "the beam of the model's own caption",
        "what": f"{', '.join(WHAT)} or both: what the picture embedder learned; needs no picture",
    }


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

    def recognises(self, sources: Sequence[Path]) -> bool:
        return bool(sources) and looks_captioned(sources)

    def read(
        self, sources: Sequence[str], valid: str | None, settings: PictureTraining, progress: Progress | None = None
    ) -> PictureData:
        assert isinstance(settings, CaptionTraining)
        return read_captioned(sources, valid, settings, progress)

    def prepared(self, data: PictureData, settings: PictureTraining, run: Known | None) -> CaptionData:
        """With captions as ids, by the tokenizer of a run that wrote captions before."""
        assert isinstance(settings, CaptionTraining)
        if run is None or run[1].get("task") != self.name:
            return encoded(data, settings, None, (), None)
        folder, config = run
        target = from_json(config["model"], Seq2Seq.Config).target
        framing = framing_of(config, tokenizer_of(folder, config, target.embed.size))
        settings = settings.replace(tokenizer=None, vocab=None, context=target.embed.context)  # type: ignore[attr-defined]
        tokenizer = tokenizer_of(folder, config, target.embed.size)
        return encoded(data, settings, tokenizer, framing.opening, framing.end)

    def model(
        self, request: Request, backbone: Stream.Config, data: PictureData, settings: PictureTraining
    ) -> Model.Config:
        assert isinstance(data, CaptionData) and isinstance(settings, CaptionTraining)
        if request.origin is not None and self.goes_on(request):
            return from_json(request.origin.config["model"], Seq2Seq.Config).replace(source=backbone)
        size = writer_size(backbone, settings, data.context)
        build = CAPTION_MODELS[self.model_name(request)]
        return build(backbone, size, vocab=data.tokenizer.size, dropout=settings.dropout or 0.0)

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
            framing=data.framing,
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
        how = with_settings(Captioning(), settings)
        names, pictures = given_pictures(run, inputs)
        embed, found = embed_of(model_of(run).config.source), []
        for name, picture in zip(names, pictures, strict=True):
            (best,) = self.written(run, as_read(run, picture, embed, Ground()), how)
            for text, hypothesis in best:
                cut = {} if hypothesis.ended else {"cut": True}
                found.append({"input": name, "text": text, "score": round(hypothesis.score, 4), **cut})
        return found

    def shown(self, prediction: Mapping[str, Any]) -> str:
        return f"{prediction['input']}: {prediction['text']}"

    @torch.inference_mode()
    def written(self, run: Loaded, picture: Picture, how: Decoding) -> list[list[tuple[str, Hypothesis]]]:
        """The best captions of each picture, with their tokens and scores."""
        model, tokenizer = model_of(run), self.tokenizer(run)
        used: Any = prepared(model, how.precision)
        framing, context = framing_of(run.config, tokenizer), model.config.target.embed.context  # type: ignore[attr-defined]
        most = how.max_tokens or run.config["data"].get("longest", USUAL) + ROOM
        limit = max(1, min(most, context - len(framing.opening)))
        hypotheses = written(
            used,
            used.memorise(picture.to(next(model.parameters()).device)),
            end=framing.end,
            opening=list(framing.opening),
            limits=[limit] * len(picture),
            how=how,
            keys=[list(hashlib.sha256(one.numpy().tobytes()).digest()) for one in picture.pixels],
        )
        return [[(tokenizer.decode(h.ids).strip(), h) for h in best] for best in hypotheses]

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        album, what = self.named_data(run, data) if data else self.own_data(run)
        frames = frames_for(run, album)
        total, tokens = self.scored(run, album, frames)
        found: list[str] = [""] * len(album)
        done, seen = counter(progress, len(album), "captions"), 0
        for rows, picture in by_shape(frames, self.stride(run), ROWS // Captioning().beam):
            for row, best in zip(rows, self.written(run, picture, Captioning()), strict=True):
                found[row] = best[0][0]
            seen += len(rows)
            done(seen)
        progress.stop()
        held = [Held(name, texts) for name, texts in zip(album.names, album.captions, strict=True)]
        measures, more = translation_measures(found, held)
        loss = total / max(1, tokens)
        metrics = {**measures, "loss": loss, "perplexity": math.exp(min(loss, 700))}
        examples = [{"input": one.source, "text": text, "references": list(one.references)}
                    for one, text in zip(held[:SHOWN], found[:SHOWN], strict=True)]  # fmt: skip
        return Measured(what, len(held), finite(metrics), {**more, "tokens": tokens, "samples": examples})

    @torch.inference_mode()
    def scored(self, run: Loaded, album: Album, frames: Frames) -> tuple[float, int]:
        """The summed loss of all captions in nats, and the number of tokens; without captions beyond the context."""
        model, tokenizer = model_of(run), self.tokenizer(run)
        framing, context = framing_of(run.config, tokenizer), model.config.target.embed.context  # type: ignore[attr-defined]
        ids = [[text for text in texts if len(text) + len(framing.opening) <= context]
               for texts in caption_ids(tokenizer, album.captions)]  # fmt: skip
        objective, device = TargetToken.Config().build(), next(model.parameters()).device
        model.eval()
        losses = [objective(model, batch.to(device)) for batch in whole(frames, ids, framing, self.stride(run))]
        return sum(float(loss.total) for loss in losses), sum(loss.count for loss in losses)

    def named_data(self, run: Loaded, data: Sequence[str]) -> tuple[Album, str]:
        """Pictures with captions to measure on; of data that holds some out, those."""
        settings = from_json(run.config["training"], CaptionTraining)
        columns = {"picture": settings.picture_column, "caption": settings.caption_column}
        found = read_captions(data, **columns, skip=settings.allowed)
        return found.held_out or found.train, ", ".join(data)

    def look(self, run: Loaded, input: Any, settings: Mapping[str, Any]) -> View:
        how, model = with_settings(CaptionLooking(), settings), model_of(run)
        if how.what is not None:
            return LearnedView(model.source, tuple(part.strip() for part in how.what.split(",")))
        names, pictures = given_pictures(run, [] if input is None else [input])
        if len(pictures) != 1:
            raise WeftError(f"expected one picture, found {len(pictures)}", where="weft look")
        raw, tokenizer = as_read(run, pictures[0], embed_of(model.config.source), Ground()), self.tokenizer(run)
        if how.caption is None:
            ids = self.written(run, raw, Captioning(beam=how.beam))[0][0][1].ids
        else:
            ids = tuple(tokenizer.encode(how.caption).tolist())
        what = Written(pictures[0].pixels, raw, framing_of(run.config, tokenizer).opening, ids, names[0])
        view = CaptionView(model, tokenizer, what, layer=how.layer, head=how.head)
        return view if how.word is None else WordView(view, how.word, every=how.every)

    def stride(self, run: Loaded) -> int:
        """Pixels along a side of one of the model's tokens."""
        return embed_of(model_of(run).config.source).stride

    def tokenizer(self, run: Loaded) -> Tokenizer:
        """The run's tokenizer."""
        return tokenizer_of(run.folder, run.config, model_of(run).config.target.embed.size)


def framing_of(config: Mapping[str, Any], tokenizer: Tokenizer) -> Framing:
    """What stands around a caption: what the run learned with, or what the makers of an imported model say."""
    if "imported" not in config:
        return Framing(tuple(config["data"]["opening"]), config["data"]["end"])
    ends = config["imported"]["marks"].get("eos_token_id", tokenizer.end)
    end = ends[0] if isinstance(ends, list) else ends
    return Framing(tuple(config["imported"]["opening"]) or (end,), end)
