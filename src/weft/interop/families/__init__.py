"""The model types that weft reads and writes, by the name that config.json has for them."""

from weft.interop.families.deit import Deit
from weft.interop.families.gpt2 import Gpt2
from weft.interop.families.llama import Llama
from weft.interop.families.resnet import Resnet
from weft.interop.families.vision_encoder_decoder import VisionEncoderDecoder
from weft.interop.families.vit import Vit
from weft.interop.families.vit_mae import VitMae
from weft.interop.family import Family

# A config of ours that several could hold is written as the first of them.
FAMILIES: dict[str, Family] = {
    family.name: family for family in (Gpt2(), Llama(), Vit(), Deit(), VitMae(), Resnet(), VisionEncoderDecoder())
}

__all__ = ["FAMILIES"]
