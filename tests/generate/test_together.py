"""Texts written together: rows that join, step and leave at random have the bits that they have alone."""

import numpy as np
import pytest
import torch
from helpers.tiny import ZOO, language_model

from weft.generate import Sampling, Session
from weft.generate.choices import Choices
from weft.generate.compute import prepared
from weft.generate.programs import steps_of
from weft.generate.prompts import Prompt
from weft.generate.search import Drawing, search
from weft.generate.together import Scored, Together, WrittenLine, scored_prompt
from weft.modalities import tokenizer_making
from weft.models.stream import Stream

TOKENIZER = tokenizer_making.train("characters", ["abcdefghij"])
WINDOW = 12


def model_of(name: str) -> Stream:
    return language_model(name, context=WINDOW, dtype=torch.float32, vocab=TOKENIZER.size)


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
        kind = draw.choice(["join", "step", "leave"], p=[0.25, 0.65, 0.1])
        if kind == "join" and len(together.lines) < 6:
            prompt = prompt_of(draw, **more)
            lines = [WrittenLine(prompt, sample) for sample in range(int(draw.integers(1, 3)))]
            together.join(lines)
            every += [[prompt, sample, line, False] for sample, line in enumerate(lines)]
        elif kind == "leave" and together.lines:
            gone = together.lines[int(draw.integers(len(together.lines)))]
            together.leave([gone])
            next(one for one in every if one[2] is gone)[3] = True
        else:
            together.step()
    while together.lines:
        together.step()
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


def test_lines_with_one_way_of_drawing_are_written_ahead_and_as_alone(monkeypatch: pytest.MonkeyPatch):
    model, counts = model_of("swift"), []
    write = Session.write
    monkeypatch.setattr(Session, "write", lambda self, *given: (counts.append(len(self.rows)), write(self, *given))[1])
    found = play(model, 7, 60, temperature=1.0, top_p=1.0, repetition_penalty=1.0)
    for prompt, sample, line, left in found:
        known = alone(model, prompt, sample)
        assert line.ids == known.ids[: len(line.ids)] and (left or line.text == known.text)
    assert max(counts) > 1


def test_log_probabilities_are_those_of_one_pass_over_the_whole_text():
    model, ids = model_of("swift"), [1, 2, 3]
    how = Sampling(temperature=1.0, max_tokens=6, seed=3)
    together, line = Together(model), WrittenLine(Prompt(ids, how, (TOKENIZER.end,), None, TOKENIZER), 0, 2)
    together.join([line])
    while together.lines:
        together.step()
    whole = scored_prompt(model, [*ids, *line.ids], 2)
    assert whole[0] == Scored(1, None) and len(whole) == 3 + len(line.ids) == 3 + len(line.scored)
    for mine, theirs in zip(line.scored, whole[3:], strict=True):
        assert mine.id == theirs.id and mine.log_probability == pytest.approx(theirs.log_probability, abs=1e-4)
        assert [one for one, _ in mine.likeliest] == [one for one, _ in theirs.likeliest]
        assert mine.likeliest[0][1] >= mine.likeliest[1][1]
