"""DINOv2, Swin, ConvNeXt and CLIP."""

DINOV2 = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "mlp_ratio": 2, "image_size": 24,
          "patch_size": 8, "num_labels": 5, "use_mask_token": False}  # fmt: skip
CASES: dict[str, tuple[str, dict]] = {
    "dinov2": ("Dinov2ForImageClassification", DINOV2),
    "dinov2, gated": ("Dinov2ForImageClassification", {**DINOV2, "use_swiglu_ffn": True, "mlp_ratio": 3}),
    "dinov2, no offsets": ("Dinov2ForImageClassification", {**DINOV2, "qkv_bias": False, "hidden_act": "relu"}),
    "dinov2, pooler": ("Dinov2Model", {**DINOV2, "layer_norm_eps": 1e-3, "num_channels": 1}),
}
