"""How good a run's captions are, beside captions of shuffled pictures, the best for all, and the nearest picture's."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from weft.domains.captions.encoded.captions import SeenCaptions
from weft.domains.captions.measures.captions import CaptionScorer
from weft.domains.captions.measures.known import FILE, KnownCaptions, thumbnails_of
from weft.domains.captions.measures.looking import another, beside, in_words, unseeing
from weft.domains.captions.views.inside import attention_inside, inside_measures, looked_at
from weft.domains.captions.writing import Captioning, PictureWriter
from weft.domains.pairs.measures import translation_measures
from weft.domains.pairs.reading.texts import Held
from weft.domains.pairs.writing import SHOWN
from weft.domains.pictures.encoded.frames import Frames
from weft.domains.pictures.given import frames_for, in_batches
from weft.domains.pictures.reading.album import Album
from weft.inspect.views import NoAttention
from weft.models.dual_encoder import DualEncoder
from weft.objectives.measures.resampling import bootstrap
from weft.objectives.measures.tallies import Tally
from weft.tasks.baselines import Baseline
from weft.tasks.request import Loaded, Measured
from weft.training.progress import Progress


def known_files(encoded: SeenCaptions) -> dict[str, bytes]:
    """What a run keeps of its training pictures."""
    return {FILE: KnownCaptions.of(encoded.train, encoded.data.train.captions).content()}


def measured_captions(run: Loaded, album: Album, progress: Progress) -> Measured:
    """Measures of the captions that a run finds for an album, beside the loss of the album's own and a few examples."""
    if isinstance(run.model, DualEncoder):  # it writes none, and is measured by what it finds alone
        return Measured(len(album), {})
    writer, frames = PictureWriter(run), frames_for(run, album)
    total, tokens = writer.score(frames, album.captions)
    loss = total / max(1, tokens)
    found = [best[0][0] for best in writer.write(frames, run.usual(Captioning), progress)]
    held = [Held(name, tuple(texts)) for name, texts in zip(album.names, album.captions, strict=True)]
    scores, more = translation_measures(found, held, parted=True)
    metrics, looked, tally, plain = _looked(found, album, KnownCaptions.kept_by(run), frames)
    inside, attention = _inside(writer, album)
    first = zip(held[:SHOWN], found[:SHOWN], strict=True)
    examples = [{"input": one.source, "text": text, "references": list(one.references)} for one, text in first]
    intervals = {**looked.pop("intervals"), **more.pop("intervals")}
    every = {**metrics, **scores, **inside, "loss": loss, "perplexity": math.exp(min(loss, 700))}
    said = {"intervals": intervals, **more, **looked, **attention, "tokens": tokens, "samples": examples}
    return Measured(len(held), every, said, tally=tally, baselines=plain)


def _looked(
    found: Sequence[str], album: Album, known: KnownCaptions | None, frames: Frames
) -> tuple[dict[str, float], dict[str, Any], Tally, tuple[Baseline, ...]]:
    """Measures by words, and CIDEr-D beside that of captions that were not written for the picture."""
    scorer = CaptionScorer(album.captions)
    own = scorer(found)
    metrics = own.means()
    places = another(album.names)
    others = {"shuffled": scorer.cider_d([found[place] for place in places])} if len(found) > 1 else {}
    if known is not None:
        others["constant"] = scorer.cider_d_of_one(known.constant)
        others["nearest"] = scorer.cider_d(known.nearest(thumbnails_of(frames)))
    compared = beside(own.cider_d, others)
    metrics |= {f"{name}_cider_d": one["score"] for name, one in compared.items()}
    more = {
        "intervals": bootstrap(len(found), own.means),
        "beside": compared,
        "looked": in_words("CIDEr-D", "caption", metrics["cider_d"], compared),
        **({} if known is None else {"constant_caption": known.constant}),
    }
    return metrics, more, Tally.means("cider_d", own.cider_d), unseeing("cider_d", "caption", others)


def _inside(writer: PictureWriter, album: Album) -> tuple[dict[str, float], Mapping[str, Any]]:
    """With true captions: the share of attention inside the regions of words; nothing without regions or attention."""
    rows = [row for row, regions in enumerate(album.regions) if any(regions)]
    some = album.take(looked_at(rows))
    try:
        found = _shares(writer, some) if rows else []
    except NoAttention:  # the model reads a picture as one vector
        found = []
    return inside_measures(found, len(some))


def _shares(writer: PictureWriter, album: Album) -> list[tuple[float, float]]:
    """For each word with a region, in the first caption of a picture: its share of the attention and of the picture."""
    found = list[tuple[float, float]]()
    tokenizer, opening = writer.caption.tokenizer, writer.marks.written_from
    for (row,), picture in in_batches(writer.run, frames_for(writer.run, album), Progress(quiet=True), at_once=1):
        text, regions = next(pair for pair in zip(album.captions[row], album.regions[row], strict=True) if pair[1])
        if writer.marks.fits(tokenizer.encode(text), writer.context):
            found += attention_inside(writer.model, picture, text, regions, tokenizer, opening)
    return found
