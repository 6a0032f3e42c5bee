"""Training at the shape of the original Transformer: weft's own training step against Hugging Face's Marian.

Both have 6+6 layers, 512 wide, 8 heads, 16,000 tokens in one shared table, no dropout, fused AdamW. Sentences are
random ids with the lengths of a corpus: 5 to 40 tokens, mean about 20. Marian gets 64 pairs in the order they come,
padded, as its users do; weft fills its batches by tokens with pairs of like length. Once more both get the very same
padded batch. Counted are real target tokens a second.
"""

import numpy as np
import torch
from fitting import fit_step
from marian import loss, marian, padded
from race import Call, race
from report import Table, arguments, hand_in, with_bf16

from weft.batches.like_lengths import LikeLengthSource
from weft.batches.samples import Microbatches
from weft.domains.pairs.encoded import PairRows
from weft.models.zoo import Size
from weft.models.zoo.translation import TRANSLATION_MODELS
from weft.objectives import TargetToken
from weft.training.settings import Training

SIZE, VOCAB, PAIRS = Size(dim=512, depth=6, heads=8, context=128), 16_000, 64
END, PAD = VOCAB - 1, VOCAB

Encoded = list[tuple[np.ndarray, np.ndarray]]


def sentences(count: int, seed: int = 0) -> Encoded:
    """Pairs of random ids with lengths as sentences have them."""
    draw = np.random.default_rng(seed)
    sources = draw.normal(20, 8, count).round().clip(5, 40).astype(int)
    targets = (sources + draw.integers(-3, 4, count)).clip(5, 40)
    return [(draw.integers(0, END, a), draw.integers(0, END, b)) for a, b in zip(sources, targets, strict=True)]


class Same:
    """A source that always gives one batch."""

    fingerprint, per_epoch = "same", 1

    def __init__(self, pairs: Encoded):
        self.one = Microbatches((PairRows(pairs, END, END).take(range(len(pairs))),))

    def batch(self, indices: np.ndarray) -> Microbatches:
        return self.one

    def held_out(self, *, most: int | None = None):
        yield self.one


def weft_step(source: LikeLengthSource | Same, precision: str, counts: list[int]) -> Call:
    """One step of weft's training loop; the real target tokens of each are noted."""
    step = fit_step(
        TRANSLATION_MODELS["transformer"](SIZE, vocab=VOCAB, dropout=0.0).build(),
        TargetToken.Config().build(),
        source,
        Training(optimizer="adamw", lr=1e-4, batch=1, precision=precision),
    )
    return lambda: counts.append(step()["count"])


def marian_step(batches: list[Encoded], counts: list[int], *, autocast: bool = False) -> Call:
    """The usual hand-written loop over batches that are ready made."""
    model = marian(SIZE, VOCAB, end=END).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    ready = [
        (padded([[*a.tolist(), END] for a, _ in rows], PAD), padded([[END, *b.tolist(), END] for _, b in rows], PAD))
        for rows in batches
    ]
    turn = iter(range(10**9))

    def step() -> None:
        source, target = ready[next(turn) % len(ready)]
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            value = loss(model, source, target, PAD)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        counts.append(int((target[:, 1:] != PAD).sum()))

    return step


def measure(*, quick: bool = False, bf16: bool = False) -> list[Table]:
    """Both races as a table."""
    torch.manual_seed(0)
    rows, rounds = (4, 1) if quick else (PAIRS, 4)
    rounded, note = with_bf16(bf16)
    many = sentences(20 * rows)
    batches = [many[i : i + rows] for i in range(0, len(many), rows)]
    tokens = rows * 21
    filled = LikeLengthSource(
        PairRows(many, END, END), PairRows(many[:rows], END, END), tokens=tokens, fingerprint="random", seed=0
    )
    counts: dict[str, list[int]] = {}

    def counted(name: str) -> list[int]:
        return counts.setdefault(name, [])

    contestants = {}
    for precision in ("fp32", *(["bf16"] if rounded else [])):
        auto = precision == "bf16"
        for name, step in (
            (f"weft {precision}, batches of like length",
             lambda c, p=precision: weft_step(filled, p, c)),
            (f"Marian {precision}, batches as they come", lambda c, a=auto: marian_step(batches, c, autocast=a)),
            (f"weft {precision}, one padded batch", lambda c, p=precision: weft_step(Same(many[:rows]), p, c)),
            (f"Marian {precision}, the same padded batch",
             lambda c, a=auto: marian_step(batches[:1], c, autocast=a)),
        ):  # fmt: skip
            contestants[name] = step(counted(name))
    timings = race(contestants, rounds=rounds, least=0.0 if quick else 8.0)
    speeds = {n: float(np.mean(counts[n])) / t.median for n, t in timings.items()}
    best = {n: float(np.mean(counts[n])) / t.best for n, t in timings.items()}
    lines = []
    for name in timings:
        peer = (
            name.replace("Marian", "weft")
            .replace("the same", "one")
            .replace("batches as they come", "batches of like length")
        )
        lines.append([name, best[name], speeds[name], best[name] / best[peer], speeds[name] / speeds[peer]])
    columns = ["training", "real target tokens/s, best", "median", "weft = 1, best", "median"]
    title = f"Translation training: 6+6 layers, 512 wide, {rows} pairs; weft's batches are {filled.real_share:.0%} real"
    return [Table(title, columns, lines, note)]


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    hand_in(measure(quick=given.quick, bf16=given.bf16), given.json)
