"""What all decoders share: they continue texts, give vectors, or label a text by its last token."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor

from weft.core import Head, PerToken, Pooled
from weft.errors import ConfigError
from weft.interop.families.parts import next_word_head
from weft.interop.family import Family, only
from weft.interop.labels import write_labels
from weft.interop.rules import SameTensor, WeightRule
from weft.interop.their_config import TheirConfig
from weft.interop.weight_table import WeightTable
from weft.models.stream import Model, Stream

LABELS = "classify-text"


def decoder_tasks(stem: str, *, words: str = "ForCausalLM", bare: str = "Model") -> dict[str, str | None]:
    """What the architectures of a decoder are for: it continues texts, gives vectors, or labels a text at its end."""
    return {f"{stem}{words}": "language-model", f"{stem}{bare}": None, f"{stem}ForSequenceClassification": LABELS}


class DecoderFamily(Family):
    """A family of decoders; `prefix` is how names of weights begin where there is a head, `last` its last map."""

    prefix: ClassVar[str] = "model."
    last: ClassVar[str] = "lm_head"

    def headed(
        self, stream: Stream.Config, words: PerToken.Config, given: TheirConfig, architecture: str
    ) -> Stream.Config:
        """A stream with the head of an architecture; `words` is the one for the next word."""
        task = self.tasks[architecture]
        if task == LABELS:
            labels = Pooled.Config(last=True, offsets=False, std=words.std)
            return stream.replace(head=labels, outputs=given.labels())
        return stream.replace(head=words if task else None)

    def head_keys(self, stream: Stream.Config, *, tied: bool) -> dict[str, Any]:
        """The keys of config.json for the head; `tied` is whether a model without such a head says so."""
        labels = write_labels(stream.outputs or 0) if isinstance(stream.head, Pooled.Config) else {}
        known = {"architectures": [self._architecture(stream.head)]}
        return {**known, "tie_word_embeddings": getattr(stream.head, "tied", tied), **labels}

    def headed_table(
        self, stream: Stream.Config, body: list[WeightRule], older: Sequence[tuple[str, str]] = ()
    ) -> WeightTable:
        """The rules of a whole model, of which `body` are all but those of the head."""
        if stream.head is None:
            return WeightTable(body)
        rules: list[WeightRule] = [SameTensor("score.weight", "head.out.weight")]
        if not isinstance(stream.head, Pooled.Config):
            offsets = only(stream.head, PerToken.Config, "head").offsets
            rules = [next_word_head(stream.head, self.last)]
            rules += [SameTensor(f"{self.last}.bias", "head.out.bias")] if offsets else []
        return WeightTable(body, rules, prefix=self.prefix, older=older)

    def trial(self, config: Model.Config, inputs: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Theirs labels several texts at once only where an id is known that fills."""
        labels = isinstance(getattr(config, "head", None), Pooled.Config)
        return {name: value[:1].contiguous() for name, value in inputs.items()} if labels else inputs

    def _architecture(self, head: Head.Config | None) -> str:
        """The architecture that has a head; a ConfigError where the family has none with it."""
        wanted = None if head is None else LABELS if isinstance(head, Pooled.Config) else "language-model"
        found = next((name for name, task in self.tasks.items() if task == wanted), None)
        if found is None:
            raise ConfigError(f"head is {type(head).__qualname__.removesuffix('.Config')}, which this family has not")
        return found
