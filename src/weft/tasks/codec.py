"""Codec: one end of a task's samples. It turns values into numbers and numbers into values.

Opens no user file; knows no model, no order of samples and no chance. What an embedder says already (channels, context,
size of the vocabulary) is not said again.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from weft.config import Config as BaseConfig
from weft.config import Part, from_json
from weft.modalities.embedder import Embedder

ReadFile = Callable[[str], bytes]  # the name of a file in the run folder -> its content


def no_files(name: str) -> bytes:
    """What a codec is given that keeps no file in the run folder: nothing."""
    return b""


class Codec(Part):
    """Stands in config.json under "codecs", by the name of its end: source, target, picture, label …"""

    abstract = True

    class Config(BaseConfig):
        """The kinds of codec."""

    config: Any

    def __init__(self, config: Config, *, read: ReadFile = no_files):
        """`read` gives the content of a file that the codec keeps in the run folder, for codecs that keep some."""
        self.config = config

    def files(self) -> Mapping[str, bytes]:
        """The files that the codec keeps in the run folder, by name."""
        return {}

    def same(self, other: "Codec | None") -> bool:
        """Whether both give every value the same numbers: then a head can be kept, and weights can be averaged."""
        return other is not None and self.config == other.config

    @property
    def named_outputs(self) -> int | None:
        """The number of outputs of a model whose answers this codec names; None where it names none."""
        return None

    def check_fit(self, embed: Embedder.Config, where: str) -> None:
        """Refuse an embedder that was not made for this codec's numbers."""


Codecs = Mapping[str, Codec]
C = TypeVar("C", bound=Codec)


def codec_at(codecs: Codecs, end: str, kind: type[C]) -> C:
    """The codec at one end of a task's samples, which is known to be of this kind."""
    found = codecs[end]
    assert isinstance(found, kind)
    return found


def codecs_from_json(data: Mapping[str, Any], read: ReadFile, where: str) -> dict[str, Codec]:
    """The codecs of a run, by the names of their ends."""
    return {
        name: from_json(one, Codec.Config, where=f"{where}: codecs.{name}").build(read=read)
        for name, one in data.items()
    }
