"""Vectors added to the stream of all tokens are steps of native code too; other changes are left to the modules."""

from collections.abc import Sequence

import pytest
import torch
from helpers.steps import alike, by_modules, few_quick, logits
from helpers.tiny import ZOO, language_model

from weft.core import Added, Scaled, Without, changed, record
from weft.core.changes import Change
from weft.generate import Sampling, Session
from weft.generate.compute import prepared
from weft.models.stream import Stream
from weft.native import library

pytestmark = pytest.mark.skipif(library() is None, reason="there is no C compiler")
MODELS = {name: language_model(name, dtype=torch.float32).eval() for name in ZOO}
PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9]]


def steering(model: Stream, layers: Sequence[int] = (0, 1, 1, 2)) -> tuple[Change, ...]:
    """A vector added at some layers, one of them twice."""
    draws = torch.Generator().manual_seed(1)
    return tuple(Added(one, vector=tuple(torch.randn(model.config.dim, generator=draws).tolist())) for one in layers)


@pytest.mark.parametrize("name", few_quick(ZOO, ("gpt", "swift", "lstm")))
def test_steered_steps_in_native_code_are_those_of_the_modules(name: str):
    model = MODELS[name]
    plain = logits(Session(model), PROMPTS)
    with changed(model, *steering(model)) as held:
        session = Session(model, capacity=7)
        found = logits(session, PROMPTS)
        assert session._native is not None and not held.unmet
        assert alike(found, logits(by_modules(model), PROMPTS))
    assert not alike(found, plain)
    assert all(map(torch.equal, logits(Session(model), PROMPTS), plain))


def test_changes_that_come_and_go_between_steps_are_followed():
    def steps(session: Session, model: Stream) -> list[torch.Tensor]:
        found = [session.start(PROMPTS)]
        for number in range(6):
            with changed(model, *(steering(model) if number % 3 == 1 else ())):
                found.append(session.step(torch.tensor([1, 2, 3]) + number))
        return found

    model = MODELS["swift"]
    assert alike(steps(Session(model), model), steps(by_modules(model), model))


def test_the_program_under_equal_changes_is_made_once():
    model, session = MODELS["gpt"], Session(MODELS["gpt"])
    session.start(PROMPTS)
    programs = []
    for _ in range(3):
        with changed(model, *steering(model)):
            session.step(torch.tensor([1, 2, 3]))
            programs.append(session._program())
    assert programs[0] is programs[1] is programs[2] is not session.program


@pytest.mark.parametrize(
    "change",
    [Without(1), Scaled(1, factor=1.0), Added(1, vector=(1.0,) * 12, tokens=(2,))],
    ids=["off", "scaled", "one token"],
)
def test_any_other_change_is_computed_by_the_modules(change: Change):
    model = MODELS["gpt"]
    change = change.replace(vector=(1.0,) * model.config.dim) if isinstance(change, Added) else change
    with changed(model, change):
        session = Session(model)
        found = logits(session, PROMPTS)
        assert session._native is None and alike(found, logits(by_modules(model), PROMPTS))
    with changed(model, *steering(model)), record(model):
        assert Session(model)._program() is None


def test_eight_bits_are_steered_too_and_texts_are_written_so():
    model = prepared(MODELS["swift"], "int8")
    with changed(model, *steering(model)):
        session = Session(model)
        assert alike([session.start([[1, 2, 3]])], [by_modules(model).start([[1, 2, 3]])]) and session._program()
    model = MODELS["llama"]
    with changed(model, *steering(model)):
        session, slow, row = Session(model), by_modules(model), list[int]()
        values, logit = session.start([[1, 2]]), slow.start([[1, 2]])
        assert session.ahead() >= 6
        written = session.write(values, [Sampling(temperature=0.0)], torch.zeros(6, 1).double(), [()])
        for _ in range(6):
            row.append(int(logit.argmax()))
            logit = slow.step(torch.tensor(row[-1:]))
    assert written[0].tolist() == row
