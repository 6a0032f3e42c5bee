"""Attention: project, turn, score, read. Each field changes what its equation says, and nothing else."""

import pytest
import torch
from einops import rearrange
from helpers.tiny import close, numbers, randomised
from torch import nn

from weft.core import Additive, Attention, Capped, Dot, LayerNorm, Out, RmsNorm, Window, record
from weft.core.scope import Pass
from weft.errors import ConfigError
from weft.position import Alibi, Rotary, turn
from weft.tokens import Tokens

DIM, LENGTH = 8, 6


def built(config: Attention.Config, memory_dim: int | None = None) -> Attention:
    return randomised(config.build(dim=DIM, memory_dim=memory_dim)).double()


def stream(seed: int = 0, valid: torch.Tensor | None = None) -> Tokens:
    return Tokens.line(numbers(2, LENGTH, DIM, seed=seed), valid=valid)


def read(attention: Attention, tokens: Tokens, memory: Tokens | None = None) -> torch.Tensor:
    return attention(tokens.x, Pass(tokens, memory=memory))


def weights(attention: Attention, tokens: Tokens, memory: Tokens | None = None) -> torch.Tensor:
    with record(attention) as recorder:
        read(attention, tokens, memory)
    return recorder.readings[""][0].weights()


def projected(attention: Attention, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    q, k, v = attention.qkv(x).split(attention.sizes, -1)
    cut = lambda t, d: rearrange(t, "b n (h d) -> b h n d", d=d)  # noqa: E731
    return cut(q, attention.head_dim), cut(k, attention.head_dim), cut(v, attention.value_dim)


def causal(scores: torch.Tensor) -> torch.Tensor:
    closed = ~torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(closed, -torch.inf).softmax(-1)


@pytest.mark.parametrize("scaled", [True, False])
def test_dot_scores_are_products_divided_by_the_root_of_the_width_if_scaled(scaled: bool):
    attention, tokens = built(Attention.Config(heads=2, score=Dot.Config(scaled=scaled))), stream()
    q, k, v = projected(attention, tokens.x)
    expected = causal(q @ k.mT / (2.0 if scaled else 1.0))
    assert close(weights(attention, tokens), expected)
    assert close(read(attention, tokens), attention.out(rearrange(expected @ v, "b h n d -> b n (h d)")))


def test_additive_scores_are_a_small_network_of_query_plus_key():
    attention, tokens = built(Attention.Config(heads=2, score=Additive.Config(temperature=0.5))), stream()
    q, k, v = projected(attention, tokens.x)
    scores = torch.zeros(2, 2, LENGTH, LENGTH, dtype=torch.float64)
    for i in range(LENGTH):
        for j in range(LENGTH):
            scores[:, :, i, j] = torch.tanh(q[:, :, i] + k[:, :, j]) @ attention.score.v.weight[0] / 0.5
    expected = causal(scores)
    assert close(weights(attention, tokens), expected)
    assert close(read(attention, tokens), attention.out(rearrange(expected @ v, "b h n d -> b n (h d)")))


@pytest.mark.parametrize("inner", [Dot.Config(), Dot.Config(scaled=False, temperature=1.7), Additive.Config()], ids=str)
def test_capped_scores_are_other_scores_kept_within_a_bound_before_the_temperature(inner):
    score = Capped.Config(score=inner, cap=0.4, temperature=0.5)
    attention, tokens = built(Attention.Config(heads=2, score=score)), stream()
    q, k, v = projected(attention, tokens.x)
    raw = attention.score.score(q, k)
    assert raw.abs().max() > 0.4
    expected = causal(0.4 * torch.tanh(raw / 0.4) / 0.5)
    assert close(weights(attention, tokens), expected)
    assert close(read(attention, tokens), attention.out(rearrange(expected @ v, "b h n d -> b n (h d)")))


def test_a_cap_must_be_above_zero():
    with pytest.raises(ConfigError, match="above 0"):
        Capped.Config(cap=0.0)


@pytest.mark.parametrize(
    "score", [Dot.Config(), Dot.Config(scaled=False), Additive.Config(), Capped.Config(cap=3.0)], ids=str
)
def test_a_temperature_above_one_flattens_and_below_one_sharpens(score):
    def entropy(temperature: float) -> torch.Tensor:
        w = weights(built(Attention.Config(heads=2, score=score.replace(temperature=temperature))), stream())
        return -(w * w.clamp(min=1e-300).log()).sum(-1)[:, :, 1:]

    sharp, plain, flat = entropy(0.3), entropy(1.0), entropy(5.0)
    assert (sharp < plain).all() and (plain < flat).all()


def test_the_softmax_of_divided_scores_is_what_temperature_means():
    tokens = stream()
    plain, cold = (built(Attention.Config(heads=1, score=Dot.Config(temperature=t))) for t in (1.0, 0.25))
    assert close(weights(cold, tokens)[:, :, -1], (weights(plain, tokens)[:, :, -1].log() / 0.25).softmax(-1))


def test_many_heads_are_single_heads_side_by_side():
    many, tokens = built(Attention.Config(heads=4)), stream()
    total = many.out.bias.expand(2, LENGTH, DIM)
    q, k, v = many.qkv.weight.chunk(3)
    qb, kb, vb = many.qkv.bias.chunk(3)
    for h in range(4):
        rows = slice(2 * h, 2 * h + 2)
        one = built(Attention.Config(heads=1, head_dim=2))
        with torch.no_grad():
            one.qkv.weight.copy_(torch.cat([q[rows], k[rows], v[rows]]))
            one.qkv.bias.copy_(torch.cat([qb[rows], kb[rows], vb[rows]]))
            one.out.weight.copy_(many.out.weight[:, rows])
            one.out.bias.zero_()
        total = total + read(one, tokens)
    assert close(read(many, tokens), total)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "options", [{}, {"turn": Rotary.Config()}, {"bias": Alibi.Config()}, {"score": Additive.Config()}], ids=str
)
def test_shared_key_heads_equal_repeated_ones(groups: int, options: dict):
    shared = built(Attention.Config(heads=4, kv_heads=groups, **options))
    whole = built(Attention.Config(heads=4, **options))
    with torch.no_grad():
        for mine, theirs in ((whole.qkv.weight, shared.qkv.weight), (whole.qkv.bias, shared.qkv.bias)):
            q, k, v = theirs.split(shared.sizes)
            k, v = (t.reshape(groups, 2, -1).repeat_interleave(4 // groups, 0).reshape(8, *t.shape[1:]) for t in (k, v))
            mine.copy_(torch.cat([q, k, v]))
        whole.out.load_state_dict(shared.out.state_dict())
        whole.score.load_state_dict(shared.score.state_dict())
    assert close(read(shared, stream()), read(whole, stream()))


@pytest.mark.parametrize("norm", [LayerNorm.Config(), RmsNorm.Config(learned=False)], ids=str)
def test_normalised_queries_and_keys_are_blind_to_their_length(norm):
    attention, tokens = built(Attention.Config(heads=2, qk_norm=norm, offsets=False)), stream()
    before = weights(attention, tokens)
    with torch.no_grad():
        attention.qkv.weight[:16] *= 1000
    assert close(weights(attention, tokens), before, 1e-3)
    q, k, _ = projected(attention, tokens.x)
    assert close(weights(attention, tokens), causal(attention.q_norm(q) @ attention.k_norm(k).mT / 2))


def test_queries_and_keys_may_be_normalised_over_all_heads_of_a_token():
    config = Attention.Config(heads=4, kv_heads=2, qk_norm=RmsNorm.Config(), qk_norm_over="heads")
    attention, tokens = built(config), stream()
    q, k, _ = attention.qkv(tokens.x).split(attention.sizes, -1)
    q, k = attention.q_norm(q), attention.k_norm(k)
    heads = [rearrange(t, "b n (h d) -> b h n d", d=2) for t in (q, k)]
    assert close(weights(attention, tokens), causal(heads[0] @ heads[1].repeat_interleave(2, 1).mT / 2**0.5))
    assert (attention.q_norm.dim, attention.k_norm.dim) == (8, 4)


@pytest.mark.parametrize("score", [Dot.Config(), Capped.Config(cap=1.0)], ids=["dot", "capped"])
def test_a_sink_takes_its_part_of_the_softmax_and_gives_no_value(score):
    attention, tokens = built(Attention.Config(heads=2, score=score, sinks=True)), stream()
    q, k, v = projected(attention, tokens.x)
    closed = ~torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    each = attention.score(q, k).masked_fill(closed, -torch.inf).exp()
    expected = each / (each.sum(-1, keepdim=True) + attention.sinks.exp()[:, None, None])
    assert close(weights(attention, tokens), expected)
    assert close(read(attention, tokens), attention.out(rearrange(expected @ v, "b h n d -> b n (h d)")))
    read(attention, tokens).square().sum().backward()
    assert (attention.sinks.grad != 0).all()


@pytest.mark.parametrize("fields", [{"sinks": True}, {"qk_norm_over": "heads"}], ids=str)
def test_training_in_float32_reads_as_the_definition_does(fields: dict):
    config = Attention.Config(heads=2, qk_norm=LayerNorm.Config(learned=False), **fields)
    attention = randomised(config.build(dim=32))
    tokens = Tokens.line(numbers(2, 64, 32, dtype=torch.float32))
    exact = Tokens.line(tokens.x.double())
    assert close(read(attention, tokens).double(), read(attention.double(), exact), 1e-5)


@pytest.mark.parametrize("value_dim", [1, 3, 16])
def test_values_may_be_of_any_width(value_dim: int):
    attention, tokens = built(Attention.Config(heads=2, kv_heads=1, value_dim=value_dim)), stream()
    assert attention.out.in_features == 2 * value_dim
    q, k, v = projected(attention, tokens.x)
    expected = causal(q @ k.mT / 2) @ v
    assert close(read(attention, tokens), attention.out(rearrange(expected, "b h n d -> b n (h d)")))


def test_a_head_may_be_wider_or_narrower_than_its_share():
    assert built(Attention.Config(heads=3, head_dim=5)).qkv.weight.shape == (45, DIM)
    assert read(built(Attention.Config(heads=3, head_dim=5)), stream()).shape == (2, LENGTH, DIM)


@pytest.mark.parametrize("memory_dim", [None, 5])
def test_offsets_are_there_or_not(memory_dim: int | None):
    for offsets in (True, False):
        attention = built(Attention.Config(heads=2, offsets=offsets), memory_dim)
        linear = [m for m in attention.modules() if isinstance(m, nn.Linear)]
        assert len(linear) == (2 if memory_dim is None else 3)
        assert all((m.bias is not None) is offsets for m in linear)
        assert isinstance(attention.out, Out)


def test_turned_scores_depend_on_differences_of_places_only():
    attention = built(Attention.Config(heads=2, turn=Rotary.Config()))
    x = numbers(1, LENGTH, DIM)
    here = Tokens.line(x)
    there = Tokens.line(x, position=here.coords["position"] + 40)
    assert close(weights(attention, here), weights(attention, there), 1e-5)
    assert not close(weights(attention, here), weights(built(Attention.Config(heads=2)), here), 1e-3)


def test_slopes_are_added_to_the_scores():
    attention, tokens = built(Attention.Config(heads=2, bias=Alibi.Config())), stream()
    q, k, _ = projected(attention, tokens.x)
    steps = torch.arange(LENGTH)
    distance = (steps[:, None] - steps).abs()
    slopes = torch.tensor([2.0**-4, 2.0**-8], dtype=torch.float64)[:, None, None]
    assert close(weights(attention, tokens), causal(q @ k.mT / 2 - slopes * distance))


def test_rules_limit_what_is_read():
    near = weights(built(Attention.Config(heads=2, rules=(Window(radius=1),))), stream())
    steps = torch.arange(LENGTH)
    band = (steps[:, None] - steps <= 1) & (steps[:, None] >= steps)
    assert ((near > 0) == band).all()


def test_attention_across_reads_the_real_tokens_of_a_memory_and_nothing_else():
    attention = built(Attention.Config(heads=2), memory_dim=5)
    valid = torch.tensor([[True, True, True, False], [False, True, True, True]])
    memory = Tokens.free(numbers(2, 4, 5, seed=3), valid=valid)
    tokens = stream()
    q = rearrange(attention.q(tokens.x), "b n (h d) -> b h n d", h=2)
    k, v = (rearrange(t, "b n (h d) -> b h n d", h=2) for t in attention.kv(memory.x).chunk(2, -1))
    expected = (q @ k.mT / 2).masked_fill(~valid[:, None, None], -torch.inf).softmax(-1)
    assert close(weights(attention, tokens, memory), expected)
    assert close(read(attention, tokens, memory), attention.out(rearrange(expected @ v, "b h n d -> b n (h d)")))


def test_queries_and_keys_of_a_memory_are_normalised_and_turned_each_by_its_own_place():
    attention = built(Attention.Config(heads=2, turn=Rotary.Config(), qk_norm=LayerNorm.Config()), memory_dim=5)
    tokens, places = stream(), torch.tensor([[7, 2, 2, 30]]).expand(2, 4)
    memory = Tokens.free(numbers(2, 4, 5, seed=3), coords={"position": places})

    def placed(t: torch.Tensor, norm, position: torch.Tensor) -> torch.Tensor:
        heads = norm(rearrange(t, "b n (h d) -> b n h d", h=2))
        return turn(heads, *attention.turn({"position": position}, t.dtype)).transpose(1, 2)

    q = placed(attention.q(tokens.x), attention.q_norm, tokens.coords["position"])
    k = placed(attention.kv(memory.x)[..., :8], attention.k_norm, places)
    assert close(weights(attention, tokens, memory), (q @ k.mT / 2).softmax(-1))


def test_the_order_of_a_memory_without_places_does_not_matter():
    attention = built(Attention.Config(heads=2), memory_dim=5)
    x, order = numbers(2, 4, 5, seed=3), torch.tensor([2, 0, 3, 1])
    outs = [read(attention, stream(), Tokens.free(m)) for m in (x, x[:, order])]
    assert close(*outs)


@pytest.mark.parametrize("line", [True, False], ids=["line", "free"])
def test_weights_copied_from_torch_give_the_output_of_torch(line: bool):
    torch.manual_seed(1)
    theirs = nn.MultiheadAttention(DIM, 2, batch_first=True, dtype=torch.float64)
    nn.init.normal_(theirs.in_proj_bias)
    nn.init.normal_(theirs.out_proj.bias)
    ours = built(Attention.Config(heads=2))
    ours.qkv.load_state_dict({"weight": theirs.in_proj_weight, "bias": theirs.in_proj_bias})
    ours.out.load_state_dict(theirs.out_proj.state_dict())
    x = numbers(2, LENGTH, DIM)
    valid = torch.arange(LENGTH)[None] < torch.tensor([[6], [4]])
    tokens = Tokens.line(x, valid=valid) if line else Tokens.free(x, valid=valid)
    mask = ~torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril() if line else None
    expected, expected_weights = theirs(x, x, x, key_padding_mask=~valid, attn_mask=mask, average_attn_weights=False)
    assert close(read(ours, tokens)[valid], expected[valid])
    assert close(weights(ours, tokens).transpose(1, 2)[valid], expected_weights.transpose(1, 2)[valid])


def test_weights_copied_from_torch_read_a_memory_as_torch_does():
    theirs = nn.MultiheadAttention(DIM, 2, batch_first=True, kdim=5, vdim=5, dtype=torch.float64)
    nn.init.normal_(theirs.in_proj_bias)
    ours = built(Attention.Config(heads=2), memory_dim=5)
    qb, kvb = theirs.in_proj_bias.split([8, 16])
    ours.q.load_state_dict({"weight": theirs.q_proj_weight, "bias": qb})
    ours.kv.load_state_dict({"weight": torch.cat([theirs.k_proj_weight, theirs.v_proj_weight]), "bias": kvb})
    ours.out.load_state_dict(theirs.out_proj.state_dict())
    memory = Tokens.free(numbers(2, 4, 5, seed=3), valid=torch.tensor([[True] * 4, [True, True, False, False]]))
    expected, _ = theirs(stream().x, memory.x, memory.x, key_padding_mask=~memory.valid)
    assert close(read(ours, stream(), memory), expected)


@pytest.mark.parametrize("fields", [{"heads": 0}, {"heads": -2}, {"heads": 4, "kv_heads": 3}])
def test_heads_that_cannot_be_shared_are_refused(fields: dict):
    with pytest.raises(ConfigError, match="heads"):
        Attention.Config(**fields)


def test_heads_that_do_not_divide_the_width_are_refused_with_the_arithmetic():
    with pytest.raises(ConfigError, match=r"width of 10 does not divide into 4 heads(.|\n)*(8|12)"):
        Attention.Config(heads=4).build(dim=10)


@pytest.mark.parametrize("fields", [{"kv_heads": -2}, {"head_dim": -4}, {"value_dim": -1}])
def test_negative_sizes_are_refused(fields: dict):
    with pytest.raises(ConfigError):
        Attention.Config(heads=4, **fields).build(dim=16)


def test_two_biases_along_different_axes_in_one_pass_stay_apart():
    line = stream()
    tokens = Tokens.line(line.x, coords={"other": line.coords["position"] * 9})
    at = Pass(tokens)
    first, second = (built(Attention.Config(heads=2, bias=Alibi.Config(axis=axis))) for axis in ("position", "other"))
    alone = second(tokens.x, Pass(tokens))
    first(tokens.x, at)
    assert close(second(tokens.x, at), alone)
