"""Texts written together: rows join and leave a running batch at any token, each with settings of its own.

A prompt is read alone, then its row joins the others: all rows end together, behind padding in front (`Session.join`).
Steps of native code compute a row the same way in every batch, so that an answer has the bits that it has alone; steps
of modules agree within rounding.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from weft.core.threads import suited_threads
from weft.generate.choices import Rule, limited
from weft.generate.prompts import Prompt
from weft.generate.sampling import Sampling, next_tokens
from weft.generate.search import SINGLE_THREAD_WEIGHTS, TextLine, seen_by
from weft.generate.session import Session
from weft.modalities.text import Text
from weft.models.stream import Stream


@dataclass(frozen=True)
class Scored:
    """A token with its log-probability, and the likeliest tokens in its place, the best first."""

    id: int
    log_probability: float | None  # None for the first token of a text
    likeliest: tuple[tuple[int, float], ...] = ()


class WrittenLine(TextLine):
    """A continuation with all that decides how it goes on; `scored` has its tokens where log-probabilities count."""

    def __init__(self, prompt: Prompt, sample: int = 0, likeliest: int | None = None):
        """`likeliest` is the number of tokens to name beside each that is written; None scores none."""
        tokenizer, ends = prompt.tokenizer, prompt.ends
        if ends and prompt.rule is not None:
            ends = (*ends, tokenizer.end)  # with which rules end
        super().__init__(tokenizer, prompt.ids, prompt.how, sample, ends)
        self.rule: Rule | None = prompt.rule
        self.likeliest, self.scored = likeliest, list[Scored]()
        how = prompt.how
        self.never = tuple(sorted({*how.never, *tokenizer.unwritten}))
        self.how = Sampling(
            temperature=how.temperature, top_k=how.top_k, top_p=how.top_p, min_p=how.min_p,
            repetition_penalty=how.repetition_penalty, never=self.never,
        )  # fmt: skip

    @property
    def plain(self) -> bool:
        """Whether nothing is decided between two tokens, so that native code may write several at once."""
        return self.rule is None and self.likeliest is None and self.how.repetition_penalty == 1.0


class Together:
    """A running batch of lines of one model."""

    def __init__(self, model: Stream):
        self.model = model
        self.lines: list[WrittenLine] = []
        self._session = Session(model, capacity=1)
        self._logits: Float[Tensor, "B V"] | None = None  # of each line's next token

    @torch.inference_mode()
    def join(self, lines: Sequence[WrittenLine]) -> None:
        """Add lines of one prompt, which is read once, alone."""
        lines = [line for line in lines if line.ended is None]
        if not lines:
            return
        with suited_threads(self.model, small=SINGLE_THREAD_WEIGHTS):
            alone, logits = self._read(lines[0].prompt)
            if len(lines) > 1:
                many = torch.zeros(len(lines), dtype=torch.long)
                alone.take(many)
                logits = logits[many]
            self._add([alone], [logits])
        self.lines += lines

    def leave(self, lines: Collection[WrittenLine]) -> None:
        """Go on without some lines."""
        gone = {id(line) for line in lines}
        self._keep([i for i, line in enumerate(self.lines) if id(line) not in gone])

    @torch.inference_mode()
    def step(self) -> list[WrittenLine]:
        """Write a token of each line, or several where that is quicker; returns the lines that ended."""
        before = self.lines
        if not before:
            return []
        assert self._logits is not None
        with suited_threads(self.model, small=SINGLE_THREAD_WEIGHTS):
            tokens = self._drawn(self._logits)
            for line, token in zip(before, tokens, strict=True):
                line.take(token)
            going = [i for i, line in enumerate(before) if line.ended is None]
            self._keep(going)
            if going:
                self._advance([tokens[i] for i in going])
                self._onward()
        return [line for line in before if line.ended is not None]

    def _read(self, ids: list[int]) -> tuple[Session, Tensor]:
        """A prompt, read alone."""
        session = Session(self.model, capacity=len(ids) + 1)
        return session, session.start([ids])

    def _add(self, sessions: Sequence[Session], logits: Sequence[Tensor]) -> None:
        """Let rows that were read alone stand below the others."""
        self._session.join(sessions)
        own = [] if self._logits is None else [self._logits]
        self._logits = torch.cat([*own, *logits])

    @torch.inference_mode()
    def _keep(self, rows: list[int]) -> None:
        """Go on with these rows."""
        if len(rows) == len(self.lines):
            return
        self.lines = [self.lines[i] for i in rows]
        if not rows:
            self._session, self._logits = Session(self.model, capacity=1), None
            return
        index = torch.tensor(rows)
        assert self._logits is not None
        self._session.take(index)
        self._logits = self._logits[index]

    def _drawn(self, logits: Tensor) -> list[int]:
        """The next token of each line; lines with equal settings are drawn at once."""
        groups: dict[object, list[int]] = {}
        for i, line in enumerate(self.lines):
            groups.setdefault((line.how, line.rule is None), []).append(i)
        found = [0] * len(self.lines)
        for some in groups.values():
            lines, index = [self.lines[i] for i in some], torch.tensor(some)
            own = logits if len(some) == len(self.lines) else logits[index]
            rules = [line.rule for line in lines if line.rule is not None] or None
            how = lines[0].how
            open_to = limited(own, [line.ids for line in lines], rules, how.never)
            chosen = next_tokens(open_to, seen_by(lines, how, own), how, [line.generator for line in lines]).tolist()
            for i, token in zip(some, chosen, strict=True):
                found[i] = token
        for i, line in enumerate(self.lines):
            if line.likeliest is not None and found[i] not in line.ends:
                line.scored.append(scored(logits[i], found[i], line.likeliest))
        return found

    def _advance(self, tokens: list[int]) -> None:
        """Read the tokens. A row that has reached the context forgets its older half and is read anew, alone."""
        session, window = self._session, self._session.window
        full = [i for i, row in enumerate(session.rows) if window is not None and len(row) >= window]
        halves = [session.rows[i][len(session.rows[i]) - len(session.rows[i]) // 2 :] for i in full]
        again = [[*half, tokens[i]] for half, i in zip(halves, full, strict=True)]
        lines = [self.lines[i] for i in full]
        rest = [i for i in range(len(tokens)) if i not in full]
        self._keep(rest)
        if rest:
            self._logits = self._session.step(torch.tensor([tokens[i] for i in rest]))
        if full:
            read = [self._read(ids) for ids in again]
            self._add([one for one, _ in read], [logits for _, logits in read])
            self.lines += lines

    def _onward(self) -> None:
        """Write on in native code where all lines have one way of drawing; the last token is left to `step`."""
        lines, session = self.lines, self._session
        if not lines or not all(line.plain for line in lines) or len({(line.how, line.ends) for line in lines}) > 1:
            return
        count = min(session.ahead(), max(line.limit - len(line.ids) for line in lines) - 1)
        if count < 2:
            return
        how, ends = lines[0].how, torch.tensor(sorted(lines[0].ends), dtype=torch.long)
        chances = torch.zeros(count, len(lines), dtype=torch.float64)
        if how.temperature > 0:
            each = [torch.rand(count, generator=line.generator, dtype=torch.float64) for line in lines]
            chances = torch.stack(each, 1).contiguous()
        assert self._logits is not None
        self._logits = self._logits.contiguous()
        for line, new in zip(lines, session.write(self._logits, how, chances, ends).tolist(), strict=True):
            for token in new:
                if line.ended is None:
                    line.take(token)
        self._keep([i for i, line in enumerate(lines) if line.ended is None])


@torch.inference_mode()
def scored_prompt(model: Stream, ids: list[int], likeliest: int) -> list[Scored]:
    """The tokens of a prompt with their log-probabilities, by one pass of the modules."""
    device = next(model.parameters()).device
    logits = model(Text(torch.tensor([ids], device=device)))[0]
    rest = [scored(logits[i], token, likeliest) for i, token in enumerate(ids[1:])]
    return [Scored(ids[0], None), *rest]


def scored(logits: Float[Tensor, "V"], token: int, likeliest: int) -> Scored:
    """A token among all that could stand in its place."""
    chances = logits.float().log_softmax(-1)
    values, ids = chances.topk(min(likeliest, len(chances)))
    best = tuple(zip(ids.tolist(), values.tolist(), strict=True))
    return Scored(token, float(chances[token]), best)
