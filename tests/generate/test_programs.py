"""A model's step program is made once, and never used for a model that is no longer as it was."""

import copy
import gc
import weakref
from collections.abc import Callable

import pytest
import torch
from helpers.steps import alike, by_modules
from helpers.tiny import language_model
from torch import nn
from torch.nn.utils import parametrize

from weft.core.adapters import LowRank, fold
from weft.generate import Session, programs
from weft.generate.program import Program
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.native import library

pytestmark = pytest.mark.skipif(library() is None, reason="there is no C compiler")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """The programs that are made."""
    found, make = list[Program](), programs.program_of
    monkeypatch.setattr(programs, "program_of", lambda *given: found.append(make(*given)) or found[-1])
    return found


def logits(session: Session) -> list[torch.Tensor]:
    """Those of a prompt and of two steps."""
    return [session.start([[1, 2, 3], [4]]), *(session.step(torch.tensor([step, 5])) for step in (6, 7))]


def adapted() -> Stream:
    config = LANGUAGE_MODELS["gpt"](Size(dim=16, depth=2, heads=4, context=12), vocab=11)
    model = config.replace(trunk=config.trunk.replace(adapters=LowRank.Config(rank=2))).build().eval()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.3)
    return model


class Doubled(nn.Module):
    """2 x, for weights."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x


def _other_numbers(model: Stream) -> dict[str, torch.Tensor]:
    return {name: one + 0.1 for name, one in model.state_dict().items()}


def _moved(model: Stream) -> None:
    for p in model.parameters():
        p.data = p.data + 0.1


def _transposed(model: Stream) -> None:
    weight = model.trunk.blocks[0].mix.out.weight
    weight.data = weight.data.T


CHANGES: dict[str, Callable[[Stream], object]] = {
    "weights that are replaced": lambda m: m.load_state_dict(_other_numbers(m), assign=True),
    "weights that move": _moved,
    "a weight that is turned where it is": _transposed,
    "another precision and back": lambda m: _moved(m.double()) or m.float(),
    "an attribute": lambda m: setattr(m.embed, "scale", 2.0),
    "another function": lambda m: setattr(m.trunk.blocks[1].transform, "act", torch.tanh),
    "another part": lambda m: setattr(m.trunk, "norm", nn.LayerNorm(16)),
    "a part that is left out": lambda m: setattr(m.trunk.blocks[0], "read", None) or m.trunk.blocks.__delitem__(1),
    "a hook": lambda m: m.trunk.norm.register_forward_hook(lambda module, given, out: out * 2),
    "a parametrization": lambda m: parametrize.register_parametrization(m.trunk.blocks[0].mix.qkv, "weight", Doubled()),
    "training": lambda m: m.trunk.train(),
    "a buffer": lambda m: m.register_buffer("numbers", torch.zeros(3)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_is_never_stepped_by_its_old_program(change: str, made: list[Program]):
    model = language_model("gpt", dtype=torch.float32)
    before = logits(Session(model))
    CHANGES[change](model)
    session = Session(model)
    assert session.program is not made[0]
    with torch.no_grad():
        found, expected = logits(session), logits(by_modules(model))
    assert alike(found, expected)
    assert alike(found, before) == (change in ("training", "a buffer"))


def test_the_program_is_made_once_while_weights_change_in_place(made: list[Program]):
    model = language_model("swift", dtype=torch.float32)
    before = logits(Session(model))
    model.load_state_dict(_other_numbers(model))
    found = logits(Session(model))
    assert alike(found, logits(by_modules(model))) and not alike(found, before)
    model.train()
    assert Session(model).program is None
    model.eval()
    assert Session(model).program is not None and len(made) == 2


def test_adapters_are_found_where_they_were_folded(made: list[Program]):
    model = adapted()
    before = logits(Session(model))
    assert len(made) == 1 and not alike(before, logits(Session(_without_adapters(model))))
    fold(model)
    assert alike(logits(Session(model)), before) and len(made) == 3


def _without_adapters(model: Stream) -> Stream:
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for name, p in twin.named_parameters():
            if name.endswith(".b"):
                p.zero_()
    return twin


def test_a_session_that_has_begun_goes_on_with_the_weights_that_it_began_with():
    model = language_model("gpt", dtype=torch.float32)
    expected = logits(Session(copy.deepcopy(model)))
    session = Session(model)
    _moved(model)
    gc.collect()
    assert alike(logits(session), expected)


def test_a_model_that_is_let_go_is_gone_and_so_are_weights_that_it_let_go():
    model = language_model("gpt", dtype=torch.float32)
    Session(model).start([[1]])
    storage = model.embed.table.weight.untyped_storage()
    gone, memory = weakref.ref(model), weakref.ref(storage)
    del storage
    _moved(model)
    assert memory() is None
    del model
    gc.collect()
    assert gone() is None
