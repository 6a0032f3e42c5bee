"""The sizes of language models and of encoders of texts."""

from weft.tasks.preset import Preset

LANGUAGE = {
    "tiny": Preset(dim=64, depth=2, heads=2, context=64, note=": trains in seconds"),
    "mini": Preset(dim=256, depth=4, heads=8, context=256),
    "small": Preset(dim=384, depth=6, heads=6, context=256),
    "base": Preset(dim=768, depth=12, heads=12, context=1024, note=" (GPT-2)"),
    "large": Preset(dim=1024, depth=24, heads=16, context=1024, note=" (GPT-2 medium)"),
}
ENCODER = {
    "tiny": Preset(dim=64, depth=2, heads=2, context=128, note=": trains in seconds"),
    "mini": Preset(dim=256, depth=4, heads=4, context=256),
    "small": Preset(dim=512, depth=4, heads=8, context=512, note=", model bert"),
    "base": Preset(dim=768, depth=12, heads=12, context=512, note=", model bert (Devlin et al., 2019)"),
    "large": Preset(dim=1024, depth=24, heads=16, context=512, note=", model bert"),
}
