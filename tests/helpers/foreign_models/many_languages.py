"""mBART, M2M100, mT5, UMT5 and Pegasus."""

from helpers.foreign_models.translators import END, PAIR, T5

PEGASUS = {**PAIR, "forced_eos_token_id": END}
LEARNED = {**PAIR, "decoder_start_token_id": END}
CASES = {
    "mbart": ("MBartForConditionalGeneration", {**LEARNED, "scale_embedding": True}),
    "mbart, relu": ("MBartForConditionalGeneration", {**LEARNED, "activation_function": "relu"}),
    "mbart, no head": ("MBartModel", LEARNED),
    "m2m_100": ("M2M100ForConditionalGeneration", LEARNED),
    "m2m_100, unscaled": (
        "M2M100ForConditionalGeneration",
        {**LEARNED, "scale_embedding": False, "activation_function": "gelu", "max_position_embeddings": 20},
    ),
    "m2m_100, another filler": ("M2M100ForConditionalGeneration", {**LEARNED, "pad_token_id": 0}),
    "m2m_100, no head": ("M2M100Model", LEARNED),
    "pegasus": ("PegasusForConditionalGeneration", PEGASUS),
    "pegasus, scaled": (
        "PegasusForConditionalGeneration",
        {**PEGASUS, "scale_embedding": True, "activation_function": "relu"},
    ),
    "pegasus, no head": ("PegasusModel", PEGASUS),
    "umt5": ("UMT5ForConditionalGeneration", T5),
    "umt5, plain": ("UMT5ForConditionalGeneration", {**T5, "feed_forward_proj": "relu", "num_decoder_layers": 3}),
    "mt5": ("MT5ForConditionalGeneration", T5),
    "mt5, plain": ("MT5ForConditionalGeneration", {**T5, "feed_forward_proj": "relu"}),
}
