"""The sizes of models that read pictures."""

from dataclasses import dataclass

from weft.tasks.preset import Preset

PATCHES = ", patches of {patch} pixels"


@dataclass(frozen=True)
class PicturePreset(Preset):
    """A size with the side of a patch in pixels."""

    patch: int = 16


PICTURES = {
    "tiny": PicturePreset(dim=64, depth=2, heads=2, note=": trains in seconds"),
    "mini": PicturePreset(dim=96, depth=4, heads=3, patch=4, note=f"{PATCHES}; for pictures of 28 to 64 pixels"),
    "thumbnail": PicturePreset(dim=192, depth=6, heads=3, patch=4, note=f"{PATCHES}; for pictures of 28 to 64 pixels"),
    "small": PicturePreset(dim=384, depth=12, heads=6, note=f"{PATCHES} (ViT-S)"),
    "base": PicturePreset(dim=768, depth=12, heads=12, note=f"{PATCHES} (ViT-B)"),
    "large": PicturePreset(dim=1024, depth=24, heads=16, note=f"{PATCHES} (ViT-L)"),
}
