"""Pictures and texts in one space, by a run whose model learned it: their vectors, classes by name, and retrieval."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from weft.batches.samples import PaddedIds
from weft.config import Config
from weft.domains.pictures import given as pictures
from weft.domains.pictures.encoded.frames import Frames
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.settings import Ground
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError, DataError, WeftError
from weft.files.decoding import read_text
from weft.files.pictures.formats import named_as_picture
from weft.modalities.text import Text
from weft.models.backbone import context_of
from weft.models.common_space import CommonSpace
from weft.objectives.measures.retrieval import retrieved
from weft.objectives.measures.tallies import Tally
from weft.tasks.asks import Answer, Given, texts_of
from weft.tasks.baselines import Baseline
from weft.tasks.request import Embedded, Loaded, Measured

AT_ONCE = 256  # texts that are computed together
ARTICLES = ("a ", "an ", "the ")
PATTERN = set("*?[")  # signs of a pattern that stands for several files


class Comparing(Config):
    """Settings of vectors."""

    texts: bool = False

    about: ClassVar[Mapping[str, str]] = {"texts": "true: all inputs are texts, those that name files too"}


def model_of(run: Loaded, where: str) -> CommonSpace:
    """The run's model, which must compare pictures with texts."""
    if not isinstance(run.model, CommonSpace):
        problem = f"a {run.config.get('model_name')} has no common space of pictures and texts, and no vectors of them"
        raise WeftError(problem, where=where, fix="train one that has: weft train captions.tsv photos/ --model coca")
    return run.model


# Vectors


def opened_to_compare(words: Sequence[object], how: Comparing) -> Iterator[Given]:
    """The pictures and texts that a user names, in their order.

    A string is a picture, or several, where it names a file or folder or ends like a picture's name; the lines of a
    .txt file are texts; any other string is a text. Arrays are pictures.
    """
    for word in words:
        if isinstance(word, str) and (how.texts or _is_text(word)):
            yield from (Given(text, text) for text in _texts(word, how))
        else:
            yield from pictures.opened_pictures([word])


def embedded(run: Loaded, inputs: Sequence[Given]) -> Embedded:
    """Vectors of pictures and texts, in their order."""
    model_of(run, "weft embed")
    names: list[str] = []
    vectors: list[Tensor] = []
    shown: list[tuple[Frames, int] | None] = []
    for is_text, group in groupby(inputs, lambda one: isinstance(one.value, str)):
        some = list(group)
        if is_text:
            names += [one.name for one in some]
            vectors.append(text_vectors(run, texts_of(some)))
            shown += [None] * len(some)
        else:
            found, frames = pictures.given_pictures(run, some, Ground())
            names += found
            vectors.append(picture_vectors(run, frames))
            shown += [(frames, row) for row in range(len(frames))]
    values = torch.cat(vectors).numpy() if vectors else np.zeros((0, 0), np.float32)
    return Embedded(names, values, lambda i: None if (at := shown[i]) is None else at[0].pictures[at[1]].pixels)


def _is_text(given: str) -> bool:
    """Whether a string is a text, or names texts, rather than pictures."""
    try:
        place = Path(given)
        if place.exists():
            return place.suffix.lower() == ".txt"
    except (OSError, ValueError):  # too long, or with signs that no name has
        return True
    return not (named_as_picture(given) or given.endswith("/") or (PATTERN & set(given) and "/" in given))


def _texts(given: str, how: Comparing) -> list[str]:
    place = Path(given)
    if how.texts or len(given) > 1024 or not place.is_file():
        return [given]
    return [line for line in "".join(read_text(place)).splitlines() if line.strip()]


def picture_vectors(run: Loaded, frames: Frames) -> Tensor:
    """A vector of length 1 for each picture."""
    model = model_of(run, "weft embed")
    return pictures.values_of(run, frames, model.seen)


def text_room(model: CommonSpace, codec: TextCodec) -> int:
    """The most tokens that a text may have between its marks."""
    marks, limit = codec.marks, model.text_reader.embed.limit
    whole = context_of(model.text_reader) - len(marks.before)
    return whole if limit is None else min(whole, limit - len(marks.before) - len(marks.after))


@torch.inference_mode()
def text_vectors(run: Loaded, texts: Sequence[str]) -> Tensor:
    """A vector of length 1 for each text; one that is longer than the model reads is refused."""
    model, codec = model_of(run, "weft embed").eval(), run.codec("caption", TextCodec)
    room, device = text_room(model, codec), next(model.parameters()).device
    rows = codec.ids(texts)
    for text, row in zip(texts, rows, strict=True):
        if not 0 < len(row) <= room:
            problem = f"{text!r:.60} has {len(row)} tokens, and the model reads 1 to {room}"
            raise WeftError(problem, where="text", fix="give a shorter one" if len(row) else "give a text")
    found = []
    for start in range(0, len(rows), AT_ONCE):
        some = PaddedIds.of([codec.marks.around(row) for row in rows[start : start + AT_ONCE]]).to(device)
        found.append(model.worded(Text(some.ids), some.lengths - 1).float().cpu())
    return torch.cat(found) if found else torch.zeros(0, model.vector_width)


# Answers


def named_classes(
    run: Loaded, inputs: Sequence[Given], labels: Sequence[str], templates: Sequence[str]
) -> list[Answer]:
    """For each picture the label whose words have the nearest vector, with the probabilities of all labels.

    A label's vector is the mean over the templates; without any, the label has an article before it, as captions do.
    Where each pair is judged by itself, each probability is one of its own.
    """
    model = model_of(run, "--set labels")
    classes = list(dict.fromkeys(label.strip() for label in labels if label.strip()))
    if len(classes) < 2:
        raise ConfigError(f"expected two labels or more, found {len(classes)}", where="--set labels",
                          fix='separate them by commas: --set labels="cat,dog,horse"')  # fmt: skip
    wrong = [template for template in templates if template.count("{}") != 1]
    if wrong:
        problem = f"expected one {{}} where the label goes, found {wrong[0]!r:.60}"
        raise ConfigError(problem, where="--set template", fix='for example --set template="a photo of a {}"')
    names, frames = pictures.given_pictures(run, inputs, Ground())
    words = [[one.replace("{}", label) for one in templates] or [_with_article(label)] for label in classes]
    means = text_vectors(run, [text for texts in words for text in texts]).unflatten(0, (len(classes), -1)).mean(1)
    cosines = picture_vectors(run, frames) @ torch.nn.functional.normalize(means, dim=-1).T
    with torch.inference_mode():
        shares = model.chances(cosines)
    return [
        Answer(i, {"input": names[i], "label": classes[int(row.argmax())], "probabilities": _rounded(classes, row)})
        for i, row in enumerate(shares)
    ]


def _with_article(label: str) -> str:
    """A label as captions begin: a model that has read 'a red circle' does not know what to make of 'red circle'."""
    if label.lower().startswith(ARTICLES):
        return label
    return f"{'an' if label[0].lower() in 'aeiou' else 'a'} {label}"


def _rounded(classes: Sequence[str], shares: Tensor) -> dict[str, float]:
    order = sorted(range(len(classes)), key=lambda i: -float(shares[i]))
    return {classes[i]: round(float(shares[i]), 6) for i in order}


# Measured


def with_retrieval(measured: Measured, run: Loaded, album: Album) -> Measured:
    """The measures with the recall of pictures by their captions and back; as they are without a common space.

    A model that writes no captions is compared by its recall: with that of a random order.
    """
    if not isinstance(run.model, CommonSpace):
        return measured
    codec = run.codec("caption", TextCodec)
    room = text_room(run.model, codec)
    flat = [(row, text) for row, texts in enumerate(album.captions) for text in texts]
    ids = codec.ids(text for _, text in flat)
    kept = [one for one, row in zip(flat, ids, strict=True) if 0 < len(row) <= room]
    owner, texts = [row for row, _ in kept], [text for _, text in kept]
    if not texts:
        problem = f"no caption fits the {room} tokens that the model reads"
        raise DataError(problem, fix="name shorter ones")
    vectors = picture_vectors(run, pictures.frames_for(run, album)).numpy(), text_vectors(run, texts).numpy()
    found = retrieved(*vectors, texts, owner)
    every = measured.beside(found.measures(), {"candidates": len(album), "candidate_texts": len(texts)})
    if measured.tally is not None:
        return every
    name, group = "recall_at_1", np.array(owner)
    chance = Baseline("chance", "a random order", Tally.means(name, found.chance(), group))
    return replace(every, tally=Tally.means(name, (found.to_picture < 1).astype(float), group), baselines=(chance,))
