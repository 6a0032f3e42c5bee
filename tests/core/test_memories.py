"""A memory as a prefix of the line: it is blind to the tokens behind it, and they read it as their past."""

import pytest
import torch
from helpers.tiny import close, numbers, randomised

from weft.config import from_json
from weft.core import Attention, Block, Cache, Lstm, Mlp, Trunk
from weft.core.memories import Across, Prefix
from weft.core.scope import Pass, Shape
from weft.errors import ConfigError
from weft.position import Rotary
from weft.tokens import Order, Tokens

DIM, LENGTH = 8, 5
BLOCK = Block.Config(mix=Attention.Config(heads=2, turn=Rotary.Config()), transform=Mlp.Config())
PLACES = {"row": torch.zeros(2, 4), "column": torch.arange(4.0).expand(2, 4)}


def built() -> Trunk:
    config = Trunk.Config(depth=2, block=BLOCK, memory=Prefix.Config())
    return randomised(config.build(dim=DIM, memory_dim=DIM)).double()


def memory(*, valid: torch.Tensor | None = None) -> Tokens:
    return Tokens.free(numbers(2, 4, DIM, seed=3), valid=valid, coords=PLACES)


def test_the_memory_reads_itself_and_the_tokens_read_it_and_their_past() -> None:
    tokens = Tokens.line(numbers(2, LENGTH, DIM))
    line = Prefix.Config().build().line(tokens, memory())
    reads = Pass(line).own.mask(())[0, 0]
    expected = torch.ones(9, 9, dtype=torch.bool).tril()
    expected[:4, :4] = True
    assert torch.equal(reads, expected) and line.order is Order.PREFIX and line.unpadded
    assert line.coords["position"][0].tolist() == [-1] * 4 + [0, 1, 2, 3, 4]
    assert line.coords["column"][0].tolist() == [0, 1, 2, 3] + [0] * 5


def test_a_memory_in_a_line_keeps_its_places_before_the_first_token() -> None:
    tokens, before = Tokens.line(numbers(1, 2, DIM)), Tokens.line(numbers(1, 3, DIM, seed=1))
    line = Prefix.Config().build().line(tokens, before)
    assert line.coords["position"].tolist() == [[-3, -2, -1, 0, 1]] and line.rank.tolist() == [[-1, -1, -1, 0, 1]]


@pytest.mark.parametrize("cuts", [(1, 1, 1, 1, 1), (3, 2), (2, 1, 2)])
def test_the_memory_is_read_once_and_kept_with_what_was_read(cuts: tuple[int, ...]) -> None:
    trunk, x, cache = built(), numbers(2, LENGTH, DIM), Cache(3)
    whole = trunk(Tokens.line(x), memory()).x
    outs, start = [], 0
    with torch.no_grad():
        for piece in x.split(cuts, 1):
            place = (torch.arange(piece.shape[1]) + start).expand(2, -1)
            outs.append(trunk(Tokens.line(piece, position=place), memory(), cache).x)
            start += piece.shape[1]
    assert close(torch.cat(outs, 1), whole) and cache.length == 4 + LENGTH


def test_one_new_token_behind_a_prefix_needs_no_mask() -> None:
    cache, before = Cache(16), Prefix.Config().build()
    first = cache.extend(before.line(Tokens.line(numbers(2, 1, DIM)), memory()))
    new = Tokens.line(numbers(2, 1, DIM), position=torch.ones(2, 1, dtype=torch.long))
    seen = cache.extend(new)
    assert first.order is seen.order is Order.PREFIX and Pass(new, seen=seen).own.shape(()) is Shape.ALL
    two = Tokens.line(numbers(2, 2, DIM), position=torch.tensor([[2, 3]] * 2))
    assert Pass(two, seen=cache.extend(two)).own.shape(()) is Shape.MASK


def test_padding_of_the_memory_is_not_read() -> None:
    trunk, tokens = built(), Tokens.line(numbers(2, LENGTH, DIM))
    holes = memory(valid=torch.tensor([[True, False, True, True]] * 2))
    without = Tokens.free(
        holes.x[:, [0, 2, 3]], coords={axis: c[:, [0, 2, 3]].contiguous() for axis, c in PLACES.items()}
    )
    assert close(trunk(tokens, holes).x, trunk(tokens, without).x)


def test_what_cannot_be_in_one_line_is_refused() -> None:
    with pytest.raises(ConfigError, match="bridge=8"):
        Trunk.Config(depth=1, block=BLOCK, memory=Prefix.Config()).build(dim=DIM, memory_dim=6)
    for reading in (BLOCK.replace(read=Attention.Config(heads=2)),
                    Block.Config(mix=Lstm.Config(read=Attention.Config(heads=1)))):  # fmt: skip
        with pytest.raises(ConfigError, match="leave out the blocks' read"):
            Trunk.Config(depth=1, block=reading, memory=Prefix.Config())


def test_trunks_of_earlier_files_read_their_memory_across() -> None:
    config = Trunk.Config(depth=1, block=BLOCK)
    earlier = {name: value for name, value in config.to_json().items() if name != "memory"}
    assert from_json(earlier, Trunk.Config) == config and config.memory == Across.Config()
