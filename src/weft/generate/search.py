"""The search loop: one for every decoder. A strategy looks at the logits and says which rows go on with which tokens.

`Drawing` (here) draws each row's next token on its own; `Beam` (beam.py) follows the best few of all continuations.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from weft.core.threads import suited_threads
from weft.generate.choices import Rule, limited
from weft.generate.sampling import Sampling, generator, next_tokens
from weft.generate.session import Session
from weft.generate.stopping import check_stop
from weft.modalities.tokenizer import Tokenizer

SINGLE_THREAD_WEIGHTS = 10_000_000  # weights in matrices, below which a step of decoding is fastest on one thread

Listener = Callable[[int, str], None]


@dataclass(frozen=True)
class Move:
    """How a search goes on: `tokens` are read after the rows `rows`, which read the rows `memory` of a memory.

    None changes nothing. `onward` may write further tokens from the next logits; it returns the logits after them.
    """

    tokens: Tensor
    rows: Tensor | None = None
    memory: Tensor | None = None
    onward: "Callable[[Session, Tensor], Tensor] | None" = None


@runtime_checkable
class Strategy(Protocol):
    """What a search does with the logits of each row's next token; None when it is done."""

    def advance(self, logits: Tensor) -> Move | None: ...


def search(session: Session, prompts: list[list[int]], strategy: Strategy) -> None:
    """Drive a decoder until the strategy is done, or until the work is to be stopped."""
    if not prompts:
        return
    with suited_threads(session.model, small=SINGLE_THREAD_WEIGHTS):
        check_stop()
        logits = session.start(prompts)
        while (move := strategy.advance(logits)) is not None:
            check_stop()
            if move.rows is not None:
                session.take(move.rows, move.memory)
            logits = session.step(move.tokens)
            if move.onward is not None and session.ahead() > 1:
                logits = move.onward(session, logits)


@dataclass(frozen=True)
class Generated:
    """One continuation: its text, its tokens, and why it ended ("end", "stop" or "length")."""

    text: str
    ids: tuple[int, ...]
    ended: str


class Line:
    """One continuation in the making, as ids."""

    def __init__(self, prompt: list[int], end: int | Collection[int], limit: int, chance: torch.Generator):
        """`end` is the token that ends the line, or several of which any does."""
        self.ends = frozenset((end,) if isinstance(end, int) else end)
        self.prompt, self.limit, self.generator = prompt, limit, chance
        self.ids: list[int] = []
        self.score = 0.0
        self.ended: str | None = None if limit else "length"

    def take(self, token: int) -> None:
        """Add a token; ends the line on an end token or the limit."""
        if token in self.ends:
            self.ended = "end"
            return
        self.ids.append(token)
        if len(self.ids) >= self.limit:
            self.ended = "length"

    def fresh(self) -> str:
        """Text that can be shown now."""
        return ""


class TextLine(Line):
    """One continuation in the making, as ids and as text, which may end it."""

    def __init__(self, tokenizer: Tokenizer, prompt: list[int], how: Sampling, sample: int, ends: Collection[int] = ()):
        super().__init__(prompt, ends or tokenizer.end, how.max_tokens, generator(how.seed, prompt, sample))
        self.stops, self.decoder, self.vocab = how.stop, tokenizer.stream(after=prompt), tokenizer.size
        self.text, self.shown = "", 0

    def take(self, token: int) -> None:
        """Add a token; ends the line on the end token, a stop string or the limit."""
        super().take(token)
        named = token < self.vocab  # a model from elsewhere may have more ids than tokens: those are no text
        self.text += self.decoder.feed(token) if self.ended != "end" and named else ""
        self.text += self.decoder.finish() if self.ended else ""
        longest = max(map(len, self.stops), default=0)
        for stop in self.stops if self.ended != "end" else ():
            found = self.text.find(stop, max(0, self.shown - longest))
            if found >= 0:
                self.text, self.ended = self.text[:found], "stop"

    def fresh(self) -> str:
        """Text that can be shown now: what might still become a stop string is held back."""
        ready = len(self.text)
        if self.ended is None:
            held = (n for stop in self.stops for n in range(1, len(stop)) if self.text.endswith(stop[:n]))
            ready -= max(held, default=0)
        text, self.shown = self.text[self.shown : max(ready, self.shown)], max(ready, self.shown)
        return text


class Drawing:
    """Each row draws its own next token; rows end on their own."""

    def __init__(
        self,
        rows: Sequence[Line],
        how: Sampling,
        listen: Listener | None = None,
        *,
        scored: bool = False,
        rules: Sequence[Rule] | None = None,
    ):
        """`scored` adds up each row's log-probability; `rules` say what each row may write."""
        self.rows, self.how, self.listen, self.scored, self.rules = rows, how, listen, scored, rules
        self.going = [i for i, row in enumerate(rows) if row.ended is None]
        self.plain = not scored and rules is None and how.repetition_penalty == 1.0

    def advance(self, logits: Tensor) -> Move | None:
        """Draw a token for every row that goes on."""
        if not self.going:
            return None
        alive = [self.rows[i] for i in self.going]
        rules = None if self.rules is None else [self.rules[i] for i in self.going]
        open_to = limited(logits, [row.ids for row in alive], rules, self.how.never)
        chosen = next_tokens(open_to, seen_by(alive, self.how, logits), self.how, [row.generator for row in alive])
        if self.scored:
            scores = logits.float().log_softmax(-1).gather(1, chosen[:, None])[:, 0].tolist()
            for row, score in zip(alive, scores, strict=True):
                row.score += score
        self._hear(chosen[:, None])
        left = [j for j, row in enumerate(alive) if row.ended is None]
        if not left:
            return None
        onward = self._onward if self.plain and chosen.device.type == "cpu" else None
        if len(left) == len(alive):
            return Move(chosen, onward=onward)
        self.going = [self.going[j] for j in left]
        keep = torch.tensor(left, device=chosen.device)
        return Move(chosen[keep], keep, onward=onward)

    def _hear(self, tokens: Tensor) -> None:
        """Give the rows that go on their next tokens, (rows, tokens); a row that ends takes none after its end."""
        for i, new in zip(self.going, tokens.tolist(), strict=True):
            row = self.rows[i]
            for token in new:
                if row.ended is None:
                    row.take(token)
            text = row.fresh()
            if self.listen is not None and text:
                self.listen(i, text)

    def _onward(self, session: Session, logits: Tensor) -> Tensor:
        """Write in native code where nothing is decided between two tokens; the last token is left to `advance`."""
        while self.going:
            check_stop()
            alive = [self.rows[i] for i in self.going]
            count = min(session.ahead(), max(row.limit - len(row.ids) for row in alive) - 1)
            if count < 2:
                break
            chances = torch.zeros(count, len(alive), dtype=torch.float64)
            if self.how.temperature > 0:
                each = [torch.rand(count, generator=row.generator, dtype=torch.float64) for row in alive]
                chances = torch.stack(each, 1).contiguous()
            self._hear(session.write(logits, [self.how] * len(alive), chances, [row.ends for row in alive]))
            left = [j for j, row in enumerate(alive) if row.ended is None]
            self.going = [self.going[j] for j in left]
            if self.going and len(left) < len(alive):
                keep = torch.tensor(left)
                session.take(keep)
                logits = logits[keep]
        return logits


def generate(
    session: Session,
    tokenizer: Tokenizer,
    prompts: list[list[int]],
    how: Sampling,
    *,
    ends: Collection[int] = (),
    listen: Listener | None = None,
    rule: Rule | None = None,
) -> list[list[Generated]]:
    """`how.samples` continuations of each prompt under a rule; `listen(row, text)` hears text as it comes.

    A text ends at any of `ends`, by default at the tokenizer's end; under a rule at that too, with which rules end.
    """
    ends = (*ends, tokenizer.end) if ends and rule is not None else ends
    rows = [TextLine(tokenizer, prompt, how, i, ends) for prompt in prompts for i in range(how.samples)]
    how = how.replace(never=(*how.never, *tokenizer.unwritten))
    drawing = Drawing(rows, how, listen, rules=None if rule is None else [rule] * len(rows))
    if drawing.going:
        search(session, [rows[i].prompt for i in drawing.going], drawing)
    done = [Generated(row.text, tuple(row.ids), row.ended or "length") for row in rows]
    return [done[i : i + how.samples] for i in range(0, len(done), how.samples)]


def seen_by(rows: Sequence[Line], how: Sampling, like: Tensor) -> Tensor:
    """Ids that occurred in each row, filled up with repeats; empty when nothing depends on them."""
    if how.repetition_penalty == 1.0:
        return torch.zeros(len(rows), 0, dtype=torch.long, device=like.device)
    ids = [row.prompt + row.ids for row in rows]
    longest = max(map(len, ids))
    return torch.tensor([(row * (longest // len(row) + 1))[:longest] for row in ids], device=like.device)
