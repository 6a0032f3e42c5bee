"""The laws of models of pictures and texts in one space, and of the loss that they learn from."""

import math

import pytest
import torch
from helpers.tiny import VOCAB, close, ids, numbers, pictures, randomised

from weft.batches.samples import PaddedIds, Samples
from weft.core import Block
from weft.errors import ConfigError
from weft.modalities.text import Text
from weft.models.contrastive import Contrastive
from weft.models.zoo import Size
from weft.models.zoo.captioning import features
from weft.models.zoo.contrastive import coca
from weft.models.zoo.vision import Sight, VisionSize, small_net
from weft.objectives import Contrast, TargetToken
from weft.objectives.contrast import contrast, marks, with_caption
from weft.objectives.objective import OWN

LINES = PaddedIds(ids(4, 7, seed=1), torch.tensor([7, 4, 5, 6]))
OWNER = torch.tensor([0, 0, 1, 2])


def model(depth: int = 4) -> Contrastive:
    encoder = features(VisionSize(dim=16, depth=1, heads=2, net=small_net(8, (0, 1))), Sight(8, 8))
    config = coca(encoder, Size(dim=24, depth=depth, heads=2, context=12), vocab=VOCAB)
    return randomised(config.build()).double().eval()


@pytest.mark.parametrize(("depth", "alone"), [(1, 1), (2, 1), (3, 1), (4, 2)])
def test_the_first_half_of_the_blocks_reads_no_picture(depth: int, alone: int) -> None:
    config = model(depth).config
    assert config.text_blocks == alone
    assert [block.read is None for block in config.target.trunk.all_blocks()][alone:] == [False] * (
        max(2, depth) - alone
    )


def test_one_pass_gives_the_logits_of_the_words_and_the_vector_of_the_text() -> None:
    one, text, ends = model(), Text(LINES.ids), LINES.lengths - 1
    memory = one.memorise(pictures(3)).rows(OWNER)
    last, vectors = one.read(text, ends, memory)
    assert close(last.x, one.target.encode(text, memory=memory).x)
    assert close(vectors, one.worded(text, ends)) and close(vectors.norm(dim=-1), torch.ones(4).double())
    assert close(one.pictured(memory).norm(dim=-1), torch.ones(4).double())


def test_the_vector_of_a_text_depends_on_all_its_words_and_not_on_padding_or_the_picture() -> None:
    one, ends = model(), LINES.lengths - 1
    before = one.worded(Text(LINES.ids), ends)
    for row, length in enumerate(LINES.lengths.tolist()):
        alone = one.worded(Text(LINES.ids[row : row + 1, :length]), ends[row : row + 1])
        assert close(alone[0], before[row])
    for place in range(int(LINES.lengths[1])):
        other = LINES.ids.clone()
        other[1, place] = (other[1, place] + 1) % VOCAB
        assert not close(one.worded(Text(other), ends)[1], before[1], 1e-6), place
    memory = one.memorise(pictures(4, seed=5))
    assert close(one.read(Text(LINES.ids), ends, memory)[1], before)


def test_a_model_whose_blocks_all_read_the_picture_is_refused() -> None:
    config = model().config
    trunk = config.target.trunk
    for blocks in (trunk.blocks[2:], trunk.blocks[:2]):
        with pytest.raises(ConfigError, match="blocks that read no memory, and then blocks that do"):
            config.replace(target=config.target.replace(trunk=trunk.replace(blocks=blocks)))
    assert isinstance(trunk.blocks[0], Block.Config)


def test_the_loss_is_that_of_the_captions_and_the_contrast_beside_it() -> None:
    one, batch = model(), Samples(pictures(3), LINES, OWNER)
    objective = Contrast.Config(weight=0.7).build()
    loss, plain = objective(one, batch), TargetToken.Config().build()(one, batch)
    assert close(loss.total, plain.total) and loss.count == plain.count
    (term,) = loss.terms
    assert (term.name, term.count, term.weight) == ("contrast", 4, 0.7)
    assert objective.counts(batch) == {OWN: loss.count, "contrast": 4}
    cosines = one.worded(Text(LINES.ids), LINES.lengths - 1) @ one.pictured(one.memorise(pictures(3))).T
    assert close(term.total, contrast(cosines * one.scale.double(), OWNER, with_caption(marks(LINES), OWNER, 3)), 1e-6)


def test_the_contrast_is_both_ways_mean_surprise_without_answers_that_are_right_too() -> None:
    """Captions 0 and 1 are of picture 0, and caption 3 of picture 2 equals caption 0."""
    lines = PaddedIds(LINES.ids[[0, 1, 2, 0]], LINES.lengths[[0, 1, 2, 0]])
    also = with_caption(marks(lines), OWNER, 3)
    assert also.tolist() == [[True, False, True], [True, False, False], [False, True, False], [True, False, True]]
    logits = numbers(4, 3, seed=3)

    def surprise(right: float, wrong: list[float]) -> float:
        return math.log(math.exp(right) + sum(map(math.exp, wrong))) - right

    s = logits.tolist()
    to_picture = [surprise(s[0][0], [s[0][1]]), surprise(s[1][0], [s[1][1], s[1][2]]),
                  surprise(s[2][1], [s[2][0], s[2][2]]), surprise(s[3][2], [s[3][1]])]  # fmt: skip
    to_text = [surprise(s[0][0], [s[2][0]]), surprise(s[1][0], [s[2][0]]),
               surprise(s[2][1], [s[0][1], s[1][1], s[3][1]]), surprise(s[3][2], [s[1][2], s[2][2]])]  # fmt: skip
    assert float(contrast(logits, OWNER, also)) == pytest.approx((sum(to_picture) + sum(to_text)) / 2)


def test_a_padded_caption_is_not_taken_for_a_longer_one() -> None:
    same = PaddedIds(torch.tensor([[1, 2, 0], [1, 2, 0], [1, 2, 0]]), torch.tensor([3, 2, 2]))
    assert with_caption(marks(same), torch.tensor([0, 1, 2]), 3).tolist() == [
        [True, False, False],
        [False, True, True],
        [False, True, True],
    ]
