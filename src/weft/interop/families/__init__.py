"""The model types that weft reads and writes, by the name that config.json has for them."""

from weft.interop.families.albert import Albert
from weft.interop.families.bart import Bart
from weft.interop.families.bert import Bert, Roberta
from weft.interop.families.clip import Clip, ClipText, ClipVision
from weft.interop.families.convnext import Convnext
from weft.interop.families.deit import Deit
from weft.interop.families.distilbert import DistilBert
from weft.interop.families.gpt2 import Gpt2
from weft.interop.families.llama import Llama
from weft.interop.families.marian import Marian
from weft.interop.families.resnet import Resnet
from weft.interop.families.swin import Swin
from weft.interop.families.t5 import T5
from weft.interop.families.vision_encoder_decoder import VisionEncoderDecoder
from weft.interop.families.vit import Vit
from weft.interop.families.vit_mae import VitMae
from weft.interop.family import Family

# A config of ours that several could hold is written as the first of them.
_ALL = (
    Gpt2(),
    Llama(),
    Bert(),
    DistilBert(),
    Roberta("roberta", "Roberta", 50265),
    Roberta("xlm-roberta", "XLMRoberta", 30522),
    Albert(),
    Marian(),
    Bart(),
    T5(),
    Vit(),
    Deit(),
    VitMae(),
    Resnet(),
    Convnext(),
    Swin(),
    VisionEncoderDecoder(),
    Clip(),
    ClipVision(),
    ClipText(),
)
FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}

__all__ = ["FAMILIES"]
