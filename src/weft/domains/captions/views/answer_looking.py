"""A look at a picture and a question with a run that answers: its own answer, or one that is given, word by word."""

import math
from collections.abc import Sequence

from weft.domains.captions.answer_inputs import one_question, scene_asked
from weft.domains.captions.answering import Answering, AnswerWriter, PictureQuestion
from weft.domains.captions.views.answering import AnsweredPicture, LookAtAnswer, answer_view
from weft.domains.pictures.views.learned_view import LearnedView, learned_names
from weft.inspect.views import View
from weft.tasks.asks import Given
from weft.tasks.request import Loaded


def look_at_answer(run: Loaded, inputs: Sequence[Given], how: LookAtAnswer) -> View:
    """What counted for each word of the question and of the answer, or what the embedder learned."""
    how.chosen  # noqa: B018 (settings that contradict each other are refused before anything is computed)
    writer = AnswerWriter(run)
    if how.what is not None:
        return LearnedView(writer.model.source, learned_names(how.what))
    given = one_question(run, inputs, how.question)
    scene = scene_asked(inputs[0])
    known = () if scene is None else scene.album.questions[0]
    asked = [PictureQuestion(0, given.text)]
    codec, score, chance = writer.texts.answer, None, None
    if how.answer is None:
        _, best = writer.answer(given.frames, asked, [Answering(beam=how.beam)])[0][0][0]
        ids, score, chance = best.ids, best.score, math.exp(best.log_probability)
    else:
        ids = tuple(codec.ids([how.answer.strip()])[0].tolist())
    what = AnsweredPicture(
        pixels=given.frames.pictures[0].pixels,
        raw=writer.raw(given.read, given.text),
        question=tuple(writer.texts.question.ids([given.text.strip()])[0].tolist()),
        before=len(writer.texts.question.marks.before),
        opening=tuple(writer.marks.written_from),
        ids=ids,
        title=given.name,
        score=score,
        chance=chance,
        regions=next((one.regions for one in known if one.text == given.text), ()),
    )
    return answer_view(writer.model, codec.tokenizer, what, how)
