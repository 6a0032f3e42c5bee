"""One spine carries what comes later: encoders, readers of memories, recurrence, joined streams, sets and graphs."""

import dataclasses

import pytest
import torch
from helpers.tiny import close, ids, numbers, pictures, randomised
from torch import Tensor

from weft.config import from_json
from weft.core import (
    Additive,
    Attention,
    Average,
    Block,
    Cache,
    Dense,
    Dot,
    Edges,
    LayerNorm,
    Lstm,
    Mlp,
    PerToken,
    Plain,
    Pooled,
    PostNorm,
    Rnn,
    Same,
    Summary,
    Trunk,
)
from weft.core.heads import Head
from weft.errors import ConfigError
from weft.generate import Sampling, Session, generate
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.image import PatchEmbed
from weft.modalities.text import Text, TextEmbed
from weft.models import Seq2Seq, Stream
from weft.position import Add, Buckets, Learned, Rotary, Sinusoidal, TurnRamp
from weft.tokens import Tokens, join

DIM, VOCAB, CONTEXT = 8, 9, 6
GRID = ("row", "column")
BUMP = numbers(DIM, seed=8)  # a change that no norm takes out
BLOCK = Block.Config(mix=Attention.Config(heads=2), transform=Mlp.Config(hidden=12))


def trunk(block: Block.Config = BLOCK, *, depth: int = 2, memory_dim: int | None = None, seed: int = 0) -> Trunk:
    built = Trunk.Config(depth=depth, block=block).build(dim=DIM, memory_dim=memory_dim)
    return randomised(built, seed=seed).double().eval()


# An encoder: everyone reads everyone.


POST = Trunk.Config(depth=2, block=BLOCK.replace(wiring=PostNorm.Config()))
UNSCALED = BLOCK.replace(mix=Attention.Config(heads=2, score=Dot.Config(scaled=False)))
SINES = Add.Config(code=Sinusoidal.Config())
PLAIN = TextEmbed.Config(vocab=VOCAB, context=CONTEXT, reading="free", place=SINES)
SUMMED = PLAIN.replace(
    place=Add.Config(code=Learned.Config(size=12, start=2)), last_norm=LayerNorm.Config(), segments=2
)
ENCODERS = {
    "plain": (PLAIN, POST),
    "segments, a norm of the sum": (SUMMED, POST),
    "narrow, the same block again": (SUMMED.replace(narrow=3), POST.replace(passes=2, depth=1)),
    "buckets": (
        PLAIN.replace(place=None),
        Trunk.Config(depth=2, block=UNSCALED, bias=Buckets.Config(count=8, farthest=6)),
    ),
}


def encoder(head: Head.Config, kind: str = "plain") -> Stream:
    embed, trunk = ENCODERS[kind]
    config = Stream.Config(dim=DIM, embed=embed, trunk=trunk, head=head, outputs=3)
    return randomised(config.build()).double().eval()


DENSE = Dense.Config(norm=LayerNorm.Config(), width=5)
HEADS = {
    "each token": PerToken.Config(dense=DENSE, offsets=True, scale=0.5),
    "mean": Pooled.Config(),
    "first": Pooled.Config(first=True, dense=Dense.Config(activation="tanh")),
    "vector": Summary.Config(unit=True, dense=Dense.Config(width=3)),
}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("before, after", [(3, 0), (0, 2), (1, 2)])
def test_padding_changes_nothing_for_an_encoder(head: str, kind: str, before: int, after: int):
    model, text = encoder(HEADS[head], kind), ids(2, 5, vocab=VOCAB)
    padded = torch.cat([ids(2, before, vocab=VOCAB, seed=1), text, ids(2, after, vocab=VOCAB, seed=2)], 1)
    valid = torch.zeros(padded.shape, dtype=torch.bool)
    valid[:, before : before + 5] = True
    out, plain = model(Text(padded, valid)), model(Text(text))
    assert plain.shape == ((2, 5, 3) if head == "each token" else (2, 3))
    assert close(out[:, before : before + 5] if head == "each token" else out, plain)


@pytest.mark.parametrize("kind", ENCODERS)
def test_an_encoder_travels_as_json_and_builds_the_same_weights(kind: str):
    for head in HEADS.values():
        config = encoder(head, kind).config
        again = from_json(config.to_json())
        assert again == config
        shapes = [{n: p.shape for n, p in one.build().state_dict().items()} for one in (config, again)]
        assert shapes[0] == shapes[1]


@pytest.mark.parametrize("kind", ENCODERS)
def test_in_an_encoder_every_token_sees_every_other_and_only_its_own_row(kind: str):
    model, text = encoder(PerToken.Config(), kind), ids(2, 5, vocab=VOCAB)
    out = model(Text(text))
    for place in range(5):
        changed = text.clone()
        changed[0, place] = (changed[0, place] + 1) % VOCAB
        apart = (model(Text(changed)) - out).abs().amax(-1)
        assert (apart[0] > 1e-6).all() and not apart[1].any()


def test_the_mean_of_no_tokens_is_the_offset_alone_and_finite():
    model = encoder(Pooled.Config())
    out = model(Text(ids(2, 3, vocab=VOCAB), torch.tensor([[True] * 3, [False] * 3])))
    assert close(out[1], model.head.out.bias)
    out.sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_an_encoder_without_known_outputs_or_head_says_so():
    from weft.modalities.embedder import Embedder

    class Bare(Embedder):
        class Config(Embedder.Config):
            pass

        def __init__(self, config: Config, *, dim: int):
            super().__init__()

    config = Stream.Config(dim=DIM, embed=Bare.Config(), trunk=Trunk.Config(block=BLOCK), head=Pooled.Config())
    with pytest.raises(ConfigError, match="set outputs"):
        config.build()


# An encoder and a decoder: the second reads the tokens of the first as a memory.

RECURRENT = Attention.Config(heads=1, score=Additive.Config())
DECODERS = {
    "attention": BLOCK.replace(read=Attention.Config(heads=2)),
    "attention, turned": BLOCK.replace(
        mix=Attention.Config(heads=2, turn=Rotary.Config()), read=Attention.Config(heads=2, kv_heads=1)
    ),
    "attention, turned in part and stretched": BLOCK.replace(
        mix=Attention.Config(heads=2, turn=Rotary.Config(share=0.5, stretch=TurnRamp(factor=2.0, context=8, gain=1.2))),
        read=Attention.Config(heads=2),
    ),
    "average": BLOCK.replace(read=Average.Config()),
    "lstm with additive attention": Block.Config(mix=Lstm.Config(read=RECURRENT), wiring=Plain.Config()),
    "rnn with additive attention": Block.Config(mix=Rnn.Config(read=RECURRENT), wiring=Plain.Config()),
    "lstm, then a reading": Block.Config(mix=Lstm.Config(), read=Attention.Config(heads=2)),
    "buckets shared by all layers": UNSCALED.replace(read=Attention.Config(heads=2)),
    "the same block again": BLOCK.replace(read=Attention.Config(heads=2)),
}
TRUNKS = {
    "buckets shared by all layers": {"bias": Buckets.Config(count=6, farthest=8, sides="past")},
    "the same block again": {"passes": 2},
}


def translator(decoder: str) -> Seq2Seq:
    place = Add.Config(code=Sinusoidal.Config())
    source = Stream.Config(
        dim=6,
        embed=TextEmbed.Config(vocab=VOCAB, context=CONTEXT, reading="free", place=place),
        trunk=Trunk.Config(block=BLOCK.replace(mix=Attention.Config(heads=2))),
    )
    target = Stream.Config(
        dim=DIM,
        embed=TextEmbed.Config(vocab=VOCAB, context=CONTEXT, place=place),
        trunk=Trunk.Config(depth=2, block=DECODERS[decoder], **TRUNKS.get(decoder, {})),
        head=PerToken.Config(),
    )
    return randomised(Seq2Seq.Config(source=source, target=target).build()).double().eval()


@pytest.fixture(params=DECODERS)
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    return translator(request.param)


SOURCE, TARGET = Text(ids(3, 6, vocab=VOCAB, seed=1)), Text(ids(3, 7, vocab=VOCAB, seed=2))


@pytest.mark.parametrize("cuts", [[1] * 7, [6, 1], [1, 2, 4]], ids=str)
def test_stepping_a_decoder_beside_a_memory_equals_one_pass(model: Seq2Seq, cuts: list[int]):
    cache = Cache(3)
    with torch.no_grad():
        memory = model.memorise(SOURCE)
        outs = [model.step(Text(piece), memory, cache) for piece in TARGET.ids.split(cuts, 1)]
    assert close(torch.cat(outs, 1), model(SOURCE, TARGET))


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_of_the_source_changes_nothing(model: Seq2Seq, side: str):
    junk, real = ids(3, 3, vocab=VOCAB, seed=5), torch.ones(3, 6, dtype=torch.bool)
    gone = torch.zeros(3, 3, dtype=torch.bool)
    parts = [(junk, gone), (SOURCE.ids, real)] if side == "left" else [(SOURCE.ids, real), (junk, gone)]
    padded = Text(torch.cat([p[0] for p in parts], 1), torch.cat([p[1] for p in parts], 1))
    assert close(model(padded, TARGET), model(SOURCE, TARGET))


def test_sources_and_targets_of_different_lengths_in_one_batch_equal_each_alone(model: Seq2Seq):
    lengths, sources = torch.tensor([2, 7, 4])[:, None], torch.tensor([6, 1, 3])[:, None]
    target = Text(TARGET.ids, torch.arange(7)[None] >= 7 - lengths)
    source = Text(SOURCE.ids, torch.arange(6)[None] < sources)
    out = model(source, target)
    for row in range(3):
        n, m = int(lengths[row]), int(sources[row])
        alone = model(Text(SOURCE.ids[row : row + 1, :m]), Text(TARGET.ids[row : row + 1, -n:]))
        assert close(out[row : row + 1, -n:], alone)


def test_a_target_token_is_blind_to_later_ones_and_sees_the_whole_source(model: Seq2Seq):
    out = model(SOURCE, TARGET)
    changed = TARGET.ids.clone()
    changed[:, 4:] = (changed[:, 4:] + 1) % VOCAB
    assert torch.equal(model(SOURCE, Text(changed))[:, :4], out[:, :4])
    for place in range(6):
        other = SOURCE.ids.clone()
        other[:, place] = (other[:, place] + 1) % VOCAB
        assert ((model(Text(other), TARGET) - out).abs().amax(-1) > 1e-9).all()


def test_a_source_with_nothing_in_it_is_read_as_zero_with_finite_gradients(model: Seq2Seq):
    empty = Text(SOURCE.ids, torch.tensor([[True] * 6, [False] * 6, [True] * 6]))
    out = model(empty, TARGET)
    out.square().sum().backward()
    assert out.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_a_seq2seq_config_travels_as_json(model: Seq2Seq):
    assert from_json(model.config.to_json()) == model.config


def test_a_session_steps_a_decoder_beside_a_memory_and_follows_its_rows(model: Seq2Seq):
    memory = model.memorise(SOURCE)
    session = Session(model.target, memory=memory)
    rows = [[1], [2, 3, 4], [5, 6]]

    def expected(kept: list[int]) -> Tensor:
        alone = [model(Text(SOURCE.ids[i : i + 1]), Text(torch.tensor([rows[i]])))[:, -1] for i in kept]
        return torch.cat(alone)

    assert close(session.start(rows), expected([0, 1, 2]))
    kept = [2, 0]
    session.take(torch.tensor(kept))
    for token in (3, 1, 4):
        for i in kept:
            rows[i] = [*rows[i], token]
        assert close(session.step(torch.tensor([token] * len(kept))), expected(kept))


def test_the_one_search_writes_from_a_memory_the_same_in_a_batch_as_alone(model: Seq2Seq):
    tokenizer = tokenizers.train("characters", ["abcdefg"])
    assert tokenizer.size == VOCAB
    with torch.no_grad():
        model.target.head.out.weight[tokenizer.end] *= 0.5
    how = Sampling(temperature=0.0, max_tokens=CONTEXT + 2, stop=("aa", "g"))
    memory = model.memorise(SOURCE)
    prompts = [[tokenizer.end], [tokenizer.end, 3], [tokenizer.end, 2, 2]]
    together = generate(Session(model.target, memory=memory), tokenizer, prompts, how)
    for row in range(3):
        alone = Session(model.target, memory=memory.rows(torch.tensor([row])))
        assert generate(alone, tokenizer, [prompts[row]], how)[0] == together[row]


def test_a_line_of_text_reads_a_picture_of_another_width_as_its_memory():
    embed = PatchEmbed.Config(grid=(4, 4), patch=2, class_tokens=1, place=Add.Config(code=Sinusoidal.Config(axes=GRID)))
    source = Stream.Config(dim=12, embed=embed, trunk=Trunk.Config(block=BLOCK))
    target = translator("attention").config.target
    config = Seq2Seq.Config(source=source, target=target)
    model, batch = randomised(config.build()).double().eval(), pictures(3)
    assert from_json(config.to_json()) == config
    whole, cache, memory = model(batch, TARGET), Cache(3), model.memorise(batch)
    assert whole.shape == (3, 7, VOCAB) and memory.x.shape == (3, 17, 12)
    with torch.no_grad():
        steps = [model.step(Text(piece), memory, cache) for piece in TARGET.ids.split(1, 1)]
    assert close(torch.cat(steps, 1), whole)
    other = model(pictures(3, seed=1), TARGET)
    assert ((other - whole).abs().amax(-1) > 1e-9).all()
    with pytest.raises(ConfigError, match="cannot be one"):
        Seq2Seq.Config(source=source, target=target, shared=True)


# Two streams in one: a prefix that all may read, then a line.


def joined(x: Tensor, y: Tensor, valid: Tensor | None = None) -> Tokens:
    """A picture of free tokens, then a caption in a line, whose ranks begin above the picture's."""
    (rows, n), m = x.shape[:2], y.shape[1]
    places = {"position": torch.zeros(rows, n, dtype=torch.long)}
    return join(
        Tokens.free(x, valid=valid, coords=places), Tokens.line(y, position=torch.arange(1, m + 1).expand(rows, m))
    )


def test_a_prefix_is_blind_to_the_suffix_and_the_suffix_reads_the_prefix_and_its_own_past():
    net, x, y = trunk(), numbers(2, 4, DIM), numbers(2, 5, DIM, seed=1)
    out = net(joined(x, y)).x
    for place in range(5):
        changed = y.clone()
        changed[:, place] += BUMP
        apart = (net(joined(x, changed)).x - out).abs().amax(-1)
        assert not apart[:, : 4 + place].any() and (apart[:, 4 + place :] > 1e-9).all()
    for place in range(4):
        changed = x.clone()
        changed[:, place] += BUMP
        assert ((net(joined(changed, y)).x - out).abs().amax(-1) > 1e-9).all()


def test_the_prefix_alone_comes_out_as_it_does_in_front_of_a_suffix():
    net, x, y = trunk(), numbers(2, 4, DIM), numbers(2, 5, DIM, seed=1)
    assert close(net(joined(x, y)).x[:, :4], net(Tokens.free(x)).x)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("cuts", [[1] * 5, [2, 3]], ids=str)
def test_a_prefix_read_once_and_a_suffix_in_steps_equal_one_pass(cuts: list[int], padded: bool):
    net, x, y = trunk(), numbers(2, 4, DIM), numbers(2, 5, DIM, seed=1)
    valid = torch.tensor([[True] * 4, [True, True, False, False]]) if padded else None
    whole = joined(x, y, valid)
    cache, outs, start = Cache(3), [], 0
    with torch.no_grad():
        for length in [4, *cuts]:
            outs.append(net(part_of(whole, start, length), cache=cache).x)
            start += length
    assert close(torch.cat(outs, 1)[whole.valid], net(whole).x[whole.valid])


def part_of(tokens: Tokens, start: int, length: int) -> Tokens:
    rows = tokens.shape[0]
    return tokens.take(torch.arange(start, start + length).expand(rows, length))


def test_a_forecast_reads_its_own_time_and_earlier_ones():
    net, x = trunk(), numbers(2, 6, DIM)
    time = torch.tensor([0, 0, 1, 1, 2, 2]).expand(2, 6)
    stream = Tokens.free(x).with_rank(time)
    out = net(stream).x
    for place in range(6):
        changed = x.clone()
        changed[:, place] += BUMP
        apart = (net(stream.with_x(changed)).x - out).abs().amax(-1)[0] > 1e-9
        assert apart.tolist() == [int(t) >= place // 2 for t in time[0]]


# Tokens dropped and restored with their places.


def picture(x: Tensor) -> Tokens:
    """Tokens on a grid, their places added."""
    rows, n = x.shape[:2]
    coords = {"row": (torch.arange(n) // 3).expand(rows, n), "column": (torch.arange(n) % 3).expand(rows, n)}
    code = Sinusoidal.Config(axes=("row", "column")).build(dim=DIM).double()
    return Tokens.free(x + code(coords), coords=coords)


TURNED = BLOCK.replace(mix=Attention.Config(heads=2, turn=Rotary.Config(axes=("row", "column"))))


@pytest.mark.parametrize("block", [BLOCK, TURNED], ids=["added places", "turned places"])
def test_dropping_tokens_equals_hiding_them(block: Block.Config):
    net, tokens = trunk(block), picture(numbers(2, 9, DIM))
    kept = torch.tensor([[7, 1, 4, 3], [0, 8, 2, 5]])
    visible = torch.zeros(2, 9, dtype=torch.bool).scatter(1, kept, True)
    hidden = dataclasses.replace(tokens, valid=visible, unpadded=False)
    dropped = net(tokens.take(kept))
    assert close(dropped.x, net(hidden).take(kept).x)
    assert torch.equal(dropped.coords["row"], kept // 3) and torch.equal(dropped.coords["column"], kept % 3)


def test_dropped_tokens_are_restored_to_their_places_among_mask_tokens():
    encode, decode = trunk(TURNED), trunk(TURNED, seed=1)
    tokens = picture(numbers(2, 9, DIM))
    blank = picture(numbers(DIM, seed=3).expand(2, 9, DIM))
    kept = torch.tensor([[7, 1, 4, 3], [0, 8, 2, 5]])
    order = torch.tensor([2, 0, 3, 1])
    outs = [decode(encode(tokens.take(index)).put_back(index, blank)).x for index in (kept, kept[:, order])]
    assert outs[0].shape == (2, 9, DIM)
    assert close(*outs), "the order in which tokens were dropped leaves no trace"


# Sets and graphs: the order of tokens means nothing.

SETS = {
    "attention": BLOCK,
    "additive": BLOCK.replace(mix=Attention.Config(heads=2, score=Additive.Config())),
    "average": BLOCK.replace(mix=Average.Config()),
    "same segment": BLOCK.replace(mix=Attention.Config(heads=2, rules=(Same(axis="segment"),))),
}


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("block", SETS)
def test_permuting_a_set_permutes_its_outputs(block: str, padded: bool):
    net, order = trunk(SETS[block]), torch.stack([torch.randperm(7), torch.randperm(7)])
    valid = torch.arange(7)[None] < torch.tensor([[7], [4]]) if padded else None
    tokens = Tokens.free(numbers(2, 7, DIM), valid=valid, coords={"segment": ids(2, 7, vocab=2)})
    assert close(net(tokens.take(order)).padding_zeroed().x, net(tokens).padding_zeroed().take(order).x)
    head = Pooled.Config().build(dim=DIM, size=3).double()
    assert close(head(net(tokens.take(order))), head(net(tokens)))


def test_with_places_by_index_the_order_means_something():
    code, x, order = Sinusoidal.Config().build(dim=DIM).double(), numbers(1, 7, DIM), torch.randperm(7)
    steps = {"position": torch.arange(7)[None]}
    net = trunk()
    placed, permuted = (net(Tokens.free(t + code(steps))).x for t in (x, x[:, order]))
    assert not close(permuted, placed[:, order], 1e-3)
    turned = trunk(BLOCK.replace(mix=Attention.Config(heads=2, turn=Rotary.Config())))
    outs = [turned(Tokens.free(t, coords=steps)).x for t in (x, x[:, order])]
    assert not close(outs[1], outs[0][:, order], 1e-3)


def test_places_that_go_with_their_tokens_leave_the_order_without_meaning():
    net, tokens = trunk(TURNED), picture(numbers(2, 9, DIM))
    order = torch.stack([torch.randperm(9), torch.randperm(9)])
    assert close(net(tokens.take(order)).x, net(tokens).take(order).x)


GRAPH = BLOCK.replace(mix=Attention.Config(heads=2, rules=(Edges(),)))


def graph(edges: list[tuple[int, int]], nodes: int, *, seed: int = 0) -> Tokens:
    joined = torch.zeros(1, nodes, nodes, dtype=torch.bool)
    for a, b in edges:
        joined[0, a, b] = joined[0, b, a] = True
    return dataclasses.replace(Tokens.free(numbers(1, nodes, DIM, seed=seed)), pairs={"edges": joined})


def test_a_node_reads_its_neighbours_one_step_further_with_each_block():
    path = graph([(i, i + 1) for i in range(5)], 6)
    for depth in (1, 2, 3):
        net = trunk(GRAPH, depth=depth)
        out = net(path).x
        changed = path.x.clone()
        changed[:, 0] += BUMP
        apart = (net(path.with_x(changed)).x - out).abs().amax(-1)[0] > 1e-12
        assert apart.tolist() == [node <= depth for node in range(6)]


def test_permuting_the_nodes_of_a_graph_permutes_its_outputs():
    net, tokens = trunk(GRAPH), graph([(0, 1), (1, 2), (2, 0), (3, 1)], 5)
    order = torch.randperm(5)[None]
    assert close(net(tokens.take(order)).x, net(tokens).take(order).x)


def test_a_node_without_edges_reads_nothing_and_has_finite_gradients():
    net, tokens = trunk(GRAPH, depth=1), graph([(0, 1)], 3)
    out = net(tokens).x
    (block,) = net.blocks
    alone = tokens.x + block.mix.out.bias
    alone = alone + block.transform(block.transform_norm(alone))
    assert close(out[:, 2], net.norm(alone)[:, 2])
    out.square().sum().backward()
    assert all(p.grad.isfinite().all() for p in net.parameters())


def test_graphs_of_different_sizes_in_one_batch_equal_each_alone():
    net = trunk(GRAPH)
    graphs = [graph([(0, 1), (1, 2), (2, 3)], 4, seed=1), graph([(0, 1)], 2, seed=2), graph([], 1, seed=3)]
    x, edges = torch.zeros(3, 4, DIM, dtype=torch.float64), torch.zeros(3, 4, 4, dtype=torch.bool)
    for row, one in enumerate(graphs):
        n = one.shape[1]
        x[row, :n], edges[row, :n, :n] = one.x[0], one.pairs["edges"][0]
    valid = torch.arange(4)[None] < torch.tensor([[4], [2], [1]])
    batch = dataclasses.replace(Tokens.free(x, valid=valid), pairs={"edges": edges})
    out = net(batch).x
    for row, one in enumerate(graphs):
        assert close(out[row : row + 1, : one.shape[1]], net(one).x)
