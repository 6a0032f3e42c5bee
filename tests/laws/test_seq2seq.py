"""The laws of the package, over every encoder–decoder of the zoo."""

import numpy as np
import pytest
import torch
from helpers.tiny import PAIR_ZOO, VOCAB, close, ids, translation_model

from weft.batches.samples import Microbatches, PaddedIds, Samples
from weft.config import from_json
from weft.core.cache import Cache
from weft.core.recording import record
from weft.domains.pairs.encoded import PairRows
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model
from weft.objectives import TargetToken

every_model = pytest.mark.parametrize("name", PAIR_ZOO)
SOURCE, TARGET = ids(3, 7), ids(3, 6, seed=1)


def some_pairs(count: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    draw = np.random.default_rng(seed)
    return [tuple(draw.integers(0, VOCAB - 1, draw.integers(1, 9)) for _ in range(2)) for _ in range(count)]


def samples(pairs: list) -> Samples:
    return PairRows(pairs, VOCAB - 1, VOCAB - 1).take(range(len(pairs)))


@every_model
def test_stepping_with_a_cache_is_one_full_pass(name: str) -> None:
    model = translation_model(name)
    memory = model.memorise(Text(SOURCE))
    whole, cache = model(Text(SOURCE), Text(TARGET)), Cache(4)
    steps = torch.cat([model.step(Text(TARGET[:, t : t + 1]), memory, cache) for t in range(6)], 1)
    assert close(steps, whole)


@every_model
@pytest.mark.parametrize("front", [True, False])
def test_padding_of_the_source_changes_nothing(name: str, front: bool) -> None:
    model = translation_model(name)
    pad = ids(3, 4, seed=9)
    padded = torch.cat([pad, SOURCE] if front else [SOURCE, pad], 1)
    real = torch.ones(3, 11, dtype=torch.bool)
    real[:, :4] = not front
    real[:, 7:] = front
    expected = model(Text(SOURCE), Text(TARGET))
    assert close(model(Text(padded, real), Text(TARGET)), expected)
    if not front:
        assert close(model(Text(padded, real, padded_behind=True), Text(TARGET)), expected)


@every_model
def test_a_target_token_is_blind_to_those_behind_it(name: str) -> None:
    model, other = translation_model(name), TARGET.clone()
    other[:, 4:] = (other[:, 4:] + 1) % VOCAB
    a, b = model(Text(SOURCE), Text(TARGET)), model(Text(SOURCE), Text(other))
    assert close(a[:, :4], b[:, :4]) and not close(a[:, 4:], b[:, 4:], 1e-3)


@every_model
def test_the_target_depends_on_every_source_token(name: str) -> None:
    model = translation_model(name)
    before = model(Text(SOURCE), Text(TARGET))
    for t in range(7):
        other = SOURCE.clone()
        other[:, t] = (other[:, t] + 1) % VOCAB
        assert not close(model(Text(other), Text(TARGET)), before, 1e-9), t


@every_model
def test_a_config_survives_json(name: str) -> None:
    config = translation_model(name).config
    again = from_json(config.to_json(), Model.Config)
    assert again == config
    assert {n: p.shape for n, p in again.build().named_parameters()} == {
        n: p.shape for n, p in config.build().named_parameters()
    }


@every_model
def test_bundles_one_by_one_give_the_gradient_of_all(name: str) -> None:
    pairs = some_pairs(12)
    objective = TargetToken.Config(smoothing=0.1).build()

    def gradients(*groups: list) -> dict[str, torch.Tensor]:
        model = translation_model(name).train()
        for group in groups:
            objective(model, Microbatches(tuple(samples(part) for part in group))).total.backward()
        return {n: p.grad for n, p in model.named_parameters() if p.grad is not None}

    together, apart = gradients([pairs]), gradients([pairs[:5]], [pairs[5:]])
    single = gradients(*([[pair]] for pair in pairs))
    for n, grad in together.items():
        assert close(grad, apart[n], 1e-9) and close(grad, single[n], 1e-9), n


@every_model
def test_recording_changes_no_output_and_sees_what_reads_the_source(name: str) -> None:
    model = translation_model(name)
    before = model(Text(SOURCE), Text(TARGET))
    with record(model) as recorder:
        assert torch.equal(model(Text(SOURCE), Text(TARGET)), before)
    reads = [n for n in recorder.readings if "read" in n]
    assert bool(reads) == (name != "lstm")
    for n in reads:
        weights = torch.cat([reading.weights() for reading in recorder.readings[n]], 2)
        assert weights.shape[-2:] == (6, 7) and close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@every_model
def test_the_loss_is_that_of_the_definition(name: str) -> None:
    model, pairs = translation_model(name), some_pairs(5)
    loss = TargetToken.Config(smoothing=0.3).build()(model, Microbatches((samples(pairs),)))
    total = 0.0
    for source, target in pairs:
        line = torch.tensor([[VOCAB - 1, *target, VOCAB - 1]])
        scores = model(Text(torch.tensor([[*source, VOCAB - 1]])), Text(line[:, :-1])).log_softmax(-1)
        total -= float(scores.gather(2, line[:, 1:, None]).sum())
    assert loss.count == sum(len(target) + 1 for _, target in pairs)
    assert float(loss.total) == pytest.approx(total, rel=1e-9)


def test_smoothing_softens_the_truth_in_training_only() -> None:
    model, batch = translation_model("swift"), Microbatches((samples(some_pairs(5)),))
    plain, smooth = TargetToken.Config().build(), TargetToken.Config(smoothing=0.2).build()
    assert torch.equal(plain(model, batch).total, smooth(model, batch).total)
    model.train()
    assert not torch.equal(plain(model, batch).total, smooth(model, batch).total)


def test_one_table_serves_both_sides_and_the_output_of_the_paper_s_model() -> None:
    model = translation_model("transformer")
    assert model.source.embed.table.weight is model.target.embed.table.weight is model.target.head.out.weight
    assert isinstance(model, Seq2Seq) and len(PaddedIds.of([np.arange(3), np.arange(5)]).ids) == 2
