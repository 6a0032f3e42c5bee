"""Gemma, GPT-Neo, GPT-J, Phi, GPT-NeoX and OPT."""

GEMMA = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 12, "max_position_embeddings": 48}  # fmt: skip
GEMMA2 = {**GEMMA, "num_hidden_layers": 3, "sliding_window": 7, "query_pre_attn_scalar": 20,
          "attn_logit_softcapping": 3.0, "final_logit_softcapping": 5.0}  # fmt: skip
GEMMA3 = {
    **GEMMA,
    "num_hidden_layers": 3,
    "sliding_window": 7,
    "query_pre_attn_scalar": 20,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 5e4},
        "sliding_attention": {"rope_type": "default", "rope_theta": 300.0},
    },
}
NEOX = {"vocab_size": 61, "hidden_size": 36, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 3,
        "max_position_embeddings": 48, "rope_parameters": {"rope_theta": 1e4, "rope_type": "default",
        "partial_rotary_factor": 0.5}}  # fmt: skip
NEO = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 40, "num_layers": 2, "num_heads": 4, "window_size": 7,
       "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 48, "bos_token_id": 0,
       "eos_token_id": 0}  # fmt: skip
GPTJ = {"vocab_size": 61, "n_embd": 48, "n_inner": 40, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "n_positions": 48,
        "bos_token_id": 0, "eos_token_id": 0}  # fmt: skip
PHI = {"vocab_size": 61, "hidden_size": 48, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
       "max_position_embeddings": 48, "bos_token_id": 0, "eos_token_id": 0}  # fmt: skip
OPT = {"vocab_size": 61, "hidden_size": 32, "ffn_dim": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
       "max_position_embeddings": 48}  # fmt: skip
CASES: dict[str, tuple[str, dict]] = {
    "gemma": ("GemmaForCausalLM", GEMMA),
    "gemma, head of its own": ("GemmaForCausalLM", {**GEMMA, "tie_word_embeddings": False, "rms_norm_eps": 1e-3}),
    "gemma, biases": ("GemmaForCausalLM", {**GEMMA, "attention_bias": True, "hidden_act": "silu"}),
    "gemma, no head": ("GemmaModel", GEMMA),
    "gemma2": ("Gemma2ForCausalLM", GEMMA2),
    "gemma2, no caps": (
        "Gemma2ForCausalLM",
        {**GEMMA2, "attn_logit_softcapping": None, "final_logit_softcapping": None, "query_pre_attn_scalar": 12},
    ),
    "gemma2, listed layers": (
        "Gemma2ForCausalLM",
        {
            **GEMMA2,
            "layer_types": ["full_attention", "full_attention", "sliding_attention"],
            "attention_bias": True,
            "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"},
            "tie_word_embeddings": False,
        },
    ),  # fmt: skip
    "gemma2, no window": ("Gemma2ForCausalLM", {**GEMMA2, "layer_types": ["full_attention"] * 3}),
    "gemma2, no head": ("Gemma2Model", GEMMA2),
    "gemma3_text": ("Gemma3ForCausalLM", GEMMA3),
    "gemma3_text, every third layer": (
        "Gemma3ForCausalLM",
        {
            **GEMMA,
            "num_hidden_layers": 4,
            "sliding_window": 5,
            "sliding_window_pattern": 3,
            "query_pre_attn_scalar": 12,
            "final_logit_softcapping": 4.0,
        },
    ),  # fmt: skip
    "gemma3_text, one key head": ("Gemma3ForCausalLM", {**GEMMA3, "num_key_value_heads": 1, "attention_bias": True}),
    "gemma3_text, stretched": (
        "Gemma3ForCausalLM",
        {
            **GEMMA3,
            "rope_parameters": {**GEMMA3["rope_parameters"], "full_attention": {"rope_type": "linear", "factor": 4.0}},
        },
    ),
    "gemma3_text, no head": ("Gemma3TextModel", GEMMA3),
    "gpt_neo": ("GPTNeoForCausalLM", NEO),
    "gpt_neo, kinds of layers by hand": (
        "GPTNeoForCausalLM",
        {
            **NEO,
            "num_layers": 5,
            "attention_types": [[["local", "global"], 2], [["local"], 1]],
            "window_size": 3,
            "tie_word_embeddings": False,
            "activation_function": "relu",
        },
    ),
    "gpt_neo, no window": (
        "GPTNeoForCausalLM",
        {**NEO, "attention_types": [[["global"], 2]], "intermediate_size": None, "layer_norm_epsilon": 1e-3},
    ),
    "gpt_neo, no head": ("GPTNeoModel", NEO),
    "gptj": ("GPTJForCausalLM", GPTJ),
    "gptj, whole heads": (
        "GPTJForCausalLM",
        {**GPTJ, "rotary_dim": 12, "tie_word_embeddings": True, "activation_function": "relu", "n_inner": None},
    ),
    "gptj, other sizes": (
        "GPTJForCausalLM",
        {**GPTJ, "n_embd": 66, "n_head": 3, "rotary_dim": 14, "layer_norm_epsilon": 1e-3, "n_layer": 3},
    ),
    "gptj, no head": ("GPTJModel", GPTJ),
    "phi": ("PhiForCausalLM", PHI),
    "phi, shared key heads": (
        "PhiForCausalLM",
        {**PHI, "num_key_value_heads": 2, "qk_layernorm": True, "layer_norm_eps": 1e-3, "hidden_act": "relu"},
    ),
    "phi, another share": (
        "PhiForCausalLM",
        {
            **PHI,
            "tie_word_embeddings": True,
            "rope_parameters": {
                "rope_theta": 500.0,
                "rope_type": "linear",
                "factor": 2.0,
                "partial_rotary_factor": 0.34,
            },
        },
    ),
    "phi, no head": ("PhiModel", PHI),
    "gpt_neox": ("GPTNeoXForCausalLM", NEOX),
    "gpt_neox, one after the other": (
        "GPTNeoXForCausalLM",
        {**NEOX, "use_parallel_residual": False, "hidden_act": "gelu_fast", "layer_norm_eps": 1e-3},
    ),
    "gpt_neox, no biases": (
        "GPTNeoXForCausalLM",
        {
            **NEOX,
            "attention_bias": False,
            "tie_word_embeddings": True,
            "rope_parameters": {"rope_theta": 500.0, "rope_type": "default", "partial_rotary_factor": 1.0},
        },
    ),  # fmt: skip
    "gpt_neox, stretched": (
        "GPTNeoXForCausalLM",
        {**NEOX, "rope_parameters": {**NEOX["rope_parameters"], "rope_type": "linear", "factor": 2.0}},
    ),
    "gpt_neox, no head": ("GPTNeoXModel", NEOX),
    "opt": ("OPTForCausalLM", OPT),
    "opt, norms after": ("OPTForCausalLM", {**OPT, "do_layer_norm_before": False, "tie_word_embeddings": False}),
    "opt, no biases": ("OPTForCausalLM", {**OPT, "enable_bias": False, "activation_function": "gelu"}),
    "opt, plain norms": (
        "OPTForCausalLM",
        {**OPT, "layer_norm_elementwise_affine": False, "_remove_final_layer_norm": True},
    ),
    "opt, no head": ("OPTModel", OPT),
}
