"""The laws of the package, over every model of the zoo that writes about pictures."""

import math
from typing import Any

import pytest
import torch
from helpers.tiny import VOCAB, close, ids, pictures, randomised

from weft.batches.samples import PaddedIds, Samples
from weft.config import from_json
from weft.core.cache import Cache
from weft.core.recording import record
from weft.generate.compute import prepared
from weft.generate.decode import Decoding, written
from weft.generate.session import Session
from weft.modalities.image import Picture
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq, memory_weights
from weft.models.zoo import Size
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS, features
from weft.models.zoo.vision import Sight, VisionSize, small_net
from weft.objectives import TargetToken
from weft.tokens import Tokens

every_model = pytest.mark.parametrize("name", sorted(CAPTION_MODELS))
TARGET = ids(3, 6, seed=1)


def writer(name: str, dim: int = 16) -> Seq2Seq:
    encoder = CAPTION_ENCODERS[name](
        VisionSize(dim=16, depth=1, heads=2, patch=2, net=small_net(8, (0, 1))), Sight(8, 8), outputs=None
    )
    config = CAPTION_MODELS[name](encoder, Size(dim=dim, depth=2, heads=2, context=12), vocab=VOCAB)
    return randomised(config.build()).double().eval()


@every_model
@pytest.mark.parametrize("dim", [16, 24])
def test_stepping_with_a_cache_is_one_full_pass_whatever_the_widths(name: str, dim: int) -> None:
    model, seen = writer(name, dim), pictures(3)
    memory, cache = model.memorise(seen), Cache(4)
    steps = torch.cat([model.step(Text(TARGET[:, t : t + 1]), memory, cache) for t in range(6)], 1)
    assert close(steps, model(seen, Text(TARGET)))


@every_model
def test_a_caption_depends_on_every_part_of_the_picture_and_not_on_later_words(name: str) -> None:
    model, seen, other = writer(name), pictures(3), TARGET.clone()
    other[:, 4:] = (other[:, 4:] + 1) % VOCAB
    whole = model(seen, Text(TARGET))
    assert close(whole[:, :4], model(seen, Text(other))[:, :4])
    for corner in ((0, 0), (-1, -1)):
        changed = pictures(3)
        changed.pixels[:, :, corner[0], corner[1]] += 1
        assert not close(whole, model(changed, Text(TARGET)), 1e-6)


@every_model
def test_looking_changes_nothing_and_configs_travel_as_json(name: str) -> None:
    model, seen = writer(name), pictures(3)
    whole = model(seen, Text(TARGET))
    with record(model) as recorder:
        assert torch.equal(model(seen, Text(TARGET)), whole)
    memory = model.memorise(seen)
    layers = memory_weights(model, recorder, memory)
    assert len(layers) == {"cnn-lstm": 0, "show-attend-tell": 1, "coca": 1}.get(name, 2)
    for weights in layers:
        assert weights.shape == (3, weights.shape[1], 6, memory.shape[1])
        read = weights.sum(-1)
        assert (
            bool((read > 0).all() and (read < 1).all()) if name == "one-stream" else close(read, torch.ones_like(read))
        )
    again = from_json(model.config.to_json(), Seq2Seq.Config).build()
    assert {n: p.shape for n, p in model.state_dict().items()} == {n: p.shape for n, p in again.state_dict().items()}


@every_model
def test_tokens_of_a_picture_that_are_not_real_change_nothing(name: str) -> None:
    model = writer(name)
    memory = model.memorise(pictures(3))
    junk = torch.full((3, 2, memory.x.shape[2]), math.nan, dtype=torch.float64)
    valid = torch.cat([torch.zeros(3, 2, dtype=torch.bool), memory.valid], 1)
    padded = Tokens.free(torch.cat([junk, memory.x], 1), valid=valid)
    assert close(model.target(Text(TARGET), memory=padded), model.target(Text(TARGET), memory=memory))


@every_model
def test_captions_that_share_a_row_of_the_memory_are_as_if_each_had_its_own(name: str) -> None:
    model, lines = writer(name), ids(4, 6, seed=3)
    memory, shared, apart = model.memorise(pictures(2)), Cache(4), Cache(4)
    owned = memory.rows(torch.tensor([0, 0, 1, 1]))
    for t in range(6):
        step = Text(lines[:, t : t + 1])
        assert close(model.step(step, memory, shared), model.step(step, owned, apart))


@every_model
def test_the_score_of_a_beam_is_that_of_the_whole_caption(name: str) -> None:
    model, memory, end = writer(name), writer(name).memorise(pictures(3)), VOCAB - 1
    how = Decoding(beam=3, best=3)
    found = written(model, memory, end=end, opening=[end], limits=[5, 4, 5], how=how, keys=[[0]] * 3)
    for row, best in enumerate(found):
        for one in best:
            line = torch.tensor([[end, *one.ids, *([end] if one.ended else [])]])
            values = model.target(Text(line[:, :-1]), memory=memory.rows(torch.tensor([row]))).log_softmax(-1)
            assert one.log_probability == pytest.approx(float(values.gather(2, line[:, 1:, None]).sum()), abs=1e-5)


@every_model
@pytest.mark.parametrize("lengths", [(3, 3, 3), (2, 5, 1)])
def test_a_session_that_forgets_older_words_still_reads_the_picture(name: str, lengths: tuple[int, ...]) -> None:
    """Prompts of different lengths, steps beyond the context of 12, and rows that are taken on the way."""
    model, lines = writer(name), ids(3, 30, seed=5).tolist()
    session = Session(model.target, memory=model.memorise(pictures(3)), capacity=6)
    session.start([line[:n] for line, n in zip(lines, lengths, strict=True)])
    for t in range(16):
        new = torch.tensor([line[n + t] for line, n in zip(lines, lengths, strict=True)])
        logits = session.step(new)
        if t == 6:
            order = torch.tensor([2, 0, 0])
            session.take(order)
            lines, lengths = [lines[i] for i in order], [lengths[i] for i in order]
    memory = model.memorise(pictures(3)).rows(order)
    for row, line in enumerate(session.rows):
        assert (len(line) <= 12) == (name not in ("cnn-lstm", "show-attend-tell"))
        alone = model.target(Text(torch.tensor([line])), memory=memory.rows(torch.tensor([row])))
        assert close(logits[row], alone[0, -1])


@every_model
@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_rounded_models_write_nearly_as_exact_ones(name: str, precision: str) -> None:
    model, seen = writer(name).float(), pictures(3)
    seen = Picture(seen.pixels.float())
    rounded: Any = prepared(model, precision)
    with torch.no_grad():
        exact = model(seen, Text(TARGET))
        found = rounded(seen, Text(TARGET))
        cache, memory = Cache(4), rounded.memorise(seen)
        steps = torch.cat([rounded.step(Text(TARGET[:, t : t + 1]), memory, cache) for t in range(6)], 1)
    for values in (found, steps):
        assert float((values - exact).abs().max()) < 0.1 * float(exact.abs().max())


def test_captions_of_one_picture_are_scored_as_if_each_had_its_own() -> None:
    model, seen, objective = writer("swift"), pictures(2), TargetToken.Config().build()
    lines, owner = PaddedIds(TARGET, torch.tensor([6, 4, 5])), torch.tensor([0, 0, 1])
    together = objective(model, Samples(seen, lines, owner))
    alone = [
        objective(
            model, Samples(seen[o : o + 1], PaddedIds(TARGET[i : i + 1], lines.lengths[i : i + 1]), torch.tensor([0]))
        )
        for i, o in enumerate(owner.tolist())
    ]
    assert together.count == sum(one.count for one in alone) == 12
    assert close(together.total, sum(one.total for one in alone))


def test_large_pictures_are_halved_more_often() -> None:
    size = VisionSize(dim=16, depth=1, heads=2, net=small_net(8, (0, 1, 0)))
    grids = [features(size, Sight(side, side)).embed.grid for side in (16, 32, 64, 128)]
    assert grids == [(8, 8)] * 4
