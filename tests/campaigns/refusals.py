"""What weft refuses to read of each model type: keys of config.json that are changed in the first model of a type."""

from typing import Any

from helpers.foreign_models.answers import BLIP_PICTURES
from helpers.foreign_models.captions import BERT
from helpers.foreign_models.newer_pictures import CLIP_PICTURES, CLIP_TEXT

Refusal = tuple[str, dict[str, Any]]  # in words for the page, and the keys


def architecture(name: str) -> dict[str, Any]:
    return {"architectures": [name]}


def rope(kind: str, **more: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10000.0, **more}}


LAYERS: Refusal = ("layers of other kinds in `layer_types`", {"layer_types": ["chunked_attention"] * 2})
CLASSES = "its classification head"
BIDIRECTIONAL: Refusal = ("`use_bidirectional_attention`", {"use_bidirectional_attention": True})
NOT_LINEAR: Refusal = ("stretches other than linear", rope("yarn", factor=2.0))
RELATIVE: Refusal = ("relative positions (`position_embedding_type`)", {"position_embedding_type": "relative_key"})
DECODER: Refusal = ("use as a decoder", {"is_decoder": True})
CHOICES = "heads for several choices"
ORDER: Refusal = ("the other order of norms (`normalize_before`)", {"normalize_before": True})
OBLONG: Refusal = ("patches that are not square", {"patch_size": [8, 4]})

REFUSALS: dict[str, list[Refusal]] = {
    "gpt2": [
        ("scores divided by the layer's number", {"scale_attn_by_inverse_layer_idx": True}),
    ],
    "llama": [
        ("turns of a share of a head", rope("default", partial_rotary_factor=0.5)),
    ],
    "mistral": [LAYERS],
    "olmo2": [("turns of a share of a head", rope("default", partial_rotary_factor=0.5))],
    "qwen2": [LAYERS],
    "qwen3": [LAYERS],
    "smollm3": [LAYERS],
    "mixtral": [("turns of a share of a head", rope("default", partial_rotary_factor=0.5))],
    "qwen3_moe": [("two numbers of experts", {"num_experts": 5, "num_local_experts": 6})],
    "gpt_oss": [
        ("weights in mxfp4", {"quantization_config": {"quant_method": "mxfp4"}}),
        ("another `swiglu_alpha`", {"swiglu_alpha": 1.0}),
    ],
    "phi3": [("biases", {"attention_bias": True}), ("stretches other than longrope", rope("linear", factor=2.0))],
    "gemma": [BIDIRECTIONAL, NOT_LINEAR],
    "gemma2": [BIDIRECTIONAL, NOT_LINEAR],
    "gemma3_text": [BIDIRECTIONAL, ("soft caps of scores", {"attn_logit_softcapping": 50.0})],
    "gpt_neo": [("kinds of layers other than global and local", {"attention_types": [[["global", "linear"], 1]]})],
    "gptj": [("plain products", {"scale_attn_weights": False})],
    "phi": [("its head for tags", architecture("PhiForTokenClassification"))],
    "gpt_neox": [("its head for tags", architecture("GPTNeoXForTokenClassification"))],
    "opt": [("a table narrower than the model (`word_embed_proj_dim`, as in opt-350m)", {"word_embed_proj_dim": 16})],
    "bert": [RELATIVE, DECODER],
    "distilbert": [(CHOICES, architecture("DistilBertForMultipleChoice"))],
    "roberta": [RELATIVE, DECODER],
    "xlm-roberta": [RELATIVE, DECODER],
    "camembert": [RELATIVE, DECODER],
    "albert": [("several groups of layers (`num_hidden_groups`)", {"num_hidden_groups": 3}), RELATIVE],
    "electra": [RELATIVE, DECODER],
    "mpnet": [("another `relative_attention_num_buckets`", {"relative_attention_num_buckets": 16})],
    "modernbert": [("stretched turns (`rope_scaling`)", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}})],
    "deberta-v2": [
        ("models without relative attention", {"relative_attention": False}),
        ("a convolution beside the first layer (`conv_kernel_size`, as in v2-xlarge)", {"conv_kernel_size": 3}),
    ],
    "marian": [("a head that is not the table", {"tie_word_embeddings": False}), ORDER],
    "bart": [(CLASSES, architecture("BartForSequenceClassification")), ORDER],
    "mbart": [(CLASSES, architecture("MBartForSequenceClassification")),
              ("no norm of embeddings", {"normalize_embedding": False})],
    "m2m_100": [("learned places", {"static_position_embeddings": False})],
    "pegasus": [
        (CLASSES, architecture("PegasusForSequenceClassification")),
        ("a norm of embeddings", {"normalize_embedding": True}),
    ],
    "t5": [(CLASSES, architecture("T5ForSequenceClassification"))],
    "mt5": [(CLASSES, architecture("MT5ForSequenceClassification"))],
    "umt5": [
        (CLASSES, architecture("UMT5ForSequenceClassification")),
        ("a head that is not the table", {"tie_word_embeddings": False}),
    ],
    "vit": [OBLONG, ("hidden patches", architecture("ViTForMaskedImageModeling"))],
    "deit": [OBLONG, ("hidden patches", architecture("DeiTForMaskedImageModeling"))],
    "vit_mae": [OBLONG],
    "dinov2": [("pictures that are not square", {"image_size": [16, 24]}),
               ("`Dinov2Backbone`", architecture("Dinov2Backbone"))],
    "dinov2_with_registers": [("pictures that are not square", {"image_size": [16, 24]}),
                              ("its backbone", architecture("Dinov2WithRegistersBackbone"))],
    "dinov3_vit": [
        ("its backbone", architecture("DINOv3ViTBackbone")),
        ("offsets of queries without those of values", {"value_bias": False}),
    ],
    "resnet": [("activations other than relu", {"hidden_act": "gelu"}),
               ("`ResNetBackbone`", architecture("ResNetBackbone"))],
    "convnext": [OBLONG, ("`ConvNextBackbone`", architecture("ConvNextBackbone"))],
    "swin": [("learned places (`use_absolute_embeddings`)", {"use_absolute_embeddings": True})],
    "vision-encoder-decoder": [
        ("encoders other than ViT and DeiT", {"encoder": {"model_type": "swin"}}),
        ("decoders other than GPT-2, BERT, RoBERTa and TrOCR", {"decoder": {"model_type": "electra"}}),
        ("a BERT with a head of its own", {"decoder": {**BERT, "tie_word_embeddings": False}}),
    ],
    "vilt": [
        ("other heads", architecture("ViltForMaskedLM")),
        ("pictures of which patches are drawn (`max_image_length`)", {"max_image_length": 4}),
    ],
    "blip": [
        ("heads for retrieval", architecture("BlipForImageTextRetrieval")),
        ("pictures that are not square", {"vision_config": {**BLIP_PICTURES, "image_size": [16, 24]}}),
    ],
    "git": [
        ("films (`num_image_with_embedding`)", {"num_image_with_embedding": 2}),
        ("pictures that are not square", {"vision_config": {**BLIP_PICTURES, "image_size": [16, 24]}}),
    ],
    "clip": [
        ("`CLIPForImageClassification`", architecture("CLIPForImageClassification")),
        ("pictures that are not square", {"vision_config": {**CLIP_PICTURES, "image_size": [16, 24]}}),
        ("several end ids", {"text_config": {**CLIP_TEXT, "eos_token_id": [38, 39]}}),
    ],
    "siglip": [
        ("`SiglipForImageClassification`", architecture("SiglipForImageClassification")),
        ("pictures that are not square", {"vision_config": {**CLIP_PICTURES, "image_size": [16, 24]}}),
    ],
    "siglip2": [("`Siglip2ForImageClassification`", architecture("Siglip2ForImageClassification"))],
    "siglip_vision_model": [("towers without their pooler (`vision_use_head`)", {"vision_use_head": False})],
    "clip_vision_model": [("pictures that are not square", {"image_size": [16, 24]})],
    "clip_text_model": [("several end ids", {"eos_token_id": [38, 39]})],
}  # fmt: skip
