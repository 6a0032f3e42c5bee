"""Tiny models and tensors that many tests share: random weights everywhere, so that nothing hides behind a zero."""

from dataclasses import replace
from typing import Any

import torch
from torch import nn

from weft.modalities.image import Picture
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo import ENCODER_MODELS, LANGUAGE_MODELS, Size
from weft.models.zoo.parsing import next_word
from weft.models.zoo.translation import TRANSLATION_MODELS
from weft.models.zoo.vision import VISION_MODELS, Sight, VisionSize, small_net

VOCAB, CONTEXT = 11, 12
SIZE = Size(dim=16, depth=2, heads=4, context=CONTEXT)
ZOO = sorted(LANGUAGE_MODELS)
ENCODER_ZOO = sorted(ENCODER_MODELS)
TRANSLATION_ZOO = sorted(TRANSLATION_MODELS)
PAIR_ZOO = sorted([*TRANSLATION_MODELS, "next-word"])
PICTURE_ZOO = sorted(VISION_MODELS)


def randomised(model: nn.Module, *, std: float = 0.3, seed: int = 0) -> nn.Module:
    """The model with every parameter drawn anew: silent starts would make many laws hold for nothing."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=generator) * std)
    return model


def language_model(
    name: str, *, vocab: int = VOCAB, context: int = CONTEXT, dtype: torch.dtype = torch.float64, seed: int = 0
) -> Stream:
    """A zoo entry, tiny, with random weights, in float64."""
    model = LANGUAGE_MODELS[name](replace(SIZE, context=context), vocab=vocab).build()
    return randomised(model, seed=seed).to(dtype).eval()


def encoder_model(
    name: str, head: str | None, *, vocab: int = VOCAB, dtype: torch.dtype = torch.float64, seed: int = 0, **more: Any
) -> Stream:
    """A text encoder of the zoo, tiny, with random weights, in float64."""
    outputs = 5 if head in ("pooled", "tags") else None
    config = ENCODER_MODELS[name](SIZE, vocab=vocab, head=head, outputs=outputs, **{"dropout": 0.0, **more})
    return randomised(config.build(), seed=seed).to(dtype).eval()


def ids(rows: int, length: int, *, vocab: int = VOCAB, seed: int = 0) -> torch.Tensor:
    """Random token ids."""
    return torch.randint(0, vocab, (rows, length), generator=torch.Generator().manual_seed(seed))


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Random content."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def close(a: torch.Tensor, b: torch.Tensor, most: float = 1e-10) -> bool:
    """Whether two tensors have one shape and differ by at most so much."""
    return a.shape == b.shape and (a.numel() == 0 or float((a - b).detach().abs().max()) <= most)


def vision_model(name: str, *, side: int = 8, dtype: torch.dtype = torch.float64, seed: int = 0, **more: Any) -> Stream:
    """A model for pictures of the zoo, tiny, with random weights, in float64."""
    size = VisionSize(dim=16, depth=2, heads=4, patch=2, net=small_net(8, (0, 1)))
    model = VISION_MODELS[name](size, Sight(side, side), outputs=5, **more).build()
    return randomised(model, seed=seed).to(dtype).eval()


def pictures(rows: int, height: int = 8, width: int = 8, *, seed: int = 0) -> Picture:
    """Random pictures."""
    generator = torch.Generator().manual_seed(seed)
    return Picture(torch.rand(rows, 3, height, width, generator=generator, dtype=torch.float64))


def translation_config(name: str, size: Size = SIZE, vocab: int = VOCAB) -> Seq2Seq.Config:
    """An encoder–decoder of the zoo, for pairs of texts or for sentences and trees."""
    if name == "next-word":
        return next_word(size, vocab=vocab, words=tuple(range(1, vocab, 2)), symbols=vocab, leaf=3)
    return TRANSLATION_MODELS[name](size, vocab=vocab, dropout=0.0)


def translation_model(
    name: str, *, vocab: int = VOCAB, context: int = 32, dtype: torch.dtype = torch.float64, seed: int = 0
) -> Seq2Seq:
    """An encoder–decoder of the zoo, tiny, with random weights, in float64."""
    model = translation_config(name, replace(SIZE, context=context), vocab).build()
    return randomised(model, seed=seed).to(dtype).eval()
