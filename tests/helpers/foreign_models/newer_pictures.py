"""DINOv2 and 3, Swin, ConvNeXt, CLIP and SigLIP."""

CONVNEXT = {"num_stages": 3, "hidden_sizes": [8, 16, 24], "depths": [1, 2, 1], "image_size": 32, "num_labels": 5,
            "layer_scale_init_value": 0.1}  # fmt: skip
SWIN = {"embed_dim": 8, "depths": [2, 3, 2], "num_heads": [2, 1, 4], "window_size": 4, "patch_size": 2,
        "image_size": 32, "num_labels": 5}  # fmt: skip
DINOV2 = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "mlp_ratio": 2, "image_size": 24,
          "patch_size": 8, "num_labels": 5}  # fmt: skip
REGISTERS = {**DINOV2, "num_register_tokens": 3}
DINOV3 = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
          "image_size": 24, "patch_size": 8, "num_register_tokens": 3}  # fmt: skip
CLIP_TEXT = {"vocab_size": 40, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2,
             "num_attention_heads": 3,
             "max_position_embeddings": 12, "bos_token_id": 38, "eos_token_id": 39}  # fmt: skip
CLIP_PICTURES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
                 "image_size": 24, "patch_size": 8}  # fmt: skip
CLIP = {"text_config": CLIP_TEXT, "vision_config": CLIP_PICTURES, "projection_dim": 20}
SIGLIP_TEXT = {**{key: value for key, value in CLIP_TEXT.items() if "token" not in key}, "pad_token_id": 1}
SIGLIP = {"text_config": {**SIGLIP_TEXT, "projection_size": 32}, "vision_config": CLIP_PICTURES}
PATCHED = {**{key: value for key, value in CLIP_PICTURES.items() if key != "image_size"}, "num_patches": 16}
SIGLIP2 = {"text_config": {**SIGLIP_TEXT, "projection_size": 32}, "vision_config": PATCHED}
CASES: dict[str, tuple[str, dict]] = {
    "convnext": ("ConvNextForImageClassification", CONVNEXT),
    "convnext, no layer scale": ("ConvNextForImageClassification", {**CONVNEXT, "layer_scale_init_value": 0.0}),
    "convnext, wide and grey": (
        "ConvNextForImageClassification",
        {**CONVNEXT, "image_size": [32, 48], "num_channels": 1, "hidden_act": "relu", "patch_size": 2},
    ),
    "convnext, pooler": ("ConvNextModel", {**CONVNEXT, "layer_norm_eps": 1e-3}),
    "swin": ("SwinForImageClassification", SWIN),
    "swin, no offsets": ("SwinForImageClassification", {**SWIN, "qkv_bias": False, "layer_norm_eps": 1e-3}),
    "swin, wide and grey": (
        "SwinForImageClassification",
        {**SWIN, "image_size": [32, 64], "num_channels": 1, "hidden_act": "relu", "mlp_ratio": 2.5},
    ),
    "swin, odd windows": (
        "SwinForImageClassification",
        {**SWIN, "window_size": 3, "image_size": 48, "depths": [2, 2], "num_heads": [2, 4]},
    ),
    "swin, pooler": ("SwinModel", {**SWIN, "depths": [1, 2, 2]}),
    "dinov2": ("Dinov2ForImageClassification", DINOV2),
    "dinov2, gated": ("Dinov2ForImageClassification", {**DINOV2, "use_swiglu_ffn": True, "mlp_ratio": 3}),
    "dinov2, no offsets": (
        "Dinov2ForImageClassification",
        {**DINOV2, "qkv_bias": False, "hidden_act": "relu", "use_mask_token": False},
    ),
    "dinov2, pooler": ("Dinov2Model", {**DINOV2, "layer_norm_eps": 1e-3, "num_channels": 1}),
    "dinov2_with_registers": ("Dinov2WithRegistersForImageClassification", REGISTERS),
    "dinov2_with_registers, gated": (
        "Dinov2WithRegistersForImageClassification",
        {**REGISTERS, "use_swiglu_ffn": True, "mlp_ratio": 3, "num_register_tokens": 1},
    ),
    "dinov2_with_registers, pooler": (
        "Dinov2WithRegistersModel",
        {**REGISTERS, "num_channels": 1, "qkv_bias": False, "num_register_tokens": 0},
    ),
    "dinov3_vit, pooler": ("DINOv3ViTModel", DINOV3),
    "dinov3_vit": ("DINOv3ViTModel", {**DINOV3, "use_gated_mlp": True, "hidden_act": "silu", "rope_theta": 50.0}),
    "dinov3_vit, all offsets, wide, pooler": (
        "DINOv3ViTModel",
        {**DINOV3, "key_bias": True, "image_size": [24, 40], "num_register_tokens": 0, "num_channels": 1},
    ),
    "dinov3_vit, no offsets": (
        "DINOv3ViTModel",
        {**DINOV3, "query_bias": False, "value_bias": False, "proj_bias": False, "mlp_bias": False},
    ),
    "clip": ("CLIPModel", CLIP),
    "clip, ended by the highest id": ("CLIPModel", {**CLIP, "text_config": {**CLIP_TEXT, "eos_token_id": 2}}),
    "clip, ended by another id": ("CLIPModel", {**CLIP, "text_config": {**CLIP_TEXT, "eos_token_id": 17}}),
    "clip, gelu and grey": (
        "CLIPModel",
        {
            "text_config": {**CLIP_TEXT, "hidden_act": "gelu", "layer_norm_eps": 1e-3},
            "vision_config": {**CLIP_PICTURES, "hidden_act": "gelu", "num_channels": 1, "layer_norm_eps": 1e-4},
            "projection_dim": 24,
        },
    ),
    "siglip": ("SiglipModel", SIGLIP),
    "siglip, gelu and grey": (
        "SiglipModel",
        {
            "text_config": {**SIGLIP_TEXT, "projection_size": 32, "hidden_act": "gelu", "pad_token_id": 0},
            "vision_config": {**CLIP_PICTURES, "hidden_act": "gelu", "num_channels": 1, "layer_norm_eps": 1e-4},
        },
    ),
    "siglip2, places in between": ("Siglip2Model", SIGLIP2),
    "siglip2": ("Siglip2Model", {**SIGLIP2, "text_config": {**SIGLIP2["text_config"], "hidden_act": "gelu"}}),
    "siglip, pictures alone, pooler": ("SiglipVisionModel", CLIP_PICTURES),
    "clip, pictures alone, pooler": ("CLIPVisionModel", CLIP_PICTURES),
    "clip, pictures alone, projected": ("CLIPVisionModelWithProjection", {**CLIP_PICTURES, "projection_dim": 12}),
}
