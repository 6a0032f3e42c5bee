"""Hugging Face's Marian in the shape of weft's `transformer`: the peer of all measurements of translation."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.models.zoo import Size


def marian(size: Size, vocab: int, *, end: int, dropout: float = 0.0) -> nn.Module:
    """The same layers, widths and sharing; the start of a target is its end token, as in weft."""
    from transformers import MarianConfig, MarianMTModel

    sides: dict[str, Any] = {}
    for side in ("encoder", "decoder"):
        sides |= {f"{side}_layers": size.depth, f"{side}_attention_heads": size.heads, f"{side}_ffn_dim": 4 * size.dim}
    ends = {"pad_token_id": vocab, "eos_token_id": end, "bos_token_id": None, "forced_eos_token_id": None,
            "decoder_start_token_id": end}  # fmt: skip
    config = MarianConfig(
        vocab_size=vocab + 1, d_model=size.dim, max_position_embeddings=size.context, dropout=dropout,
        attention_dropout=0.0, activation_dropout=0.0, activation_function="relu", scale_embedding=True,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True, **sides, **ends,
    )  # fmt: skip
    model = MarianMTModel(config)
    model.generation_config.forced_eos_token_id = None
    model.generation_config.bad_words_ids = None
    return model


def loss(model: nn.Module, source: Tensor, target: Tensor, pad: int, smoothing: float = 0.0) -> Tensor:
    """The mean loss of targets (end, y1 ... yn, end) over their real tokens."""
    logits = model(
        input_ids=source, attention_mask=(source != pad).long(), decoder_input_ids=target[:, :-1], use_cache=False
    ).logits
    return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=pad, label_smoothing=smoothing)


def padded(rows: list[list[int]], pad: int) -> Tensor:
    """Rows of ids in one tensor."""
    longest = max(map(len, rows))
    return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
