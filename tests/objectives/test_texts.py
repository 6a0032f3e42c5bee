"""Objectives over texts: the losses of their definitions, only where something is scored, indifferent to padding."""

import math

import numpy as np
import pytest
import torch
from helpers.tiny import VOCAB, close, ids, randomised

from weft.batches.samples import AtTokens, Classes, EvenIds, Microbatches, Numbers, PaddedIds, Samples
from weft.config import from_json
from weft.core import Attention, Block, Mlp, PerToken, Pooled, Trunk
from weft.domains.texts.encoded.masking import Masked
from weft.errors import ConfigError
from weft.modalities.text import Text, TextEmbed
from weft.models.stream import Stream
from weft.objectives import Classify, MaskedToken, Number, Objective, SplitTags, Tags
from weft.objectives.classify import balanced
from weft.position import Add, Learned
from weft.tasks.labels.numbers import NumberCodec

CLASSES = 4


def encoder(head, outputs: int | None = None) -> Stream:
    block = Block.Config(mix=Attention.Config(heads=4), transform=Mlp.Config())
    place = Add.Config(code=Learned.Config(size=16))
    embed = TextEmbed.Config(vocab=VOCAB, context=16, reading="free", place=place)
    config = Stream.Config(dim=16, embed=embed, trunk=Trunk.Config(depth=2, block=block), head=head, outputs=outputs)
    return randomised(config.build()).double().eval()


def texts() -> list[np.ndarray]:
    return [row[:n] for row, n in zip(ids(5, 9).numpy(), (9, 4, 7, 1, 4), strict=True)]


def samples(rows: list[np.ndarray], targets: torch.Tensor) -> Samples:
    wanted = Numbers(targets) if targets.is_floating_point() else Classes(targets)
    return Samples(PaddedIds.of(rows), wanted)


def labelled(targets: torch.Tensor) -> Microbatches:
    rows = texts()
    return Microbatches((samples(rows[:3], targets[:3]), samples(rows[3:], targets[3:])))


def alone(model: Stream, row: np.ndarray) -> torch.Tensor:
    """What the model says of one text without neighbours or padding."""
    return model(Text(torch.from_numpy(row)[None]))[0]


# Masked tokens


def masked(hidden: torch.Tensor) -> Masked:
    return Samples(EvenIds(ids(3, 8, seed=1)), AtTokens(ids(3, 8, seed=2), hidden))


def test_hidden_tokens_alone_are_scored():
    model, hidden = encoder(PerToken.Config()), torch.rand(3, 8) < 0.4
    batch = masked(hidden)
    loss = MaskedToken.Config().build()(model, batch)
    chance = model(Text(batch.given.ids)).log_softmax(-1)
    expected = -sum(chance[r, t, batch.wanted.values[r, t]] for r, t in hidden.nonzero().tolist())
    assert loss.count == int(hidden.sum()) and close(loss.total, expected)


def test_the_head_computes_only_at_hidden_tokens(monkeypatch: pytest.MonkeyPatch):
    model, seen = encoder(PerToken.Config()), []
    values = model.head.values
    monkeypatch.setattr(model.head, "values", lambda x: seen.append(x.shape[0]) or values(x))
    hidden = torch.zeros(3, 8, dtype=torch.bool)
    hidden[1, 2] = hidden[2, 7] = True
    MaskedToken.Config().build()(model, masked(hidden))
    assert seen == [2]


def test_nothing_hidden_is_zero_over_zero_with_finite_gradients():
    model = encoder(PerToken.Config())
    loss = MaskedToken.Config().build()(model, masked(torch.zeros(3, 8, dtype=torch.bool)))
    loss.total.backward()
    assert loss.count == 0 and loss.total.item() == 0
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


# Classes

TARGETS = torch.tensor([0, 3, 1, 1, 2])


def test_the_loss_of_classes_is_that_of_each_text_by_itself():
    model = encoder(Pooled.Config(), CLASSES)
    loss = Classify.Config().build()(model, labelled(TARGETS))
    expected = -sum(alone(model, row).log_softmax(-1)[y] for row, y in zip(texts(), TARGETS, strict=True))
    assert loss.count == 5 and close(loss.total, expected)


def test_softening_and_weights_count_in_training_alone():
    model, weights = encoder(Pooled.Config(), CLASSES), (0.5, 2.0, 1.0, 4.0)
    objective = Classify.Config(smoothing=0.1, weights=weights).build()
    assert close(objective(model, labelled(TARGETS)).total, Classify.Config().build()(model, labelled(TARGETS)).total)
    model.train()
    expected = 0.0
    for row, y in zip(texts(), TARGETS.tolist(), strict=True):
        chance = alone(model, row).log_softmax(-1)
        expected = expected - 0.9 * weights[y] * chance[y] - 0.1 * (torch.tensor(weights) * chance).mean()
    assert close(objective(model, labelled(TARGETS)).total, expected)


def test_balanced_weights_make_classes_count_alike():
    counts = (1, 10, 4)
    weights = balanced(counts)
    assert len({round(w * n, 9) for w, n in zip(weights, counts, strict=True)}) == 1
    assert sum(w * n for w, n in zip(weights, counts, strict=True)) == pytest.approx(sum(counts))
    with pytest.raises(ConfigError, match="needs a sample"):
        balanced((3, 0))


def test_wrong_answers_are_counted_where_a_model_is_judged():
    model, targets = encoder(Pooled.Config(), CLASSES), torch.tensor([0, 1, 2, 3, 0])
    truth = torch.tensor([int(alone(model, row).argmax()) for row in texts()])
    objective = Classify.Config().build()
    assert objective(model, labelled(truth)).wrong == 0
    assert objective(model, labelled(targets)).wrong == int((truth != targets).sum())
    assert objective(model.train(), labelled(truth)).wrong is None


def test_a_classifier_is_made_as_sure_as_it_is_right_and_never_surer():
    model, objective = encoder(Pooled.Config(), CLASSES), Classify.Config().build()
    rows = [texts()[i % 5] for i in range(40)]
    best = torch.stack([alone(model, row) for row in rows]).argmax(1)
    truth = torch.where(torch.arange(40) % 4 == 0, (best + 1) % CLASSES, best)  # right in three of four
    model.head.out.weight.data.mul_(1000)
    batch = Microbatches((samples(rows, truth),))
    before = objective(model, batch)
    objective.calibrate(model, [batch])
    after = objective(model, batch)
    assert after.wrong == before.wrong == 10 and after.total < 0.1 * before.total
    kept = model.head.out.weight.clone()
    objective.calibrate(model, [Microbatches((samples(rows, best),))])  # always right
    objective.calibrate(model, [Microbatches((samples(rows[:5], truth[:5]),))])  # too few to tell
    objective.calibrate(model, [])
    assert torch.equal(model.head.out.weight, kept)


@pytest.mark.parametrize("config", [{"smoothing": 1.0}, {"weights": (1.0, 0.0)}])
def test_settings_of_classes_that_cannot_work_are_refused(config):
    with pytest.raises(ConfigError):
        Classify.Config(**config)


# Numbers


def written(numbers: np.ndarray) -> list[str]:
    return [f"{number:g}" for number in numbers]


def test_numbers_are_learned_around_zero_and_said_in_the_users_unit():
    model, numbers = encoder(Pooled.Config(), 1), np.array([1e6, 3e6, 2e6, 5e6, 4e6])
    codec = NumberCodec.of(numbers)
    targets = torch.from_numpy(codec.encode(written(numbers)))
    loss = Number.Config().build()(model, labelled(targets))
    said = torch.stack([alone(model, row)[0] for row in texts()])
    expected = ((said - torch.from_numpy((numbers - 3e6) / numbers.std())) ** 2).sum()
    assert loss.count == 5 and close(loss.total, expected)
    assert codec.restored(torch.tensor([0.0, 1.0])).tolist() == pytest.approx([3e6, 3e6 + numbers.std()])


def test_always_saying_the_mean_costs_one_each():
    model = encoder(Pooled.Config(), 1)
    with torch.no_grad():
        model.head.out.weight.zero_(), model.head.out.bias.zero_()
    numbers = np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    targets = torch.from_numpy(NumberCodec.of(numbers).encode(written(numbers)))
    loss = Number.Config().build()(model, labelled(targets))
    assert loss.total.item() / loss.count == pytest.approx(1.0)


def test_a_spread_of_nothing_is_refused_and_equal_numbers_are_borne():
    with pytest.raises(ConfigError, match="spread"):
        NumberCodec.Config(spread=0.0)
    assert NumberCodec.of(np.ones(3)).config.spread == 1.0


# Tags


def tagged() -> Microbatches:
    rows = texts()[:3]
    places = torch.tensor([[1, 4, 6], [0, 2, 0], [3, 0, 0]])
    tags = torch.tensor([[2, 0, 1], [1, 3, -1], [0, -1, -1]])
    return Microbatches((Samples(PaddedIds.of(rows), AtTokens(tags, places)),))


def test_each_word_is_scored_once_at_its_first_token():
    model = encoder(PerToken.Config(), CLASSES)
    loss = Tags.Config().build()(model, tagged())
    expected, wanted = 0.0, tagged().each[0].wanted
    for row, places, tags in zip(texts(), wanted.where.tolist(), wanted.values.tolist(), strict=False):
        chance = alone(model, row).log_softmax(-1)
        expected = expected - sum(chance[p, y] for p, y in zip(places, tags, strict=True) if y >= 0)
    assert loss.count == 6 and close(loss.total, expected)


def test_a_micro_batch_without_words_is_zero_over_zero():
    model, part = encoder(PerToken.Config(), CLASSES), tagged().each[0]
    nothing = Samples(part.given, AtTokens(torch.full_like(part.wanted.values, -1), part.wanted.where))
    loss = Tags.Config().build()(model, Microbatches((nothing,)))
    assert loss.count == 0 and loss.total.item() == 0


def test_parts_of_a_tag_are_added_up_and_those_beside_are_terms_that_cannot_be_wrong():
    model = encoder(PerToken.Config(), 5)
    both, own = (SplitTags.Config(sizes=(2, 3), beside=beside).build() for beside in ((), ("more",)))
    first, second = both(model, tagged()), own(model, tagged())
    x, numbers = tagged().each[0].wanted.picked(model.encode(tagged().each[0].given.raw()).x)
    one, two = (part.log_softmax(-1) for part in model.head.values(x).split((2, 3), -1))
    losses = [-part[range(6), truth].sum() for part, truth in ((one, numbers // 3), (two, numbers % 3))]
    wrong = [part.argmax(-1) != truth for part, truth in ((one, numbers // 3), (two, numbers % 3))]
    assert close(first.total, losses[0] + losses[1]) and first.wrong == int((wrong[0] | wrong[1]).sum())
    assert close(second.total, losses[0]) and second.wrong == int(wrong[0].sum()) and not first.terms
    (term,) = second.terms
    assert (term.name, term.count) == ("more", 6) and close(term.total, losses[1])
    assert own.counts(tagged()) == {"loss": 6, "more": 6} and both.counts(tagged()) == {}


# All


@pytest.mark.parametrize(
    "config",
    [
        MaskedToken.Config(),
        Classify.Config(weights=(1.0, 2.0)),
        Number.Config(),
        Tags.Config(),
        SplitTags.Config(sizes=(2, 2)),
    ],
)
def test_objectives_travel_as_json_and_name_what_they_count(config):
    assert from_json(config.to_json(), Objective.Config) == config and config.build().unit != "things"


def test_micro_batches_add_up():
    model, objective = encoder(Pooled.Config(), CLASSES), Classify.Config().build()
    whole = objective(model, labelled(TARGETS))
    parts = [objective(model, labelled(TARGETS)[i : i + 1]) for i in (0, 1)]
    assert whole.count == sum(part.count for part in parts)
    assert close(whole.total, parts[0].total + parts[1].total) and math.isfinite(whole.total.item())
