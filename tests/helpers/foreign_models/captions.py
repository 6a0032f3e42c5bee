"""Models that write about pictures: a ViT or DeiT and a GPT-2."""

from helpers.foreign_models.pictures import VIT

GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": 24, "n_layer": 2, "n_head": 4, "bos_token_id": 0,
        "eos_token_id": 0, "add_cross_attention": True, "is_decoder": True}  # fmt: skip
WRITER = "VisionEncoderDecoderModel"
SEEING = {"model_type": "vit", **VIT}
CASES = {
    "vision-encoder-decoder": (WRITER, {"encoder": SEEING, "decoder": {**GPT2, "n_embd": 32}}),
    "vision-encoder-decoder, another width": (WRITER, {"encoder": SEEING, "decoder": {**GPT2, "n_embd": 24}}),
    "vision-encoder-decoder, deit and a head of its own": (
        WRITER,
        {"encoder": {**SEEING, "model_type": "deit"}, "decoder": {**GPT2, "n_embd": 24, "tie_word_embeddings": False}},
    ),
}
