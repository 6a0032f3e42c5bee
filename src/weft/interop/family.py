"""Family: one model_type of Hugging Face's, read and written. A new one is a file in `families/`.

A family says three things of itself: which config of ours a config.json means, which config.json a config of ours
means, and the table of weights. What it writes is checked by reading it again: where that gives another model than
the one that was to be written, there is no counterpart, and the parts that differ are named.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from torch import Tensor

from weft.config import Config
from weft.core.heads import Summary
from weft.errors import ConfigError, listed
from weft.interop.config_diff import differences
from weft.interop.marks import Marks
from weft.interop.their_config import TheirConfig
from weft.interop.weight_table import WeightTable
from weft.modalities.preparation import Preparation
from weft.modalities.text import Text
from weft.models.stream import Model

C = TypeVar("C", bound=Config)

# Their names of activations, the one to write for each of ours last.
ACTIVATIONS: dict[str, str] = {
    "swish": "silu",
    "silu": "silu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "gelu_python": "gelu",
    "gelu": "gelu",
    "relu": "relu",
    "relu2": "relu_squared",
    "quick_gelu": "quick",
    "tanh": "tanh",
}
LABELLED = "Classification"  # in the names of their architectures that answer with a label
THEIR_ACTIVATION = {ours: theirs for theirs, ours in ACTIVATIONS.items()}


class Family(ABC):
    """One model_type."""

    name: ClassVar[str]
    ours: ClassVar[str] = ""  # what weft calls such a model; the family's name where it has no name of its own
    tasks: ClassVar[Mapping[str, str | None]]  # what each architecture is for in weft; the first where none is named
    other_uses: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # tasks that an architecture also serves, where asked
    harmless: ClassVar[frozenset[str]] = frozenset()  # keys of config.json that do not change the numbers
    known_code: ClassVar[frozenset[str]] = (
        frozenset()
    )  # classes of its makers' code in "auto_map", which weft never runs
    settings: ClassVar[Mapping[str, str]] = {}  # keys of config.json that say how it is trained, and our words for them

    def labelled(self, architecture: str) -> bool:
        """Whether such a model answers with a label."""
        return LABELLED in architecture

    @property
    def called(self) -> str:
        """The name of such a model in weft."""
        return self.ours or self.name

    @abstractmethod
    def read(self, given: TheirConfig, architecture: str) -> Model.Config:
        """The model that a config.json describes."""

    @abstractmethod
    def write(self, config: Model.Config) -> dict[str, Any]:
        """The config.json of a model, "architectures" with it; a ConfigError where a part has no counterpart."""

    @abstractmethod
    def table(self, config: Model.Config) -> WeightTable:
        """Which weight is which."""

    def marks(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ids of marks that count ahead of what config.json and generation_config.json say of them."""
        return {}

    def with_marks(self, written: Mapping[str, Any], marks: Marks) -> dict[str, Any]:
        """The config.json of a model with its marks where the family's own keys say them."""
        return dict(written)

    def fitted(self, config: Model.Config, names: Collection[str]) -> Model.Config:
        """The model that a file with tensors of these names holds, where config.json does not say all of it."""
        return config

    def worded(self, config: Model.Config, filler: int | None) -> Model.Config:
        """The config where texts are filled up by the id that the tokenizer says, where it says one."""
        return config

    def prepared(self, config: Model.Config, preprocessor: Mapping[str, Any] | None, where: str) -> Model.Config:
        """The config where inputs are prepared as preprocessor_config.json says; None: there is no such file."""
        return config

    def preparation(
        self, preprocessor: Mapping[str, Any] | None, where: str
    ) -> tuple[Preparation | None, Sequence[str]]:
        """How pictures get their size, as preprocessor_config.json says, and remarks on what is not followed."""
        return None, ()

    def files(self, config: Model.Config, preparation: Preparation | None = None) -> dict[str, Any]:
        """More JSON files that a model needs there, by name; `preparation` says how pictures get their size."""
        return {}

    def completed(self, again: Model.Config, config: Model.Config) -> Model.Config:
        """What the config.json of a config is read as, completed by what the weights and files beside it say."""
        return again

    def as_written(self, written: Mapping[str, Any]) -> "Family":
        """The family for trials of a model whose config.json is this: it may say what a model is shown."""
        return self

    def trial(self, config: Model.Config, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Inputs that both libraries are tried with, and what else theirs needs to compute the same twice."""
        return inputs

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        """What our model computes for inputs under the names that theirs has for them."""
        text = _text(inputs, "input_ids", "attention_mask")
        if "decoder_input_ids" in inputs:
            return model(text, _text(inputs, "decoder_input_ids", "decoder_attention_mask"))
        if isinstance(getattr(model, "head", None), Summary | None):  # theirs gives the tokens too
            return model.encode(text).x  # type: ignore[operator]
        return model(text)

    def counterpart(self, config: Model.Config) -> tuple[dict[str, Any], list[str]]:
        """The config.json of a model, and in what it differs from the model, if it does."""
        written = self.write(config)
        again = self.read(TheirConfig(dict(written), where="config.json"), written["architectures"][0])
        again = self.completed(self.fitted(again, self.table(config).names), config)
        return written, differences(config, again)


def counterpart(
    config: Model.Config, families: Iterable[Family], first: str | None = None
) -> tuple[Family, dict[str, Any]]:
    """The family that computes what a config describes, and its config.json.

    Several may: the one named `first` is asked ahead of the others, which are asked in their order.
    """
    nearest: tuple[str, list[str]] | None = None
    others: list[str] = []  # of another kind altogether
    for family in sorted(families, key=lambda one: one.name != first):
        try:
            written, odd = family.counterpart(config)
        except ConfigError as error:
            others.append(f"{family.name}: {error}")
            continue
        if not odd:
            return family, written
        if nearest is None or len(odd) < len(nearest[1]):
            nearest = family.name, odd
    why = f"the nearest, {nearest[0]}, differs in {listed(nearest[1])}" if nearest else listed(others)
    raise ConfigError(
        f"no model of the Hugging Face library computes this; {why}",
        where="export",
        fix="train with --model gpt, llama, bert, transformer, vit, or resnet and --preset small; or use --to onnx",
    )


def only(part: Any, kind: type[C], what: str) -> C:
    """A part of a config that must be of one kind to have a counterpart."""
    if not isinstance(part, kind):
        found = "nothing" if part is None else type(part).__qualname__.removesuffix(".Config")
        raise ConfigError(f"{what} is {found}, expected {kind.__qualname__.removesuffix('.Config')}")
    return part


def _text(inputs: Mapping[str, Tensor], ids: str, mask: str) -> Text:
    segments = inputs.get("token_type_ids") if ids == "input_ids" else None
    return Text(inputs[ids], inputs[mask].bool() if mask in inputs else None, segments=segments)
