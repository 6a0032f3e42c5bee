"""The sizes of coordinate networks."""

from weft.tasks.preset import Preset

PLACES = {
    "tiny": Preset(dim=64, depth=2, note=": trains in seconds"),
    "mini": Preset(dim=128, depth=3),
    "small": Preset(dim=256, depth=4),
    "base": Preset(dim=512, depth=5),
}
