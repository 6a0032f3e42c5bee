"""A look at a text that a run's encoder–decoder writes for another: which words were read for which."""

import math

from weft.domains.pairs.language_choice import in_languages
from weft.domains.pairs.views.translation import LookAtTranslation, TranslationView
from weft.domains.pairs.writing import TextWriter
from weft.generate.decode import Decoding
from weft.inspect.views import LookedAnswer, View
from weft.tasks.request import Loaded


def look_at_writing(run: Loaded, text: str, how: LookAtTranslation, *, called: str) -> View:
    """The alignment of a text with what the model writes for it, or with a target that is given; or one token of it."""
    writer = TextWriter(in_languages(run, how))
    marks = writer.target.marks
    if how.target is None:
        said, best = writer.write([text], Decoding(beam=how.beam))[0][0]
        target = [*marks.written_from[1:], *best.ids]
        answer = LookedAnswer(((said, math.exp(best.log_probability)),), called)
    else:
        target = writer.target_ids([how.target])[0].tolist()
        loss, _ = writer.score([(text, how.target)])
        answer = LookedAnswer(((how.target, math.exp(-loss)),), f"given {called}")
    source = writer.source_ids([text])[0].tolist()
    tokenizer, after = writer.source.tokenizer, writer.source.marks.after
    view = TranslationView(writer.model, tokenizer, source, target, how.chosen, marks=marks, after=after, answer=answer)
    return view if how.token is None else view.step_view(how.token, how.side)
