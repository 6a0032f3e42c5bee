"""Texts written together: rows that join, step and leave at random have the bits that they have alone."""

import numpy as np
import pytest
import torch
from helpers.tiny import ZOO, language_model
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from weft.generate import Sampling, Session
from weft.generate.choices import Choices
from weft.generate.compute import prepared
from weft.generate.programs import steps_of
from weft.generate.prompts import Prompt
from weft.generate.search import Drawing, search
from weft.generate.together import Scored, Together, Unread, WrittenLine, scored_prompt
from weft.modalities import tokenizer_making
from weft.models.stream import Stream

TOKENIZER = tokenizer_making.train("characters", ["abcdefghij"])
WINDOW = 12


def model_of(name: str) -> Stream:
    return language_model(name, context=WINDOW, dtype=torch.float32, vocab=TOKENIZER.size)


def step(together: Together) -> None:
    """Both halves of a step, with nothing between them."""
    together.draw()
    together.advance()


def prompt_of(draw: np.random.Generator, **more) -> Prompt:
    """A prompt with settings of its own."""
    ids = draw.integers(1, TOKENIZER.size - 1, int(draw.integers(1, 2 * WINDOW))).tolist()
    rule = Choices([[1, 2, 3], [1, 4]], TOKENIZER.end) if draw.random() < 0.2 else None
    settings = {
        "temperature": float(draw.choice([0.0, 0.7, 1.0])),
        "top_p": float(draw.choice([0.9, 1.0])),
        "seed": int(draw.integers(9)),
        "max_tokens": int(draw.integers(1, 40)),
        "repetition_penalty": float(draw.choice([1.0, 1.3], p=[0.8, 0.2])),
    }
    return Prompt(ids, Sampling(**{**settings, **more}), (TOKENIZER.end,), rule, TOKENIZER)


def alone(model: Stream, prompt: Prompt, sample: int = 0) -> WrittenLine:
    """The line of a prompt that is written by itself, by the loop that serves one user."""
    line = WrittenLine(prompt, sample)
    rules = None if prompt.rule is None else [prompt.rule]
    search(Session(model), [prompt.ids], Drawing([line], line.how, rules=rules))
    return line


def play(model: Stream, seed: int, moves: int, **more) -> list[tuple[Prompt, int, WrittenLine, bool]]:
    """Random joins, steps and leaves; returns each line with its prompt, and whether it left early."""
    draw, together, every = np.random.default_rng(seed), Together(model), []
    for _ in range(moves):
        kind = draw.choice(["join", "step", "halves", "leave"], p=[0.25, 0.35, 0.3, 0.1])
        if kind == "join" and len(together.lines) < 6:
            prompt = prompt_of(draw, **more)
            lines = [WrittenLine(prompt, sample) for sample in range(int(draw.integers(1, 3)))]
            together.join(lines)
            every += [[prompt, sample, line, False] for sample, line in enumerate(lines)]
        elif kind == "leave" and together.lines:
            gone = together.lines[int(draw.integers(len(together.lines)))]
            together.leave([gone])
            next(one for one in every if one[2] is gone)[3] = True
        elif kind == "halves":  # one leaves between the two halves of a step
            together.draw()
            if together.lines and draw.integers(2):
                gone = together.lines[int(draw.integers(len(together.lines)))]
                together.leave([gone])
                next(one for one in every if one[2] is gone)[3] = True
            together.advance()
        else:
            step(together)
    while together.lines:
        step(together)
    return every


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("name", ["gpt", "swift", *(pytest.param(name, marks=pytest.mark.slow) for name in ZOO)])
def test_lines_that_join_and_leave_are_written_as_alone(name: str, precision: str):
    model = prepared(model_of(name), precision)
    assert isinstance(model, Stream)
    native = steps_of(model).program is not None
    for prompt, sample, line, left in play(model, 0, 60):
        known = alone(model, prompt, sample)
        same = line.ids == known.ids[: len(line.ids)] and (left or (line.text, line.ended) == (known.text, known.ended))
        assert same or not native, (line.ids, known.ids)


def test_lines_with_ways_of_drawing_of_their_own_are_written_ahead_and_as_alone(monkeypatch: pytest.MonkeyPatch):
    model, draw, kinds = model_of("swift"), np.random.default_rng(7), list[int]()
    write = Session.write
    monkeypatch.setattr(
        Session, "write", lambda self, *given: (kinds.append(len({*zip(given[1], given[3])})), write(self, *given))[1]
    )
    lines = list[tuple[Prompt, WrittenLine]]()
    for _ in range(3):
        together = Together(model)
        for number in range(6):
            ids = draw.integers(1, TOKENIZER.size - 1, int(draw.integers(1, 5))).tolist()
            how = Sampling(
                temperature=float(draw.choice([0.0, 0.7, 1.0])), top_p=float(draw.choice([0.6, 1.0])),
                top_k=[None, 3][int(draw.integers(2))], min_p=float(draw.choice([0.0, 0.2])), seed=number,
                never=[(), (3, 5)][int(draw.integers(2))], max_tokens=int(draw.integers(3, 30)),
            )  # fmt: skip
            prompt = Prompt(ids, how, ((TOKENIZER.end,), (-1,), (2, 4))[number % 3], None, TOKENIZER)
            lines.append((prompt, WrittenLine(prompt)))
            together.join([lines[-1][1]])
        while together.lines:
            step(together)
    for prompt, line in lines:
        known = alone(model, prompt)
        assert (line.ids, line.text, line.ended) == (known.ids, known.text, known.ended)
        assert not {3, 5} & {*line.ids} or not prompt.how.never
    assert max(kinds) > 3, "rows with several ways of drawing are written at once"


def test_log_probabilities_are_those_of_one_pass_over_the_whole_text():
    model, ids = model_of("swift"), [1, 2, 3]
    how = Sampling(temperature=1.0, max_tokens=6, seed=3)
    together, line = Together(model), WrittenLine(Prompt(ids, how, (TOKENIZER.end,), None, TOKENIZER), 0, 2)
    together.join([line])
    while together.lines:
        step(together)
    whole = scored_prompt(model, [*ids, *line.ids], 2)
    assert whole[0] == Scored(1, None) and len(whole) == 3 + len(line.ids) == 3 + len(line.scored)
    for mine, theirs in zip(line.scored, whole[3:], strict=True):
        assert mine.id == theirs.id and mine.log_probability == pytest.approx(theirs.log_probability, abs=1e-4)
        assert [one for one, _ in mine.likeliest] == [one for one, _ in theirs.likeliest]
        assert mine.likeliest[0][1] >= mine.likeliest[1][1]


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_prompt_in_pieces_has_the_bits_of_one_read_at_once(precision: str):
    model = prepared(language_model("gpt", context=64, dtype=torch.float32, vocab=TOKENIZER.size), precision)
    assert isinstance(model, Stream) and steps_of(model).program is not None
    prompt = np.random.default_rng(0).integers(1, TOKENIZER.size, 50).tolist()
    whole = Session(model).start([prompt])
    for piece in (1, 7, 16, 49):
        session, reads = Session(model), 1
        session.begin([prompt])
        while (found := session.read(piece)) is None:
            reads += 1
        assert torch.equal(found, whole) and reads == -(-50 // piece)


def test_the_others_write_a_token_between_two_pieces_of_a_long_prompt():
    model = language_model("gpt", context=64, dtype=torch.float32, vocab=TOKENIZER.size)
    how = Sampling(temperature=1.0, max_tokens=30, repetition_penalty=1.01)
    together, busy = Together(model), WrittenLine(Prompt([1, 2], how, (-1,), None, TOKENIZER))
    together.join([busy])
    step(together)
    long = WrittenLine(Prompt([3] * 50, how, (-1,), None, TOKENIZER))
    together.join([long])
    written = []
    while not long.ids:
        step(together)
        written.append(len(busy.ids))
    assert written == [2, 3, 4, 5], "50 tokens are four pieces"


def test_prompts_that_wait_together_are_read_together_as_far_as_native_code_reads_them():
    model = language_model("gpt", context=64, dtype=torch.float32, vocab=TOKENIZER.size)
    how = Sampling(temperature=1.0, max_tokens=30, repetition_penalty=1.01)
    together, busy = Together(model), WrittenLine(Prompt([1, 2], how, (-1,), None, TOKENIZER))
    together.join([busy])
    step(together)
    prompts = [Prompt([3 + n] * 16, how, (-1,), None, TOKENIZER) for n in range(5)]
    lines = [WrittenLine(one) for one in prompts]
    for line in lines:
        together.join([line])
    step(together)
    assert [bool(line.ids) for line in lines] == [True, True, True, True, False], "64 tokens at once"
    step(together)
    assert lines[4].ids and len(busy.ids) == 3
    while together.lines:
        step(together)
    assert [line.ids for line in lines] == [alone(model, one).ids for one in prompts]


def test_a_prompt_that_cannot_be_read_costs_itself():
    model, how = model_of("gpt"), Sampling(temperature=0.0, max_tokens=5)
    good = [WrittenLine(Prompt([1, 2], how, (-1,), None, TOKENIZER)) for _ in range(2)]
    bad, together = WrittenLine(Prompt([10_000] * 11, how, (-1,), None, TOKENIZER)), Together(model)
    together.join(good[:1])
    step(together)
    together.join([bad])
    together.join(good[1:])
    with pytest.raises(Unread) as raised:
        step(together)
    assert raised.value.lines == [bad] and isinstance(raised.value.__cause__, IndexError)
    while together.lines:
        step(together)
    known = alone(model, Prompt([1, 2], how, (-1,), None, TOKENIZER)).ids
    assert [line.ids for line in good] == [known, known] and not bad.ids


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_thousand_lines_that_leave_at_random_change_no_bit_of_the_others(precision: str):
    model, draw, left = prepared(model_of("gpt"), precision), np.random.default_rng(1), 0
    assert isinstance(model, Stream)
    together, every = Together(model), list[tuple[Prompt, WrittenLine]]()
    while left < 1000:
        while len(together.lines) < 8:
            every.append((prompt := prompt_of(draw), WrittenLine(prompt)))
            together.join([every[-1][1]])
        for _ in range(int(draw.integers(3))):
            step(together)
        for gone in draw.permutation(len(together.lines))[: int(draw.integers(1, 5))]:
            together.leave([together.lines[min(gone, len(together.lines) - 1)]])
            left += 1
    while together.lines:
        step(together)
    ended = 0
    for prompt, line in every:
        known = alone(model, prompt)
        assert line.ids == known.ids[: len(line.ids)]
        if line.ended is not None:
            ended += 1
            assert (line.text, line.ended) == (known.text, known.ended)
    assert ended > 50, "many came to their end beside those that left"


MACHINE_MODELS = {precision: prepared(model_of("gpt"), precision) for precision in ("fp32", "int8")}


class JoinStepLeave(RuleBasedStateMachine):
    """A running batch under any order of joins, steps and leaves; each line is compared with itself alone."""

    precision: str

    def __init__(self) -> None:
        super().__init__()
        self.together, self.every = Together(MACHINE_MODELS[self.precision]), list[tuple[Prompt, WrittenLine]]()

    @rule(seed=st.integers(0, 99), samples=st.integers(1, 2))
    def join(self, seed: int, samples: int) -> None:
        prompt = prompt_of(np.random.default_rng(seed))
        lines = [WrittenLine(prompt, sample) for sample in range(samples)]
        self.together.join(lines)
        self.every.append((prompt, lines[0]))

    @rule()
    def step(self) -> None:
        step(self.together)

    @precondition(lambda self: self.together.lines)
    @rule(which=st.integers(0, 99))
    def leave(self, which: int) -> None:
        lines = self.together.lines
        gone = lines[which % len(lines)]
        self.together.leave([gone])
        assert all(line is not gone for line in self.together.lines)

    def teardown(self) -> None:
        for prompt, line in self.every:
            known = alone(MACHINE_MODELS[self.precision], prompt)
            assert line.ids == known.ids[: len(line.ids)]
            assert line.ended is None or (line.text, line.ended) == (known.text, known.ended)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_any_order_of_joins_steps_and_leaves_gives_the_texts_of_single_requests(precision: str):
    machine = type("Machine", (JoinStepLeave,), {"precision": precision})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=5, stateful_step_count=25, deadline=None, derandomize=True)
    )
