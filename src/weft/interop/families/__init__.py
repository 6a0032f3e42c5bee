"""The model types that weft reads and writes, by their name in config.json. One file a type, or a few close ones.

gpt2, gpt_neo, gptj, gpt_neox, opt, llama, qwen, smollm3, phi3, gemma, mixtures      language models (Phi in gptj)
bert, distilbert, electra, albert, mpnet, modernbert, deberta                        text encoders
marian, bart, mbart, t5                                                              encoder–decoders
vit, deit, vit_mae, dinov2, dinov3, resnet, convnext, swin                                   pictures
vision_encoder_decoder, clip, siglip, vilt, blip, git                                        pictures and texts

parts, rope, headless                   parts of many families; rotary turns; what a model without a head is for
bert_decoder, trocr                     words in BERT's and BART's layers that read a memory
encoder, sizes                          what BERT and its kin share: heads and their rules; sizes
decoder                                 heads of all decoders: the next word, labels, none
rotary_decoder, gemma_kin               what Llama and its kin share; what Gemma 1, 2 and 3 share
pairs                                   what Marian, BART, mBART and M2M100 share
patches, clip_towers                    what ViT, DeiT and ViT-MAE share; CLIP's two towers
"""

from weft.interop.families.albert import Albert
from weft.interop.families.bart import Bart, Pegasus
from weft.interop.families.bert import Bert, Roberta
from weft.interop.families.blip import Blip
from weft.interop.families.clip import Clip, ClipText, ClipVision
from weft.interop.families.convnext import Convnext
from weft.interop.families.deberta import DebertaV2
from weft.interop.families.deit import Deit
from weft.interop.families.dinov2 import Dinov2, Dinov2WithRegisters
from weft.interop.families.dinov3 import Dinov3
from weft.interop.families.distilbert import DistilBert
from weft.interop.families.electra import Electra
from weft.interop.families.gemma import Gemma, Gemma2, Gemma3
from weft.interop.families.git import Git
from weft.interop.families.gpt2 import Gpt2
from weft.interop.families.gpt_neo import GptNeo
from weft.interop.families.gpt_neox import GptNeox
from weft.interop.families.gptj import GptJ, Phi
from weft.interop.families.llama import Llama, Mistral, Olmo2
from weft.interop.families.marian import Marian
from weft.interop.families.mbart import M2m100, Mbart
from weft.interop.families.mixtures import GptOss, Mixtral, Qwen3Moe
from weft.interop.families.modernbert import ModernBert
from weft.interop.families.mpnet import Mpnet
from weft.interop.families.opt import Opt
from weft.interop.families.phi3 import Phi3
from weft.interop.families.qwen import Qwen2, Qwen3
from weft.interop.families.resnet import Resnet
from weft.interop.families.siglip import Siglip, Siglip2, SiglipVision
from weft.interop.families.smollm3 import SmolLm3
from weft.interop.families.swin import Swin
from weft.interop.families.t5 import T5, Mt5, Umt5
from weft.interop.families.vilt import Vilt
from weft.interop.families.vision_encoder_decoder import VisionEncoderDecoder
from weft.interop.families.vit import Vit
from weft.interop.families.vit_mae import VitMae
from weft.interop.family import Family

# A config of ours that several could hold is written as the first of them.
_ALL = (
    Gpt2(),
    Llama(),
    Mistral(),
    Olmo2(),
    Qwen2(),
    Qwen3(),
    SmolLm3(),
    Mixtral(),
    Qwen3Moe(),
    GptOss(),
    Phi3(),
    Gemma(),
    Gemma2(),
    Gemma3(),
    GptNeo(),
    GptJ(),
    Phi(),
    GptNeox(),
    Opt(),
    Bert(),
    DistilBert(),
    Roberta("roberta", "Roberta", 50265),
    Roberta("xlm-roberta", "XLMRoberta", 30522),
    Roberta("camembert", "Camembert", 30522),
    Electra(),
    Albert(),
    Mpnet(),
    ModernBert(),
    DebertaV2(),
    Marian(),
    Bart(),
    Pegasus(),
    Mbart(),
    M2m100(),
    T5(),
    Mt5(),
    Umt5(),
    Vit(),
    Deit(),
    VitMae(),
    Dinov2(),
    Dinov2WithRegisters(),
    Dinov3(),
    Resnet(),
    Convnext(),
    Swin(),
    VisionEncoderDecoder(),
    Vilt(),
    Blip(),
    Git(),
    Clip(),
    ClipVision(),
    ClipText(),
    Siglip(),
    Siglip2(),
    SiglipVision(),
)
FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}

__all__ = ["FAMILIES"]
