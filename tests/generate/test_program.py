"""Steps in native code equal those of the modules, whatever the decoder, the rows and the instruction set."""

from functools import cache

import pytest
import torch
from helpers.steps import alike, by_modules, few_quick, logits
from helpers.tiny import VOCAB, ZOO, language_model, randomised
from torch import Tensor, nn

from weft.core import (
    Additive,
    Block,
    BoundedGated,
    Capped,
    LowRank,
    Mixture,
    Mlp,
    OnePlusRmsNorm,
    Parallel,
    ParallelOneNorm,
    Plain,
    PostNorm,
    ResultNorm,
    RmsNorm,
    Rnn,
    SandwichNorm,
    Stride,
    TokenShift,
    Trunk,
    Window,
    record,
)
from weft.core.attention import Attention
from weft.core.cache import Cache
from weft.core.norms import LayerScale
from weft.errors import ConfigError, NotNumbers
from weft.generate import Sampling, Session, generate, programs, stepping
from weft.generate import session as sessions
from weft.generate.compute import prepared
from weft.generate.programs import step_program, unknown_part
from weft.generate.thread_choice import ThreadChoice
from weft.modalities import tokenizer_making as tokenizers
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.native import library
from weft.position import Add, Alibi, Learned, Sinusoidal, Sum

SIZE = Size(dim=24, depth=2, heads=4, context=12)
NATIVE = library()
needs_native = pytest.mark.skipif(NATIVE is None, reason="there is no C compiler")


def variants() -> dict[str, Stream]:
    """The zoo, and the parts that its sizes do not reach."""
    models = {name: language_model(name, dtype=torch.float32) for name in ZOO}
    swift, llama, gpt = (LANGUAGE_MODELS[name](SIZE, vocab=VOCAB) for name in ("swift", "llama", "gpt"))
    block = llama.trunk.all_blocks()[0]
    near = block.mix.replace(score=Capped.Config(cap=2.0), rules=(Window(radius=3),), qk_norm=OnePlusRmsNorm.Config())
    over_heads = block.mix.replace(qk_norm=RmsNorm.Config(), qk_norm_over="heads")
    blocks = (
        block.replace(mix=near, wiring=SandwichNorm.Config(), norm=OnePlusRmsNorm.Config()),
        block.replace(wiring=Parallel.Config(), scale=LayerScale.Config()),
        block.replace(mix=over_heads, wiring=ResultNorm.Config()),
        block.replace(wiring=ParallelOneNorm.Config(), shift=TokenShift.Config()),
        block.replace(mix=block.mix.replace(bias=Alibi.Config(), turn=None), wiring=PostNorm.Config()),
    )
    additive = block.replace(mix=block.mix.replace(score=Capped.Config(score=Additive.Config(), temperature=0.7)))
    recurrent = Block.Config(mix=Rnn.Config(), wiring=Plain.Config())
    adapted = gpt.replace(trunk=gpt.trunk.replace(adapters=LowRank.Config(rank=2)))
    places = Sum.Config(codes=(Learned.Config(size=40), Sinusoidal.Config()))
    mixtures = (
        block.replace(transform=Mixture.Config(experts=5, offsets=True), mix=block.mix.replace(sinks=True)),
        block.replace(transform=BoundedGated.Config(limit=0.5), mix=near.replace(sinks=True)),
        block.replace(transform=Mixture.Config(expert=Mlp.Config(), experts=3, chosen=1, shares="all")),
    )
    configs = {
        "llama, mixtures of experts": llama.replace(trunk=Trunk.Config(blocks=mixtures)),
        "swift, hashed": swift.set("embed.grams.buckets", "61").set("embed.grams.longest", "4"),
        "swift, twice": swift.set("trunk.passes", "2"),
        "llama, other wirings": llama.replace(trunk=Trunk.Config(blocks=blocks, norm=OnePlusRmsNorm.Config())),
        "llama, additive scores": llama.replace(trunk=Trunk.Config(blocks=(additive, block))),
        "rnn": llama.replace(trunk=Trunk.Config(block=recurrent, depth=2)),
        "gpt, segments and adapters": adapted.set("embed.segments", "2"),
        "gpt, two codes": gpt.replace(embed=gpt.embed.replace(place=Add.Config(code=places))),
        "gpt, waves": gpt.set("embed.narrow", "12")
        .set("head.tied", "false")
        .replace(trunk=gpt.trunk.set("block.transform.activation", "gelu")),
    }
    waves = configs["gpt, waves"]
    configs["gpt, waves"] = waves.replace(embed=waves.embed.replace(place=Add.Config(code=Sinusoidal.Config())))
    return models | {name: randomised(config.build()).eval() for name, config in configs.items()}


MODELS = variants()
QUICK = [*ZOO, "swift, hashed", "swift, twice", "llama, other wirings", "gpt, waves"]
EIGHT_BITS = {name: prepared(MODELS[name], "int8") for name in ("gpt", "llama", "lstm", "swift")}
PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9]]


@cache
def expected(name: str) -> list[Tensor]:
    return logits(by_modules(MODELS[name]), PROMPTS)


@needs_native
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("instructions", range(NATIVE.widest + 1 if NATIVE else 0))
def test_steps_in_native_code_are_those_of_the_modules(name: str, instructions: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(NATIVE, "widest", instructions)
    session = Session(MODELS[name], capacity=7)  # lines grow on the way
    assert session.program is not None
    assert alike(logits(session, PROMPTS), expected(name))


@needs_native
@pytest.mark.parametrize("name", EIGHT_BITS)
@pytest.mark.parametrize("instructions", range(NATIVE.widest + 1 if NATIVE else 0))
def test_one_step_in_eight_bits_is_that_of_the_modules(name: str, instructions: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(NATIVE, "widest", instructions)
    found = []
    for session in (Session(EIGHT_BITS[name]), by_modules(EIGHT_BITS[name])):
        session.start([[1, 2, 3]] * 9)
        found.append(session.step(torch.arange(9)))
    assert session.program is None
    # a number next to the middle of two whole ones may be rounded either way: then its row differs by a rounding
    apart = (found[0] - found[1]).abs().amax(1) / found[1].abs().amax()
    assert float(apart.median()) < 1e-5 and float(apart.max()) < 0.02


@needs_native
@pytest.mark.parametrize("name", EIGHT_BITS)
def test_neighbours_change_no_bit_of_a_step_in_eight_bits(name: str):
    alone, together = Session(EIGHT_BITS[name]), Session(EIGHT_BITS[name])
    for session in (alone, together):
        assert session.program is not None
        session.start([[1, 2, 3]])
    together.take(torch.tensor([0] * 11))
    for step in range(3):
        others = torch.arange(11) + step
        assert torch.equal(together.step(others % VOCAB)[0], alone.step(others[:1] % VOCAB)[0])


@needs_native
@pytest.mark.parametrize("name", few_quick(MODELS, QUICK))
def test_neighbours_change_no_bit_of_a_step(name: str):
    alone, together = Session(MODELS[name]), Session(MODELS[name])
    for session in (alone, together):
        session.start([[1, 2, 3]])
    together.take(torch.tensor([0] * 7))
    for step in range(4):
        others = torch.arange(7) + step
        assert torch.equal(together.step(others % VOCAB)[0], alone.step(others[:1] % VOCAB)[0])


@needs_native
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_number_of_threads_changes_no_bit(precision: str, monkeypatch: pytest.MonkeyPatch):
    config = LANGUAGE_MODELS["gpt"](Size(dim=192, depth=1, heads=4, context=8), vocab=VOCAB)
    model, found = prepared(randomised(config.build()).eval(), precision), []
    how = Sampling(temperature=1.0, max_tokens=7, samples=2)
    for threads in (1, 2, 3):
        monkeypatch.setattr(stepping, "thread_choice", lambda *_, threads=threads: ThreadChoice(threads))
        session = Session(model)
        session.start([[1]] * 8)
        session.take(torch.arange(7, -1, -1))
        texts = generate(Session(model), tokenizers.train("characters", ["abcdefghi"]), [[1], [2, 3]], how)
        found.append((session.step(torch.arange(8)), [one.ids for row in texts for one in row]))
    for values, ids in found[1:]:
        assert torch.equal(values, found[0][0]) and ids == found[0][1]


@needs_native
@pytest.mark.parametrize("name", few_quick(MODELS, QUICK))
def test_native_steps_and_steps_of_the_modules_may_follow_each_other(name: str):
    model, found = MODELS[name], []
    for session in (Session(model), by_modules(model)):
        program, steps = session.program, [session.start([[1, 2, 3], [4]])]
        for step in range(9):
            session.program = None if step % 4 < 2 else program
            steps.append(session.step(torch.tensor([step, 2]) % VOCAB))
        found.append(steps)
    assert alike(*found)


@needs_native
@pytest.mark.parametrize("name", few_quick(MODELS, QUICK))
def test_rows_that_moved_without_a_copy_are_found_by_the_modules(name: str, monkeypatch: pytest.MonkeyPatch):
    model, found, copies, take = MODELS[name], [], [], Cache.take
    monkeypatch.setattr(Cache, "take", lambda self, rows: copies.append(rows) or take(self, rows))
    for session in (Session(model), by_modules(model)):
        program, steps = session.program, [session.start([[1, 2, 3], [4], [5, 6]])]
        for step, rows in enumerate(([2, 2, 0], [1, 0, 2], [0, 2], [1, 1])):
            session.take(torch.tensor(rows))
            assert len(copies) == (0 if program is not None else step + 1)
            steps.append(session.step(torch.tensor([step, 7, 8])[: len(rows)]))
        session.program = None
        steps += [session.step(torch.tensor([3, 4])), session.step(torch.tensor([5, 6]))]
        found.append(steps)
    assert alike(*found)


@needs_native
def test_a_look_inside_records_the_steps_that_are_looked_at():
    session = Session(MODELS["gpt"])
    session.start([[1, 2]])
    session.step(torch.tensor([3]))
    with record(session.model) as recorder:
        session.step(torch.tensor([4]))
    assert len(recorder.readings) == 2


@needs_native
def test_a_place_beyond_a_learned_table_is_refused():
    model = MODELS["gpt"]
    session = Session(model)
    session.window = None
    session.start([[1] * 12])
    with pytest.raises(ConfigError, match="none for place 12"):
        session.step(torch.tensor([1]))


@needs_native
@pytest.mark.parametrize("token", [-1, VOCAB])
def test_a_token_beyond_the_vocabulary_is_refused(token: int):
    session = Session(MODELS["swift"])
    session.start([[1]])
    with pytest.raises(IndexError, match=f"no row for one of .{token}"):
        session.step(torch.tensor([token]))


def test_every_language_model_of_the_zoo_is_native():
    assert {name: unknown_part(language_model(name, dtype=torch.float32)) for name in ZOO} == dict.fromkeys(ZOO, "")


def test_what_native_code_does_not_know_is_named():
    llama = LANGUAGE_MODELS["llama"](SIZE, vocab=VOCAB)
    strided = llama.trunk.block.mix.replace(rules=(Stride(every=2),))

    class Other(Attention):
        """Something else."""

    model = language_model("gpt", dtype=torch.float32)
    model.trunk.blocks[0].mix.__class__ = Other
    hooked = language_model("gpt", dtype=torch.float32)
    hooked.trunk.register_forward_hook(lambda *_: None)
    patched = language_model("gpt", dtype=torch.float32)
    patched.trunk.norm.forward = lambda x: x
    extended = language_model("gpt", dtype=torch.float32)
    extended.trunk.blocks[1].gain = nn.Parameter(torch.ones(1))
    found = {
        "weight that no operation reads": extended,
        "float64 weights": language_model("gpt"),
        "training": language_model("gpt", dtype=torch.float32).train(),
        "rule": _with_mix(llama, strided),
        "forward": patched,
        "class": model,
        "hook": hooked,
    }
    assert {name: unknown_part(one) for name, one in found.items()} == {
        "weight that no operation reads": "trunk.blocks.1.gain",
        "float64 weights": "weights in float64 on cpu",
        "training": "training",
        "rule": "Stride",
        "forward": "a function in the place of forward",
        "class": "Other",
        "hook": "hooks on modules",
    }


def _with_mix(config: Stream.Config, mix: Attention.Config) -> Stream:
    trunk = config.trunk.replace(block=config.trunk.block.replace(mix=mix))
    return config.replace(trunk=trunk).build().eval()


def test_without_a_library_the_modules_step(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(programs, "library", lambda: None)
    assert step_program(MODELS["gpt"]) is None
    assert alike(logits(Session(MODELS["gpt"]), PROMPTS), expected("gpt"))


def _texts(name: str, how: Sampling, prompts: list[list[int]], **more: int) -> list[tuple[tuple[int, ...], str]]:
    tokenizer = tokenizers.train("characters", ["abcdefghi"])
    rows = generate(Session(MODELS[name], **more), tokenizer, prompts, how)
    return [(one.ids, one.ended) for row in rows for one in row]


@needs_native
@pytest.mark.parametrize("name", ["swift", "gpt", "lstm"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("stop", [(), ("a", "bc")])
def test_tokens_written_at_once_are_those_written_one_by_one(
    name: str, temperature: float, stop: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    how = Sampling(temperature=temperature, samples=3, max_tokens=40, stop=stop, never=(9,), top_p=1.0)
    found, calls, write = [], [], Session.write
    monkeypatch.setattr(Session, "write", lambda self, *given: calls.append(given) or write(self, *given))
    for most in (32, 3, 0):
        monkeypatch.setattr(sessions, "MOST_AHEAD", most)
        found.append(_texts(name, how, [[1, 2, 3], [4]]))
        assert bool(calls) == (most > 0)
        calls.clear()
    assert found[0] == found[1] == found[2]
    assert len({len(ids) for ids, _ in found[0]}) > 1 or temperature == 0


@needs_native
def test_logits_that_are_not_numbers_are_refused_wherever_they_come():
    model = language_model("gpt", dtype=torch.float32)
    with torch.no_grad():
        model.embed.place.code.table.weight[7] = float("nan")
    with pytest.raises(NotNumbers):
        generate(Session(model), tokenizers.train("characters", ["abcdefghi"]), [[1]], Sampling(temperature=0.0))
