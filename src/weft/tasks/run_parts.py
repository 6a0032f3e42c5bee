"""What a run of each task is made of. A config.json that says otherwise is refused when the run is opened.

Tasks may then rely on the kinds of their codecs, of their model and of what embeds its input.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.codecs.classes import ClassCodec
from weft.codecs.codec import Codec, Codecs
from weft.codecs.field import FieldCodec
from weft.codecs.gaps import GapCodec
from weft.codecs.graph import GraphCodec
from weft.codecs.label import LabelCodec
from weft.codecs.picture import PictureCodec
from weft.codecs.places import PlaceCodec
from weft.codecs.symbols import SymbolCodec
from weft.codecs.tags import TagCodec
from weft.codecs.text import TextCodec
from weft.codecs.usual_answers import UsualAnswers
from weft.codecs.words import WordCodec
from weft.errors import ConfigError
from weft.modalities.embedder import Embedder
from weft.modalities.field import FieldEmbed
from weft.modalities.graph_embed import GraphEmbed
from weft.modalities.image import PictureEmbed
from weft.modalities.picture_text import PictureTextEmbed
from weft.modalities.points import PointEmbed
from weft.modalities.text import TextEmbed
from weft.models.autoencoder import Autoencoder
from weft.models.distilled import Distilled
from weft.models.dual_encoder import DualEncoder
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.word_vectors import WordVectors


@dataclass(frozen=True)
class RunParts:
    """The kinds of codec by end, of which any may stand there, of model, and of what embeds the model's input."""

    ends: Mapping[str, type[Codec] | tuple[type[Codec], ...]]
    models: tuple[type[Model], ...]
    embed: type[Embedder] | None


PARTS: Mapping[str, RunParts] = {
    "language-model": RunParts({"text": TextCodec}, (Stream,), TextEmbed),
    "fill-mask": RunParts({"text": TextCodec}, (Stream,), TextEmbed),
    "translate": RunParts({"source": TextCodec, "target": TextCodec}, (Seq2Seq,), TextEmbed),
    "parse": RunParts({"source": TextCodec, "target": (TextCodec, SymbolCodec)}, (Seq2Seq,), TextEmbed),
    "classify-text": RunParts({"text": TextCodec, "label": LabelCodec}, (Stream,), TextEmbed),
    "tag-text": RunParts({"text": TextCodec, "tags": TagCodec}, (Stream,), TextEmbed),
    "classify-images": RunParts({"picture": PictureCodec, "label": LabelCodec}, (Stream,), PictureEmbed),
    "reconstruct-images": RunParts({"picture": PictureCodec}, (Autoencoder,), PictureEmbed),
    "distill-images": RunParts({"picture": PictureCodec}, (Distilled, Stream), PictureEmbed),
    "caption": RunParts({"picture": PictureCodec, "caption": TextCodec}, (Seq2Seq, DualEncoder), PictureEmbed),
    "answer": RunParts(
        {"picture": PictureCodec, "question": TextCodec, "answer": TextCodec, "usual": UsualAnswers},
        (Seq2Seq,),
        PictureTextEmbed,
    ),
    "forecast": RunParts({"field": FieldCodec}, (Stream,), FieldEmbed),
    "fit-field": RunParts({"place": PlaceCodec, "label": LabelCodec}, (Stream,), PointEmbed),
    "embed-words": RunParts({"word": WordCodec}, (WordVectors,), None),
    "graph": RunParts({"graph": GraphCodec, "label": LabelCodec}, (Stream,), GraphEmbed),
    "sets": RunParts({"graph": GraphCodec, "label": LabelCodec}, (Stream,), GraphEmbed),
}

TAGGED_PARSE = RunParts({"text": TextCodec, "gaps": GapCodec}, (Stream,), TextEmbed)  # of a run whose codecs have gaps


def check_parts(task: str, codecs: Codecs, model: Model.Config, where: str, *, imported: bool) -> None:
    """Refuse a run whose parts are not those of its task. An imported model may come without codecs."""
    parts = TAGGED_PARSE if task == "parse" and "gaps" in codecs else PARTS[task]
    if not isinstance(model, tuple(kind.Config for kind in parts.models)):
        kinds = " or ".join(kind.__name__ for kind in parts.models)
        raise ConfigError(f"a run of the task {task} has a {kinds}", where=f"{where}: model")
    if parts.embed is not None and not isinstance(model.reader().embed, parts.embed.Config):
        problem = f"a run of the task {task} reads its input by a {parts.embed.__name__}"
        raise ConfigError(problem, where=f"{where}: model")
    for name, kind in parts.ends.items():
        if not isinstance(codecs.get(name), kind) and not (imported and name not in codecs):
            kinds = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
            raise ConfigError(f"a run of the task {task} has a {kinds} here", where=f"{where}: codecs.{name}")
    for name in ("label", "tags", "gaps"):
        codec = codecs.get(name)
        outputs = model.outputs if isinstance(model, Stream.Config) and model.head is not None else None
        names = _outputs_for(codec)
        if names is not None and outputs not in (None, names):
            problem = f"there are {names} names, and the model has {outputs} outputs"
            fix = "config.json and the weights are of different runs"
            raise ConfigError(problem, where=f"{where}: codecs.{name}", fix=fix)


def _outputs_for(codec: Codec | None) -> int | None:
    """The number of outputs of a model whose answers this codec names; None where it does not say."""
    if isinstance(codec, ClassCodec | TagCodec):
        return len(codec.names)
    return sum(codec.sizes) if isinstance(codec, GapCodec) else None
