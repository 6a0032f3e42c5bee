"""Texts written together: rows join and leave a running batch at any token, each with settings of its own.

Prompts are read in pieces between two steps of the others, then their rows join these: all rows end together, behind
padding in front (`Session.join`). Native code computes a row the same way in every batch and in pieces of any size, so
that an answer has the bits that it has alone; steps of modules agree within rounding.
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
from weft.generate.session import MOST_NATIVE_TOKENS, Session
from weft.modalities.text import Text
from weft.models.stream import Stream

PIECE = 16  # tokens of a prompt that are read between two steps of others: about the time of a step of eight rows


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


class Unread(Exception):
    """A prompt could not be read: these lines are left out. The cause says why."""

    def __init__(self, lines: Sequence[WrittenLine]):
        super().__init__()
        self.lines = lines


@dataclass(eq=False)
class Reading:
    """Prompts that are being read, or wait for it, with the lines that go on from each; some may have left."""

    prompts: list[list[int]]
    lines: list[list[WrittenLine]]
    session: Session | None = None  # once it has begun
    alone: bool = False  # not to be read with others


class Together:
    """A running batch of lines of one model."""

    def __init__(self, model: Stream):
        self.model = model
        self.written: list[WrittenLine] = []  # those whose prompts are read
        self._readings: list[Reading] = []
        self._session = Session(model, capacity=1)
        self._logits: Float[Tensor, "B V"] | None = None  # of each line's next token
        self._tokens: list[int] = []  # of each line, drawn and not yet read

    @property
    def lines(self) -> list[WrittenLine]:
        """All lines: those that are written, and those whose prompts are still to be read."""
        return [*self.written, *(line for one in self._readings for some in one.lines for line in some)]

    def join(self, lines: Sequence[WrittenLine]) -> None:
        """Add lines of one prompt, which is read once, by the steps that follow."""
        lines = [line for line in lines if line.ended is None]
        if lines:
            self._readings.append(Reading([lines[0].prompt], [lines]))

    def leave(self, lines: Collection[WrittenLine]) -> None:
        """Go on without some lines."""
        gone = {id(line) for line in lines}
        for one in self._readings:
            one.lines = [[line for line in some if id(line) not in gone] for some in one.lines]
        self._readings = [one for one in self._readings if any(one.lines)]
        self._keep([i for i, line in enumerate(self.written) if id(line) not in gone])

    @torch.inference_mode()
    def draw(self) -> None:
        """Read a piece of a prompt, if any waits, and draw the next token of each line whose prompt is read.

        What is drawn may be sent before `advance`, which takes most of the time of a step. A prompt that cannot be read
        raises `Unread`; nothing else is lost by that.
        """
        with suited_threads(self.model, small=SINGLE_THREAD_WEIGHTS):
            if self._readings:
                self._read(self._tokens_to_read())
            if self.written:
                assert self._logits is not None
                self._tokens = self._drawn(self._logits)
                for line, token in zip(self.written, self._tokens, strict=True):
                    line.take(token)
                self._keep([i for i, line in enumerate(self.written) if line.ended is None])

    @torch.inference_mode()
    def advance(self) -> None:
        """Read the tokens that were drawn, and write several more where nothing is decided between two of them."""
        if self._tokens:
            with suited_threads(self.model, small=SINGLE_THREAD_WEIGHTS):
                self._read_drawn()
                self._onward()

    def _tokens_to_read(self) -> int:
        """About how many tokens of prompts are read before the next step: of each that waits, as far as they fit."""
        return min(MOST_NATIVE_TOKENS, PIECE * len(self._readings)) if self.written else MOST_NATIVE_TOKENS

    def _read(self, most: int) -> None:
        """Read about `most` tokens of the prompts that come next; lines whose prompts are read join the others."""
        reading = self._next_reading(most)
        try:
            if reading.session is None:
                reading.session = Session(self.model, capacity=max(map(len, reading.prompts)) + 1)
                reading.session.begin(reading.prompts)
            logits = reading.session.read(most)
            if logits is None:
                return
            rows = torch.tensor([i for i, some in enumerate(reading.lines) for _ in some])
            reading.session.take(rows)
            self._add([reading.session], [logits[rows]])
        except Exception as error:
            self._readings.remove(reading)
            if len(reading.prompts) > 1:  # one of them is at fault: each is tried alone
                apart = zip(reading.prompts, reading.lines, strict=True)
                self._readings[:0] = [Reading([ids], [some], alone=True) for ids, some in apart if some]
                self._read(most)
                return
            raise Unread([line for some in reading.lines for line in some]) from error
        self._readings.remove(reading)
        self.written = [*self.written, *(line for some in reading.lines for line in some)]

    def _next_reading(self, most: int) -> Reading:
        """The first in the queue; short prompts that wait behind it are read with it where native code reads them."""
        first = self._readings[0]
        if first.session is not None or first.alone or self._session.program is None:
            return first
        some, longest = [first], len(first.prompts[0])
        waiting = [one for one in self._readings if one.session is None and not one.alone]
        for one in waiting[1:]:
            longest = max(longest, len(one.prompts[0]))
            if longest * (len(some) + 1) > most:
                break
            some.append(one)
        if len(some) > 1:
            first = Reading([ids for one in some for ids in one.prompts], [own for one in some for own in one.lines])
            self._readings = [first, *(one for one in self._readings if one not in some)]
        return first

    def _add(self, sessions: Sequence[Session], logits: Sequence[Tensor]) -> None:
        """Let rows that were read alone stand below the others."""
        self._session.join(sessions)
        own = [] if self._logits is None else [self._logits]
        self._logits = torch.cat([*own, *logits])

    @torch.inference_mode()
    def _keep(self, rows: list[int]) -> None:
        """Go on with these rows."""
        if len(rows) == len(self.written):
            return
        self.written = [self.written[i] for i in rows]
        self._tokens = [self._tokens[i] for i in rows] if self._tokens else []
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
        for i, line in enumerate(self.written):
            groups.setdefault((line.how, line.rule is None), []).append(i)
        found = [0] * len(self.written)
        for some in groups.values():
            lines, index = [self.written[i] for i in some], torch.tensor(some)
            own = logits if len(some) == len(self.written) else logits[index]
            rules = [line.rule for line in lines if line.rule is not None] or None
            how = lines[0].how
            open_to = limited(own, [line.ids for line in lines], rules, how.never)
            chosen = next_tokens(open_to, seen_by(lines, how, own), how, [line.generator for line in lines]).tolist()
            for i, token in zip(some, chosen, strict=True):
                found[i] = token
        for i, line in enumerate(self.written):
            if line.likeliest is not None and found[i] not in line.ends:
                line.scored.append(scored(logits[i], found[i], line.likeliest))
        return found

    def _read_drawn(self) -> None:
        """Read the tokens. A row that has reached the context forgets its older half and is read anew, first."""
        session, window = self._session, self._session.window
        full = [i for i, row in enumerate(session.rows) if window is not None and len(row) >= window]
        for i in full:
            row = session.rows[i]
            again = [*row[len(row) - len(row) // 2 :], self._tokens[i]]
            self._readings.insert(0, Reading([again], [[self.written[i]]]))
        self._keep([i for i in range(len(self._tokens)) if i not in full])
        tokens, self._tokens = self._tokens, []
        if tokens:
            self._logits = session.step(torch.tensor(tokens))

    def _onward(self) -> None:
        """Write on in native code where nothing is decided between two tokens; the last token is left to `draw`."""
        lines, session = self.written, self._session
        if not lines or not all(line.plain for line in lines):
            return
        count = min(session.ahead(), max(line.limit - len(line.ids) for line in lines) - 1)
        if count < 2:
            return
        chances = torch.zeros(count, len(lines), dtype=torch.float64)
        for i, line in enumerate(lines):
            if line.how.temperature > 0:
                chances[:, i] = torch.rand(count, generator=line.generator, dtype=torch.float64)
        assert self._logits is not None
        self._logits = self._logits.contiguous()
        how, ends = [line.how for line in lines], [line.ends for line in lines]
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
