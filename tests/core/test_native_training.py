"""Native operators of training: they equal torch's, have their gradients, and step aside where they cannot compute."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from weft.core import native_training as native
from weft.core.draws import Chance, opened
from weft.core.native_training import NO_NORM, Heads
from weft.modalities.text import Text
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.native import TrainingKind, library
from weft.native.loading import Library

Operator = Callable[..., Tensor]


@pytest.fixture(params=[0, 1, 3], ids=["plain C", "AVX2", "AVX-512"])
def instruction_set(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Library:
    found = library()
    if found is None or found.widest < request.param:
        pytest.skip("not on this machine")
    monkeypatch.setattr(found, "widest", request.param)
    return found


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def results(function: Operator, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """What the function gives, and its gradients for a fixed gradient of that."""
    given = [t.detach().clone().requires_grad_() for t in inputs]
    out = function(*given)
    out.backward(drawn(*out.shape, seed=1).to(out.dtype))
    return [out.detach(), *(t.grad for t in given if t.grad is not None)]


def agree(function: Operator, reference: Operator, *inputs: Tensor) -> None:
    found = results(function, inputs)
    wanted = results(reference, tuple(t.double() for t in inputs))
    for a, b in zip(found, wanted, strict=True):
        assert (a - b).norm() < 3e-6 * b.norm()


def angles(rows: int, tokens: int, half: int) -> tuple[Tensor, Tensor]:
    turns = drawn(rows, tokens, 1, half, seed=2)
    return turns.cos(), turns.sin()


def test_squared_relu_and_norms_have_the_gradients_of_their_equations(instruction_set: Library):
    x = drawn(3, 7, 50)
    agree(native.relu_squared, lambda t: t.relu() ** 2, x)
    agree(lambda t: native.layer_norm(t, 1e-5), lambda t: torch.nn.functional.layer_norm(t, (50,)), 3 * x + 1)


@pytest.mark.parametrize("eps", [NO_NORM, 1e-5])
@pytest.mark.parametrize("tokens", [1, 2, 9])
def test_a_shift_with_its_norm_has_the_gradient_of_its_equation(instruction_set: Library, tokens: int, eps: float):
    def shifted(x: Tensor, mix: Tensor) -> Tensor:
        x = x if eps == NO_NORM else torch.nn.functional.layer_norm(x, (50,))
        return x + mix * (torch.nn.functional.pad(x, (0, 0, 1, 0))[:, :-1] - x)

    agree(lambda x, mix: native.shift(x, mix, eps), shifted, drawn(3, tokens, 50), drawn(50, seed=3))


@pytest.mark.parametrize("tokens", [1, 31, 70])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("heads", "groups", "width", "half", "eps"), [(4, 4, 32, 16, 1e-5), (4, 2, 48, 4, NO_NORM)])
def test_reading_a_line_has_the_gradient_of_attention(
    instruction_set: Library, tokens: int, causal: bool, heads: int, groups: int, width: int, half: int, eps: float
):
    how = Heads(heads, groups, width, causal, eps, 0.3)
    cos, sin = angles(2, tokens, half)

    def attention(qkv: Tensor) -> Tensor:
        def placed(t: Tensor) -> Tensor:
            t = t if eps == NO_NORM else torch.nn.functional.layer_norm(t, (width,))
            a, b, rest = t[..., :half], t[..., half : 2 * half], t[..., 2 * half :]
            return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)

        q, k, v = qkv.unflatten(-1, (-1, width)).split([heads, groups, groups], 2)
        q, k, v = (t.transpose(1, 2) for t in (placed(q), placed(k), v))
        read = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, scale=0.3, enable_gqa=groups < heads
        )
        return read.transpose(1, 2).flatten(2)

    agree(lambda qkv: native.read(qkv, cos, sin, how), attention, drawn(2, tokens, (heads + 2 * groups) * width))


@pytest.mark.usefixtures("threads")
def test_the_number_of_threads_changes_no_digit():
    if library() is None:
        pytest.skip("no native library")
    cos, sin = angles(3, 40, 8)
    how = Heads(2, 1, 16, True, 1e-5, 0.3)

    def all_of_them(qkv: Tensor, mix: Tensor) -> Tensor:
        return native.relu_squared(native.read(native.shift(native.layer_norm(qkv, 1e-5), mix), cos, sin, how))

    found = []
    for number in (1, 2, 3):
        torch.set_num_threads(number)
        found.append(results(all_of_them, (drawn(3, 40, 64), drawn(64, seed=3))))
    assert all(torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


def test_gradients_of_gradients_are_those_of_torch():
    if library() is None:
        pytest.skip("no native library")
    how, (cos, sin) = Heads(2, 2, 16, True, 1e-5, 0.3), angles(1, 5, 8)

    def seconds(function: Operator, x: Tensor) -> Tensor:
        x = x.detach().clone().requires_grad_()
        (grad,) = torch.autograd.grad((function(x) ** 3).sum(), x, create_graph=True)
        return torch.autograd.grad((grad**2).sum(), x)[0]

    x = drawn(1, 5, 96)
    mix = drawn(96, seed=3)
    for function, reference in (
        (native.relu_squared, lambda t: t.relu() ** 2),
        (lambda t: native.layer_norm(t, 1e-5), lambda t: torch.nn.functional.layer_norm(t, (96,))),
        (lambda t: native.shift(t, mix, 1e-5), lambda t: native._shifted(t, mix.to(t.dtype), 1e-5)),
        (lambda t: native.read(t, cos, sin, how), lambda t: native._read(t, cos, sin, how)),
    ):
        wanted = seconds(reference, x.double())
        assert (seconds(function, x) - wanted).norm() < 2e-5 * wanted.norm()


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:DeprecationWarning")
def test_what_is_no_plain_number_on_a_cpu_is_left_to_torch(monkeypatch: pytest.MonkeyPatch):
    if library() is None:
        pytest.skip("no native library")
    x = drawn(2, 4, 8).requires_grad_()
    assert native.ready(x * 1)
    assert not native.ready(x.detach()) and not native.ready(x.double()) and not native.ready(x.bfloat16())
    assert not native.ready(x.transpose(0, 1)) and not native.ready(x[:0])
    with torch.no_grad():
        assert not native.ready(x)
    asked: list[bool] = []
    torch.func.grad(lambda t: asked.append(native.ready(t)) or t.sum())(x)
    torch.jit.trace(lambda t: asked.append(native.ready(t)) or t * 2, x)
    monkeypatch.setattr(native, "library", lambda: None)
    assert not native.ready(x) and asked and not any(asked)


def test_a_model_learns_the_same_in_native_code_and_without(monkeypatch: pytest.MonkeyPatch):
    if library() is None:
        pytest.skip("no native library")
    torch.manual_seed(0)
    model = LANGUAGE_MODELS["swift"](Size(dim=32, depth=2, heads=2, context=40), vocab=11, dropout=0.1).build()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    ids, ran = torch.randint(11, (2, 40)), Counter[TrainingKind]()
    keys = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
    run = native._run

    def counted(kind: TrainingKind, *given: Any, **more: Any) -> None:
        ran[kind] += 1
        run(kind, *given, **more)

    monkeypatch.setattr(native, "_run", counted)

    def gradients() -> list[Tensor]:
        model.zero_grad()
        with opened(Chance(lambda rows, device: keys)):
            model(Text(ids)).square().sum().backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    found = gradients()
    assert set(ran) == set(TrainingKind) and ran[TrainingKind.READ_BACKWARD] == 2
    monkeypatch.setattr(native, "library", lambda: None)
    for a, b in zip(found, gradients(), strict=True):
        assert (a - b).norm() <= 2e-5 * b.norm()


@pytest.mark.parametrize(("name", "context", "used"), [("swift", 8, True), ("gpt", 8, False), ("gpt", 96, True)])
def test_lines_are_read_in_native_code_where_it_is_faster(
    name: str, context: int, used: bool, monkeypatch: pytest.MonkeyPatch
):
    if library() is None:
        pytest.skip("no native library")
    model = LANGUAGE_MODELS[name](Size(dim=32, depth=1, heads=2, context=context), vocab=11).build()
    ran, run = list[TrainingKind](), native._run
    monkeypatch.setattr(native, "_run", lambda kind, *given, **more: (ran.append(kind), run(kind, *given, **more)))
    model(Text(torch.zeros(1, context, dtype=torch.long)))
    assert (TrainingKind.READ_FORWARD in ran) == used
