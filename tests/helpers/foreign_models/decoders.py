"""GPT-2 and Llama."""

GPT2 = {
    "vocab_size": 61,
    "n_positions": 48,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
LLAMA = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 48}  # fmt: skip
CASES = {
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "gpt2, another mlp": ("GPT2LMHeadModel", {**GPT2, "activation_function": "relu", "n_inner": 24}),
    "gpt2, head of its own": ("GPT2LMHeadModel", {**GPT2, "tie_word_embeddings": False}),
    "gpt2, plain products": ("GPT2LMHeadModel", {**GPT2, "scale_attn_weights": False, "layer_norm_epsilon": 1e-3}),
    "gpt2, no head": ("GPT2Model", GPT2),
    "llama": ("LlamaForCausalLM", LLAMA),
    "llama, tied": ("LlamaForCausalLM", {**LLAMA, "tie_word_embeddings": True, "rms_norm_eps": 1e-3}),
    "llama, biases": ("LlamaForCausalLM", {**LLAMA, "attention_bias": True, "mlp_bias": True, "hidden_act": "gelu"}),
    "llama, wide heads": ("LlamaForCausalLM", {**LLAMA, "head_dim": 12, "num_key_value_heads": 4}),
    "llama, slow turns": (
        "LlamaForCausalLM",
        {**LLAMA, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}},
    ),
    "llama, no head": ("LlamaModel", LLAMA),
}
