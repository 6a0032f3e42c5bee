"""A look at a picture with a run that writes about pictures: its own caption, or one that is given, word by word."""

from weft.data.images.settings import Ground
from weft.inspect.captioning import LookAtCaption, Written, caption_words
from weft.inspect.picture_words_view import look_at_words
from weft.inspect.views import View
from weft.inspect.vision import LearnedView, learned_names
from weft.tasks.picture_writing import Captioning, PictureWriter
from weft.tasks.pictures import one_picture
from weft.tasks.request import Loaded


def look_at_caption(run: Loaded, input: object, how: LookAtCaption) -> View:
    """What counted for each word, or what the embedder learned."""
    how.chosen  # noqa: B018 (settings that contradict each other are refused before anything is computed)
    writer = PictureWriter(run)
    if how.what is not None:
        return LearnedView(writer.model.source, learned_names(how.what))
    name, picture, read = one_picture(run, input, Ground())
    if how.caption is None:
        _, best = writer.written(read, Captioning(beam=how.beam))[0][0]
        ids, score = best.ids, best.score
    else:
        ids, score = tuple(writer.caption.tokenizer.encode(how.caption).tolist()), None
    what = Written(picture.pixels, read, writer.marks.written_from, ids, name, score)
    return look_at_words(caption_words(writer.model, writer.caption.tokenizer, what, how.by), how)
