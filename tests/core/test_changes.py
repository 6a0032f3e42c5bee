"""Changes: what is switched off, scaled, unread, pinned, replaced, added or hidden, against arithmetic by hand."""

from typing import Any

import pytest
import torch
from einops import rearrange
from helpers.tiny import close, numbers, randomised

from weft.core import (
    Added,
    Additive,
    Attention,
    Average,
    Block,
    Cache,
    Change,
    Edges,
    Hidden,
    Lstm,
    Mlp,
    Pinned,
    Replaced,
    Scaled,
    Trunk,
    Unread,
    Window,
    Without,
    changed,
    changes_from_json,
    record,
)
from weft.core.changes import KINDS, active
from weft.errors import ConfigError
from weft.position import Alibi
from weft.relations import EdgeList
from weft.tokens import Tokens

ALL = ("readings", "states", "branches")
SAID = (
    Without(2, head=1),
    Without(1, branch="transform", tokens=(2, 3), by="mean", row=2),
    Scaled(1, branch="mix", factor=0.5, stream="source"),
    Unread(1, head=2, tokens=(3,), keys=(1, 2)),
    Pinned(2, weights="previous"),
    Pinned(1, branch="read", of="other"),
    Replaced(0, of="other", tokens=(1,)),
    Added(1, vector=(0.5, 1.0), strength=2.0),
    Hidden((2, 4)),
)


def built(**more: Any) -> Trunk:
    block = Block.Config(mix=Attention.Config(heads=2, **more), read=Attention.Config(heads=2), transform=Mlp.Config())
    return randomised(Trunk.Config(depth=2, block=block).build(dim=8, memory_dim=5)).double()


def line(rows: int = 2, length: int = 5, *, padded: bool = False, seed: int = 0) -> Tokens:
    valid = torch.arange(length)[None] >= torch.arange(rows)[:, None] if padded else None
    return Tokens.line(numbers(rows, length, 8, seed=seed), valid=valid)


MEMORY = Tokens.free(numbers(2, 3, 5, seed=1))


def out(trunk: Trunk, tokens: Tokens, *changes: Change, **given: Any) -> torch.Tensor:
    with changed(trunk, *changes, given=given):
        return trunk(tokens, MEMORY.rows(torch.zeros(tokens.shape[0], dtype=torch.long))).x


def kept(trunk: Trunk, tokens: Tokens, *changes: Change) -> Any:
    with record(trunk, ALL) as recorder:
        out(trunk, tokens, *changes)
    return recorder


@pytest.mark.parametrize("change", SAID, ids=lambda one: type(one).__name__)
def test_a_change_travels_as_json(change: Change):
    assert changes_from_json([change.to_json()]) == (change,)
    assert {type(one) for one in SAID} == set(KINDS)


def test_a_head_is_switched_off_ahead_of_its_map():
    trunk, tokens = built(), line()
    (reading,) = kept(trunk, tokens).readings["blocks.0.mix"]
    silenced = reading.out.clone()
    silenced[:, 1] = 0
    recorder = kept(trunk, tokens, Without(1, head=2))
    expected = trunk.blocks[0].mix.out(rearrange(silenced, "b h q e -> b q (h e)"))
    assert close(recorder.passes[""][0].branches[0]["mix"], expected)
    assert not close(out(trunk, tokens), out(trunk, tokens, Without(1, head=2)), 1e-3)


def test_a_mean_takes_the_place_of_what_a_branch_gives():
    trunk, tokens = built(), line(padded=True)
    plain = kept(trunk, tokens).passes[""][0].branches[1]["transform"]
    mean = kept(trunk, tokens, Without(2, branch="transform", by="mean")).passes[""][0].branches[1]["transform"]
    for row in range(2):
        assert close(mean[row], plain[row][tokens.valid[row]].mean(0).expand(5, -1))


def test_tokens_are_counted_within_a_row_without_its_padding():
    trunk, tokens = built(), line(3, padded=True)
    plain = kept(trunk, tokens).passes[""][0].branches[0]["mix"]
    off = kept(trunk, tokens, Without(1, branch="mix", tokens=(2,))).passes[""][0].branches[0]["mix"]
    silent = (off == 0).all(-1)
    assert silent.nonzero().tolist() == [[0, 1], [1, 2], [2, 3]]
    assert torch.equal(off[~silent], plain[~silent])


@pytest.mark.parametrize("branch", ["mix", "read"])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(
    "more", [{}, {"bias": Alibi.Config()}, {"score": Additive.Config()}, {"rules": (Window(radius=1),)}], ids=str
)
def test_what_is_unread_has_no_weight_and_the_rest_is_weighed_anew(more: dict[str, Any], padded: bool, branch: str):
    trunk, tokens = built(**more), line(padded=padded)
    change = Unread(1, branch=branch, head=1, tokens=(3, 4), keys=(2,))
    (before,), (after,) = (kept(trunk, tokens, *some).readings[f"blocks.0.{branch}"] for some in ((), (change,)))
    weights, own = after.weights(), before.weights()
    assert torch.equal(weights[:, 1], own[:, 1]), "the other head keeps its weights"
    for row in range(2):
        first = row if padded else 0
        for query in range(5):
            expected = own[row, 0, query].clone()
            if query - first in (2, 3):
                expected[1 + (first if branch == "mix" else 0)] = 0
                expected /= expected.sum()
            assert close(weights[row, 0, query], expected)
    v = after.v.repeat_interleave(2 // after.v.shape[1], 1)
    assert close(after.out, weights @ v)


@pytest.mark.parametrize("pattern", ["uniform", "previous", "itself", "first"])
def test_a_head_is_pinned_to_a_pattern(pattern: str):
    trunk, tokens = built(), line(1)
    (reading,) = kept(trunk, tokens, Pinned(2, head=2, weights=pattern)).readings["blocks.1.mix"]
    weights = reading.weights()[0, 1]
    expected = {
        "uniform": torch.ones(5, 5).double().tril() / torch.arange(1, 6)[:, None],
        "previous": torch.eye(5)[[0, 0, 1, 2, 3]],
        "itself": torch.eye(5),
        "first": torch.eye(5)[[0] * 5],
    }[pattern]
    assert close(weights, expected.double())
    assert close(reading.out[0, 1], weights @ reading.v[0, 1])


def test_weights_pinned_to_their_own_change_nothing_but_rounding():
    trunk, tokens = built(), line()
    own = kept(trunk, tokens)
    changes = [Pinned(layer, branch=branch, of="own") for layer in (1, 2) for branch in ("mix", "read")]
    assert close(out(trunk, tokens, *changes, own=own), out(trunk, tokens))


def test_the_whole_stream_of_another_input_makes_its_answer_and_a_token_only_its_own():
    trunk, tokens, other = built(), line(), line(seed=9)
    recorder = kept(trunk, other)
    for layer in (0, 1, 2):
        assert torch.equal(out(trunk, tokens, Replaced(layer, of="other"), other=recorder), out(trunk, other))
    one = kept_state(trunk, tokens, Replaced(1, of="other", tokens=(2,)), other=recorder)
    plain, theirs = (kept(trunk, some).passes[""][0].states[1] for some in (tokens, other))
    assert torch.equal(one[:, 1], theirs[:, 1]) and torch.equal(one[:, [0, 2, 3, 4]], plain[:, [0, 2, 3, 4]])


def kept_state(trunk: Trunk, tokens: Tokens, *changes: Change, **given: Any) -> torch.Tensor:
    with record(trunk, ALL) as recorder:
        out(trunk, tokens, *changes, **given)
    return recorder.passes[""][0].states[1]


@pytest.mark.parametrize(
    "part", [{"branch": "mix"}, {"branch": "transform"}, {"head": 1}, {"branch": "read", "head": 2}]
)
def test_a_part_is_replaced_by_that_of_another_input(part: dict[str, Any]):
    trunk, tokens, other = built(), line(), line(seed=9)
    recorder = kept(trunk, other)
    with record(trunk, ALL) as found:
        out(trunk, tokens, Replaced(2, of="other", tokens=(3,), **part), other=recorder)
    mine, theirs, plain = (one.passes[""][0] for one in (found, recorder, kept(trunk, tokens)))
    if "head" in part:
        name = part.get("branch", "mix")
        (mine,), (theirs,), (plain,) = (
            [r.out[:, part["head"] - 1] for r in one.readings[1][name]] for one in (mine, theirs, plain)
        )
    else:
        mine, theirs, plain = (one.branches[1][part["branch"]] for one in (mine, theirs, plain))
    assert torch.equal(mine[:, 2], theirs[:, 2]) and torch.equal(mine[:, :2], plain[:, :2])


def test_a_vector_or_the_difference_of_two_inputs_is_added():
    trunk, tokens, one, other = built(), line(), line(seed=3), line(seed=4)
    given = {"one": kept(trunk, one), "other": kept(trunk, other)}
    plain = kept(trunk, tokens).passes[""][0].states[1]
    vector = tuple(float(n) for n in numbers(8, seed=5))
    assert close(kept_state(trunk, tokens, Added(1, vector=vector, strength=2.0)), plain + 2 * numbers(8, seed=5))
    states = [given[name].passes[""][0].states[1].flatten(0, 1).mean(0) for name in ("one", "other")]
    found = kept_state(trunk, tokens, Added(1, of="one", minus="other", strength=-0.5, tokens=(2,)), **given)
    assert close(found[:, 1], plain[:, 1] - 0.5 * (states[0] - states[1])) and torch.equal(found[:, 0], plain[:, 0])


def test_what_is_hidden_is_read_by_nobody_and_counted_by_no_head():
    trunk, tokens = built(), line()
    with changed(trunk, Hidden((2,))), record(trunk) as recorder:
        given = trunk(tokens, MEMORY.rows(torch.tensor([0, 0])))
    assert given.valid.tolist() == [[True, False, True, True, True]] * 2
    assert all(
        not r.weights()[..., 1].any() for name in ("blocks.0.mix", "blocks.1.mix") for r in recorder.readings[name]
    )
    other = tokens.with_x(tokens.x.index_fill(1, torch.tensor([1]), 7.0))
    assert torch.equal(given.x[:, 2:], out(trunk, other, Hidden((2,)))[:, 2:])


def test_changes_hold_while_a_decoder_steps():
    trunk, tokens = built(), line(padded=True)
    changes = (
        Hidden((2,)), Without(1, head=2, tokens=(1, 4)), Unread(2, tokens=(5,), keys=(3, 4)),
        Added(1, vector=(1.0,) * 8), Scaled(2, branch="read", factor=0.3), Pinned(1, head=1, weights="previous"),
    )  # fmt: skip
    whole, cache, steps = out(trunk, tokens, *changes), Cache(2), []
    with changed(trunk, *changes), torch.no_grad():
        for place in range(5):
            now = Tokens.line(
                tokens.x[:, place : place + 1], valid=tokens.valid[:, place : place + 1],
                position=torch.tensor([[place], [place]]),
            )  # fmt: skip
            steps.append(trunk(now, MEMORY.rows(torch.zeros(2, dtype=torch.long)), cache).x)
    real = tokens.valid & (tokens.valid.long().cumsum(1) != 2)
    assert close(torch.cat(steps, 1)[real], whole[real])


def test_rows_that_share_a_memory_are_changed_each_by_itself():
    trunk, tokens, one = built(), line(4), MEMORY.rows(torch.tensor([0]))
    changes = (
        Unread(1, branch="read", keys=(1,), row=2),
        Without(2, branch="read", head=1, row=3),
        Pinned(1, branch="read", weights="first", row=4),
    )
    with changed(trunk, *changes):
        shared, apart = trunk(tokens, one).x, trunk(tokens, one.rows(torch.zeros(4, dtype=torch.long))).x
    assert close(shared, apart) and not close(shared, trunk(tokens, one).x, 1e-3)


def graph(mix: Any) -> tuple[Trunk, Any]:
    trunk = randomised(Trunk.Config(depth=2, block=Block.Config(mix=mix)).build(dim=8)).double()
    pairs = torch.tensor([[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2], [0, 0], [1, 1], [2, 2], [3, 3], [0, 3]])

    def given(edges: torch.Tensor) -> Tokens:
        tokens = Tokens.free(numbers(1, 4, 8))
        listed = EdgeList.of(edges[:, 0], edges[:, 1], batch=1, tokens=4)
        return Tokens(tokens.x, tokens.valid, tokens.rank, {}, {"edges": listed}, unpadded=True, order=tokens.order)

    return trunk, lambda without=None: given(
        pairs if without is None else pairs[(pairs != torch.tensor(without)).any(1)]
    )


@pytest.mark.parametrize(
    "mix", [Attention.Config(heads=2, rules=(Edges(),)), Average.Config(rules=(Edges(),))], ids=["attention", "average"]
)
def test_an_edge_that_is_cut_in_every_layer_equals_a_graph_without_it(mix: Any):
    trunk, given = graph(mix)
    cut = [Unread(layer, tokens=(3,), keys=(2,)) for layer in (1, 2)]
    with changed(trunk, *cut), record(trunk) as recorder:
        found = trunk(given()).x
    assert close(found, trunk(given(without=[2, 1])).x) and not close(found, trunk(given()).x, 1e-3)
    for (reading,) in recorder.readings.values():
        assert not reading.weights()[0, :, 2, 1].any() and close(
            reading.weights().sum(-1), torch.ones(1, 2, 4).double()
        )
        assert torch.equal(reading.weights(queries=[2, 0], heads=[1]), reading.weights()[:, [1]][:, :, [2, 0]])


def test_a_recurrent_reader_can_be_unread_pinned_and_switched_off():
    mix = Lstm.Config(read=Attention.Config(heads=2, score=Additive.Config()))
    trunk = randomised(Trunk.Config(block=Block.Config(mix=mix)).build(dim=8, memory_dim=5)).double()
    tokens, shorter = line(), MEMORY.take(torch.tensor([[0, 2], [0, 2]]))
    with changed(trunk, Unread(1, branch="read", keys=(2,))):
        unread = trunk(tokens, MEMORY).x
    start = trunk.blocks[0].mix.memory_vector(MEMORY)  # the first state sees the memory by itself
    assert torch.equal(start, MEMORY.x[:, -1]) and close(unread, trunk(tokens, shorter).x)
    with changed(trunk, Without(1, branch="read", tokens=(2,))), record(trunk) as recorder:
        off = trunk(tokens, MEMORY).x
    plain = trunk(tokens, MEMORY).x
    assert torch.equal(off[:, 0], plain[:, 0]) and not close(off[:, 1], plain[:, 1], 1e-3)
    assert len(recorder.passes[""][0].readings[0]["read"]) == 5
    with changed(trunk, Pinned(1, branch="read", weights="first")), record(trunk) as recorder:
        trunk(tokens, MEMORY)
    assert all(close(r.weights()[..., 0], torch.ones(2, 2, 1).double()) for r in recorder.readings["blocks.0.mix.read"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Without(14, head=1), "layer 14: this model has 2"),
        (Without(1, head=3), "head 3: the mix of layer 1 has 2"),
        (Without(1, stream="source"), "no stream 'source'"),
        (Replaced(1, of="other"), "no other input 'other'"),
        (Added(1, vector=(1.0,)), "a vector of 1 numbers; the stream has 8"),
        (Without(1, head=1, tokens=(9,)), "token 9: this input has 5"),
        (Hidden((6,)), "token 6: this input has 5"),
        (Scaled(1, factor=0.0, branch="mix", row=3), "row 3: this pass has 2"),
    ],
    ids=str,
)
def test_a_change_that_a_model_has_no_place_for_is_refused_in_words(change: Change, said: str):
    with pytest.raises(ConfigError, match=said):
        out(built(), line(), change)
    assert active() is None


@pytest.mark.parametrize(
    "made", [lambda: Without(0), lambda: Hidden(()), lambda: Without(1, head=0), lambda: Pinned(1)]
)
def test_a_change_that_means_nothing_is_refused(made: Any):
    with pytest.raises(ConfigError):
        made()


def test_a_branch_that_is_not_there_is_named_with_those_that_are():
    trunk = Trunk.Config(block=Block.Config(mix=Lstm.Config())).build(dim=8)
    for change, said in (
        (Without(1, branch="read"), "has no read: it has mix"),
        (Without(1, head=1), "is Lstm, which has no heads"),
    ):
        with pytest.raises(ConfigError, match=said), changed(trunk, change):
            pass


def test_changes_of_an_outer_block_hold_in_an_inner_one_and_unmet_ones_are_known():
    trunk, tokens, other = built(), line(), built()
    both = out(trunk, tokens, Without(1, head=1), Without(2, head=2))
    with changed(trunk, Without(1, head=1)):
        assert torch.equal(out(trunk, tokens, Without(2, head=2)), both)
    with changed(trunk, Without(1, head=1)) as found:
        other(tokens, MEMORY)
        assert found.unmet == (Without(1, head=1),)
        trunk(tokens, MEMORY)
    assert found.unmet == ()
