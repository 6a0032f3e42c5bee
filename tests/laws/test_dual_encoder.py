"""The laws of two streams with vectors in one space, with random weights in float64."""

import pytest
import torch
from helpers.tiny import CONTEXT, VOCAB, close, ids, pictures, randomised
from torch.nn import functional as F

from weft.config import from_json
from weft.core import Dense, LayerNorm, Summary, record
from weft.errors import ConfigError
from weft.json_text import read_json, write_json
from weft.modalities.text import Text
from weft.models.common_space import MAX_SCALE
from weft.models.dual_encoder import DualEncoder
from weft.models.zoo import Size, gpt
from weft.models.zoo.vision import Sight, VisionSize, vit

END = VOCAB - 1
DENSE = Dense.Config(activation=None, width=6, offsets=False)
SEEN = vit(VisionSize(dim=16, depth=2, heads=4, patch=4), Sight(8, 8), outputs=None)
SEEN = SEEN.replace(
    embed=SEEN.embed.replace(last_norm=LayerNorm.Config(), offsets=False, class_tokens=1),
    head=Summary.Config(first=True, norm=LayerNorm.Config(), dense=DENSE, unit=True),
)
READ = gpt(Size(dim=12, depth=2, heads=3, context=CONTEXT), vocab=VOCAB)
READ = READ.replace(embed=READ.embed.replace(end=END), head=Summary.Config(last=True, dense=DENSE, unit=True))
BOTH = DualEncoder.Config(picture=SEEN, text=READ)
ENDS = torch.tensor([6, 3, 1])
IDS = ids(3, 7, vocab=END).scatter(1, ENDS[:, None], END)


def model() -> DualEncoder:
    return randomised(BOTH.build()).double().eval()


def test_the_vector_of_a_text_depends_on_all_its_words_and_on_nothing_behind_its_end():
    one = model()
    vectors = one.worded(Text(IDS), ENDS)
    assert close(vectors.norm(dim=-1), torch.ones(3).double())
    assert close(one.text(Text(IDS)), vectors), "the end mark is found, or its place is given"
    for row, end in enumerate(ENDS.tolist()):
        assert close(one.text(Text(IDS[row : row + 1, : end + 1])), vectors[row : row + 1])
        for place in range(end):
            other = IDS.clone()
            other[row, place] = (other[row, place] + 1) % END
            assert not close(one.text(Text(other))[row], vectors[row], 1e-6), (row, place)
    other = IDS.clone()
    other[1, 4:] = (other[1, 4:] + 1) % END
    assert close(one.text(Text(other)), vectors)


def test_a_picture_is_seen_alike_alone_and_among_others_and_logits_are_scaled_cosines():
    one, batch = model(), pictures(3)
    seen = one.seen(batch)
    assert close(torch.cat([one.seen(batch[i : i + 1]) for i in range(3)]), seen)
    assert close(one(batch, Text(IDS)), one.scale * seen @ one.worded(Text(IDS), ENDS).T)


def test_the_last_norm_is_of_all_tokens_with_their_places():
    one = model().picture
    embed = one.embed
    plain = torch.cat([embed.summary.expand(2, -1, -1), embed.patches(pictures(2)).x], 1)
    norm = embed.last_norm
    assert close(embed(pictures(2)).x, F.layer_norm(plain, (16,), norm.gain, norm.offset, 1e-5))
    assert embed.project.bias is None


def test_looking_changes_no_output_and_configs_travel_as_json():
    one = model()
    before = one(pictures(2), Text(IDS))
    with record(one) as recorded:
        assert torch.equal(one(pictures(2), Text(IDS)), before)
    assert {name.split(".")[0] for name in recorded.readings} == {"picture", "text"}
    again = from_json(read_json(write_json(BOTH.to_json()), where="both"), DualEncoder.Config)
    assert again == BOTH and again.build().state_dict().keys() == one.state_dict().keys()


def test_the_scale_stays_within_its_limit_and_others_go_on_with_the_stream_of_pictures():
    one = model()
    weights = {"log_scale": torch.tensor([9.0])}
    assert one.follow(weights, 0.5) and float(weights["log_scale"].exp()) == pytest.approx(MAX_SCALE)
    assert one.backbone() == (SEEN, "picture.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (READ.replace(head=None), "expected a Summary with unit=true"),
        (READ.replace(head=Summary.Config(last=True)), "expected a Summary with unit=true"),
        (READ.replace(head=Summary.Config(last=True, unit=True)), "vectors of 6 and 12 values cannot be compared"),
    ],
)
def test_streams_whose_vectors_cannot_be_compared_are_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        BOTH.replace(text=text)
