"""Text tokens: the sum of what ids, segments and places say, narrow and wide."""

import pytest
import torch
from helpers.tiny import close, ids, randomised
from torch.nn import functional as F

from weft.config import from_json
from weft.core import Cache, LayerNorm, RmsNorm
from weft.errors import ConfigError
from weft.modalities.text import Text, TextEmbed
from weft.position import Add, Learned

DIM, VOCAB = 8, 9
WHOLE = TextEmbed.Config(
    vocab=VOCAB,
    context=6,
    reading="free",
    place=Add.Config(code=Learned.Config(size=8, start=2)),
    last_norm=LayerNorm.Config(eps=1e-12),
    segments=2,
)
IDS, SEGMENTS = ids(2, 5, vocab=VOCAB), ids(2, 5, vocab=2, seed=1)


def built(config: TextEmbed.Config) -> TextEmbed:
    return randomised(config.build(dim=DIM)).double().eval()


def summed(embed: TextEmbed, segments: torch.Tensor) -> torch.Tensor:
    return embed.table.weight[IDS] + embed.segments.weight[segments] + embed.place.code.table.weight[2:7]


def test_the_last_norm_is_of_the_sum_of_table_segments_and_places():
    embed = built(WHOLE)
    norm = embed.last_norm
    wanted = F.layer_norm(summed(embed, SEGMENTS), (DIM,), norm.gain, norm.offset, 1e-12)
    assert close(embed(Text(IDS, segments=SEGMENTS)).x, wanted)


def test_a_text_without_segments_is_the_first_throughout():
    embed = built(WHOLE)
    assert close(embed(Text(IDS)).x, embed(Text(IDS, segments=torch.zeros_like(IDS))).x)
    assert not close(embed(Text(IDS)).x, embed(Text(IDS, segments=torch.ones_like(IDS))).x, 1e-3)


def test_segments_are_refused_by_a_model_that_knows_none():
    with pytest.raises(ConfigError, match="knows none"):
        built(WHOLE.replace(segments=0))(Text(IDS, segments=SEGMENTS))


def test_a_norm_of_the_table_and_one_of_the_sum_are_two_things():
    embed = built(WHOLE.replace(norm=RmsNorm.Config(learned=False), segments=0, last_norm=None))
    assert close(
        embed(Text(IDS)).x, F.rms_norm(embed.table(IDS), (DIM,), eps=1e-5) + embed.place.code.table.weight[2:7]
    )


def test_a_narrow_table_is_widened_behind_the_norm():
    embed = built(WHOLE.replace(narrow=3))
    assert embed.table.weight.shape == (VOCAB, 3) and embed.segments.weight.shape == (2, 3)
    norm = embed.last_norm
    inner = F.layer_norm(summed(embed, SEGMENTS), (3,), norm.gain, norm.offset, 1e-12)
    assert close(embed(Text(IDS, segments=SEGMENTS)).x, inner @ embed.widen.weight.T + embed.widen.bias)


@pytest.mark.parametrize("narrow", [None, 3])
def test_texts_in_pieces_are_embedded_as_in_one(narrow: int | None):
    embed, cache = built(WHOLE.replace(reading="line", narrow=narrow)), Cache(2)
    pieces = [
        embed(Text(IDS[:, cut], segments=SEGMENTS[:, cut]), slots=cache.slots("embed")).x
        for cut in (slice(0, 2), slice(2, 3), slice(3, 5))
    ]
    assert close(torch.cat(pieces, 1), embed(Text(IDS, segments=SEGMENTS)).x)


def test_segments_travel_with_their_text():
    assert Text(IDS, segments=SEGMENTS).to("cpu").segments is not None
    assert Text(IDS).to("cpu").segments is None


def test_a_config_with_all_of_it_survives_json():
    config = WHOLE.replace(narrow=3)
    assert from_json(config.to_json()) == config


def test_a_context_beyond_the_rows_behind_the_start_is_refused():
    with pytest.raises(ConfigError, match="6 places"):
        WHOLE.replace(context=7)


def test_a_text_ends_at_its_first_end_mark_also_in_pieces():
    rows = torch.tensor([[1, 2, 5, 3, 5], [5, 1, 2, 3, 4], [1, 2, 3, 4, 6]])
    wanted = torch.tensor([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]]).bool()
    embed = built(WHOLE.replace(end=5, reading="line"))
    assert torch.equal(embed(Text(rows)).valid, wanted) and embed(Text(rows)).padded_behind
    given = torch.ones(3, 5).bool()
    given[0, 0] = given[2, 4] = False
    assert torch.equal(embed(Text(rows, given)).valid, wanted & given)
    slots = Cache(3).slots("embed")
    pieces = [embed(Text(rows[:, cut]), slots=slots).valid for cut in (slice(0, 2), slice(2, 3), slice(3, 5))]
    assert torch.equal(torch.cat(pieces, 1), wanted)


def test_dropped_tokens_say_nothing_in_training_and_everything_in_use():
    embed = built(TextEmbed.Config(vocab=VOCAB, context=400, reading="free", token_dropout=0.25))
    text = Text(ids(4, 400, vocab=VOCAB))
    whole = embed(text).x
    torch.manual_seed(0)
    dropped = embed.train()(text).x
    silent = (dropped == 0).all(-1)
    assert torch.equal(dropped[~silent], whole[~silent]) and 0.2 < float(silent.double().mean()) < 0.3
