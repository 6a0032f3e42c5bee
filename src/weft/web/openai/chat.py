"""/v1/chat/completions: talks that are answered, where it is asked for in JSON of a schema."""

import json
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from weft.generate.search import TextLine
from weft.generate.together import Scored
from weft.tasks.asks import Given, Turns
from weft.web.bodies import JsonFields, json_of, typed
from weft.web.openai.answered import events_of, head_of, reason_of, token_text, usage_of
from weft.web.openai.asked import WritingAsked, writer, writing_asked, writing_job
from weft.web.replies import Refusal, reply
from weft.web.sending import EventStream, finished
from weft.web.state import state_of
from weft.web.writing import WritingJob

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


async def chat(request: Request) -> Response:
    """Answer a talk."""
    state = state_of(request)
    fields = await json_of(request, state.limits)
    served = writer(state, fields)
    wanted, likeliest = fields.take("logprobs", bool, False), fields.take("top_logprobs", int, 0)
    limit, form = fields.maybe("max_completion_tokens", int), _schema(fields)
    talk = _turns(fields.take("messages", list, []))
    scored = likeliest if wanted else None
    asked = writing_asked(state, served, fields, [Given(talk)], scored, tokens=limit, shortest=1, schema=form)
    job = writing_job(state, request, asked, False)
    shape = _Chat(asked)
    state.engine.submit(job)
    if asked.stream:
        return EventStream(lambda: events_of(job, asked, shape.part, shape.first), [job])
    await finished(request, job)
    choices = [shape.whole(job, i) for i in range(len(job.lines))]
    notes = list(asked.prompts[0].notes)
    return reply(
        {**shape.head, "choices": choices, "usage": usage_of(job), **({"weft": {"notes": notes}} if notes else {})}
    )


def _turns(messages: list[Any]) -> Turns:
    """A talk; each message has a role and a text, or parts that are texts."""
    said = []
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        fields = JsonFields(message, where)
        role, content = fields.take("role", str, ""), fields.any("content")
        fields.ignore("name", "refusal")
        fields.end()
        if role not in ROLES:
            raise Refusal(400, f"expected a role: {', '.join(ROLES)}", where=where)
        if isinstance(content, list):
            parts = [JsonFields(part, where) for part in content]
            if any(part.any("type") != "text" for part in parts):
                raise Refusal(400, "only texts are read", where=where)
            content = "".join(part.take("text", str, "") for part in parts)
        said.append((ROLES[role], typed(content, str, where)))
    if not said or said[-1][0] == "system":
        raise Refusal(400, "expected messages, the last of a user", where="messages")
    return Turns(tuple(said))


def _schema(fields: JsonFields) -> str | None:
    """The JSON schema that an answer is to fit; None where it may be any text."""
    value = fields.any("response_format")
    if value is None:
        return None
    form = JsonFields(value, "response_format")
    kind = form.take("type", str, "text")
    inside = form.any("json_schema")
    form.end()
    if kind == "json_object":
        return '{"type": "object"}'
    if kind == "json_schema":
        return json.dumps(
            typed(JsonFields(inside, "response_format.json_schema").any("schema"), dict, "response_format")
        )
    if kind != "text":
        raise Refusal(400, "expected text, json_object or json_schema", where="response_format.type")
    return None


class _Chat:
    """Answers of /v1/chat/completions."""

    def __init__(self, asked: WritingAsked):
        self.asked = asked
        self.head = head_of("chat.completion.chunk" if asked.stream else "chat.completion", "chatcmpl", asked.served)

    def whole(self, job: WritingJob, index: int) -> dict[str, Any]:
        """The whole of an answer."""
        line: TextLine = job.lines[index]
        message = {"role": "assistant", "content": line.text.strip(), "refusal": None}
        logprobs = self._logprobs(job.lines[index].scored)
        return {"index": index, "message": message, "logprobs": logprobs, "finish_reason": reason_of(line.ended)}

    def first(self, index: int) -> dict[str, Any]:
        """The beginning of an answer."""
        delta = {"role": "assistant", "content": ""}
        return {**self.head, "choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": None}]}

    def part(
        self, job: WritingJob, index: int, text: str, scored: Sequence[Scored], ended: str | None
    ) -> dict[str, Any]:
        """What is new of an answer."""
        delta, reason = {"content": text} if text else {}, reason_of(ended)
        choice = {"index": index, "delta": delta, "logprobs": self._logprobs(scored), "finish_reason": reason}
        return {**self.head, "choices": [choice]}

    def _logprobs(self, scored: Sequence[Scored]) -> dict[str, Any] | None:
        if self.asked.likeliest is None:
            return None
        tokenizer = self.asked.prompts[0].tokenizer

        def entry(id: int, value: float) -> dict[str, Any]:
            text = token_text(tokenizer, id)
            return {"token": text, "logprob": value, "bytes": list(text.encode("utf-8", "replace"))}

        return {
            "content": [
                {
                    **entry(one.id, one.log_probability or 0.0),
                    "top_logprobs": [entry(*best) for best in one.likeliest[: self.asked.likeliest]],
                }
                for one in scored
            ]
        }
