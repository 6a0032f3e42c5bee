"""Pictures as studies: a label, a hidden patch that is filled in, a prototype. Knows models and codecs, no files."""

from collections.abc import Sequence

import torch
from torch import Tensor

from weft.domains.pictures.given import backbone_in, classifier_of, one_picture
from weft.domains.pictures.views.vision import LookAtPicture
from weft.errors import ConfigError
from weft.inspect.study import Study, answered, stream_study
from weft.modalities.image import Picture, cut, paste
from weft.models.autoencoder import Autoencoder
from weft.models.distilled import Distilled, summary
from weft.models.stream import Stream
from weft.tasks.asks import Given
from weft.tasks.labels import labelling
from weft.tasks.labels.label import LabelCodec
from weft.tasks.request import Loaded
from weft.tokens import Tokens


def study_picture(run: Loaded, inputs: Sequence[Given], how: LookAtPicture, label: LabelCodec) -> Study:
    """The study of a picture and the label that it is given."""
    stream, (_, _, read) = classifier_of(run), one_picture(run, inputs, how)
    return stream_study(stream, read, names=patch_names(stream, read), **labelling.studied(label))


def study_patch(model: Autoencoder, run: Loaded, inputs: Sequence[Given], how: LookAtPicture) -> Study:
    """The study of one patch that is hidden alone: how bright the encoder's tokens of all others make it.

    Values are the brightness of all patches, from 0 to 255. The patch is that of `how`, else the one in the middle.
    """
    _, _, raw = one_picture(run, inputs, how)
    embed, names = model.encoder.embed, patch_names(model.encoder, raw)
    height, width = raw.pixels.shape[2:]
    rows, columns = (-(-side // embed.patch) for side in (height, width))
    row, column = how.glance.patch or (rows // 2 + 1, columns // 2 + 1)
    if not (1 <= row <= rows and 1 <= column <= columns):
        problem = f"expected a patch from 1,1 to {rows},{columns}, found {row},{column}"
        raise ConfigError(problem, where="patch")
    asked, first = (row - 1) * columns + column - 1, len(names) - rows * columns
    known = embed.readable(raw)
    seen = [n for n in range(rows * columns) if n != asked and (known is None or bool(known[0, n]))]
    shown = torch.tensor([seen], device=raw.pixels.device)

    def read(tokens: Tokens, _: int | None) -> Tensor:
        copies = torch.zeros(tokens.shape[0], dtype=torch.long, device=tokens.x.device)
        decoded = model.decode(tokens, embed.patches(raw).rows(copies), shown[copies])
        made = torch.stack(model.drawn(decoded, height)).sum(0)
        pixels = paste(made.float(), height, width, embed.patch) / embed.scale + embed.mean
        return 255 * cut(pixels.mean(1, keepdim=True), embed.patch).mean(-1)

    return Study(
        model=model.eval(),
        stream="encoder",
        embed=lambda: embed.summarised(embed.patches(raw).take(shown)),
        memory=lambda: None,
        read=read,
        label=lambda n: f"patch {n // columns + 1},{n % columns + 1}, its brightness from 0 to 255",
        tokens={"encoder": (*names[:first], *(names[first + n] for n in seen))},
        answer=asked,
        kind="number",
    )


def study_prototype(model: Distilled, run: Loaded, inputs: Sequence[Given], how: LookAtPicture) -> Study:
    """The study of the prototype that the teacher finds a picture most like."""
    _, _, raw = one_picture(run, inputs, how)
    teacher = backbone_in(run.model)
    study = Study(
        model=model.eval(),
        stream="teacher",
        embed=lambda: teacher.embed(raw),
        memory=lambda: None,
        read=lambda tokens, _: model.alone(model.teacher_says(summary(tokens))).float(),
        label=lambda n: f"prototype {n + 1}",
        tokens={"teacher": tuple(patch_names(teacher, raw))},
    )
    return answered(study)


def patch_names(stream: Stream, read: Picture) -> list[str]:
    """What the tokens of a picture are called: class tokens, then patches by row and column from 1."""
    with torch.no_grad():
        tokens = stream.embed(read)
    count, places = tokens.shape[1], tokens.coords
    if "row" not in places or "column" not in places or places["row"].ndim > 2:
        return [f"patch {n + 1}" for n in range(count)]
    step = stream.config.embed.stride  # type: ignore[attr-defined]
    rows, columns = (-(-side // step) for side in read.pixels.shape[2:])
    first = max(0, count - rows * columns)
    grid = [f"patch {row + 1},{column + 1}" for row in range(rows) for column in range(columns)]
    return ([f"class {n + 1}" if first > 1 else "class" for n in range(first)] + grid)[:count]
