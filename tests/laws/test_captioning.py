"""The laws of the package, over every model of the zoo that writes about pictures."""

import pytest
import torch
from tiny import VOCAB, close, ids, pictures, randomised

from weft.config import from_json
from weft.core.cache import Cache
from weft.core.recording import record
from weft.data.batch import PaddedIds, Samples
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq
from weft.models.zoo import Size
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS, features
from weft.models.zoo.vision import Sight, VisionSize, small_net
from weft.objectives import TargetToken

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
    reading = sum(block.read is not None for block in model.config.target.trunk.all_blocks())
    assert (
        sum(readings[0].attention.cross for readings in recorder.readings.values())
        == reading
        == (2 if name != "coca" else 1)
    )
    again = from_json(model.config.to_json(), Seq2Seq.Config).build()
    assert {n: p.shape for n, p in model.state_dict().items()} == {n: p.shape for n, p in again.state_dict().items()}


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
