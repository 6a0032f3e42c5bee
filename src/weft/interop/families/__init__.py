"""The model types that weft reads and writes, by the name that config.json has for them."""

from weft.interop.families.albert import Albert
from weft.interop.families.bart import Bart
from weft.interop.families.bert import Bert, Roberta
from weft.interop.families.deit import Deit
from weft.interop.families.dinov2 import Dinov2
from weft.interop.families.distilbert import DistilBert
from weft.interop.families.gpt2 import Gpt2
from weft.interop.families.llama import Llama
from weft.interop.families.marian import Marian
from weft.interop.families.mbart import M2m100, Mbart
from weft.interop.families.resnet import Resnet
from weft.interop.families.t5 import T5, Mt5
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
    Mbart(),
    M2m100(),
    T5(),
    Mt5(),
    Vit(),
    Deit(),
    VitMae(),
    Dinov2(),
    Resnet(),
    VisionEncoderDecoder(),
)
FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}

__all__ = ["FAMILIES"]
