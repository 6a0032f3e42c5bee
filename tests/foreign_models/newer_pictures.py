"""DINOv2, Swin, ConvNeXt and CLIP."""

CASES: dict[str, tuple[str, dict]] = {}
