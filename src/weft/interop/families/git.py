"""GIT: the tokens of a picture stand before words in one line, which goes on with a caption or an answer."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from weft.core import LayerNorm, PerToken, Summary
from weft.errors import ConfigError
from weft.interop.families import clip_towers as towers
from weft.interop.families.bert import bert_keys, bert_sizes
from weft.interop.families.bert_decoder import behind_memory, body_rules
from weft.interop.families.parts import layer_norm, linear, next_word_head
from weft.interop.families.sizes import Sizes
from weft.interop.family import only
from weft.interop.marks import Marks
from weft.interop.pictures import PictureFamily, seen
from weft.interop.preprocessors import CLIP_SCALE
from weft.interop.rules import SameTensor
from weft.interop.their_config import TheirConfig, names
from weft.interop.weight_table import WeightTable
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream

_WORDS = {"num_hidden_layers": 6, "max_position_embeddings": 1024, "type_vocab_size": 0}
START, END = 101, 102  # ids that begin and end a text where config.json does not say it


class Git(PictureFamily):
    """GitForCausalLM (Wang et al., 2022): CLIP's tower of pictures, a map with a norm, and words in BERT's layers."""

    name = "git"
    tasks = {"GitForCausalLM": "caption"}
    other_uses = {"GitForCausalLM": ("answer",)}
    scale = CLIP_SCALE
    processor = "CLIPImageProcessor"
    harmless = names("attention_probs_dropout_prob attention_dropout projection_dim")

    def read(self, given: TheirConfig, architecture: str) -> Seq2Seq.Config:
        given.only("num_image_with_embedding")  # for films
        eyes = given.inner("vision_config") or TheirConfig({}, given.where)
        picture, sizes = towers.read_pictures(eyes, patch=16), bert_sizes(given, _WORDS)
        norm = only(picture.head, Summary.Config, "head").norm
        head = PerToken.Config(tied=given.truth("tie_word_embeddings", False), offsets=True, std=sizes.std)
        return Seq2Seq.Config(
            source=picture.replace(head=None, trunk=picture.trunk.replace(norm=norm)),
            target=behind_memory(sizes).replace(head=head),
            bridge=sizes.dim,
            bridge_norm=norm,
        )

    def marks(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Their library writes from the beginning on."""
        start = data.get("bos_token_id", START)
        return {"bos_token_id": start, "decoder_start_token_id": start, "eos_token_id": data.get("eos_token_id", END)}

    def with_marks(self, written: Mapping[str, Any], marks: Marks) -> dict[str, Any]:
        return {**written, **({} if marks.start is None else {"bos_token_id": marks.start})}

    def write(self, config: Model.Config) -> dict[str, Any]:
        whole = only(config, Seq2Seq.Config, "the model")
        sizes, picture = Sizes.of(whole.target), _tower(whole)
        keys = {key: value for key, value in bert_keys(sizes).items() if key != "type_vocab_size"}
        return {
            "model_type": self.name,
            "architectures": ["GitForCausalLM"],
            **keys,
            "initializer_range": sizes.std,
            "tie_word_embeddings": only(whole.target.head, PerToken.Config, "head").tied,
            "vision_config": {"model_type": "git_vision_model", **towers.write_pictures(picture)},
        }

    def table(self, config: Model.Config) -> WeightTable:
        whole = only(config, Seq2Seq.Config, "the model")
        rules = [rule.under("git.", "target.") for rule in body_rules(whole.target)]
        eyes = "git.image_encoder.vision_model."
        rules += [rule.under(eyes, "source.") for rule in towers.picture_rules(_tower(whole), "trunk.norm")]
        rules += linear("git.visual_projection.visual_projection.0", "bridge")
        rules += layer_norm("git.visual_projection.visual_projection.1", "bridge_norm")
        rules += [next_word_head(_head(whole), "output").under("", "target.")]
        return WeightTable([*rules, SameTensor("output.bias", "target.head.out.bias")])

    def trial(self, config: Model.Config, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return {"pixel_values": inputs["pixel_values"], "input_ids": inputs["decoder_input_ids"]}

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        return model(seen(model, inputs["pixel_values"]), Text(inputs["input_ids"]))


def _head(whole: Seq2Seq.Config) -> PerToken.Config:
    return only(whole.target.head, PerToken.Config, "head")


def _tower(whole: Seq2Seq.Config) -> Stream.Config:
    """The encoder as CLIP's tower: its last norm stands in the head there."""
    picture = only(whole.source, Stream.Config, "the encoder")
    if whole.bridge is None or whole.bridge_norm is None:
        raise ConfigError("GIT has a map with a norm between pictures and words")
    return picture.replace(head=Summary.Config(first=True, norm=only(picture.trunk.norm, LayerNorm.Config, "norm")))
