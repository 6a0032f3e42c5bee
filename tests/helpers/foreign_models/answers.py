"""Models that answer questions about pictures: ViLT; and questions for them."""

from typing import Any

import torch

VILT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 24,
        "patch_size": 8, "num_labels": 5, "vocab_size": 61, "max_position_embeddings": 20}  # fmt: skip
CASES: dict[str, tuple[str, dict]] = {
    "vilt": ("ViltForQuestionAnswering", VILT),
    "vilt, no offsets": ("ViltForQuestionAnswering", {**VILT, "qkv_bias": False, "layer_norm_eps": 1e-3}),
    "vilt, grey and relu": (
        "ViltForQuestionAnswering",
        {**VILT, "num_channels": 1, "hidden_act": "relu", "num_labels": 3, "type_vocab_size": 1, "image_size": 40},
    ),
}


def asked_texts(config: Any, draw: torch.Generator) -> dict[str, torch.Tensor]:
    """Two questions, the second of them padded."""
    ids = torch.randint(5, config.vocab_size, (2, 9), generator=draw)
    return {"input_ids": ids, "attention_mask": (torch.arange(9) < torch.tensor([[9], [5]])).long()}
