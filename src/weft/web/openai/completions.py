"""/v1/completions: prompts that are continued, and scored."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from weft.generate.together import Scored
from weft.modalities.tokenizer import Tokenizer
from weft.tasks.asks import Given
from weft.web.bodies import json_of, typed
from weft.web.openai.answered import events_of, head_of, reason_of, token_text, usage_of
from weft.web.openai.asked import WritingAsked, writer, writing_asked, writing_job
from weft.web.replies import Refusal, reply
from weft.web.sending import EventStream, finished
from weft.web.state import ServerState, state_of
from weft.web.writing import WritingJob

FEW_TOKENS = 16  # of a completion, where a request says nothing


async def completions(request: Request) -> Response:
    """Continue prompts."""
    state = state_of(request)
    fields = await json_of(request, state.limits)
    served = writer(state, fields)
    echo, likeliest = fields.take("echo", bool, False), fields.maybe("logprobs", int)
    if fields.any("best_of") not in (None, 1):
        raise Refusal(400, "only the samples that are asked for are made", where="best_of", fix="use n")
    prompts = _prompt_values(fields.any("prompt"), state)
    asked = writing_asked(state, served, fields, prompts, likeliest, tokens=FEW_TOKENS, shortest=0)
    job = writing_job(state, request, asked, echo)
    shape = _Completion(asked, echo)
    state.engine.submit(job)
    if asked.stream:
        return EventStream(lambda: events_of(job, asked, shape.part), [job])
    await finished(request, job)
    choices = [shape.whole(job, i) for i in range(len(job.lines))]
    return reply({**shape.head, "choices": choices, "usage": usage_of(job)})


def _prompt_values(value: Any, state: ServerState) -> list[Given | list[int]]:
    """Prompts: a text, ids, or a list of either."""
    many = [""] if value is None else [value] if isinstance(value, str) else typed(value, list, "prompt")
    if many and all(isinstance(one, int) and not isinstance(one, bool) for one in many):
        many = [many]
    if not 1 <= len(many) <= state.limits.rows:
        raise Refusal(400, f"expected from 1 to {state.limits.rows} prompts", where="prompt")
    found: list[Given | list[int]] = []
    for one in many:
        if isinstance(one, str):
            found.append(Given(one))
        elif isinstance(one, list) and one and all(isinstance(id, int) and not isinstance(id, bool) for id in one):
            found.append(one)
        else:
            raise Refusal(400, "expected a text, or the ids of tokens", where="prompt")
    return found


class _Completion:
    """Answers of /v1/completions."""

    def __init__(self, asked: WritingAsked, echo: bool):
        self.asked, self.echo = asked, echo
        self.head = head_of("text_completion", "cmpl", asked.served)
        self._length = [0] * (asked.samples * len(asked.prompts))  # characters that were told of each line
        self._begun = [False] * len(self._length)

    def whole(self, job: WritingJob, index: int) -> dict[str, Any]:
        """The whole of a line."""
        line = job.lines[index]
        return self._choice(job, index, line.text, line.scored, line.ended)

    def part(
        self, job: WritingJob, index: int, text: str, scored: Sequence[Scored], ended: str | None
    ) -> dict[str, Any]:
        """What is new of a line."""
        return {**self.head, "choices": [self._choice(job, index, text, scored, ended)]}

    def _choice(
        self, job: WritingJob, index: int, text: str, scored: Sequence[Scored], ended: str | None
    ) -> dict[str, Any]:
        prompt, tokens = job.prompts[index // self.asked.samples], list(scored)
        if self.echo and not self._begun[index]:
            text = prompt.tokenizer.decode(prompt.ids) + text
            tokens = [*(job.echoed[index // self.asked.samples] if job.echoed else ()), *tokens]
        self._begun[index] = True
        logprobs = None
        if self.asked.likeliest is not None:
            logprobs = _logprobs(prompt.tokenizer, tokens, self._length[index])
        self._length[index] += len(text)
        return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": reason_of(ended)}


def _logprobs(tokenizer: Tokenizer, scored: Sequence[Scored], start: int) -> dict[str, Any]:
    """Log-probabilities in the shape of completions; offsets are in characters of the text."""
    tokens, offsets, place = [token_text(tokenizer, one.id) for one in scored], list[int](), start
    for token in tokens:
        offsets.append(place)
        place += len(token)
    best = [
        None if one.log_probability is None else {token_text(tokenizer, id): p for id, p in one.likeliest}
        for one in scored
    ]
    chances = [one.log_probability for one in scored]
    return {"tokens": tokens, "token_logprobs": chances, "top_logprobs": best, "text_offset": offsets}
