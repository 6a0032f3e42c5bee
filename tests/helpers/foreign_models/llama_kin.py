"""Mistral, OLMo 2, Mixtral, gpt-oss, Qwen, Phi-3, SmolLM3, and Llama with stretched turns."""

from helpers.foreign_models.decoders import LLAMA

ENDS = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
OLMO2 = {**LLAMA, **ENDS, "num_key_value_heads": 4}
MIXTRAL = {**LLAMA, **ENDS, "num_local_experts": 4, "intermediate_size": 24}
QWEN3_MOE = {**LLAMA, **ENDS, "head_dim": 12, "num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 12,
             "norm_topk_prob": True}  # fmt: skip
SLOW = {"num_hidden_layers": 3, "use_sliding_window": True, "sliding_window": 7}
PHI3 = {**LLAMA, **ENDS}
NOT_TURNED = {**LLAMA, "num_hidden_layers": 3, "no_rope_layers": [1, 0, 1], "pad_token_id": 0}
LONG = {"rope_type": "longrope", "original_max_position_embeddings": 48, "attention_factor": 1.19}


def stretched(kind: str, **more: object) -> dict:
    """Keys of a Llama whose turns are slowed down; its heads are wide enough for pairs of all speeds."""
    inner = {"rope_type": kind, "rope_theta": 100.0, "factor": 4.0, **more}
    return {**LLAMA, "head_dim": 16, "rope_parameters": inner}


LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 24}
YARN = {"original_max_position_embeddings": 12, "beta_fast": 4.0}
GPT_OSS = {**MIXTRAL, "head_dim": 12, "sliding_window": 7, "swiglu_limit": 0.5, "num_experts_per_tok": 2,
           "rope_parameters": {**YARN, "rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "truncate": False},
           }  # fmt: skip
CASES: dict[str, tuple[str, dict]] = {
    "llama, llama3 turns": ("LlamaForCausalLM", stretched("llama3", **LLAMA3)),
    "llama, linear turns": ("LlamaForCausalLM", stretched("linear")),
    "llama, yarn turns": ("LlamaForCausalLM", stretched("yarn", **YARN)),
    "llama, yarn between pairs": (
        "LlamaForCausalLM",
        stretched("yarn", **YARN, truncate=False, mscale=1.0, mscale_all_dim=0.5, beta_slow=0.5),
    ),
    "llama, yarn factor": ("LlamaForCausalLM", stretched("yarn", **YARN, attention_factor=0.8)),
    "mistral": ("MistralForCausalLM", {**LLAMA, "sliding_window": 7}),
    "mistral, no window": ("MistralForCausalLM", {**LLAMA, "sliding_window": None, "head_dim": 12}),
    "mistral, yarn turns": ("MistralForCausalLM", {**stretched("yarn", **YARN), "sliding_window": 40}),
    "mistral, no head": ("MistralModel", {**LLAMA, "sliding_window": 5}),
    "olmo2": ("Olmo2ForCausalLM", {**OLMO2, "num_key_value_heads": 2}),
    "olmo2, biases": ("Olmo2ForCausalLM", {**OLMO2, "attention_bias": True, "tie_word_embeddings": True}),
    "olmo2, wide heads": ("Olmo2ForCausalLM", {**stretched("yarn", **YARN), **ENDS, "rms_norm_eps": 1e-3}),
    "olmo2, no head": ("Olmo2Model", OLMO2),
    "qwen2": ("Qwen2ForCausalLM", {**LLAMA, "tie_word_embeddings": True}),
    "qwen2, upper windows": ("Qwen2ForCausalLM", {**LLAMA, **SLOW, "max_window_layers": 1}),
    "qwen2, yarn turns": ("Qwen2ForCausalLM", stretched("yarn", **YARN)),
    "qwen2, no head": ("Qwen2Model", LLAMA),
    "qwen3": ("Qwen3ForCausalLM", {**LLAMA, "head_dim": 12}),
    "qwen3, windows": (
        "Qwen3ForCausalLM",
        {**LLAMA, **SLOW, "head_dim": 8, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    ),
    "qwen3, biases": ("Qwen3ForCausalLM", {**LLAMA, "head_dim": 8, "attention_bias": True, "rms_norm_eps": 1e-3}),
    "qwen3, no head": ("Qwen3Model", {**LLAMA, "head_dim": 8}),
    "mixtral": ("MixtralForCausalLM", MIXTRAL),
    "mixtral, one expert": (
        "MixtralForCausalLM",
        {**MIXTRAL, "num_experts_per_tok": 1, "sliding_window": 7, "tie_word_embeddings": True, "head_dim": 12},
    ),
    "mixtral, all experts": (
        "MixtralForCausalLM",
        {**MIXTRAL, "num_experts_per_tok": 4, "hidden_act": "gelu", "rms_norm_eps": 1e-3},
    ),
    "mixtral, no head": ("MixtralModel", MIXTRAL),
    "qwen3_moe": ("Qwen3MoeForCausalLM", QWEN3_MOE),
    "qwen3_moe, shares of all": (
        "Qwen3MoeForCausalLM",
        {
            **QWEN3_MOE,
            "norm_topk_prob": False,
            "num_hidden_layers": 4,
            "mlp_only_layers": [0],
            "decoder_sparse_step": 2,
        },
    ),
    "qwen3_moe, windows": (
        "Qwen3MoeForCausalLM",
        {**QWEN3_MOE, "use_sliding_window": True, "sliding_window": 7, "attention_bias": True, "head_dim": 8},
    ),
    "qwen3_moe, no head": ("Qwen3MoeModel", QWEN3_MOE),
    "gpt_oss": ("GptOssForCausalLM", GPT_OSS),
    "gpt_oss, no biases": (
        "GptOssForCausalLM",
        {
            **GPT_OSS,
            "attention_bias": False,
            "layer_types": ["full_attention", "sliding_attention"],
            "swiglu_limit": 7.0,
            "tie_word_embeddings": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
        },
    ),
    "gpt_oss, no window": (
        "GptOssForCausalLM",
        {**GPT_OSS, "layer_types": ["full_attention"] * 2, "num_experts_per_tok": 1, "rms_norm_eps": 1e-3},
    ),
    "gpt_oss, no head": ("GptOssModel", GPT_OSS),
    "smollm3": ("SmolLM3ForCausalLM", NOT_TURNED),
    "smollm3, windows": (
        "SmolLM3ForCausalLM",
        {**NOT_TURNED, **SLOW, "tie_word_embeddings": False, "attention_bias": True, "mlp_bias": True},
    ),
    "smollm3, first not turned": ("SmolLM3ForCausalLM", {**NOT_TURNED, "no_rope_layers": [0, 1, 1]}),
    "smollm3, every second": (
        "SmolLM3ForCausalLM",
        {
            **NOT_TURNED,
            "no_rope_layers": None,
            "no_rope_layer_interval": 2,
            "rope_parameters": {"rope_type": "default"},
        },
    ),
    "smollm3, no head": ("SmolLM3Model", NOT_TURNED),
    "phi3": ("Phi3ForCausalLM", {**PHI3, "sliding_window": 7, "partial_rotary_factor": 0.75}),
    "phi3, whole heads": ("Phi3ForCausalLM", PHI3),
    "phi3, longrope": (
        "Phi3ForCausalLM",
        {
            **PHI3,
            "original_max_position_embeddings": 48,
            "rope_parameters": {
                **LONG,
                "partial_rotary_factor": 0.5,
                "short_factor": [1.0, 1.7],
                "long_factor": [2.0, 3.0],
            },
        },
    ),
    "phi3, tied": ("Phi3ForCausalLM", {**PHI3, "tie_word_embeddings": True, "num_key_value_heads": None}),
    "phi3, no head": ("Phi3Model", PHI3),
}
