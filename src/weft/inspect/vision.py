"""What a model for pictures looks at: maps over one picture, and what its embedder learned."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from einops import rearrange
from torch import Tensor, nn

from weft.core.recording import Reading, record
from weft.data.images.settings import Ground
from weft.errors import ConfigError, WeftError
from weft.inspect import learned, maps
from weft.inspect.picture_reading import NoAttention
from weft.inspect.rollout import rollout
from weft.inspect.steps import Steps
from weft.inspect.token_steps import TOKEN, Readers
from weft.inspect.views import Answer, AttentionChoice, View, picture_page
from weft.modalities.image import PatchEmbed, Picture, PictureEmbed
from weft.modalities.picture_text import PictureTextEmbed
from weft.models.stream import Stream


@dataclass(frozen=True)
class Glance(AttentionChoice):
    """Which attention to show, and who reads: the class token or the average of all patches, or one patch."""

    patch: tuple[int, int] | None = None  # row and column, counted from 1


LEARNED = ("filters", "positions")  # what can be shown of an embedder


def learned_names(what: str | None) -> tuple[str, ...]:
    """The names in a list of what to show of an embedder; others are refused."""
    names = () if what is None else tuple(part.strip() for part in what.split(","))
    if not set(names) <= set(LEARNED):
        raise ConfigError(f"expected {' or '.join(LEARNED)}, found {what!r}", where="what")
    return names


class LookAtPicture(Ground):
    """Settings of a look at a picture."""

    layer: int | None = None
    head: int | None = None
    every: bool = False
    patch: str | None = None
    by: Literal["attention", "gradient", "occlusion"] | None = None
    label: str | None = None
    token: str | None = None
    what: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        "layer": "show one layer, counted from 1",
        "head": "show one head, counted from 1",
        "every": "show every layer and head in a panel of its own",
        "patch": "row,column: what this patch reads, instead of the class token or all",
        "by": "attention: what was read; gradient: what speaks for the answer (Grad-CAM); occlusion: what makes it less "
        "probable when it is painted over; by default attention, else gradient, else occlusion, as the model allows",
        "label": "by gradient or occlusion: explain this class instead of the model's answer",
        "token": f"{TOKEN}; tokens are class, and patches as row,column",
        "what": "filters, positions or both: what the embedder learned; needs no picture",
        **Ground.about,
    }

    def check(self) -> None:
        super().check()
        learned_names(self.what)
        if self.patch is not None and not re.fullmatch(r"\d{1,6},\d{1,6}", self.patch):
            raise ConfigError(f"expected row,column, found {self.patch!r}", where="patch")
        if self.by in ("gradient", "occlusion"):
            self.refuse_attention(self.by)
        elif self.by == "attention" and self.label is not None:
            problem = "attention is the same whatever class is asked about"
            raise ConfigError(problem, where="label", fix="use by=gradient or by=occlusion")

    def refuse_attention(self, by: str) -> None:
        """Refuses settings of attention where the map is made otherwise."""
        for name in ("layer", "head", "every", "patch", "token"):
            if getattr(self, name):
                problem = f"a look by {by} is of the whole model, it has no layers, heads and readers"
                raise ConfigError(problem, where=name, fix=f"leave {name} away, or look by=attention with a vit")

    @property
    def glance(self) -> Glance:
        """The same as the view takes it."""
        row, column = (self.patch or "0,0").split(",")
        return Glance(self.layer, self.head, self.every, None if self.patch is None else (int(row), int(column)))


class MapsView(View):
    """Maps over a picture as a picture, a page, words and plain values. Shows itself in a notebook."""

    @cached_property
    def maps(self) -> maps.Maps:
        """How much of each patch was read, for every layer and head."""
        raise NotImplementedError

    def chosen(self) -> AttentionChoice:
        """The layer and the head to show."""
        raise NotImplementedError

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """The maps as a picture."""
        return maps.draw(self.maps, self.chosen(), format=format, answer=str(self.answer or ""))

    def page(self) -> bytes:
        """The maps as a page that needs nothing else."""
        drawn = maps.draw(replace(self.maps, title=""), self.chosen())
        return picture_page(self.maps.title or "attention", drawn, answer=self.answer)

    def text(self) -> str:
        """The map in characters, for a terminal."""
        return maps.as_text(self.maps, self.chosen(), str(self.answer or ""))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        answer = {} if self.answer is None else {"answer": self.answer.to_json()}
        return {**maps.to_json(self.maps), **answer}


class PictureView(MapsView):
    """One picture, and what was read of it in every layer. Shows itself in a notebook."""

    def __init__(
        self,
        model: Stream,
        raw: Picture,
        pixels: np.ndarray,
        how: Glance = Glance(),
        title: str = "",
        answer: Answer | None = None,
    ):
        """`raw` is the picture as the model reads it, `pixels` as people see it."""
        self.model, self.raw, self.pixels, self.how, self.title = model, raw, pixels, how, title
        self.answer = answer
        self.asked = self._asked()
        self._readings = readings_in(model, raw)
        if not self._readings:
            fix = "look by=gradient or by=occlusion, or train with --model vit or vit-hybrid"
            raise NoAttention("this model has no attention to look at", where="weft look", fix=fix)
        self.weights = [readings[0].weights() for readings in self._readings]
        how.indices(len(self.weights), self.weights[0].shape[1])

    @property
    def about(self) -> str:
        layers, heads = len(self.weights), self.weights[0].shape[1]
        return f"attention in {layers} layers × {heads} heads over {self.title or 'a picture'}"

    def steps(self, token: str | int = 1) -> Steps:
        """The numbers of one head for one token: a class token, or a patch as row,column."""
        rows, columns = self.grid
        first = self.weights[0].shape[-1] - rows * columns
        names = [f"class {n + 1}" if n else "class" for n in range(first)]
        names += [f"patch {row + 1},{column + 1}" for row in range(rows) for column in range(columns)]
        return Readers(self._readings, names, names).steps(token, self.how)

    @cached_property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of tokens."""
        step = self.model.config.embed.stride  # type: ignore[attr-defined]
        height, width = self.raw.pixels.shape[2:]
        return -(-height // step), -(-width // step)

    def _asked(self) -> tuple[int, int] | None:
        """The patch whose attention is shown, counted from 0."""
        if self.how.patch is None:
            return None
        for place, most, name in zip(self.how.patch, self.grid, ("row", "column"), strict=True):
            if not 1 <= place <= most:
                raise ConfigError(f"expected a {name} from 1 to {most}, found {place}", where="patch")
        return self.how.patch[0] - 1, self.how.patch[1] - 1

    @cached_property
    def maps(self) -> maps.Maps:
        """How much of each patch was read, for every layer and head, and through all of them."""
        layers = np.stack([self._read(w[0]).numpy() for w in self.weights])
        through = self._read(rollout(self.weights)[0][None])[0].numpy()
        return maps.Maps(self.pixels, layers, through, self.title, self.asked)

    def _read(self, weights: Tensor) -> Tensor:
        """(H N N) -> (H rows columns): the row of who asks, without class tokens."""
        first = weights.shape[-1] - self.grid[0] * self.grid[1]  # class tokens stand in front
        if self.asked is not None:
            row = weights[:, first + self.asked[0] * self.grid[1] + self.asked[1]]
        else:
            row = weights[:, 0] if first else weights.mean(1)
        return rearrange(row[:, first:], "h (r c) -> h r c", r=self.grid[0]).float().cpu()

    def chosen(self) -> AttentionChoice:
        return self.how


class LearnedView(View):
    """What the embedder learned: its filters' principal components, and how alike the codes of places are."""

    def __init__(self, model: Stream, what: tuple[str, ...]):
        self.what = what
        embed = model.embed.picture if isinstance(model.embed, PictureTextEmbed) else model.embed
        if not isinstance(embed, PictureEmbed):
            raise WeftError("this model reads no pictures")
        self.weights, self.size, self.codes = None, None, None
        if "filters" in what:
            self.weights, self.size = first_filters(embed)
        if "positions" in what:
            self.codes = position_codes(embed)

    @property
    def about(self) -> str:
        return f"the {' and '.join(self.what)} that the picture embedder learned"

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """All that was asked for in one picture."""
        return learned.draw(self.weights, self.size, self.codes, format=format)

    def page(self) -> bytes:
        """The picture as a page."""
        return picture_page(" and ".join(self.what), self.picture())

    def text(self) -> str:
        """In numbers."""
        lines = []
        if self.weights is not None and self.size is not None:
            _, shares = learned.components(self.weights, self.size, 8)
            lines.append("filters, share of variance: " + ", ".join(f"{s:.1%}" for s in shares))
        if self.codes is not None:
            alike = learned.similarity(self.codes)
            lines.append(f"positions, mean cosine similarity {alike.mean():.3f}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"what": list(self.what), "text": self.text()}


def first_filters(embed: PictureEmbed) -> tuple[np.ndarray, tuple[int, int, int]]:
    """The filters that meet the pixels, (filters, height x width x channels), and height, width and channels.

    They are those of the patches, or of the first convolution.
    """
    first = next((part for part in embed.modules() if isinstance(part, nn.Conv2d)), None)
    if first is not None:
        filters = first.weight.detach().float().cpu()
        flat = rearrange(filters, "o c y x -> o (y x c)").contiguous().numpy()
        return flat, (filters.shape[2], filters.shape[3], filters.shape[1])
    if not isinstance(embed, PatchEmbed):
        raise WeftError("this model has no filters that meet the pixels", where="what", fix="leave filters away")
    return embed.project.weight.detach().float().cpu().numpy(), (embed.patch, embed.patch, embed.config.channels)


@torch.no_grad()
def position_codes(embed: PictureEmbed) -> np.ndarray:
    """The code of each place of the grid that was learned, (rows, columns, D)."""
    if embed.place is None:
        fix = "leave positions away: a convolutional network has none"
        raise WeftError("this model has no codes of places", where="what", fix=fix)
    rows, columns = embed.config.grid
    side = embed.config.stride
    blank = Picture(torch.zeros(1, embed.config.channels, rows * side, columns * side))
    codes = embed.place.code(embed.coordinates(blank))  # type: ignore[union-attr, operator]
    return codes[0].reshape(rows, columns, -1).float().numpy()


@torch.inference_mode()
def readings_in(model: Stream, raw: Picture) -> list[list[Reading]]:
    """What every layer of attention read, first to last, in one pass; nothing where the model has no attention."""
    model.eval()
    with record(model) as recorder:
        model.encode(raw)
    return list(recorder.readings.values())
