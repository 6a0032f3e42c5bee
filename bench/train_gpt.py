"""Training a small GPT: weft's own training step against Hugging Face and x-transformers, beside bare matrix products.

All have 6 layers, 6 heads, 384 wide, context 256, batch 16, 65 tokens, no dropout, fused AdamW. weft runs `Fit.step`,
the step of its training loop: reading the batch, forward, backward, clipping, update, bookkeeping. Peers get their
batch ready made and neither clip nor log.
"""

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import torch
from fitting import fit_step
from race import Call, Timing, race
from report import Table, arguments, hand_in, with_bf16
from torch import Tensor, nn
from torch.nn import functional as F

from weft.batches.windows import TextWindows
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import NextToken
from weft.training.settings import Training

SIZE = Size(dim=384, depth=6, heads=6, context=256)
VOCAB = 65
PRODUCTS = 8  # matrix products in one call of the bare contestant


def operations(rows: int) -> float:
    """Multiply-adds times two that one training step cannot do without: six a weight, and causal attention."""
    weights = 12 * SIZE.depth * SIZE.dim**2 + VOCAB * SIZE.dim
    return rows * SIZE.context * (6 * weights + 6 * SIZE.depth * SIZE.context * SIZE.dim)


def weft_step(rows: int, precision: str) -> Call:
    """One step of weft's training loop, on random text."""
    ids = np.random.default_rng(0).integers(VOCAB, size=200_000).astype(np.uint16)
    return fit_step(
        LANGUAGE_MODELS["gpt"](SIZE, vocab=VOCAB).build(),
        NextToken.Config().build(),
        TextWindows(ids, ids[:1000], context=SIZE.context, fingerprint="random", seed=0),
        Training(optimizer="adamw", lr=1e-3, batch=rows, precision=precision),
    )


def hugging_face(attention: str) -> tuple[nn.Module, Callable[[nn.Module, Tensor], Tensor]]:
    """GPT-2 of transformers, which shifts the labels itself."""
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_embd": SIZE.dim, "n_layer": SIZE.depth, "n_head": SIZE.heads, "n_positions": SIZE.context}
    dropouts = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    ends = {"bos_token_id": None, "eos_token_id": None}
    config = GPT2Config(vocab_size=VOCAB, use_cache=False, attn_implementation=attention, **sizes, **dropouts, **ends)
    return GPT2LMHeadModel(config), lambda model, ids: model(ids[:, :-1], labels=ids[:, :-1]).loss


def x_transformers() -> tuple[nn.Module, Callable[[nn.Module, Tensor], Tensor]]:
    """The nearest to GPT-2 that x-transformers has."""
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    layers = Decoder(dim=SIZE.dim, depth=SIZE.depth, heads=SIZE.heads, attn_flash=True)
    net = TransformerWrapper(num_tokens=VOCAB, max_seq_len=SIZE.context, tie_embedding=True, attn_layers=layers)
    return AutoregressiveWrapper(net), lambda model, ids: model(ids[:, :-1])


def peer_step(
    peer: tuple[nn.Module, Callable[[nn.Module, Tensor], Tensor]], ids: Tensor, *, autocast: bool = False
) -> Call:
    """Forward, backward, update: the usual hand-written loop."""
    model, loss_of = peer
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-3, fused=True)

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext():
            loss = loss_of(model, ids)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def products(rows: int, dtype: torch.dtype) -> Call:
    """The widest matrix product of the model, and nothing else."""
    x, w = (torch.randn(n, SIZE.dim, dtype=dtype) for n in (rows * SIZE.context, 4 * SIZE.dim))
    return lambda: [F.linear(x, w) for _ in range(PRODUCTS)]


def measure(*, quick: bool = False, bf16: bool = False) -> list[Table]:
    """The race as a table."""
    torch.manual_seed(0)
    rows, rounds, least = (2, 2, 0.0) if quick else (16, 4, 2.0)
    rounded, note = with_bf16(bf16)
    ids = torch.randint(VOCAB, (rows, SIZE.context + 1))
    contestants = {
        "weft fp32": weft_step(rows, "fp32"),
        "Hugging Face GPT-2 fp32": peer_step(hugging_face("sdpa"), ids),
        "Hugging Face GPT-2 fp32, attention written out": peer_step(hugging_face("eager"), ids),
        "x-transformers fp32": peer_step(x_transformers(), ids),
        "matrix products fp32": products(rows, torch.float32),
    }
    if rounded:
        contestants |= {
            "weft bf16": weft_step(rows, "bf16"),
            "Hugging Face GPT-2 bf16 autocast": peer_step(hugging_face("sdpa"), ids, autocast=True),
            "x-transformers bf16 autocast": peer_step(x_transformers(), ids, autocast=True),
            "matrix products bf16": products(rows, torch.bfloat16),
        }
    return [table(race(contestants, rounds=rounds, least=least), rows, note)]


def table(timings: dict[str, Timing], rows: int, note: str) -> Table:
    """Tokens a second, the ratio to weft in fp32, and how much of the bare products' rate is reached."""
    bare = 2 * PRODUCTS * rows * SIZE.context * SIZE.dim * 4 * SIZE.dim
    rates = {n: (bare if n.startswith("matrix") else operations(rows)) / t.best / 1e9 for n, t in timings.items()}
    ours, lines = timings["weft fp32"], []
    for name, timing in timings.items():
        limit = rates["matrix products bf16" if "bf16" in name else "matrix products fp32"]
        if name.startswith("matrix"):
            lines.append([name, None, None, None, None, rates[name], None])
        else:
            speed = [rows * SIZE.context / timing.best, rows * SIZE.context / timing.median]
            ratios = [ours.best / timing.best, ours.median / timing.median]
            lines.append([name, *speed, *ratios, rates[name], f"{rates[name] / limit:.0%}"])
    columns = ["training", "tokens/s, best", "median", "weft fp32 = 1, best", "median", "GFLOP/s", "of bare products"]
    title = f"GPT training: {SIZE.depth} layers, {SIZE.dim} wide, context {SIZE.context}, batch {rows}"
    return Table(title, columns, lines, note)


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    hand_in(measure(quick=given.quick, bf16=given.bf16), given.json)
