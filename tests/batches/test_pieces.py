"""The pieces of a batch, and the keys of their rows: a sample has one key in every piece and beside any others."""

import numpy as np
import torch

from weft.batches.pieces import pieces
from weft.batches.samples import EvenIds, Microbatches, PaddedIds, Samples
from weft.batches.views import Views
from weft.core.draws import Chance
from weft.modalities.image import Picture

CPU = torch.device("cpu")
INDICES = np.arange(4) + 20


def rows_of(chance: Chance, count: int) -> list[tuple[int, ...]] | None:
    """The keys of rows of this number."""
    found = chance.rows(count, CPU)
    return None if found is None else [tuple(row) for row in found.tolist()]


def given(rows: int) -> Samples:
    return Samples(EvenIds(torch.zeros(rows, 3, dtype=torch.long)), None)


def test_a_row_for_each_sample_has_the_key_of_its_index_in_every_piece() -> None:
    ((_, whole),) = pieces(given(4), INDICES, None, "k")
    keys = rows_of(whole, 4)
    assert keys is not None and len(set(keys)) == 4 and rows_of(whole, 3) is None
    parts = [rows_of(chance, 2) for _, chance in pieces(given(4), INDICES, 2, "k")]
    assert parts == [keys[:2], keys[2:]]
    ((_, alone),) = pieces(given(1), INDICES[2:3], None, "k")
    assert rows_of(alone, 1) == keys[2:3]
    ((_, other),) = pieces(given(4), INDICES, None, "another seed")
    assert not set(rows_of(other, 4) or ()) & set(keys)


def test_rows_that_follow_one_another_belong_to_their_sample() -> None:
    ((_, whole),) = pieces(given(8), INDICES, None, "k")
    ((_, alone),) = pieces(given(2), INDICES[3:], None, "k")
    keys = rows_of(whole, 8)
    assert keys is not None and len(set(keys)) == 8 and rows_of(alone, 2) == keys[6:]
    ((_, unknown),) = pieces(given(7), INDICES, None, "k")
    assert rows_of(unknown, 7) is None


def test_texts_of_a_picture_have_keys_of_their_picture() -> None:
    owner = torch.tensor([0, 0, 1, 2, 2, 2, 3])
    samples = Samples(given(4).given, PaddedIds.of([np.arange(3)] * 7), owner)
    ((_, whole),) = pieces(samples, INDICES, None, "k")
    pictures, texts = rows_of(whole, 4), rows_of(whole, 7)
    assert pictures is not None and texts is not None and len(set(texts)) == 7
    assert [texts[row] for row in (0, 2, 3, 6)] == pictures
    (_, _, (_, third), _) = pieces(samples, INDICES, 1, "k")
    assert rows_of(third, 3) == texts[3:6] and rows_of(third, 1) == pictures[2:3]
    odd = Samples(given(4).given, PaddedIds.of([np.arange(3)] * 4), torch.tensor([0, 0, 1, 2]))
    ((_, unclear),) = pieces(odd, INDICES, None, "k")
    assert rows_of(unclear, 4) is None  # four pictures, or four texts of three of them


def test_views_side_by_side_and_micro_batches() -> None:
    picture = Picture(torch.zeros(4, 3, 2, 2))
    ((_, whole),) = pieces(Views((picture,) * 2, (picture,) * 3), INDICES, None, "k")
    one, two, three = (rows_of(whole, count) for count in (4, 8, 12))
    assert one is not None and two is not None and three is not None
    assert two[:4] == one and three[:8] == two and len(set(three)) == 12
    parts = list(pieces(Microbatches((given(3), given(5))), INDICES[:2], None, "k"))
    assert [len(part) for part, _ in parts] == [3, 5] and all(chance.whole for _, chance in parts)
    assert [rows_of(chance, 1) for _, chance in parts] == [one[:1], one[1:2]]
