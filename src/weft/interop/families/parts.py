"""Rules for parts that many families have."""

from collections.abc import Iterable, Mapping

from torch import Tensor

from weft.core import Head, PerToken, Pooled
from weft.errors import ConfigError
from weft.interop.family import only
from weft.interop.rules import JoinedRows, SameTensor, Tied, WeightRule
from weft.models.outline import outline, own_tensors
from weft.models.stream import Model


def linear(theirs: str, ours: str, *, offsets: bool = True) -> list[WeightRule]:
    """A linear map, with offsets or without."""
    ends = ("weight", "bias") if offsets else ("weight",)
    return [SameTensor(f"{theirs}.{end}", f"{ours}.{end}") for end in ends]


def layer_norm(theirs: str, ours: str, *, offsets: bool = True) -> list[WeightRule]:
    """A layer norm with gain, and with offset or without."""
    gain: list[WeightRule] = [SameTensor(f"{theirs}.weight", f"{ours}.gain")]
    return [*gain, SameTensor(f"{theirs}.bias", f"{ours}.offset")] if offsets else gain


def joined(theirs: tuple[str, ...], ours: str) -> list[WeightRule]:
    """The rules of maps that are one of ours."""
    return [JoinedRows(tuple(f"{name}.{end}" for name in theirs), f"{ours}.{end}") for end in ("weight", "bias")]


def next_word_head(head: Head.Config, theirs: str = "lm_head") -> WeightRule:
    """The matrix of a language model's head: the embedding table, or a tensor in its own right."""
    tied = only(head, PerToken.Config, "head").tied
    kind, ours = (Tied, "embed.table.weight") if tied else (SameTensor, "head.out.weight")
    return kind(f"{theirs}.weight", ours)


def decoder_tasks(stem: str) -> dict[str, str | None]:
    """What the architectures of a decoder are for: it continues texts, gives vectors, or labels a text at its end."""
    labels = {f"{stem}ForSequenceClassification": "classify-text"}
    return {f"{stem}ForCausalLM": "language-model", f"{stem}Model": None, **labels}


def decoder_head(task: str | None, *, tied: bool, std: float) -> Head.Config | None:
    """The head of a decoder: logits of the next word, labels read off the last token, or none."""
    if task == "classify-text":
        return Pooled.Config(last=True, offsets=False, std=std)
    return PerToken.Config(tied=tied, std=std) if task else None


def decoder_architecture(tasks: Mapping[str, str | None], head: Head.Config | None) -> str:
    """The architecture that has a head; a ConfigError where the family has none with it."""
    wanted = None if head is None else "classify-text" if isinstance(head, Pooled.Config) else "language-model"
    found = next((name for name, task in tasks.items() if task == wanted), None)
    if found is None:
        raise ConfigError(f"head is {type(head).__qualname__.removesuffix('.Config')}, which this family has not")
    return found


def decoder_head_rules(head: Head.Config) -> list[WeightRule]:
    """The rules of a decoder's head."""
    labels = isinstance(head, Pooled.Config)
    return [SameTensor("score.weight", "head.out.weight")] if labels else [next_word_head(head)]


def one_text(head: Head.Config | None, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Inputs to try a decoder on: theirs labels several texts at once only where an id is known that fills."""
    labels = isinstance(head, Pooled.Config)
    return {name: value[:1].contiguous() for name, value in inputs.items()} if labels else inputs


def there(rules: Iterable[WeightRule], config: Model.Config) -> list[WeightRule]:
    """The rules without those of tensors that a model does not have: offsets and gains that were left out."""
    own = own_tensors(outline(config))
    return [rule for rule in rules if all(name in own for name in rule.uses())]
