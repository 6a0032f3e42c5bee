"""The penalty on attention that leaves parts of a picture unread over a whole caption."""

import pytest
import torch
from helpers.tiny import VOCAB, close, ids, pictures, randomised

from weft.batches.samples import PaddedIds, Samples
from weft.domains.captions.views.reading import picture_weights
from weft.errors import ConfigError, WeftError
from weft.models.seq2seq import Seq2Seq
from weft.models.zoo import Size
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS
from weft.models.zoo.vision import Sight, VisionSize, small_net
from weft.objectives import Loss, TargetToken
from weft.training.sums import to_differentiate

LOOKING = pytest.mark.parametrize("name", ["one-stream", "show-attend-tell", "swift"])
WEIGHT = 0.5
LINES = PaddedIds(ids(3, 6, seed=1), torch.tensor([6, 4, 5]))
BATCH = Samples(pictures(2), LINES, torch.tensor([0, 0, 1]))


def writer(name: str) -> Seq2Seq:
    size = VisionSize(dim=16, depth=1, heads=2, patch=2, net=small_net(8, (0, 1)))
    encoder = CAPTION_ENCODERS[name](size, Sight(8, 8), outputs=None)
    encoder = encoder.replace(embed=encoder.embed.replace(class_tokens=0))
    model = CAPTION_MODELS[name](encoder, Size(dim=16, depth=2, heads=2, context=12), vocab=VOCAB).build()
    model = randomised(model).double().train()
    model.source.eval()  # statistics of a batch would tell its pieces from the whole
    return model


def loss_of(model: Seq2Seq, batch: Samples = BATCH, coverage: float = WEIGHT) -> Loss:
    return TargetToken.Config(coverage=coverage).build()(model, batch)


@LOOKING
def test_it_is_that_of_the_definition_over_real_words(name: str) -> None:
    model, expected = writer(name), 0.0
    (term,) = loss_of(model).terms
    for row, owner in enumerate([0, 0, 1]):
        words = int(LINES.lengths[row]) - 1
        weights = picture_weights(model, BATCH.given[owner : owner + 1], LINES.ids[row, :words].tolist())
        read = weights.mean((0, 1)).sum(0)
        expected += float(((1 - read) ** 2).sum())
    assert float(term.total.detach()) == pytest.approx(expected, rel=1e-5)
    assert (term.name, term.count, term.weight) == ("coverage", 5 + 3 + 4, WEIGHT)


@LOOKING
def test_it_changes_neither_the_loss_of_tokens_nor_an_evaluation(name: str) -> None:
    model = writer(name)
    with_it, without = loss_of(model), loss_of(model, coverage=0.0)
    assert torch.equal(with_it.total, without.total) and with_it.count == without.count and not without.terms
    assert not loss_of(model.eval()).terms


@LOOKING
def test_a_step_against_its_gradient_spreads_attention(name: str) -> None:
    model = writer(name)
    (before,) = loss_of(model).terms
    before.total.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= 1e-4 * p.grad
    (after,) = loss_of(model).terms
    assert float(after.total.detach()) < float(before.total.detach()) - 1e-6


@LOOKING
def test_pieces_of_a_batch_give_the_gradient_of_the_whole(name: str) -> None:
    objective = TargetToken.Config(coverage=WEIGHT).build()
    counts = objective.counts(BATCH)

    def gradients(*pieces: Samples) -> dict[str, torch.Tensor]:
        model = writer(name)
        for piece in pieces:
            to_differentiate(objective(model, piece), counts).backward()
        return {n: p.grad for n, p in model.named_parameters() if p.grad is not None}

    whole, apart = gradients(BATCH), gradients(BATCH[:1], BATCH[1:])
    assert whole and all(close(grad, apart[n], 1e-9) for n, grad in whole.items())


def test_a_model_without_attention_to_the_picture_is_refused() -> None:
    with pytest.raises(ConfigError, match="no attention"):
        loss_of(writer("cnn-lstm"))
    with pytest.raises(WeftError, match="one vector"):
        picture_weights(writer("cnn-lstm"), pictures(1), [1, 2])
