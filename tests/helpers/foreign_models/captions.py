"""Models that write about pictures: a ViT or DeiT, and a GPT-2, BERT, RoBERTa or TrOCR."""

from helpers.foreign_models.pictures import VIT

GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": 24, "n_layer": 2, "n_head": 4, "bos_token_id": 0,
        "eos_token_id": 0, "add_cross_attention": True, "is_decoder": True}  # fmt: skip
WRITER = "VisionEncoderDecoderModel"
SEEING = {"model_type": "vit", **VIT}
BERT = {"model_type": "bert", "vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 40, "max_position_embeddings": 30, "add_cross_attention": True,
        "is_decoder": True}  # fmt: skip
TROCR = {"model_type": "trocr", "vocab_size": 61, "d_model": 32, "decoder_layers": 2, "decoder_attention_heads": 4,
         "decoder_ffn_dim": 40, "max_position_embeddings": 30, "add_cross_attention": True,
         "is_decoder": True}  # fmt: skip
CASES = {
    "vision-encoder-decoder, trocr": (WRITER, {"encoder": SEEING, "decoder": TROCR}),
    "vision-encoder-decoder, trocr that reads another width": (
        WRITER,
        {
            "encoder": {**SEEING, "qkv_bias": False},
            "decoder": {
                **TROCR,
                "d_model": 24,
                "cross_attention_hidden_size": 32,
                "scale_embedding": True,
                "layernorm_embedding": False,
                "activation_function": "relu",
            },
        },
    ),  # fmt: skip
    "vision-encoder-decoder, bert": (WRITER, {"encoder": SEEING, "decoder": BERT}),
    "vision-encoder-decoder, bert of another width": (
        WRITER,
        {"encoder": SEEING, "decoder": {**BERT, "hidden_size": 24, "hidden_act": "relu", "layer_norm_eps": 1e-3}},
    ),
    "vision-encoder-decoder, roberta": (
        WRITER,
        {"encoder": SEEING, "decoder": {**BERT, "model_type": "roberta", "type_vocab_size": 1, "pad_token_id": 1}},
    ),
    "vision-encoder-decoder": (WRITER, {"encoder": SEEING, "decoder": {**GPT2, "n_embd": 32}}),
    "vision-encoder-decoder, another width": (WRITER, {"encoder": SEEING, "decoder": {**GPT2, "n_embd": 24}}),
    "vision-encoder-decoder, deit and a head of its own": (
        WRITER,
        {"encoder": {**SEEING, "model_type": "deit"}, "decoder": {**GPT2, "n_embd": 24, "tie_word_embeddings": False}},
    ),
}
