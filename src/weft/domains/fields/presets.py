"""The sizes of models of fields on a grid."""

from weft.tasks.preset import Preset

FIELDS = {
    "tiny": Preset(dim=64, depth=2, heads=2, note=": trains in seconds"),
    "mini": Preset(dim=128, depth=4, heads=4),
    "small": Preset(dim=256, depth=6, heads=8),
    "base": Preset(dim=512, depth=8, heads=8),
    "large": Preset(dim=1024, depth=12, heads=16),
}
