"""What a model for pictures looks at: maps over one picture, and what its embedder learned."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float

from weft.core.recording import Reading, record
from weft.domains.pictures.settings import Ground
from weft.domains.pictures.views.learned_view import learned_names
from weft.errors import ConfigError
from weft.inspect.document import LookDocument, TokenGroup
from weft.inspect.maps import Maps, MapsView
from weft.inspect.photos import answer_maps, patches, photo
from weft.inspect.reading import LONG
from weft.inspect.rollout import rollout
from weft.inspect.steps import Steps
from weft.inspect.streams import Read, streams_of
from weft.inspect.token_steps import TOKEN, Readers
from weft.inspect.views import AttentionChoice, LookedAnswer, NoAttention
from weft.inspect.weights import followed, mean_read, weights_of
from weft.modalities.image import Picture
from weft.models.backbone import embed_of
from weft.models.stream import Stream

ONE_READER = "Of a fine grid the page has what one token reads, {}. For another one: --set patch=ROW,COLUMN."


@dataclass(frozen=True)
class Glance(AttentionChoice):
    """Which attention to show, and who reads: the class token or the average of all patches, or one patch."""

    patch: tuple[int, int] | None = None  # row and column, counted from 1


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
        "every": "show every layer and head, each in its own panel",
        "patch": "row,column: the attention of this patch, instead of that of the class token or of all tokens",
        "by": "attention: the attention weights; gradient: what supports the answer (Grad-CAM); occlusion: which parts "
        "make the answer less probable when they are covered; by default the first of these that the model has",
        "label": "with by=gradient or by=occlusion: explain this class instead of the model's answer",
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
            problem = "attention is the same for every class"
            raise ConfigError(problem, where="label", fix="use --set by=gradient or --set by=occlusion")

    def refuse_attention(self, by: str) -> None:
        """Refuses settings of attention where the map is made otherwise."""
        for name in ("layer", "head", "every", "patch", "token"):
            if getattr(self, name):
                problem = f"by={by} explains the whole model: it has no layers, heads or patches to choose"
                raise ConfigError(
                    problem,
                    where=name,
                    fix=f"leave out {name}, or use --set by=attention with a model that has attention, such as vit",
                )

    @property
    def glance(self) -> Glance:
        """The same as the view takes it."""
        row, column = (self.patch or "0,0").split(",")
        return Glance(self.layer, self.head, self.every, None if self.patch is None else (int(row), int(column)))


class PictureView(MapsView):
    """One picture, and what was read of it in every layer. Shows itself in a notebook."""

    def __init__(
        self,
        model: Stream,
        raw: Picture,
        pixels: np.ndarray,
        how: Glance = Glance(),
        title: str = "",
        answer: LookedAnswer | None = None,
    ):
        """`raw` is the picture as the model reads it, `pixels` as people see it."""
        self.model, self.raw, self.pixels, self.how, self.title = model, raw, pixels, how, title
        self.answer = answer
        self.asked = self._asked()
        self._readings = readings_in(model, raw)
        if not self._readings:
            fix = "use --set by=gradient or --set by=occlusion, or train with --model vit or vit-hybrid"
            raise NoAttention("this model has no attention to look at", where="weft look", fix=fix)
        self._layers = [readings[0] for readings in self._readings]
        self._heads, self._tokens = self._layers[0].q.shape[1:3]
        how.indices(len(self._layers), self._heads)

    @property
    def about(self) -> str:
        layers, heads = len(self._layers), self._heads
        return f"attention in {layers} layers × {heads} heads over {self.title or 'a picture'}"

    def steps(self, token: str | int = 1) -> Steps:
        """The numbers of one head for one token: a class token, or a patch as row,column."""
        rows, columns = self.grid
        first = self._tokens - rows * columns
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
    def maps(self) -> Maps:
        """How much of each patch was read, for every layer and head, and through all of them."""
        layers, through = (self._on_grid(one) for one in self._read)
        return Maps(self.pixels, layers, through, self.title, self.asked, middle=embed_of(self.model.config).middle)

    @property
    def _reader(self) -> int | None:
        """The number of the token that reads, from 0: a patch, or the class token; None: the mean of all."""
        first = self._tokens - self.grid[0] * self.grid[1]  # class tokens stand in front
        if self.asked is not None:
            return first + self.asked[0] * self.grid[1] + self.asked[1]
        return 0 if first else None

    @cached_property
    def _read(self) -> tuple[Float[np.ndarray, "L H N"], Float[np.ndarray, "N"]]:
        """What the reader reads of each token in every head, and through all layers."""
        start = self._layers[0].q.new_zeros(self._tokens)
        if self._reader is None:
            start += 1 / self._tokens
            layers = mean_read(self._layers)
        else:
            start[self._reader] = 1.0
            layers = weights_of(self._readings, queries=[self._reader])[:, :, 0]
        return layers, followed(self._layers, start).cpu().numpy()

    def _on_grid(self, read: Float[np.ndarray, "*some N"]) -> Float[np.ndarray, "*some R C"]:
        """Numbers by token as numbers by place, without class tokens."""
        rows, columns = self.grid
        return read[..., self._tokens - rows * columns :].reshape(*read.shape[:-1], rows, columns)

    def document(self) -> LookDocument:
        """The picture with every head, the attention through all layers, and what the answer depends on."""
        rows, columns = self.grid
        first = self._tokens - rows * columns
        tokens = patches(rows, columns, first, middle=embed_of(self.model.config).middle)
        readers, weights, through = self._for_a_page(tokens)
        reads = [Read("attention", readers.name, tokens.name, weights)]
        reads.append(Read("through all layers", readers.name, tokens.name, through, "rollout"))
        said = self.answer.said[0][0] if self.answer is not None else "the picture"
        groups, more = answer_maps(said, {} if self.explain is None else self.explain())
        all_groups = (tokens, *([] if readers is tokens else [readers]), *groups)
        streams, left = streams_of((*reads, *more), all_groups)
        first = (self._reader or 0) + 1 if readers is tokens else 1
        few = () if readers is tokens else (ONE_READER.format(readers.tokens[0]),)
        return LookDocument(
            self.title or self.about, "picture", self.about, self.text(), groups=all_groups, streams=streams,
            pictures=(photo(self.pixels, self.title),), answer=self.answer,
            start=(*self.how.picked, ("token", f"{readers.name}.{first}")), notes=(*left, *few),
        )  # fmt: skip

    def _for_a_page(self, tokens: TokenGroup) -> tuple[TokenGroup, np.ndarray, np.ndarray]:
        """Who reads on a page: every token of a picture that has few; their weights, and those through all layers."""
        if self._tokens <= LONG:
            weights = weights_of(self._readings)
            return tokens, weights, rollout([torch.from_numpy(one)[None] for one in weights])[None].numpy()
        layers, through = self._read
        name = "all patches" if self._reader is None else tokens.tokens[self._reader]
        return TokenGroup("reader", (name,)), layers[:, :, None], through[None, None, None]

    def chosen(self) -> AttentionChoice:
        return self.how


@torch.inference_mode()
def readings_in(model: Stream, raw: Picture) -> list[list[Reading]]:
    """What every layer of the trunk's attention read, first to last, in one pass; nothing where it has no attention.

    Stages of an embedder read among other, smaller places and are not among them.
    """
    model.eval()
    with record(model.trunk) as recorder:
        model.encode(raw)
    return list(recorder.readings.values())
