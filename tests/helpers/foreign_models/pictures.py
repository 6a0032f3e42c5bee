"""ViT, DeiT, ViT-MAE and ResNet."""

VIT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 24,
       "patch_size": 8, "num_labels": 5}  # fmt: skip
MAE = {**VIT, "decoder_hidden_size": 16, "decoder_num_hidden_layers": 1, "decoder_num_attention_heads": 2,
       "decoder_intermediate_size": 24, "image_size": 32}  # fmt: skip
RESNET = {"embedding_size": 8, "hidden_sizes": [8, 16, 24], "depths": [1, 2, 1], "layer_type": "basic", "num_labels": 5}
BOTTLENECK = {**RESNET, "layer_type": "bottleneck", "hidden_sizes": [16, 24, 32]}
CASES = {
    "vit": ("ViTForImageClassification", VIT),
    "vit, no offsets": ("ViTForImageClassification", {**VIT, "qkv_bias": False, "layer_norm_eps": 1e-3}),
    "vit, wide and grey": ("ViTForImageClassification", {**VIT, "image_size": [16, 32], "num_channels": 1}),
    "vit, relu": ("ViTForImageClassification", {**VIT, "hidden_act": "relu", "num_labels": 3}),
    "vit, pooler": ("ViTModel", VIT),
    "vit, another pooler": ("ViTModel", {**VIT, "pooler_act": "relu", "pooler_output_size": 12}),
    "deit": ("DeiTForImageClassification", VIT),
    "deit, with teacher": ("DeiTForImageClassificationWithTeacher", VIT),
    "deit, pooler": ("DeiTModel", {**VIT, "qkv_bias": False}),
    "mae": ("ViTMAEForPreTraining", MAE),
    "mae, no head": ("ViTMAEModel", {**MAE, "qkv_bias": False}),
    "resnet": ("ResNetForImageClassification", RESNET),
    "resnet, bottleneck": ("ResNetForImageClassification", BOTTLENECK),
    "resnet, early": ("ResNetForImageClassification", {**BOTTLENECK, "downsample_in_bottleneck": True}),
    "resnet, halved": ("ResNetForImageClassification", {**RESNET, "downsample_in_first_stage": True}),
    "resnet, another stem": ("ResNetForImageClassification", {**BOTTLENECK, "embedding_size": 12, "num_channels": 2}),
    "resnet, no head": ("ResNetModel", RESNET),
}
