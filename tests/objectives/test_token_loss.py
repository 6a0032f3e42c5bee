"""A loss in chunks of tokens is the plain loss: its value, its gradients, its wrong answers, for every kind of head."""

from typing import Any

import pytest
import torch
from helpers.tiny import TRANSLATION_ZOO, VOCAB, ZOO, close, ids, language_model, numbers, translation_model
from torch import Tensor, nn

from weft.batches.samples import PaddedIds, Samples
from weft.batches.windows import windows
from weft.core.heads import Dense, PerToken
from weft.objectives import NextToken, TargetToken
from weft.objectives.token_loss import CHUNK_LOGITS, MANY_LOGITS, chunk_for, token_loss

TOKENS, WIDTH, SIZE = 10, 6, 9
HEADS = {
    "plain": PerToken.Config(),
    "offsets": PerToken.Config(offsets=True),
    "bounded": PerToken.Config(cap=3.0, offsets=True),
    "dense, scaled": PerToken.Config(dense=Dense.Config(), scale=0.5),
    "tied": PerToken.Config(tied=True),
}


def head_of(kind: str, dtype: torch.dtype = torch.float64) -> tuple[PerToken, nn.Embedding]:
    torch.manual_seed(0)
    table = nn.Embedding(SIZE, WIDTH)
    head = HEADS[kind].build(dim=WIDTH, size=SIZE, table=table)
    with torch.no_grad():
        for p in head.parameters():
            p.normal_()
    return head.to(dtype), table


def learned(head: PerToken, x: Tensor, **more: Any) -> tuple[Tensor, list[Tensor], int | None]:
    """The loss, three times which is differentiated; the gradients of the content and of all weights; wrong answers."""
    x = x.clone().requires_grad_()
    found = token_loss(head, x, ids(TOKENS, 1, vocab=SIZE)[:, 0], **more)
    grads = torch.autograd.grad(3 * found.total, [x, *head.parameters()])
    return found.total.detach(), list(grads), found.wrong


@pytest.mark.parametrize("chunk", [1, 4, 5, 9])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("kind", HEADS)
def test_a_loss_in_chunks_is_the_plain_loss(kind: str, smoothing: float, chunk: int) -> None:
    head, _ = head_of(kind)
    x = numbers(TOKENS, WIDTH)
    total, grads, wrong = learned(head, x, smoothing=smoothing, judged=True)
    total_, grads_, wrong_ = learned(head, x, smoothing=smoothing, judged=True, chunk=chunk)
    assert close(total, total_) and wrong is not None and wrong == wrong_
    assert all(close(one, other) for one, other in zip(grads, grads_, strict=True))


def test_where_all_tokens_fit_one_chunk_bits_are_those_of_the_plain_loss() -> None:
    head, _ = head_of("offsets", torch.float32)
    x = numbers(TOKENS, WIDTH, dtype=torch.float32)
    plain, whole = learned(head, x), learned(head, x, chunk=TOKENS)
    assert torch.equal(plain[0], whole[0]) and all(map(torch.equal, plain[1], whole[1]))


@pytest.mark.parametrize("kind", ["offsets", "tied"])
def test_in_half_precision_it_is_about_as_exact_as_the_plain_loss(kind: str) -> None:
    exact = learned(head_of(kind)[0], numbers(TOKENS, WIDTH).bfloat16().double())[1]
    errors = []
    for chunk in (None, 3):
        head, table = head_of(kind, torch.bfloat16)
        if kind == "tied":
            head.out.weight = table.float().weight  # a table keeps fp32
        found = learned(head, numbers(TOKENS, WIDTH).bfloat16(), chunk=chunk)[1]
        assert [one.dtype for one in found[1:]] == [p.dtype for p in head.parameters()]
        errors.append(sum(float((one.double() - true).abs().sum()) for one, true in zip(found, exact, strict=True)))
    assert errors[1] < 2 * errors[0]  # sums of chunks are rounded once more each


def test_what_learns_nothing_gets_no_gradient_and_evaluation_makes_none() -> None:
    head, _ = head_of("offsets")
    x, targets = numbers(TOKENS, WIDTH).requires_grad_(), ids(TOKENS, 1, vocab=SIZE)[:, 0]
    head.requires_grad_(False)
    (grad,) = torch.autograd.grad(token_loss(head, x, targets).total, x)
    loss = token_loss(head, x, targets, chunk=3).total
    assert close(torch.autograd.grad(loss, x, retain_graph=True)[0], grad)
    with pytest.raises(RuntimeError, match="once"):
        torch.autograd.grad(loss, x)
    with torch.no_grad():
        assert not token_loss(head, x, targets, chunk=3).total.requires_grad


@pytest.mark.parametrize("name", ZOO)
def test_language_models_learn_the_same_in_chunks(name: str) -> None:
    model, batch = language_model(name), windows(ids(3, 8), torch.rand(3, 7, generator=torch.manual_seed(0)) < 0.7)
    found = []
    for chunk in (None, 4):
        loss = NextToken.Config(chunk=chunk).build()(model, batch)
        grads = torch.autograd.grad(loss.total, list(model.parameters()), allow_unused=True)
        found.append((loss.total, *(grad for grad in grads if grad is not None)))
    assert all(close(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize("name", TRANSLATION_ZOO)
def test_translators_learn_the_same_in_chunks(name: str) -> None:
    model = translation_model(name).train()
    batch = Samples(
        PaddedIds(ids(3, 5), torch.tensor([5, 3, 4])), PaddedIds(ids(3, 6, seed=1), torch.tensor([6, 4, 5]))
    )
    found = []
    for chunk in (None, 4):
        torch.manual_seed(0)
        loss = TargetToken.Config(chunk=chunk, smoothing=0.1).build()(model, batch)
        grads = torch.autograd.grad(loss.total, list(model.parameters()), allow_unused=True)
        found.append((loss.total, *(grad for grad in grads if grad is not None)))
    assert all(close(one, other) for one, other in zip(*found, strict=True))


def test_chunks_are_for_many_logits_and_hold_few() -> None:
    assert chunk_for(VOCAB, 10**6) is None and chunk_for(50_000, 1000) is None
    for vocabulary, tokens in ((128_000, 4096), (50_257, 16_384), (10**9, 1)):
        chunk = chunk_for(vocabulary, tokens)
        assert chunk is not None and chunk < tokens or tokens == 1
        assert chunk == 1 or chunk * vocabulary <= CHUNK_LOGITS < MANY_LOGITS
