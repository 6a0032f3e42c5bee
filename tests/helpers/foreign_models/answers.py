"""Models that answer questions about pictures or write about them, and questions for them: ViLT, BLIP, GIT."""

from typing import Any

import torch

VILT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 24,
        "patch_size": 8, "num_labels": 5, "vocab_size": 61, "max_position_embeddings": 20}  # fmt: skip
BLIP_TEXT = {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
             "intermediate_size": 48, "max_position_embeddings": 30, "bos_token_id": 59, "sep_token_id": 60,
             "pad_token_id": 0}  # fmt: skip
BLIP_PICTURES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40,
                 "image_size": 24, "patch_size": 8}  # fmt: skip
BLIP = {"text_config": BLIP_TEXT, "vision_config": BLIP_PICTURES}
GIT = {"vocab_size": 61, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40,
       "max_position_embeddings": 40, "bos_token_id": 58, "eos_token_id": 59,
       "vision_config": BLIP_PICTURES}  # fmt: skip
CASES: dict[str, tuple[str, dict]] = {
    "vilt": ("ViltForQuestionAnswering", VILT),
    "vilt, no offsets": ("ViltForQuestionAnswering", {**VILT, "qkv_bias": False, "layer_norm_eps": 1e-3}),
    "vilt, grey and relu": (
        "ViltForQuestionAnswering",
        {**VILT, "num_channels": 1, "hidden_act": "relu", "num_labels": 3, "type_vocab_size": 1, "image_size": 40},
    ),
    "blip": ("BlipForConditionalGeneration", BLIP),
    "blip, other widths": (
        "BlipForConditionalGeneration",
        {
            "text_config": {**BLIP_TEXT, "hidden_size": 24, "hidden_act": "relu", "layer_norm_eps": 1e-3},
            "vision_config": {**BLIP_PICTURES, "hidden_act": "quick_gelu", "layer_norm_eps": 1e-3},
        },
    ),
    "git": ("GitForCausalLM", GIT),
    "git, tied and grey": (
        "GitForCausalLM",
        {
            **GIT,
            "tie_word_embeddings": True,
            "hidden_act": "relu",
            "layer_norm_eps": 1e-3,
            "vision_config": {**BLIP_PICTURES, "num_channels": 1, "layer_norm_eps": 1e-4, "hidden_act": "gelu"},
        },
    ),
    "blip, questions": ("BlipForQuestionAnswering", BLIP),
}


def written_for(model: Any, given: dict[str, torch.Tensor]) -> torch.Tensor:
    """The logits of a model's words: of a BLIP that answers, its result has none; GIT gives some for pictures too."""
    if not hasattr(model, "text_encoder"):
        return model(**given).logits[:, -given["input_ids"].shape[1] :]
    found: list[Any] = []
    hook = model.text_decoder.register_forward_hook(lambda part, given, result: found.append(result))
    model(**given)
    hook.remove()
    return found[-1].logits


def asked_texts(config: Any, draw: torch.Generator) -> dict[str, torch.Tensor]:
    """Two questions, the second of them padded."""
    ids = torch.randint(5, config.vocab_size, (2, 9), generator=draw)
    return {"input_ids": ids, "attention_mask": (torch.arange(9) < torch.tensor([[9], [5]])).long()}
