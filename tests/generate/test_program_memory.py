"""Steps of decoders that read a memory in native code equal those of the modules: translators, parsers, captioners."""

from functools import cache

import pytest
import torch
from helpers.steps import alike, by_modules, few_quick, instruction_sets
from helpers.tiny import PAIR_ZOO, VOCAB, numbers, randomised, translation_config
from torch import Tensor

from weft.core import (
    Additive,
    Attention,
    Block,
    Capped,
    ContextGate,
    DeepOutput,
    FirstState,
    Last,
    Lstm,
    MeanToken,
    Plain,
    Rnn,
)
from weft.core.cache import Cache
from weft.generate import Sampling, Session, generate, stepping
from weft.generate.compute import prepared
from weft.generate.programs import unknown_part
from weft.generate.thread_choice import ThreadChoice
from weft.modalities import tokenizer_making as tokenizers
from weft.models.stream import Stream
from weft.models.zoo import Size
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS
from weft.models.zoo.translation import TRANSLATION_MODELS
from weft.models.zoo.vision import Sight, VisionSize, small_net
from weft.native import library
from weft.position import Buckets, Offsets
from weft.tokens import Tokens

SIZE = Size(dim=24, depth=2, heads=4, context=24)
NATIVE = library()
needs_native = pytest.mark.skipif(NATIVE is None, reason="there is no C compiler")
CAPTIONERS = sorted(CAPTION_MODELS)
FEW = ("lstm-attention", "next-word", "one-stream of pictures")
QUICK = (*PAIR_ZOO, "biases of past", "cnn-lstm of pictures", "one-stream of pictures", "show-attend-tell of pictures")


def decoders() -> dict[str, Stream]:
    """The decoders of the zoo that read a memory, and parts that they do not have."""
    targets = {name: translation_config(name, SIZE).target for name in PAIR_ZOO}
    eye = VisionSize(dim=24, depth=1, heads=2, patch=2, net=small_net(8, (0, 1)))
    for name in CAPTIONERS:
        encoder = CAPTION_ENCODERS[name](eye, Sight(8, 8), outputs=None)
        targets[f"{name} of pictures"] = CAPTION_MODELS[name](encoder, SIZE, vocab=VOCAB).target
    swift = TRANSLATION_MODELS["swift"](SIZE, vocab=VOCAB).target
    block = swift.trunk.block
    offset = block.replace(mix=block.mix.replace(bias=Offsets.Config(size=3, axes=("position",), std=1.0)))
    biases = {side: Buckets.Config(count=8, farthest=6, sides=side, std=1.0) for side in ("past", "both")}
    for side, bias in biases.items():
        targets[f"biases of {side}"] = swift.replace(trunk=swift.trunk.replace(bias=bias))
    targets["offsets"] = swift.replace(trunk=swift.trunk.replace(block=offset))
    targets["last of a block"] = swift.replace(trunk=swift.trunk.replace(block=block.replace(read=Last.Config())))
    look = Attention.Config(
        heads=2, score=Capped.Config(score=Additive.Config(temperature=2.0), cap=1.5, temperature=0.5)
    )
    mixers = {
        "rnn, last": [
            Rnn.Config(read=Last.Config()),
            Rnn.Config(read=FirstState.Config(), start=MeanToken.Config(hidden=0)),
        ],
        "rnn, looks": [
            Rnn.Config(read=look, gate=ContextGate.Config(), output=DeepOutput.Config(), start=MeanToken.Config())
        ],
        "lstm, products": [Lstm.Config(read=Attention.Config(heads=4, kv_heads=2), output=DeepOutput.Config())],
    }
    for name, mixes in mixers.items():
        blocks = tuple(Block.Config(mix=mix, wiring=Plain.Config()) for mix in mixes)
        targets[name] = swift.replace(trunk=swift.trunk.replace(block=None, depth=1, blocks=blocks))
    return {name: randomised(one.replace(memory_dim=24).build()).eval() for name, one in targets.items()}


MODELS = decoders()
EIGHT_BITS = {name: prepared(MODELS[name], "int8") for name in ("lstm", "next-word", "one-stream of pictures")}


def memory() -> Tokens:
    """Two rows, the second padded in the middle and at its end."""
    valid = torch.tensor([[True] * 5, [True, False, True, True, False]])
    words = torch.tensor([[0, 1, 1, 2, 3], [0, 1, 1, 2, 2]])
    return Tokens.free(numbers(2, 5, 24, dtype=torch.float32), valid=valid, coords={"word": words})


def logits(session: Session, shared: bool) -> list[Tensor]:
    """The logits of steps, with rows of the batch and of the memory that are taken in another order on the way."""
    each, draws = torch.tensor([0, 0, 1, 1]), torch.Generator().manual_seed(0)
    found = [session.start([[1, 3], [2]])]

    def step() -> None:
        found.append(session.step(torch.randint(0, VOCAB, (len(session.rows),), generator=draws)))

    step()
    session.take(each, torch.arange(2) if shared else each)
    for _ in range(8):
        step()
    session.take(torch.tensor([3, 2]), torch.tensor([1] if shared else [3, 2]))
    step()
    session.take(torch.tensor([1, 0]), torch.tensor([0] if shared else [1, 0]))
    step()
    return found


@cache
def expected(name: str, shared: bool) -> list[Tensor]:
    return logits(by_modules(MODELS[name], memory=memory()), shared)


@pytest.mark.parametrize("name", MODELS)
def test_every_decoder_that_reads_a_memory_is_native(name: str):
    assert unknown_part(MODELS[name]) == ""


@needs_native
@pytest.mark.parametrize("name", few_quick(MODELS, QUICK))
@pytest.mark.parametrize("instructions", instruction_sets(NATIVE.widest) if NATIVE else [])
def test_steps_that_read_a_memory_are_those_of_the_modules(
    name: str, instructions: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(NATIVE, "widest", instructions)
    session = Session(MODELS[name], memory=memory(), capacity=7)  # lines grow on the way
    assert alike(logits(session, True), expected(name, True)) and session._native is not None


@needs_native
@pytest.mark.parametrize("name", few_quick(MODELS, FEW))
def test_steps_with_a_memory_for_each_row_are_those_of_the_modules(name: str):
    session = Session(MODELS[name], memory=memory(), capacity=7)
    assert alike(logits(session, False), expected(name, False)) and session._native is not None


@needs_native
@pytest.mark.parametrize("name", few_quick(MODELS, FEW))
def test_native_steps_and_steps_of_the_modules_may_follow_each_other(name: str):
    found = []
    for session in (Session(MODELS[name], memory=memory()), by_modules(MODELS[name], memory=memory())):
        program, steps = session.program, [session.start([[1, 3, 3], [4]])]
        for step in range(9):
            session.program = None if step % 4 < 2 else program
            if step in (2, 3, 7):  # before native steps, and between them
                session.take(torch.tensor([1, 0]))
            steps.append(session.step(torch.tensor([step % 4, 1])))
        found.append(steps)
    assert alike(*found)


@needs_native
@pytest.mark.parametrize("name", ["swift", "lstm", "next-word"])
def test_rows_of_a_memory_leave_without_a_copy_until_the_modules_step(name: str, monkeypatch: pytest.MonkeyPatch):
    found, copies, take = [], [], Cache.take_memory
    monkeypatch.setattr(Cache, "take_memory", lambda self, rows: copies.append(rows) or take(self, rows))
    for session in (Session(MODELS[name], memory=memory()), by_modules(MODELS[name], memory=memory())):
        native, steps = session.program is not None, [session.start([[1], [2]]), session.step(torch.tensor([3, 4]))]
        for rows, kept in (([1, 0], [1, 0]), ([1, 1], [1]), ([1, 0], [0])):
            session.take(torch.tensor(rows), torch.tensor(kept))
            steps.append(session.step(torch.tensor([3, 5])))
        assert len(copies) == (0 if native else 2)
        session.program = None
        steps.append(session.step(torch.tensor([3, 6])))
        assert len(copies) == (1 if native else 2) and session.memory.shape[0] == 1
        copies.clear()
        found.append(steps)
    assert alike(*found)


@needs_native
@pytest.mark.parametrize("name", few_quick(MODELS, FEW))
def test_neighbours_and_threads_change_no_bit_of_a_step_that_reads_a_memory(name: str, monkeypatch: pytest.MonkeyPatch):
    found = []
    for rows, threads in ((1, 1), (7, 1), (7, 3)):
        monkeypatch.setattr(stepping, "thread_choice", lambda *_, threads=threads: ThreadChoice(threads))
        session = Session(MODELS[name], memory=memory().rows(torch.tensor([1])))
        session.start([[1, 2]])
        session.take(torch.zeros(rows, dtype=torch.long), torch.tensor([0]))
        steps = [session.step((torch.arange(rows) + step) % VOCAB) for step in range(4)]
        assert session._native is not None
        found.append([one[0] for one in steps])
    for steps in found[1:]:
        assert all(map(torch.equal, steps, found[0]))


@needs_native
@pytest.mark.parametrize("name", EIGHT_BITS)
def test_one_step_in_eight_bits_is_that_of_the_modules(name: str):
    found = []
    for session in (Session(EIGHT_BITS[name], memory=memory()), by_modules(EIGHT_BITS[name], memory=memory())):
        session.start([[1], [2]])
        session.take(torch.tensor([0] * 4 + [1] * 4), torch.arange(2))
        found.append(session.step(torch.arange(8)))
    # a number next to the middle of two whole ones may be rounded either way: then its row differs by a rounding
    apart = (found[0] - found[1]).abs().amax(1) / found[1].abs().amax()
    assert float(apart.median()) < 1e-5 and float(apart.max()) < 0.02


@needs_native
def test_a_counted_coordinate_goes_on_while_text_is_written():
    config = translation_config("swift", SIZE).target
    counting = translation_config("next-word", SIZE).target.embed
    trunk = config.trunk.replace(block=config.trunk.block.replace(read=None))
    model = randomised(config.replace(embed=counting, trunk=trunk).build()).eval()
    session, how = Session(model), Sampling(temperature=1.0, max_tokens=9, never=(10,))  # 10 is the end
    generate(session, tokenizers.train("characters", ["abcdefghi"]), [[1, 3, 3]], how)
    assert session._native is not None and len(session.rows[0]) == 11
    assert session.cache.slots("embed").get("count of word").tolist() == [session.rows[0].count(3)]
