"""preprocessor_config.json, read and written: how pictures get their size, and the scale of their numbers.

Their processors share one order of steps (colour, resize, crop, rescale, normalise) and differ in what a key that is
left out means. Processors with other steps are refused by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from weft.errors import ConfigError
from weft.interop.their_config import TheirConfig, names
from weft.modalities.image import PictureEmbed
from weft.modalities.preparation import Preparation, Resample

Scale = tuple[
    tuple[float, ...], tuple[float, ...]
]  # mean and standard deviation of each channel, in pixels from 0 to 1
Sides = tuple[int, int]

HALF_SCALE: Scale = ((0.5,), (0.5,))
IMAGENET: Scale = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CLIP_SCALE: Scale = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
PREPROCESSOR_FILE = "preprocessor_config.json"
PROCESSOR_FILE = "processor_config.json"  # of models of pictures and texts; the former may be a part of it
MAX_PIXEL = 255  # of a file of pictures with 8 bits
FILTERS: tuple[Resample, ...] = get_args(Resample)  # the place of a filter here is its number in their files
CROPPED_BELOW = 384  # the size from which on ConvNeXt's processor cuts nothing off
PATCH, MOST_PATCHES = 16, 256  # of SigLIP 2
LONGEST = 1333 / 800  # times the shorter side is the longest that ViLT's processor leaves


@dataclass(frozen=True)
class Processor:
    """What one of their processors does where its file leaves keys out. `square`: one number is both sides."""

    size: int | Sides  # of the shorter side, or height and width
    crop: Sides | None = None
    resample: Resample = "bicubic"
    white: bool = False
    square: bool = False
    scale: Scale = HALF_SCALE
    crop_share: float | None = None  # of a side that is kept, where the size is what is left after cutting
    squares: bool = False  # whether a picture is scaled until its patches fit a maximum number (NaFlex)
    multiple: int | None = None  # that both sides are cut down to, with LONGEST times the shorter side at most


_CLIP = Processor(224, (224, 224), white=True, scale=CLIP_SCALE)
PROCESSORS = {
    "ViTImageProcessor": Processor((224, 224), resample="bilinear", square=True),
    "DeiTImageProcessor": Processor((256, 256), (224, 224), square=True),
    "DINOv3ViTImageProcessor": Processor((224, 224), resample="bilinear", square=True, scale=IMAGENET),
    "ConvNextImageProcessor": Processor(384, crop_share=224 / 256),
    "CLIPImageProcessor": _CLIP,
    "ChineseCLIPImageProcessor": _CLIP,
    "BitImageProcessor": _CLIP,
    "BlipImageProcessor": Processor((384, 384), white=True, square=True, scale=CLIP_SCALE),
    "SiglipImageProcessor": Processor((224, 224), white=True),
    "Siglip2ImageProcessor": Processor((256, 256), resample="bilinear", white=True, squares=True),
    "PvtImageProcessor": Processor((224, 224), square=True, scale=IMAGENET),
    "MobileNetV1ImageProcessor": Processor(256, (224, 224), resample="bilinear"),
    "ViltImageProcessor": Processor(384, multiple=32),
}
HARMLESS = names(
    """image_processor_type feature_extractor_type processor_class return_tensors data_format input_data_format device
    disable_grouping use_fast backend crop_size crop_pct size pad_size resample rescale_factor image_mean image_std
    _valid_processor_keys image_seq_length do_reduce_labels"""
)  # keys that change no number, and those of steps that are switched off


def processor_of(given: TheirConfig, usual: str) -> Processor:
    """The processor that a file names, or the usual one of a family."""
    found = given.data.get("image_processor_type") or given.data.get("feature_extractor_type") or usual
    name = str(found).replace("FeatureExtractor", "ImageProcessor").removesuffix("Fast").removesuffix("Pil")
    if name not in PROCESSORS:
        problem = f"pictures are prepared by {found!r:.80}, whose steps weft does not know"
        raise ConfigError(problem, where=given.where, fix=f"known: {', '.join(PROCESSORS)}")
    return PROCESSORS[name]


def read_preparation(given: TheirConfig, usual: str) -> Preparation:
    """The sizes that a file gives to pictures."""
    known = processor_of(given, usual)
    for step in ("do_flip_channel_order", "use_square_size", "do_thumbnail", "do_align_long_axis"):
        given.only(step, False)
    given.only("do_pad", False, *([True] if known.multiple else []))  # up to the largest of a batch, which is not read
    number = given.whole("resample", FILTERS.index(known.resample), least=0)
    if number >= len(FILTERS):
        raise ConfigError(f"resample is {number}; expected 0 to {len(FILTERS) - 1}", where=given.where)
    made = Preparation(resample=FILTERS[number], white=given.truth("do_convert_rgb", known.white))
    if known.squares:
        given.only("do_resize", True)
        patch, most = given.whole("patch_size", PATCH), given.whole("max_num_patches", MOST_PATCHES)
        return made.replace(multiple=patch, most=most)
    if given.truth("do_resize", True):
        made = made.replace(**_resize(given, known))
    if not given.truth("do_center_crop", known.crop is not None):
        return made
    crop = _fixed(given, "crop_size", known.crop)
    if made.crop not in (None, crop):
        problem = f"pictures are cropped twice, to {list(made.crop or ())} and to {list(crop)}"
        raise ConfigError(problem, where=given.where, fix="leave one of the two out")
    return made.replace(crop=crop)


def read_scale(given: TheirConfig, channels: int, default: Scale) -> Scale:
    """Mean and standard deviation of pixels from 0 to 1, whatever their library multiplies pixels by."""
    if not given.truth("do_normalize", True):
        mean, std = (0.0,) * channels, (1.0,) * channels
    else:
        mean, std = _each(given, "image_mean", default[0]), _each(given, "image_std", default[1])
    factor = given.number("rescale_factor", 1 / MAX_PIXEL) if given.truth("do_rescale", True) else 1.0
    whole = factor * MAX_PIXEL  # what they make of the brightest pixel, which is 1 here
    if abs(whole - 1) < 1e-6:
        return mean, std
    if whole == 0:
        raise ConfigError("rescale_factor is 0", where=given.where)
    return tuple(m / whole for m in mean), tuple(s / whole for s in std)


def write_preprocessor(embed: PictureEmbed.Config, preparation: Preparation | None) -> dict[str, Any]:
    """The preprocessor_config.json that gives their model what ours makes of pixels itself.

    Without a preparation they are scaled to the size that the model learned.
    """
    if preparation is None:
        height, width = (count * embed.stride for count in embed.grid)
        preparation = Preparation(sides=(height, width))
    return {
        "do_center_crop": preparation.crop is not None,
        "do_convert_rgb": preparation.white,
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": any(one is not None for one in (preparation.sides, preparation.shortest, preparation.most)),
        "image_mean": list(embed.mean * (embed.channels // len(embed.mean))),
        "image_processor_type": _processor_for(preparation),
        "image_std": list(embed.std * (embed.channels // len(embed.std))),
        "resample": FILTERS.index(preparation.resample),
        "rescale_factor": 1 / MAX_PIXEL,
        **({} if preparation.crop is None else {"crop_size": _named(preparation.crop)}),
        **_written_size(preparation),
    }


def _resize(given: TheirConfig, known: Processor) -> dict[str, Any]:
    """The fields of a preparation that say how pictures are scaled."""
    size = given.data.get("size", known.size)
    size = known.size if size is None else size
    if isinstance(size, Mapping):
        found = _by_names(given, size)
    elif isinstance(size, list | tuple) or known.square:
        found = {"sides": _fixed(given, "size", known.size if isinstance(known.size, tuple) else None)}
    else:
        found = {"shortest": given.whole("size", size)}
    if known.multiple is not None:
        return _in_multiples(given, found, known.multiple)
    if known.crop_share is None:
        return found
    if set(found) != {"shortest"}:
        raise ConfigError(f"size is {size!r:.80}; its processor knows shortest_edge only", where=given.where)
    edge = found["shortest"]
    share = given.number("crop_pct", known.crop_share)
    if edge >= CROPPED_BELOW:
        return {"sides": (edge, edge)}
    if share <= 0:
        raise ConfigError(f"crop_pct: expected a number above 0, found {share}", where=given.where)
    return {"shortest": int(edge / share), "crop": (edge, edge)}


def _in_multiples(given: TheirConfig, found: dict[str, Any], usual: int) -> dict[str, Any]:
    """The fields where a length of the shorter side is found, and both are cut down to multiples."""
    if set(found) != {"shortest"}:
        raise ConfigError("size: its processor knows shortest_edge only", where=given.where)
    longest = int(LONGEST * found["shortest"])
    return {**found, "longest": longest, "multiple": given.whole("size_divisor", usual)}


def _by_names(given: TheirConfig, size: Mapping[str, Any]) -> dict[str, Any]:
    """What pictures are scaled to, from a size with named keys: both sides, or the shortest and the longest one."""
    inner = given.inner("size")
    assert inner is not None
    keys = {key for key, value in size.items() if value is not None}
    if keys == {"height", "width"}:
        return {"sides": (inner.whole("height"), inner.whole("width"))}
    if keys in ({"shortest_edge"}, {"shortest_edge", "longest_edge"}):
        longest = {"longest": inner.whole("longest_edge")} if "longest_edge" in keys else {}
        return {"shortest": inner.whole("shortest_edge"), **longest}
    problem = f"size has the keys {', '.join(sorted(map(str, keys))) or '(none)'}: weft cannot scale pictures by these"
    fix = "give size as height and width, as shortest_edge, or as shortest_edge and longest_edge"
    raise ConfigError(problem, where=given.where, fix=fix)


def _fixed(given: TheirConfig, key: str, default: Sides | None) -> Sides:
    """A height and a width, as one number, two in a list, or by their names."""
    if not isinstance(given.data.get(key), dict):
        if given.data.get(key) is None and default is not None:
            return default
        return given.sides(key, 0)  # 0 is refused: it is missing
    inner = given.inner(key)
    assert inner is not None
    return inner.whole("height"), inner.whole("width")


def _each(given: TheirConfig, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """A number for each channel, or one for all."""
    return (given.number(key),) if type(given.data.get(key)) in (int, float) else given.numbers(key, default)


def _processor_for(preparation: Preparation) -> str:
    """A processor of theirs with these steps, in earlier versions of their library too."""
    if preparation.most is not None:
        return "Siglip2ImageProcessor"
    if preparation.multiple is not None:
        return "ViltImageProcessor"
    if preparation.sides is None:
        return "CLIPImageProcessor"
    return "ViTImageProcessor" if preparation.crop is None else "DeiTImageProcessor"


def _written_size(preparation: Preparation) -> dict[str, Any]:
    if preparation.most is not None:
        return {"patch_size": preparation.multiple, "max_num_patches": preparation.most}
    if preparation.sides is not None:
        return {"size": _named(preparation.sides)}
    if preparation.multiple is not None:
        if preparation.longest != int(LONGEST * (preparation.shortest or 0)):
            raise ConfigError(f"ViLT's processor knows no longest side of {preparation.longest} pixels")
        return {"size": {"shortest_edge": preparation.shortest}, "size_divisor": preparation.multiple, "do_pad": True}
    edges = {"shortest_edge": preparation.shortest, "longest_edge": preparation.longest}
    found = {name: edge for name, edge in edges.items() if edge is not None}
    return {"size": found} if found else {}


def _named(sides: tuple[int, ...]) -> dict[str, int]:
    return dict(zip(("height", "width"), sides, strict=True))
