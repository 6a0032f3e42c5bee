"""Sampling: plain functions from logits to the next token. Knows no model and no tokenizer."""

import hashlib
from array import array
from collections.abc import Mapping
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from weft.config import Config
from weft.errors import ConfigError, NotNumbers
from weft.native import Draw, Leaders, library

NEVER = float("-inf")  # the logit of a token that must not come
COLDEST = 1e-35  # below this temperature only the likeliest token has a chance; COLDEST of kernels/sampling.c
NOT_NUMBERS = "the model's scores are not numbers"
NOT_NUMBERS_FIX = "its weights are damaged, or its training diverged: train it again"


class Sampling(Config):
    """How text is drawn from a language model.

    temperature 0 always takes the likeliest token; below 1 is safer, above 1 bolder. top_k, top_p and min_p drop
    unlikely tokens: all but the k likeliest, all beyond a share p of the probability, all below min_p times the best.
    """

    temperature: float = 0.8
    top_k: int | None = None
    top_p: float = 0.95
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    max_tokens: int = 200
    stop: tuple[str, ...] = ()
    samples: int = 1
    seed: int = 0
    never: tuple[int, ...] = ()

    about: ClassVar[Mapping[str, str]] = {
        "temperature": "0 always takes the likeliest token; below 1 is safer, above 1 more surprising",
        "top_k": "sample from the k likeliest tokens only",
        "top_p": "nucleus sampling: sample from the likeliest tokens that together have this probability",
        "min_p": "drop tokens less probable than this share of the likeliest token's probability",
        "repetition_penalty": "above 1 makes tokens that were already written less probable",
        "max_tokens": "the most tokens to write",
        "stop": "texts that end the writing, separated by commas",
        "samples": "number of continuations of each input",
        "seed": "random seed; another seed gives another text",
        "never": "ids of tokens that are never written",
    }

    def check(self) -> None:
        limits = {
            "temperature": (0 <= self.temperature <= 100, "from 0 to 100"),
            "top_k": (self.top_k is None or self.top_k >= 1, "at least 1"),
            "top_p": (0 < self.top_p <= 1, "above 0 and at most 1"),
            "min_p": (0 <= self.min_p < 1, "at least 0 and below 1"),
            "repetition_penalty": (0 < self.repetition_penalty <= 100, "above 0 and at most 100"),
            "stop": (all(self.stop), "of texts that are not empty"),
            "max_tokens": (0 <= self.max_tokens <= 1_000_000, "from 0 to 1000000"),
            "samples": (1 <= self.samples <= 1000, "from 1 to 1000"),
        }
        for name, (good, expected) in limits.items():
            if not good:
                raise ConfigError(f"expected a value {expected}, found {getattr(self, name)}", where=name)


def penalised(logits: Float[Tensor, "B V"], seen: Int[Tensor, "B N"], penalty: float) -> Float[Tensor, "B V"]:
    """Logits of tokens that occurred are divided (if positive) or multiplied by the penalty (Keskar et al., 2019)."""
    if penalty == 1.0 or seen.shape[1] == 0:
        return logits
    picked = logits.gather(1, seen)
    return logits.scatter(1, seen, torch.where(picked > 0, picked / penalty, picked * penalty))


def keep_top_k(logits: Float[Tensor, "B V"], k: int | None) -> Float[Tensor, "B V"]:
    """All but the k likeliest are out; ties with the last one stay."""
    if k is None or k >= logits.shape[-1]:
        return logits
    return logits.masked_fill(logits < logits.topk(k, -1).values[:, -1:], NEVER)


def keep_top_p(logits: Float[Tensor, "B V"], p: float) -> Float[Tensor, "B V"]:
    """The smallest set of likeliest tokens that holds a share p of the probability (Holtzman et al., 2020)."""
    if p >= 1:
        return logits
    ordered, index = logits.sort(dim=-1, descending=True, stable=True)  # of equals, the first stays
    before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
    out = before >= p
    out[:, 0] = False
    return logits.masked_fill(torch.zeros_like(out).scatter(1, index, out), NEVER)


def keep_min_p(logits: Float[Tensor, "B V"], p: float) -> Float[Tensor, "B V"]:
    """Only tokens at least p times as likely as the likeliest."""
    if p <= 0:
        return logits
    chance = logits.softmax(-1)
    return logits.masked_fill(chance < p * chance.amax(-1, keepdim=True), NEVER)


def shaped(logits: Float[Tensor, "B V"], seen: Int[Tensor, "B N"], how: Sampling) -> Float[Tensor, "B V"]:
    """The logits to draw from: penalty, then temperature, then the cuts."""
    logits = penalised(logits.float(), seen, how.repetition_penalty)
    if how.temperature < COLDEST:
        return logits
    logits = logits / how.temperature
    return keep_min_p(keep_top_p(keep_top_k(logits, how.top_k), how.top_p), how.min_p)


def draw(logits: Float[Tensor, "B V"], how: Sampling, generators: list[torch.Generator]) -> Int[Tensor, "B"]:
    """One token a row, each row by its own generator, so that neighbouring rows do not change it."""
    best, likeliest = logits.max(-1)
    if not bool(best.isfinite().all()):
        raise NotNumbers(NOT_NUMBERS, fix=NOT_NUMBERS_FIX)
    if how.temperature < COLDEST:
        return likeliest
    total = logits.softmax(-1).cpu().double().cumsum(-1)  # not every device has doubles
    u = torch.cat([torch.rand(1, generator=g, dtype=torch.float64) for g in generators])
    index = torch.searchsorted(total, (u[:, None] * total[:, -1:]), right=True).squeeze(1)
    last = (total < total[:, -1:]).sum(-1)  # the last token with any chance, for u next to 1
    return torch.minimum(index, last).to(logits.device)


def next_tokens(
    logits: Float[Tensor, "B V"], seen: Int[Tensor, "B N"], how: Sampling, generators: list[torch.Generator]
) -> Int[Tensor, "B"]:
    """One token a row, as `draw` gives it from the `shaped` logits; in native code where there is any."""
    native = library() if logits.device.type == "cpu" and logits.dtype == torch.float32 else None
    if native is None:
        return draw(shaped(logits, seen, how), how, generators)
    logits = penalised(logits, seen, how.repetition_penalty).contiguous()
    rows, values = logits.shape
    random = [
        0.0 if how.temperature == 0 else torch.rand(1, generator=g, dtype=torch.float64).item() for g in generators
    ]
    chances, tokens = array("d", random), torch.empty(rows, dtype=torch.long)
    work = torch.empty(1 if how.temperature == 0 else 4 * values)
    kinds = Draw(how.temperature, how.top_p, how.min_p, how.top_k or 0)
    address = chances.buffer_info()[0]
    if not native.draw(logits.data_ptr(), (rows, values), kinds, address, work.data_ptr(), tokens.data_ptr()):
        raise NotNumbers(NOT_NUMBERS, fix=NOT_NUMBERS_FIX)
    return tokens


def likeliest(
    allowed: Float[Tensor, "R V"], logits: Float[Tensor, "R V"], count: int
) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]]:
    """The `count` likeliest tokens of each row among those allowed: log-probabilities under all logits, and ids.

    Logits of tokens that are not allowed are minus infinity in `allowed`; those of the others stand in both alike.
    """
    native = library() if logits.device.type == "cpu" and logits.dtype == torch.float32 else None
    if native is None:
        best, tokens = allowed.topk(count, -1)
        if not bool(best[:, 0].isfinite().all()):
            raise NotNumbers(NOT_NUMBERS, fix=NOT_NUMBERS_FIX)
        return best - logits.logsumexp(-1, keepdim=True), tokens
    allowed, logits, (rows, values) = allowed.contiguous(), logits.contiguous(), logits.shape
    best, tokens = torch.empty(rows, count), torch.empty(rows, count, dtype=torch.long)
    leaders = Leaders(rows, values, count, torch.get_num_threads(), best.data_ptr(), tokens.data_ptr())
    if not native.best(allowed.data_ptr(), logits.data_ptr(), leaders):
        raise NotNumbers(NOT_NUMBERS, fix=NOT_NUMBERS_FIX)
    return best, tokens


def generator(seed: int, *parts: object) -> torch.Generator:
    """A generator that depends on the seed and on what is being continued, and on nothing else."""
    digest = hashlib.sha256(repr((seed, *parts)).encode("utf-8", "surrogatepass")).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)
