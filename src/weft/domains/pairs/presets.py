"""The sizes of encoder–decoders on pairs of texts; both sides have as many layers."""

from weft.tasks.preset import Preset

FORM = "{depth}+{depth} layers, {dim} wide"
PAIRS = {
    "tiny": Preset(dim=64, depth=2, heads=2, context=128, note=": trains in seconds"),
    "mini": Preset(dim=128, depth=2, heads=4, context=128),
    "small": Preset(dim=256, depth=3, heads=4, context=128),
    "base": Preset(dim=512, depth=6, heads=8, context=256, note=", model transformer (Vaswani et al., 2017)"),
    "large": Preset(dim=1024, depth=6, heads=16, context=256, note=", model transformer (their big model)"),
}
