"""The search loop: one for every decoder. Draws token after token until a stop; rows end on their own."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.core.threads import suited_threads
from weft.generate.sampling import Sampling, draw, generator, shaped
from weft.generate.session import Session
from weft.modalities.tokenizer import Tokenizer

SMALL_DECODE = 10_000_000  # weights in matrices, below which a step of decoding is fastest on one thread

Listener = Callable[[int, str], None]


@dataclass(frozen=True)
class Generated:
    """One continuation: its text, its tokens, and why it ended ("end", "stop" or "length")."""

    text: str
    ids: tuple[int, ...]
    ended: str


class Row:
    """One continuation in the making."""

    def __init__(self, tokenizer: Tokenizer, prompt: list[int], how: Sampling, sample: int):
        self.end, self.stops, self.limit = tokenizer.end, how.stop, how.max_tokens
        self.decoder = tokenizer.stream()
        self.prompt, self.ids, self.text, self.shown = prompt, [], "", 0
        self.ended: str | None = None if self.limit else "length"
        self.generator = generator(how.seed, prompt, sample)

    prompt: list[int]
    ids: list[int]

    def take(self, token: int) -> None:
        """Add a token; ends the row on the end token, a stop string or the limit."""
        if token == self.end:
            self.ended = "end"
            self.text += self.decoder.finish()
            return
        self.ids.append(token)
        self.text += self.decoder.feed(token)
        if len(self.ids) >= self.limit:
            self.text += self.decoder.finish()
        longest = max(map(len, self.stops), default=0)
        for stop in self.stops:
            found = self.text.find(stop, max(0, self.shown - longest))
            if found >= 0:
                self.text, self.ended = self.text[:found], "stop"
        if self.ended is None and len(self.ids) >= self.limit:
            self.ended = "length"

    def fresh(self) -> str:
        """Text that can be shown now: what might still become a stop string is held back."""
        ready = len(self.text)
        if self.ended is None:
            held = (n for stop in self.stops for n in range(1, len(stop)) if self.text.endswith(stop[:n]))
            ready -= max(held, default=0)
        text, self.shown = self.text[self.shown : max(ready, self.shown)], max(ready, self.shown)
        return text


def generate(
    session: Session,
    tokenizer: Tokenizer,
    prompts: list[list[int]],
    how: Sampling,
    *,
    listen: Listener | None = None,
) -> list[list[Generated]]:
    """`how.samples` continuations of each prompt; `listen(row, text)` hears text as it comes."""
    rows = [Row(tokenizer, prompt, how, i) for prompt in prompts for i in range(how.samples)]
    with suited_threads(session.model, small=SMALL_DECODE):
        _run(session, rows, how, listen)
    done = [Generated(row.text, tuple(row.ids), row.ended or "length") for row in rows]
    return [done[i : i + how.samples] for i in range(0, len(done), how.samples)]


def _run(session: Session, rows: list[Row], how: Sampling, listen: Listener | None) -> None:
    """Draw until every row has ended."""
    numbers = [i for i, row in enumerate(rows) if row.ended is None]
    if numbers:
        logits = session.start([rows[i].prompt for i in numbers])
    while numbers:
        alive = [rows[i] for i in numbers]
        tokens = draw(shaped(logits, _seen(alive, how, logits), how), how, [row.generator for row in alive])
        for i, token in zip(numbers, tokens.tolist(), strict=True):
            rows[i].take(token)
            text = rows[i].fresh()
            if listen is not None and text:
                listen(i, text)
        going = [j for j, row in enumerate(alive) if row.ended is None]
        if not going:
            break
        if len(going) < len(alive):
            numbers = [numbers[j] for j in going]
            keep = torch.tensor(going, device=tokens.device)
            session.take(keep)
            tokens = tokens[keep]
        logits = session.step(tokens)


def _seen(rows: list[Row], how: Sampling, like: Tensor) -> Tensor:
    """Ids that occurred in each row, filled up with repeats; empty when nothing depends on them."""
    if how.repetition_penalty == 1.0:
        return torch.zeros(len(rows), 0, dtype=torch.long, device=like.device)
    ids = [row.prompt + row.ids for row in rows]
    longest = max(map(len, ids))
    return torch.tensor([(row * (longest // len(row) + 1))[:longest] for row in ids], device=like.device)
