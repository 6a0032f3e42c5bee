"""/v1/models, /v1/completions, /v1/chat/completions and /v1/embeddings, in the shape of OpenAI's API.

What would change an answer and is not known is refused; what changes nothing is let pass. The field `weft` has further
settings of the run (top_k, min_p, precision …).
"""

import base64
import json
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from weft.config import Config
from weft.errors import nearest
from weft.generate.prompts import Prompt
from weft.generate.search import TextLine
from weft.generate.together import Scored
from weft.modalities.tokenizer import Tokenizer
from weft.runs.asking import checked
from weft.tasks.asks import Given, Turns
from weft.web.bodies import JsonFields, json_of, typed
from weft.web.jobs import END, Cost, WholeJob
from weft.web.predict import settled
from weft.web.replies import DONE, Refusal, event, reply
from weft.web.sending import EventStream, finished
from weft.web.state import ServerState, state_of
from weft.web.table import ServedRun
from weft.web.writing import WritingJob

MOST_STOPS, MOST_LIKELIEST, LONGEST_STOP = 16, 20, 200
FEW_TOKENS = 16  # of a completion, where a request says nothing
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
WITHOUT_EFFECT = (
    "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "parallel_tool_calls",
)  # fmt: skip
UNKNOWN = (
    "presence_penalty", "frequency_penalty", "logit_bias", "suffix", "tools", "tool_choice", "functions",
    "function_call", "modalities", "audio", "prediction", "reasoning_effort", "web_search_options",
)  # fmt: skip


async def models(request: Request) -> Response:
    """All runs that write or give vectors, and how they do it."""
    state = state_of(request)
    return reply({"object": "list", "data": [_model(state, one) for one in state.table.values()]})


async def model(request: Request) -> Response:
    """One run."""
    state = state_of(request)
    return reply(_model(state, _chosen(state, request.path_params["run"], "")))


def _model(state: ServerState, served: ServedRun) -> dict[str, Any]:
    known: dict[str, Any] = {"task": served.run.task.name, "embeddings": served.embeds_texts}
    if served.writes:
        exact = "the same bits alone and beside others" if served.native else "within rounding of the answer alone"
        steps = "native code" if served.native else "modules"
        known |= {"context": served.window, "steps": steps, "answers": exact}
        known["chat"] = "template" if served.talks else "plain turns"
    return {"id": served.name, "object": "model", "created": state.started, "owned_by": "weft", "weft": known}


@dataclass(frozen=True)
class WritingAsked:
    """A request to write, as both routes have it."""

    served: ServedRun
    prompts: Sequence[Prompt]
    samples: int
    likeliest: int | None
    stream: bool
    usage: bool  # of a stream, in its end
    precision: str


async def completions(request: Request) -> Response:
    """Continue prompts."""
    state = state_of(request)
    fields = await json_of(request, state.limits)
    served = _writer(state, fields)
    echo, likeliest = fields.take("echo", bool, False), fields.maybe("logprobs", int)
    if fields.any("best_of") not in (None, 1):
        raise Refusal(400, "only the samples that are asked for are made", where="best_of", fix="use n")
    prompts = _prompt_values(fields.any("prompt"), state)
    asked = _asked(state, served, fields, prompts, likeliest, tokens=FEW_TOKENS, shortest=0)
    job = _job(state, request, asked, echo)
    shape = _Completion(asked, echo)
    state.engine.submit(job)
    if asked.stream:
        return EventStream(lambda: _events(job, asked, shape.part), [job])
    await finished(request, job)
    choices = [shape.whole(job, i) for i in range(len(job.lines))]
    return reply({**shape.head, "choices": choices, "usage": _usage(job)})


async def chat(request: Request) -> Response:
    """Answer a talk."""
    state = state_of(request)
    fields = await json_of(request, state.limits)
    served = _writer(state, fields)
    wanted, likeliest = fields.take("logprobs", bool, False), fields.take("top_logprobs", int, 0)
    limit, form = fields.maybe("max_completion_tokens", int), _schema(fields)
    talk = _turns(fields.take("messages", list, []))
    scored = likeliest if wanted else None
    asked = _asked(state, served, fields, [Given(talk)], scored, tokens=limit, shortest=1, schema=form)
    job = _job(state, request, asked, False)
    shape = _Chat(asked)
    state.engine.submit(job)
    if asked.stream:
        return EventStream(lambda: _events(job, asked, shape.part, shape.first), [job])
    await finished(request, job)
    choices = [shape.whole(job, i) for i in range(len(job.lines))]
    notes = list(asked.prompts[0].notes)
    return reply(
        {**shape.head, "choices": choices, "usage": _usage(job), **({"weft": {"notes": notes}} if notes else {})}
    )


async def embeddings(request: Request) -> Response:
    """Vectors of texts."""
    state = state_of(request)
    fields = await json_of(request, state.limits)
    served = _chosen(state, fields.maybe("model", str), "embeds_texts")
    given, form = fields.any("input"), fields.take("encoding_format", str, "float")
    size, more = fields.maybe("dimensions", int), fields.take("weft", dict, {})
    fields.ignore(*WITHOUT_EFFECT)
    fields.end()
    texts = [given] if isinstance(given, str) else typed(given, list, "input")
    if not 1 <= len(texts) <= state.limits.inputs or not all(isinstance(one, str) and one for one in texts):
        raise Refusal(400, f"expected a text, or from 1 to {state.limits.inputs} texts", where="input")
    if form not in ("float", "base64"):
        raise Refusal(400, "expected float or base64", where="encoding_format")
    cost, how = Cost(int(request.headers.get("content-length", "0"))), checked(served.run, "embed", more, files=False)
    job = WholeJob(served, "embed", [Given(one, one) for one in texts], how, cost=cost, unsent=state.limits.unsent)
    state.engine.submit(job)
    found = await finished(request, job)
    vectors = np.asarray(found, np.float32)
    if size is not None:
        if not 1 <= size <= vectors.shape[1]:
            raise Refusal(400, f"expected from 1 to {vectors.shape[1]}", where="dimensions")
        vectors = vectors[:, :size] / np.maximum(np.linalg.norm(vectors[:, :size], axis=1, keepdims=True), 1e-12)
    data = [
        {"object": "embedding", "index": i, "embedding": one.tolist() if form == "float" else _base64(one)}
        for i, one in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return reply({"object": "list", "data": data, "model": served.name, "usage": usage})


# What is asked


def _writer(state: ServerState, fields: JsonFields) -> ServedRun:
    return _chosen(state, fields.maybe("model", str), "writes")


def _chosen(state: ServerState, name: str | None, quality: str) -> ServedRun:
    """The run of a name; without one, the only run with a quality."""
    able = state.table.having(quality) if quality else list(state.table.values())
    if name is None and len(able) == 1:
        return able[0]
    if name is None:
        raise Refusal(400, "which model?", where="model", fix=f"one of {', '.join(one.name for one in able) or 'none'}")
    found = state.table.get(name)
    if found is None:
        raise Refusal(404, "there is no such model", where="model", fix=nearest(name[:60], state.table))
    if found not in able:
        words = {"writes": "writes no texts", "embeds_texts": "gives no vectors of texts"}
        raise Refusal(400, f"this run {words[quality]}", where="model", fix=f"POST /api/predict/{found.name}")
    return found


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


def _asked(
    state: ServerState,
    served: ServedRun,
    fields: JsonFields,
    given: Sequence[Given | list[int]],
    likeliest: int | None,
    *,
    tokens: int | None,
    shortest: int,
    schema: str | None = None,
) -> WritingAsked:
    """What both routes ask for; the fields that are left are refused."""
    settings: dict[str, Any] = {}
    for name, kind in (("temperature", float), ("top_p", float), ("seed", int)):
        value = fields.maybe(name, kind)
        settings |= {} if value is None else {name: value}
    settings.setdefault("seed", secrets.randbits(32))  # as nobody asks for the same text twice
    said = fields.maybe("max_tokens", int)
    limit = tokens if said is None else said
    if limit is not None and limit < shortest:
        raise Refusal(400, f"expected at least {shortest}", where="max_tokens")
    settings |= {} if limit is None else {"max_tokens": limit}
    settings |= {"stop": stops} if (stops := _stops(fields.any("stop"))) else {}
    samples, stream = fields.take("n", int, 1), fields.take("stream", bool, False)
    options = fields.take("stream_options", dict, {})
    more = fields.take("weft", dict, {})
    if "samples" in more:
        raise Refusal(400, "use n", where="weft.samples")
    for name in UNKNOWN:
        if fields.any(name) not in (None, 0, {}, [], "", "none", ["text"]):
            raise Refusal(400, "this cannot be asked for here", where=name, fix="leave it out")
    fields.ignore(*WITHOUT_EFFECT)
    fields.end()
    if not 1 <= samples * len(given) <= state.limits.rows:
        raise Refusal(400, f"expected from 1 to {state.limits.rows} texts in all", where="n")
    if likeliest is not None and not 0 <= likeliest <= MOST_LIKELIEST:
        raise Refusal(400, f"expected from 0 to {MOST_LIKELIEST}", where="logprobs")
    how = settled(served, {**settings, **more})
    prompts = [_prompt(served, one, how) for one in given]
    if schema is not None:
        from weft.generate.grammars import schema_rule

        prompts = [replace(one, rule=schema_rule(one.tokenizer, schema)) for one in prompts]
    usage = bool(typed(options.get("include_usage") or False, bool, "stream_options"))
    return WritingAsked(served, prompts, samples, likeliest, stream, usage, str(getattr(how, "precision", "fp32")))


def _prompt(served: ServedRun, one: Given | list[int], how: Config) -> Prompt:
    """A prompt that the model can read at once."""
    run, window = served.run, served.window
    if isinstance(one, Given):
        (found,) = run.task.rows(run.loaded, [one], how if isinstance(one.value, Turns) else _continuing(how))
    else:
        (empty,) = run.task.rows(run.loaded, [Given("")], _continuing(how))
        if not all(0 <= id < empty.tokenizer.size for id in one):
            raise Refusal(400, f"expected ids from 0 to {empty.tokenizer.size - 1}", where="prompt")
        found = replace(empty, ids=list(one))
    if window is not None and len(found.ids) > window:
        raise Refusal(400, f"the prompt has {len(found.ids):,} tokens, and the model reads {window:,}", where="prompt")
    return found


def _continuing(how: Config) -> Config:
    """Settings by which a text is continued, even by a run that answers in turns."""
    return how.replace(prompt="text") if hasattr(how, "prompt") else how


def _stops(value: Any) -> list[str]:
    many = [] if value is None else [value] if isinstance(value, str) else typed(value, list, "stop")
    good = all(isinstance(one, str) and 0 < len(one) <= LONGEST_STOP for one in many)
    if len(many) > MOST_STOPS or not good:
        raise Refusal(400, f"expected at most {MOST_STOPS} texts of 1 to {LONGEST_STOP} characters", where="stop")
    return many


def _job(state: ServerState, request: Request, asked: WritingAsked, echo: bool) -> WritingJob:
    size = int(request.headers.get("content-length", "0"))
    tokens = asked.samples * sum(one.how.max_tokens + len(one.ids) for one in asked.prompts)
    return WritingJob(
        asked.served, asked.prompts, asked.samples, asked.precision, cost=Cost(size, tokens),
        unsent=state.limits.unsent, likeliest=asked.likeliest, echo=echo, streams=asked.stream,
    )  # fmt: skip


# What is answered


def _head(kind: str, start: str, served: ServedRun) -> dict[str, Any]:
    return {"id": f"{start}-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": served.name}


def _reason(ended: str | None) -> str | None:
    return None if ended is None else "length" if ended == "length" else "stop"


class _Completion:
    """Answers of /v1/completions."""

    def __init__(self, asked: WritingAsked, echo: bool):
        self.asked, self.echo = asked, echo
        self.head = _head("text_completion", "cmpl", asked.served)
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
        return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": _reason(ended)}


class _Chat:
    """Answers of /v1/chat/completions."""

    def __init__(self, asked: WritingAsked):
        self.asked = asked
        self.head = _head("chat.completion.chunk" if asked.stream else "chat.completion", "chatcmpl", asked.served)

    def whole(self, job: WritingJob, index: int) -> dict[str, Any]:
        """The whole of an answer."""
        line: TextLine = job.lines[index]
        message = {"role": "assistant", "content": line.text.strip(), "refusal": None}
        logprobs = self._logprobs(job.lines[index].scored)
        return {"index": index, "message": message, "logprobs": logprobs, "finish_reason": _reason(line.ended)}

    def first(self, index: int) -> dict[str, Any]:
        """The beginning of an answer."""
        delta = {"role": "assistant", "content": ""}
        return {**self.head, "choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": None}]}

    def part(
        self, job: WritingJob, index: int, text: str, scored: Sequence[Scored], ended: str | None
    ) -> dict[str, Any]:
        """What is new of an answer."""
        delta, reason = {"content": text} if text else {}, _reason(ended)
        choice = {"index": index, "delta": delta, "logprobs": self._logprobs(scored), "finish_reason": reason}
        return {**self.head, "choices": [choice]}

    def _logprobs(self, scored: Sequence[Scored]) -> dict[str, Any] | None:
        if self.asked.likeliest is None:
            return None
        tokenizer = self.asked.prompts[0].tokenizer

        def entry(id: int, value: float) -> dict[str, Any]:
            text = _token(tokenizer, id)
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


async def _events(
    job: WritingJob,
    asked: WritingAsked,
    part: Callable[..., dict[str, Any]],
    first: Callable[[int], dict[str, Any]] | None = None,
) -> AsyncIterator[bytes]:
    """What is new, as it comes; then the usage, where it is asked for, and the end."""
    begun = set[int]()
    async for piece in job.heard():
        if piece[0] is END:
            continue
        if first is not None and piece[0] not in begun:
            begun.add(piece[0])
            yield event(first(piece[0]))
        yield event(part(job, *piece))
    if asked.usage:
        yield event({**part(job, 0, "", (), None), "choices": [], "usage": _usage(job)})
    yield DONE


def _usage(job: WritingJob) -> dict[str, int]:
    prompt, written = sum(len(one.ids) for one in job.prompts), sum(len(line.ids) for line in job.lines)
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


def _logprobs(tokenizer: Tokenizer, scored: Sequence[Scored], start: int) -> dict[str, Any]:
    """Log-probabilities in the shape of completions; offsets are in characters of the text."""
    tokens, offsets, place = [_token(tokenizer, one.id) for one in scored], list[int](), start
    for token in tokens:
        offsets.append(place)
        place += len(token)
    best = [
        None if one.log_probability is None else {_token(tokenizer, i): p for i, p in one.likeliest} for one in scored
    ]
    chances = [one.log_probability for one in scored]
    return {"tokens": tokens, "token_logprobs": chances, "top_logprobs": best, "text_offset": offsets}


def _token(tokenizer: Tokenizer, id: int) -> str:
    return tokenizer.decode([id]) if id < tokenizer.size else ""


def _base64(vector: np.ndarray) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
