"""BERT, DistilBERT, RoBERTa, XLM-RoBERTa and ALBERT, with each kind of head."""

SIZES = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 48}  # fmt: skip
DISTIL = {"vocab_size": 61, "dim": 32, "hidden_dim": 40, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 48}
NARROW = {**SIZES, "embedding_size": 12, "num_hidden_layers": 3}
FAMILIES = {
    "Bert": SIZES,
    "DistilBert": DISTIL,
    "Roberta": {**SIZES, "max_position_embeddings": 50, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "XLMRoberta": {**SIZES, "max_position_embeddings": 50},
    "Albert": NARROW,
}
ODD = {
    "bert, another mlp": ("BertForMaskedLM", {**SIZES, "hidden_act": "relu", "layer_norm_eps": 1e-3,
                                              "type_vocab_size": 3}),
    "bert, five classes": ("BertForSequenceClassification", {**SIZES, "num_labels": 5, "classifier_dropout": 0.3}),
    "distilbert, another mlp": ("DistilBertForMaskedLM", {**DISTIL, "activation": "relu"}),
    "roberta, another mlp": ("RobertaForMaskedLM", {**FAMILIES["Roberta"], "hidden_act": "relu", "pad_token_id": 3}),
    "albert, two layers again": ("AlbertForMaskedLM", {**NARROW, "inner_group_num": 2, "hidden_act": "gelu"}),
    "albert, three tags": ("AlbertForTokenClassification", {**NARROW, "num_labels": 3}),
}  # fmt: skip
KINDS = ["ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "Model"]
SPAN = "ForQuestionAnswering"
SPANS = {f"{stem}{'' if stem == 'Bert' else ', '}{SPAN}": (f"{stem}{SPAN}", keys) for stem, keys in FAMILIES.items()}
CASES = {f"{stem}{kind}": (f"{stem}{kind}", keys) for stem, keys in FAMILIES.items() for kind in KINDS} | SPANS | ODD
