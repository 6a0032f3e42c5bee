"""What both routes that write answer alike: the head, how a text ended, what it used, its stream of events."""

import time
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

from weft.modalities.tokenizer import Tokenizer
from weft.web.jobs import END
from weft.web.openai.asked import WritingAsked
from weft.web.replies import DONE, event
from weft.web.table import ServedRun
from weft.web.writing import WritingJob


def head_of(kind: str, start: str, served: ServedRun) -> dict[str, Any]:
    """What begins every answer."""
    return {"id": f"{start}-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": served.name}


def reason_of(ended: str | None) -> str | None:
    """How a text ended, in OpenAI's words."""
    return None if ended is None else "length" if ended == "length" else "stop"


async def events_of(
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
        yield event({**part(job, 0, "", (), None), "choices": [], "usage": usage_of(job)})
    yield DONE


def usage_of(job: WritingJob) -> dict[str, int]:
    """The number of tokens that were read and written."""
    prompt, written = sum(len(one.ids) for one in job.prompts), sum(len(line.ids) for line in job.lines)
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


def token_text(tokenizer: Tokenizer, id: int) -> str:
    """The text of one token."""
    return tokenizer.decode([id]) if id < tokenizer.size else ""
