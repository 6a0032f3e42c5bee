"""What /v1/completions and /v1/chat/completions ask for alike: settings, prompts, and the work that they make.

What would change an answer and is not known is refused; what changes nothing is let pass. The field `weft` has further
settings of the run (top_k, min_p, precision …), and `changes` of its model.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request

from weft.config import Config
from weft.core.changes import Change
from weft.generate.prompts import Prompt
from weft.tasks.asks import Given, Turns
from weft.web.bodies import JsonFields, changes_of, typed
from weft.web.jobs import Cost
from weft.web.openai.models import chosen
from weft.web.predict import settled
from weft.web.replies import Refusal
from weft.web.state import ServerState
from weft.web.table import ServedRun
from weft.web.writing import WritingJob

MOST_STOPS, MOST_LIKELIEST, LONGEST_STOP = 16, 20, 200
WITHOUT_EFFECT = (
    "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "parallel_tool_calls",
)  # fmt: skip
UNKNOWN = (
    "presence_penalty", "frequency_penalty", "logit_bias", "suffix", "tools", "tool_choice", "functions",
    "function_call", "modalities", "audio", "prediction", "reasoning_effort", "web_search_options",
)  # fmt: skip


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
    changes: tuple[Change, ...]  # of the model, for this request alone


def writer(state: ServerState, fields: JsonFields) -> ServedRun:
    """The run that is to write."""
    return chosen(state, fields.maybe("model", str), "writes")


def writing_asked(
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
    more = dict(fields.take("weft", dict, {}))
    changes = changes_of(more.pop("changes", None), "weft.changes")
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
    precision = str(getattr(how, "precision", "fp32"))
    return WritingAsked(served, prompts, samples, likeliest, stream, usage, precision, changes)


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


def writing_job(state: ServerState, request: Request, asked: WritingAsked, echo: bool) -> WritingJob:
    """The work that a request makes."""
    size = int(request.headers.get("content-length", "0"))
    tokens = asked.samples * sum(one.how.max_tokens + len(one.ids) for one in asked.prompts)
    return WritingJob(
        asked.served, asked.prompts, asked.samples, asked.precision, cost=Cost(size, tokens),
        unsent=state.limits.unsent, likeliest=asked.likeliest, echo=echo, streams=asked.stream,
        changes=asked.changes,
    )  # fmt: skip
