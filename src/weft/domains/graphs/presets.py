"""The sizes of models of graphs and sets."""

from weft.tasks.preset import Preset

ELEMENTS = {
    "tiny": Preset(dim=64, depth=2, heads=4, note=": trains in seconds"),
    "mini": Preset(dim=64, depth=3, heads=4),
    "small": Preset(dim=128, depth=4, heads=8),
    "base": Preset(dim=256, depth=6, heads=8),
    "large": Preset(dim=512, depth=10, heads=16),
}
