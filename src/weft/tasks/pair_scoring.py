"""How likely targets are to an encoder–decoder."""

from collections.abc import Sequence

import numpy as np
import torch

from weft.data.pairs.batches import PairBundles
from weft.modalities.around import Around
from weft.modalities.tokenizer import Tokenizer
from weft.models.seq2seq import Seq2Seq
from weft.objectives import TargetToken


def marked(tokenizer: Tokenizer, marks: Sequence[int], text: str) -> np.ndarray:
    """The ids of a text behind marks."""
    return np.concatenate([np.array(marks, tokenizer.dtype), tokenizer.encode(text)])


@torch.inference_mode()
def score(
    model: Seq2Seq, tokenizer: Tokenizer, texts: Sequence[tuple[str, str]], context: int, around: Around
) -> tuple[float, int]:
    """The summed loss of targets in nats, and the number of tokens; without targets beyond the context.

    All that follows the start counts, the end and a mark that comes first included.
    """
    pairs = [(marked(tokenizer, around.before, s), marked(tokenizer, around.first, t)) for s, t in texts]
    pairs = [(source, target) for source, target in pairs if len(target) < context]
    if not pairs:
        return 0.0, 0
    objective, device = TargetToken.Config().build(), next(model.parameters()).device
    model.eval()
    marks = {"end": around.end, "start": around.start}
    bundles = PairBundles(pairs, pairs, **marks, tokens=4096, fingerprint="", seed=0)
    losses = [objective(model, batch.to(device)) for batch in bundles.held_out()]
    return sum(float(loss.total) for loss in losses), sum(loss.count for loss in losses)
