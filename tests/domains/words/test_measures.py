"""Objectives of words: the fast form is the sum that is written down, and a step changes the rows that were read."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from weft.batches.words import BLOCK
from weft.domains.words.encoded.counts import CountedPairs, NearbyPairs
from weft.domains.words.encoded.lines import NeighbourLines, Thinning
from weft.domains.words.measures import analogy_answers, spelling_likeness, unit_vectors
from weft.models.word_vectors import WordVectors
from weft.objectives import NegativeSampling, PairCount, negative_sampling
from weft.training.optimizer import Optimizer
from weft.training.precision import Weights
from weft.training.settings import Training

WORDS = 30


def model_of(kind: str = "word2vec") -> WordVectors:
    torch.manual_seed(0)
    model = WordVectors.Config(words=WORDS, dim=6, kind=kind).build()
    for table in model.parameters():
        torch.nn.init.normal_(table)
    return model


def lines_of(count: int = 2):
    ids = np.random.default_rng(0).integers(0, 20, 600).astype(np.int32)
    ids[::11] = WORDS
    how = Thinning(3, 0.0)
    return NeighbourLines(ids, ids, np.ones(WORDS), how, span=90, fingerprint="f", seed=0).batch(np.arange(count))


@pytest.mark.parametrize("contexts", ["skip-gram", "cbow"])
def test_the_loss_and_its_gradient_are_those_of_the_sum_that_is_written_down(contexts: str) -> None:
    model, batch = model_of().double(), lines_of()
    loss = NegativeSampling.Config(contexts=contexts, negatives=5.0).build()(model, batch)
    loss.total.backward()
    fast = {name: p.grad.to_dense() for name, p in model.named_parameters()}
    model.zero_grad()
    u, v = model.word.weight, model.neighbour.weight
    near, words = batch.wanted.near(BLOCK), batch.given.raw()
    drawn = batch.wanted.rows.raw()[:, words.shape[1] :]
    total, count = torch.zeros((), dtype=torch.float64), 0
    for row, stretch in enumerate(words.reshape(-1, BLOCK).tolist()):
        others = v[drawn[row * BLOCK // words.shape[1]]]
        for i, word in enumerate(stretch):
            neighbours = [stretch[j] for j in torch.nonzero(near[row, i]).flatten().tolist()]
            if not neighbours:
                continue
            given = u[word] if contexts == "skip-gram" else u[neighbours].mean(0)
            wanted = neighbours if contexts == "skip-gram" else [word]
            count += len(wanted)
            total = total + sum(F.softplus(-(given @ v[one])) for one in wanted)
            total = total + len(wanted) * 5.0 * F.softplus(others @ given).mean()
    assert loss.count == count and math.isclose(float(loss.total.detach()), float(total.detach()), rel_tol=1e-9)
    total.backward()
    for name, p in model.named_parameters():
        assert torch.allclose(fast[name], p.grad, atol=1e-9), name


def test_pieces_of_a_batch_give_the_same_gradient() -> None:
    objective, batch = NegativeSampling.Config().build(), lines_of(6)
    whole, parts = model_of().double(), model_of().double()
    objective(whole, batch).total.backward()
    for i in range(len(batch)):
        objective(parts, batch[i : i + 1]).total.backward()
    for a, b in zip(whole.parameters(), parts.parameters(), strict=True):
        assert torch.allclose(a.grad.to_dense(), b.grad.to_dense(), atol=1e-12)


def test_counts_are_predicted_by_vectors_and_biases() -> None:
    pairs = NearbyPairs(np.array([0, 1, 2], np.int32), np.array([3, 3, 1], np.int32), np.array([1.0, 5.0, 20.0]))
    model, source = model_of("glove"), CountedPairs(pairs, pairs, most=10.0, fingerprint="f", seed=0)
    loss = PairCount.Config().build()(model, next(source.held_out()))
    score = (model.word.weight[[0, 1, 2]] * model.neighbour.weight[[3, 3, 1]]).sum(1)
    score = score + model.word_bias.weight[[0, 1, 2], 0] + model.neighbour_bias.weight[[3, 3, 1], 0]
    weights = torch.tensor([0.1, 0.5, 1.0]) ** 0.75
    assert torch.isclose(loss.total, (weights * (score - torch.tensor(pairs.counts).log()) ** 2).sum().float())
    assert loss.count == 3


@pytest.mark.parametrize("parts", [1, 2])
def test_a_step_moves_the_rows_that_were_read_by_the_sum_of_their_gradients(parts: int) -> None:
    model, batch = model_of(), lines_of()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    weights = Weights(model, torch.bfloat16)
    assert all(p.dtype is torch.float32 for p in model.parameters())  # tables are never rounded
    optimizer = Optimizer(weights, Training(lr=0.5, clip=2.0), fast=torch.float32)
    objective = NegativeSampling.Config().build()
    size = -(-len(batch) // parts)
    losses = [objective(model, batch[i : i + size]) for i in range(0, len(batch), size)]
    for loss in losses:
        loss.total.backward()
    gradients = {name: p.grad.to_dense() for name, p in model.named_parameters()}
    norm = optimizer.step(sum(loss.count for loss in losses), 0.1)
    assert math.isfinite(norm) and norm > 0 and optimizer.tensors() == {}
    for name, p in model.named_parameters():
        gradient = gradients[name]
        clipped = gradient * (2.0 / gradient.norm(dim=1, keepdim=True).clamp(min=2.0))
        assert torch.allclose(p, before[name] - 0.05 * clipped, atol=1e-6), name
    unread = sorted(set(range(WORDS)) - set(batch.given.rows.tolist()))
    assert unread and torch.equal(model.word.weight[unread], before["word.weight"][unread])


def test_gradients_that_are_no_numbers_change_nothing() -> None:
    model = model_of()
    optimizer = Optimizer(Weights(model, torch.float32), Training(), fast=torch.float32)
    NegativeSampling.Config().build()(model, lines_of()).total.backward()
    model.word.weight.grad._values()[0, 0] = math.nan
    before = model.word.weight.detach().clone()
    assert not math.isfinite(optimizer.step(1, 1.0)) and torch.equal(model.word.weight, before)


def test_the_words_of_a_question_are_never_its_answer() -> None:
    unit = unit_vectors(np.array([[1, 0], [1, 0.1], [1, 0.2], [1, 0.3], [-1, 0]], float))
    assert analogy_answers(unit, np.array([[0, 1, 2, 3]])).tolist() == [3]
    assert analogy_answers(unit, np.array([[3, 1, 2, 0]]), offset=False).tolist() == [0]
    assert spelling_likeness("run", "running") > spelling_likeness("run", "sprint") >= 0


@pytest.mark.parametrize("contexts", ["skip-gram", "cbow"])
def test_the_number_of_threads_changes_no_bit(contexts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negative_sampling, "PART", 2)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            model = model_of()
            loss = NegativeSampling.Config(contexts=contexts).build()(model, lines_of(8))
            loss.total.backward()
            found.append([loss.total.detach(), *(p.grad.to_dense() for p in model.parameters())])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
