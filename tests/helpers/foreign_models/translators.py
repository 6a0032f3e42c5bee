"""Marian, BART and T5."""

VOCAB, PAD, END = 41, 1, 2
PAIR = {"vocab_size": VOCAB, "d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 56, "max_position_embeddings": 40,
        "pad_token_id": PAD, "eos_token_id": END, "decoder_start_token_id": PAD}  # fmt: skip
T5 = {"vocab_size": VOCAB, "d_model": 32, "d_kv": 12, "d_ff": 48, "num_layers": 3, "num_decoder_layers": 2,
      "num_heads": 4, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20,
      "decoder_start_token_id": 0}  # fmt: skip
CASES = {
    "marian": ("MarianMTModel", {**PAIR, "scale_embedding": True, "activation_function": "swish"}),
    "marian, two tables": (
        "MarianMTModel",
        {**PAIR, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 47},
    ),
    "bart": ("BartForConditionalGeneration", PAIR),
    "bart, scaled": ("BartForConditionalGeneration", {**PAIR, "scale_embedding": True, "activation_function": "relu"}),
    "bart, no head": ("BartModel", PAIR),
    "t5": ("T5ForConditionalGeneration", T5),
    "t5, gated": ("T5ForConditionalGeneration", {**T5, "feed_forward_proj": "gated-gelu"}),
    "t5, unscaled": ("T5ForConditionalGeneration", {**T5, "tie_word_embeddings": False}),
}
