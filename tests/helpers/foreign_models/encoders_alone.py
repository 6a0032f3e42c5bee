"""The encoders of T5, mT5 and UMT5 without their decoders."""

from helpers.foreign_models.translators import T5

CASES = {
    "t5, encoder alone": ("T5EncoderModel", T5),
    "t5, gated encoder alone": ("T5EncoderModel", {**T5, "feed_forward_proj": "gated-gelu", "num_layers": 1}),
    "mt5, encoder alone": ("MT5EncoderModel", T5),
    "umt5, encoder alone": ("UMT5EncoderModel", T5),
}
