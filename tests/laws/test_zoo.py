"""The laws, over every language model in the zoo, with random weights in float64."""

import pytest
import torch
from helpers.tiny import CONTEXT, SIZE, VOCAB, ZOO, close, ids, language_model, numbers, randomised
from torch import Tensor

from weft.batches.windows import windows
from weft.config import from_json
from weft.core import (
    BoundedGated,
    Cache,
    Capped,
    LayerNorm,
    OnePlusRmsNorm,
    Parallel,
    ParallelOneNorm,
    ResultNorm,
    SandwichNorm,
    Trunk,
    Window,
    record,
)
from weft.core.attention import Attention
from weft.errors import ConfigError
from weft.generate import Sampling, Session, generate
from weft.json_text import read_json, write_json
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.text import Text
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS
from weft.objectives import NextToken
from weft.training.precision import Weights

TOKENIZER = tokenizers.train("characters", ["abcdefghij"])
LETTERS = TOKENIZER.size - 1  # a model that cannot say the end runs on
SHORT = 6  # the context of models that write past it
GREEDY = Sampling(temperature=0.0, max_tokens=SHORT + 3)
DRAWN = Sampling(temperature=1.0, repetition_penalty=1.3, stop=("a", "bc"), max_tokens=SHORT + 3)


def variants() -> dict[str, Stream]:
    """Every zoo entry as it is; and the paths that its sizes do not reach: hashed grams, and a large vocabulary."""
    models = {name: language_model(name) for name in ZOO}
    config = (
        LANGUAGE_MODELS["swift"](SIZE, vocab=VOCAB).set("embed.grams.buckets", "61").set("embed.grams.longest", "4")
    )
    torch.manual_seed(5)
    models["swift, hashed"] = config.build().double().eval()
    for p in models["swift, hashed"].parameters():
        torch.nn.init.normal_(p, std=0.3)
    models["swift, large vocabulary"] = language_model("swift", vocab=1025)
    other = other_wirings(LANGUAGE_MODELS["llama"](SIZE, vocab=VOCAB)).build()
    models["llama, other wirings"] = randomised(other).double().eval()
    return models


def other_wirings(config: Stream.Config) -> Stream.Config:
    """A block with norms on both sides and capped scores in a window, then two with branches side by side."""
    first = config.trunk.all_blocks()[0]
    near = first.mix.replace(score=Capped.Config(cap=2.0), rules=(Window(radius=3),), qk_norm=OnePlusRmsNorm.Config())
    over_heads = first.mix.replace(qk_norm=LayerNorm.Config(learned=False), qk_norm_over="heads")
    blocks = (
        first.replace(mix=near, wiring=SandwichNorm.Config(), norm=OnePlusRmsNorm.Config()),
        first.replace(wiring=Parallel.Config()),
        first.replace(wiring=ParallelOneNorm.Config()),
        first.replace(mix=over_heads, wiring=ResultNorm.Config()),
        first.replace(transform=BoundedGated.Config(limit=0.5)),
    )
    return config.replace(trunk=Trunk.Config(blocks=blocks, norm=OnePlusRmsNorm.Config()))


MODELS = variants()


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Stream:
    return MODELS[request.param]


def in_steps(model: Stream, text: Tensor, cuts: list[int], *, capacity: int = 256) -> Tensor:
    cache = Cache(capacity)
    with torch.no_grad():
        return torch.cat([model(Text(piece), cache=cache) for piece in text.split(cuts, 1)], 1)


@pytest.mark.parametrize("cuts", [[1] * 7, [7], [4, 3], [1, 6], [6, 1], [2, 1, 4]], ids=str)
def test_stepping_with_a_cache_equals_one_pass(model: Stream, cuts: list[int]):
    text = ids(3, 7)
    whole = model(Text(text))
    assert close(in_steps(model, text, cuts, capacity=1), whole), "with a cache that must grow"
    if len(cuts) < 4:
        assert close(in_steps(model, text, cuts), whole)


@pytest.mark.parametrize("length", [CONTEXT - 1, CONTEXT, CONTEXT + 1])
def test_stepping_equals_one_pass_up_to_the_limit_of_the_context_and_beyond_it_where_there_is_none(
    model: Stream, length: int
):
    text, limit = ids(2, length), model.config.embed.limit
    if limit is not None and length > limit:
        for read in (lambda: model(Text(text)), lambda: in_steps(model, text, [1] * length)):
            with pytest.raises(ConfigError, match=f"{limit} places has none for place {limit}"):
                read()
    else:
        assert close(in_steps(model, text, [length - 1, 1], capacity=CONTEXT), model(Text(text)))


def test_stepping_goes_on_for_rows_that_were_taken(model: Stream):
    text, rows = ids(3, 7), torch.tensor([2, 0, 2])
    cache = Cache(4)
    with torch.no_grad():
        model(Text(text[:, :4]), cache=cache)
        cache.take(rows)
        rest = model(Text(text[rows, 4:]), cache=cache)
    assert close(rest, model(Text(text[rows]))[:, 4:])


@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_padding_changes_nothing(model: Stream, side: str):
    text, junk = ids(3, 6), ids(3, 5, seed=9)
    before, after = {"left": (3, 0), "right": (0, 4), "both": (2, 3)}[side]
    padded = torch.cat([junk[:, :before], text, junk[:, :after]], 1)
    valid = torch.zeros(padded.shape, dtype=torch.bool)
    valid[:, before : before + 6] = True
    out = model(Text(padded, valid))
    assert close(out[:, before : before + 6], model(Text(text)))
    other = torch.where(valid, padded, (padded + 1) % VOCAB)
    assert torch.equal(model(Text(other, valid))[valid], out[valid]), "what stands at padding changes no bit"


def test_rows_of_different_lengths_in_one_batch_equal_each_row_alone(model: Stream):
    lengths = [1, 4, 7]
    text = ids(3, 7)
    valid = torch.arange(7)[None] >= 7 - torch.tensor(lengths)[:, None]
    out = model(Text(text, valid))
    for row, length in enumerate(lengths):
        assert close(out[row : row + 1, -length:], model(Text(text[row : row + 1, -length:])))


def test_stepping_on_after_a_padded_batch_equals_each_row_alone(model: Stream):
    lengths, text, more = [2, 5, 3], ids(3, 5), ids(3, 4, seed=3)
    valid = torch.arange(5)[None] >= 5 - torch.tensor(lengths)[:, None]
    cache = Cache(3)
    with torch.no_grad():
        model(Text(text, valid), cache=cache)
        outs = torch.cat([model(Text(piece), cache=cache) for piece in more.split([1, 2, 1], 1)], 1)
    for row, length in enumerate(lengths):
        whole = torch.cat([text[row, -length:], more[row]])[None]
        assert close(outs[row : row + 1], model(Text(whole))[:, length:])


def test_a_token_is_blind_to_higher_ranks(model: Stream):
    text = ids(2, 6)
    out = model(Text(text))
    for place in range(6):
        changed = text.clone()
        changed[:, place:] = (changed[:, place:] + 1 + torch.arange(6 - place)) % VOCAB
        other = model(Text(changed))
        assert torch.equal(other[:, :place], out[:, :place])
        assert not close(other[:, place], out[:, place], 1e-6), "and sees its own"


def test_every_token_sees_all_before_it(model: Stream):
    x = torch.zeros(1, 6, SIZE.dim, dtype=torch.float64, requires_grad=True)
    embedded = model.embed(Text(ids(1, 6)))
    out = model.trunk(embedded.with_x(embedded.x.detach() + x)).x
    for place in range(6):
        (gradient,) = torch.autograd.grad(out[0, place].square().sum(), x, retain_graph=True)
        seen = gradient[0].abs().sum(-1) > 1e-9
        assert seen.tolist() == [other <= place for other in range(6)]


def test_the_logits_of_a_row_do_not_depend_on_its_neighbours(model: Stream):
    text = ids(4, 6)
    out = model(Text(text))
    assert close(model(Text(text.flip(0))).flip(0), out)
    assert close(torch.cat([model(Text(row[None])) for row in text]), out)


@pytest.mark.parametrize("name", ZOO)
def test_a_config_that_travelled_as_json_builds_the_same_parameters(name: str):
    config = LANGUAGE_MODELS[name](SIZE, vocab=VOCAB, dropout=0.1)
    again = from_json(read_json(write_json(config.to_json()), where="test"), Stream.Config)
    torch.manual_seed(7)
    one = config.build().state_dict()
    torch.manual_seed(7)
    other = again.build().state_dict()
    assert list(one) == list(other) and all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("name", ZOO)
def test_weights_loaded_into_a_model_built_anew_give_the_same_logits(name: str):
    model = language_model(name, dtype=torch.float32)
    saved = Weights(model, torch.float32).tensors()
    other = from_json(model.config.to_json()).build().eval()
    Weights(other, torch.float32).load(saved)
    assert torch.equal(other(Text(ids(2, 6))), model(Text(ids(2, 6))))


@pytest.mark.parametrize("micro", [1, 2])
@pytest.mark.parametrize("uneven", [False, True], ids=["all scored", "uneven counts"])
def test_micro_batches_give_the_same_gradient(model: Stream, micro: int, uneven: bool):
    model.train()
    scored = torch.rand(5, 6) < 0.4 if uneven else None
    if uneven:
        scored[0] = False  # a piece with nothing to predict
    batch, objective = windows(ids(5, 7), scored), NextToken.Config().build()

    def gradients(size: int) -> tuple[list[Tensor], float, int]:
        model.zero_grad()
        total, count = 0.0, 0
        for start in range(0, 5, size):
            loss = objective(model, batch[start : start + size])
            loss.total.backward()
            total, count = total + loss.total.item(), count + loss.count
        return [p.grad.clone() for p in model.parameters()], total, count

    whole, pieces = gradients(5), gradients(micro)
    model.eval()
    model.zero_grad()
    assert whole[2] == pieces[2] and whole[1] == pytest.approx(pieces[1], abs=1e-9)
    assert all(close(a, b) for a, b in zip(whole[0], pieces[0], strict=True))
    assert all(g.any() for g in whole[0]) or "hashed" in str(model.config.embed.grams)


def test_recording_changes_no_bit_and_weights_sum_to_one_or_zero(model: Stream):
    text, valid = ids(2, 8), torch.arange(8)[None] >= torch.tensor([[0], [3]])
    for raw in (Text(text), Text(text, valid)):
        for grad in (True, False):
            with torch.set_grad_enabled(grad):
                plain = model(raw)
                with record(model) as recorder:
                    assert torch.equal(model(raw), plain)
    attends = [name for name, module in model.named_modules() if isinstance(module, Attention)]
    assert list(recorder.readings) == attends
    for (reading,) in recorder.readings.values():
        total = reading.weights().sum(-1)
        assert close(total, valid[:, None].expand_as(total).double())


def prompts(*lengths: int) -> list[list[int]]:
    return [ids(1, n, vocab=LETTERS, seed=40 + n)[0].tolist() for n in lengths]


def letters(name: str) -> Stream:
    return language_model(name, vocab=LETTERS, context=SHORT)


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("settings", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_prompts_of_different_lengths_in_one_batch_give_the_text_of_each_alone(name: str, settings: Sampling):
    model = letters(name)
    many = prompts(1, 3, SHORT, 2 * SHORT + 1)
    together = generate(Session(model), TOKENIZER, many, settings)
    alone = [generate(Session(model), TOKENIZER, [prompt], settings)[0] for prompt in many]
    assert together == alone
    assert generate(Session(model, capacity=2), TOKENIZER, many[::-1], settings) == alone[::-1]
    lengths = {len(one.ids) for (one,) in alone}
    assert lengths == {SHORT + 3} if settings is GREEDY else len(lengths) > 1, "past the context; ends at various times"


@pytest.mark.parametrize("name", ZOO)
def test_greedy_text_is_the_argmax_of_full_passes(name: str):
    model, prompt = letters(name), prompts(2)[0]
    row, made = list(prompt), []
    while len(row) < SHORT:
        token = int(model(Text(torch.tensor([row])))[0, -1].argmax())
        row.append(token)
        made.append(token)
    (one,) = generate(Session(model), TOKENIZER, [prompt], GREEDY.replace(max_tokens=SHORT - 2))[0]
    assert one.ids == tuple(made)


@pytest.mark.parametrize("length", [SHORT - 2, SHORT - 1, SHORT, SHORT + 1])
@pytest.mark.parametrize("name", ZOO)
def test_a_session_at_the_limit_of_the_context_equals_full_passes_over_what_it_remembers(name: str, length: int):
    model, prompt = letters(name), prompts(length)[0]
    session = Session(model)
    logits, attends = session.start([prompt]), name != "lstm"
    row = prompt[-SHORT:] if attends else prompt
    for token in ids(1, SHORT, vocab=LETTERS, seed=2)[0]:
        assert session.rows == [row]
        assert close(logits, model(Text(torch.tensor([row])))[:, -1])
        if attends and len(row) == SHORT:
            row = row[SHORT - SHORT // 2 :]
        row = [*row, int(token)]
        logits = session.step(token[None])
    assert not attends or len(row) <= SHORT


@pytest.mark.parametrize("name", ZOO)
def test_nothing_leaks_from_one_session_or_row_to_another(name: str):
    model, mine = letters(name), prompts(4)[0]
    alone = Session(model).start([mine])
    canary = Session(model)
    canary.start([[1] * SHORT, [3] * 4])
    canary.step(torch.tensor([5, 5]))
    assert torch.equal(Session(model).start([mine]), alone), "between sessions"
    assert close(canary.start([mine]), alone), "in a session that starts anew"
    first, second = (Session(model).start([mine, [canary] * 9])[0] for canary in (2, 7))
    assert torch.equal(first, second), "between rows"
    reused = Session(model)
    reused.start([mine, [2] * 9, [7] * 5])
    reused.take(torch.tensor([0]))
    fresh = Session(model)
    fresh.start([mine])
    assert close(reused.step(torch.tensor([1])), fresh.step(torch.tensor([1]))), "from rows that ended"


@pytest.mark.parametrize("name", ZOO)
def test_sessions_that_take_turns_do_not_disturb_each_other(name: str):
    model = letters(name)
    one, other = Session(model), Session(model)
    outs = [[one.start(prompts(4))], [other.start(prompts(6))]]
    for token in (1, 2, 3):
        outs[0].append(one.step(torch.tensor([token])))
        outs[1].append(other.step(torch.tensor([token + 3])))
    again = Session(model)
    assert torch.equal(again.start(prompts(4)), outs[0][0])
    for token in (1, 2, 3):
        assert torch.equal(again.step(torch.tensor([token])), outs[0][token])


def test_modules_hold_no_last_batch(model: Stream):
    before = {name: set(vars(module)) for name, module in model.named_modules()}
    state = {key: t.clone() for key, t in model.state_dict().items()}
    in_steps(model, ids(2, 5), [2, 3])
    assert before == {name: set(vars(module)) for name, module in model.named_modules()}
    assert all(torch.equal(t, state[key]) for key, t in model.state_dict().items())


def test_dropout_acts_only_while_training():
    for name in ZOO:
        model = LANGUAGE_MODELS[name](SIZE, vocab=VOCAB, dropout=0.5).build().double()
        for p in model.parameters():
            p.data = numbers(*p.shape, seed=1) * 0.3
        text = Text(ids(2, 6))
        assert not torch.equal(model(text), model(text))
        model.eval()
        assert torch.equal(model(text), model(text))
