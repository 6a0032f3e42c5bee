"""ELECTRA, CamemBERT, MPNet, ModernBERT and DeBERTa-v3, with each kind of head."""

from helpers.foreign_models.encoders import KINDS, SIZES, SPAN

NARROW = {**SIZES, "embedding_size": 12}
CAMEMBERT = {**SIZES, "max_position_embeddings": 50, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
PLACED = {**SIZES, "max_position_embeddings": 50}
# five layers, of which the first and the fourth read everything; the others read two tokens on each side of twenty
MODERN = {**SIZES, "num_hidden_layers": 5, "local_attention": 4, "pad_token_id": 1, "cls_token_id": 2,
          "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}  # fmt: skip
# rows of distances that are shared: eight on each side for up to twenty places
DEBERTA = {**SIZES, "relative_attention": True, "position_buckets": 8, "max_relative_positions": 20,
           "type_vocab_size": 0, "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p",
           "position_biased_input": False, "pad_token_id": 1}  # fmt: skip
FAMILIES = {"Electra": NARROW, "Camembert": CAMEMBERT, "MPNet": PLACED, "ModernBert": MODERN, "DebertaV2": DEBERTA}
ROPE = {"full_attention": {"rope_type": "default", "rope_theta": 5000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 20.0}}  # fmt: skip
SPECIAL = {
    "electra, as wide as the model": ("ElectraForSequenceClassification",
                                      {**NARROW, "embedding_size": 32, "num_labels": 5}),
    "electra, another mlp": ("ElectraForMaskedLM", {**NARROW, "hidden_act": "relu", "layer_norm_eps": 1e-3}),
    "camembert, five classes": ("CamembertForSequenceClassification", {**CAMEMBERT, "num_labels": 5}),
    "mpnet, another mlp": ("MPNetForMaskedLM", {**PLACED, "hidden_act": "relu", "layer_norm_eps": 1e-3}),
    "mpnet, three tags": ("MPNetForTokenClassification", {**PLACED, "num_labels": 3}),
    "modernbert, offsets everywhere": (
        "ModernBertForMaskedLM",
        {**MODERN, "norm_bias": True, "attention_bias": True, "mlp_bias": True, "classifier_bias": True,
         "classifier_activation": "relu", "hidden_activation": "silu", "norm_eps": 1e-3},
    ),
    "modernbert, no offsets at all": ("ModernBertForMaskedLM", {**MODERN, "decoder_bias": False}),
    "modernbert, the mean of five classes": (
        "ModernBertForSequenceClassification",
        {**MODERN, "classifier_pooling": "mean", "num_labels": 5, "classifier_dropout": 0.2},
    ),
    "modernbert, other bases and layers": (
        "ModernBertForTokenClassification",
        {**MODERN, "rope_parameters": ROPE, "num_hidden_layers": 3,
         "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
    ),
    "deberta, own maps of distances": ("DebertaV2ForMaskedLM", {**DEBERTA, "share_att_key": False}),
    "deberta, a row for each distance": (
        "DebertaV2ForTokenClassification",
        {**DEBERTA, "position_buckets": -1, "max_relative_positions": 6, "norm_rel_ebd": "none",
         "pos_att_type": ["c2p"]},
    ),
    "deberta, queries of distances and places": (
        "DebertaV2ForSequenceClassification",
        {**DEBERTA, "max_relative_positions": -1, "share_att_key": False, "pos_att_type": ["p2c"], "type_vocab_size": 2,
         "position_biased_input": True, "pooler_hidden_act": "tanh", "cls_dropout": 0.2, "num_labels": 3},
    ),
}  # fmt: skip
# one kind of head of each family runs with `make test`, the others are slow
FIRST = {"Electra": "ForMaskedLM", "Camembert": "ForMaskedLM", "MPNet": "ForSequenceClassification",
         "ModernBert": "ForMaskedLM", "DebertaV2": "ForSequenceClassification"}  # fmt: skip
CASES: dict[str, tuple[str, dict]] = {
    f"{stem}{'' if FIRST[stem] == kind else ', '}{kind}": (f"{stem}{kind}", keys)
    for stem, keys in FAMILIES.items()
    for kind in (*KINDS, SPAN)
} | SPECIAL
