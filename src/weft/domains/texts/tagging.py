"""Tags of words by a model, with their probabilities, and in words for a look."""

from collections.abc import Sequence

import torch

from weft.batches.like_lengths import together
from weft.domains.texts.codec.tags import TagCodec
from weft.domains.texts.encoded.tagged import framed, tagged_ids
from weft.domains.texts.views.streams import text_of
from weft.inspect.views import LookedAnswer
from weft.models.backbone import context_of
from weft.tasks.measuring import counted
from weft.tasks.request import Loaded
from weft.training.progress import Progress


def tags_in_words(said: Sequence[str], tags: Sequence[tuple[str, float]]) -> LookedAnswer:
    """The tags of the words that have one, with their probabilities."""
    found = [(f"{word} {tag}", sure) for word, (tag, sure) in zip(said, tags, strict=True) if tag != "O"]
    return LookedAnswer(tuple(found) or (("no word is tagged", None),), "tags")


def tagged(run: Loaded, sentences: Sequence[Sequence[str]], progress: Progress | None = None) -> list[list[str]]:
    """The tags of words."""
    return [[tag for tag, _ in tags] for tags in tagged_surely(run, sentences, progress)]


@torch.inference_mode()
def tagged_surely(
    run: Loaded, sentences: Sequence[Sequence[str]], progress: Progress | None = None
) -> list[list[tuple[str, float]]]:
    """The tags of words with their probabilities.

    Words beyond the model's context have the first tag of all, which is O where there is one, and probability 0.
    """
    model, text, codec = run.stream.eval(), text_of(run.codecs), run.codec("tags", TagCodec)
    unread = [[codec.names[0]] * len(sentence) for sentence in sentences]
    rows = framed(tagged_ids(text, codec, sentences, unread), text, context_of(model.config))
    found = [[(tag, 0.0) for tag in tags] for tags in unread]
    assert model.head is not None
    device = next(model.parameters()).device
    with counted(progress, len(sentences), "sentences") as count:
        for some in together([len(text) for text in rows.texts]):
            part = rows.take(some).to(device)
            at_words, _ = part.wanted.picked(model.encode(part.given.raw()).x)
            sure, best = model.head.values(at_words).float().softmax(-1).max(-1)
            said = iter(zip(best.tolist(), sure.tolist(), strict=True))
            for i in some:
                for place in range(len(rows.places[i])):
                    tag, chance = next(said)
                    found[i][place] = codec.names[tag], chance
            count(len(some))
    return found
