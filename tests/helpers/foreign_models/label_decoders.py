"""Decoders that label a text by its last token."""

from helpers.foreign_models.decoders import GPT2, LLAMA
from helpers.foreign_models.gemma_kin import GEMMA, GEMMA2, GEMMA3, GPTJ, NEO, NEOX, OPT, PHI
from helpers.foreign_models.llama_kin import ENDS, GPT_OSS, MIXTRAL, NOT_TURNED, OLMO2, PHI3, QWEN3_MOE

THREE = {"num_labels": 3, **ENDS}
KINDS = {"GPT2": GPT2, "Llama": LLAMA, "Mistral": {**LLAMA, "sliding_window": 7}, "Qwen2": LLAMA,
         "Qwen3": {**LLAMA, "head_dim": 12}, "SmolLM3": NOT_TURNED, "Phi3": PHI3, "Mixtral": MIXTRAL, "Gemma": GEMMA,
         "Gemma2": GEMMA2, "Gemma3Text": GEMMA3, "GPTNeo": NEO, "GPTJ": GPTJ, "Phi": PHI, "GPTNeoX": NEOX, "OPT": OPT,
         "Olmo2": OLMO2, "Qwen3Moe": QWEN3_MOE, "GptOss": GPT_OSS}  # fmt: skip
CASES = {f"{stem}ForSequenceClassification": (f"{stem}ForSequenceClassification", {**keys, **THREE})
         for stem, keys in KINDS.items()}  # fmt: skip
