"""Decoders that label a text by its last token."""

from helpers.foreign_models.decoders import GPT2, LLAMA
from helpers.foreign_models.llama_kin import ENDS, MIXTRAL, NOT_TURNED, PHI3

THREE = {"num_labels": 3, **ENDS}
KINDS = {"GPT2": GPT2, "Llama": LLAMA, "Mistral": {**LLAMA, "sliding_window": 7}, "Qwen2": LLAMA,
         "Qwen3": {**LLAMA, "head_dim": 12}, "SmolLM3": NOT_TURNED, "Phi3": PHI3, "Mixtral": MIXTRAL}  # fmt: skip
CASES = {f"{stem}ForSequenceClassification": (f"{stem}ForSequenceClassification", {**keys, **THREE})
         for stem, keys in KINDS.items()}  # fmt: skip
