import itertools

import numpy as np
import pytest
import torch
from helpers.tiny import PAIR_ZOO, VOCAB, close, translation_model

from weft.core.attention import Attention
from weft.errors import ConfigError, WeftError
from weft.generate.beam import Beam, BeamSearch
from weft.generate.decode import Decoding, decode, memorise
from weft.generate.search import search
from weft.generate.session import Session
from weft.modalities.text import Text
from weft.position import Alibi

END = VOCAB - 1
every_model = pytest.mark.parametrize("name", PAIR_ZOO)
SOURCES = [np.array(row) for row in ([1, 2, 3], [4], [5, 6, 7, 8, 9, 1, 2], [3, 3], [2, 1, 0, 4, 4])]
LIMITS = [6, 4, 9, 5, 7]


def rescored(model, source, ids: tuple[int, ...], ended: bool) -> float:
    """log p(target | source) by one full pass."""
    line = torch.tensor([[END, *ids, *([END] if ended else [])]])
    logits = model(Text(torch.tensor([[*source, END]])), Text(line[:, :-1])).log_softmax(-1)
    return float(logits.gather(2, line[:, 1:, None]).sum())


def found(model, sources=SOURCES, limits=LIMITS, **how):
    return decode(model, sources, end=END, limits=limits, how=Decoding(**how))


@every_model
@pytest.mark.parametrize("beam", [1, 3, 5])
def test_a_hypothesis_has_the_score_of_its_rescored_sequence(name: str, beam: int) -> None:
    model = translation_model(name)
    for source, best in zip(SOURCES, found(model, beam=beam, best=beam, length_penalty=0.7), strict=True):
        assert best and len({h.ids for h in best}) == len(best)
        for h in best:
            expected = rescored(model, source, h.ids, h.ended)
            assert h.log_probability == pytest.approx(expected, abs=1e-5)
            length = len(h.ids) + h.ended
            assert h.score == pytest.approx(h.log_probability / length**0.7)


@every_model
@pytest.mark.parametrize("how", [{"beam": 1}, {"beam": 4, "best": 4}, {"temperature": 1.0, "best": 2, "seed": 3}])
def test_many_sources_at_once_are_as_one_by_one(name: str, how: dict) -> None:
    model = translation_model(name)
    together = found(model, **how)
    for i, best in enumerate(together):
        alone = found(model, [SOURCES[i]], [LIMITS[i]], **how)[0]
        assert [h.ids for h in alone] == [h.ids for h in best]
        assert [h.score for h in alone] == pytest.approx([h.score for h in best], abs=1e-5)


@every_model
def test_one_hypothesis_is_the_greedy_search(name: str) -> None:
    model = translation_model(name)
    for source, limit, best in zip(SOURCES, LIMITS, found(model, beam=1), strict=True):
        ids: list[int] = []
        while len(ids) < limit:
            logits = model(Text(torch.tensor([[*source, END]])), Text(torch.tensor([[END, *ids]])))
            token = int(logits[0, -1].argmax())
            if token == END:
                break
            ids.append(token)
        assert best[0].ids == tuple(ids) and best[0].ended == (len(ids) < limit or token == END)


@pytest.mark.parametrize("how", [{"beam": 1}, {"beam": 3, "best": 3}, {"temperature": 1.0, "best": 2}])
def test_any_of_several_ends_ends_a_target(how: dict) -> None:
    model, ends = translation_model("swift"), [END, 0, 3, 5, 7]
    several = decode(model, SOURCES, end=ends, limits=LIMITS, how=Decoding(**how))
    hypotheses = [h for best in several for h in best]
    assert any(h.ended for h in hypotheses) and not any(set(ends) & set(h.ids) for h in hypotheses)
    if how == {"beam": 1}:  # the greedy text up to the first of the ends
        for (one,), (whole,) in zip(several, found(model, beam=1), strict=True):
            cut = next((i for i, id in enumerate(whole.ids) if id in ends), len(whole.ids))
            assert one.ids == whole.ids[:cut]


def test_a_beam_as_wide_as_all_there_is_finds_the_best_of_all() -> None:
    model, limit, length_penalty = translation_model("swift", vocab=4), 3, 1.0
    source, end = np.array([0, 1]), 3

    def log_p(ids: tuple[int, ...]) -> float:
        line = torch.tensor([[end, *ids, end]])
        logits = model(Text(torch.tensor([[0, 1, end]])), Text(line[:, :-1])).log_softmax(-1)
        return float(logits.gather(2, line[:, 1:, None]).sum())

    every = [ids for n in range(limit) for ids in itertools.product(range(3), repeat=n)]
    best = max(every, key=lambda ids: log_p(ids) / (len(ids) + 1))
    how = Decoding(beam=60, best=10, length_penalty=length_penalty)
    hypotheses = decode(model, [source], end=end, limits=[limit], how=how)[0]
    assert next(h for h in hypotheses if h.ended).ids == best


@every_model
def test_hypotheses_share_a_memory_as_if_each_had_its_own(name: str) -> None:
    model = translation_model(name)
    memory = memorise(model, SOURCES, END)
    many = torch.arange(5).repeat_interleave(3)
    tokens, order = torch.arange(15) % VOCAB, torch.tensor([2, 0, 1, 5, 5, 3, 8, 7, 6, 9, 10, 11, 14, 13, 12])
    shared, apart = Session(model.target, memory=memory), Session(model.target, memory=memory)
    shared.start([[END]] * 5), apart.start([[END]] * 5)
    shared.take(many, torch.arange(5)), apart.take(many, many)
    assert shared.memory.shape[0] == 5 and apart.memory.shape[0] == 15
    assert close(shared.step(tokens), apart.step(tokens))
    shared.take(order, torch.arange(5)), apart.take(order, order // 3 * 3)
    assert close(shared.step(tokens), apart.step(tokens))
    left = torch.tensor([3, 4, 5, 12, 13, 14])
    shared.take(left, torch.tensor([1, 4])), apart.take(left, left)
    assert close(shared.step(tokens[:6]), apart.step(tokens[:6]))


def test_a_memory_is_not_shared_where_what_is_read_depends_on_the_row() -> None:
    model = translation_model("transformer")
    config = model.config.set("target.trunk.block.read.bias", Alibi.Config())
    model = config.build().double().eval()
    assert any(isinstance(m, Attention) and m.cross and not m.memory_shareable for m in model.modules())
    for source, best in zip(SOURCES, found(model, beam=3, best=3), strict=True):
        assert best[0].log_probability == pytest.approx(rescored(model, source, best[0].ids, best[0].ended), abs=1e-5)


@every_model
def test_a_target_at_its_limit_is_marked_as_cut(name: str) -> None:
    for limits in ([1] * 5, LIMITS):
        for limit, best in zip(limits, found(translation_model(name), limits=limits, beam=3, best=3), strict=True):
            assert all(h.ended or len(h.ids) == limit for h in best)
            assert all(len(h.ids) < limit for h in best if h.ended)
            assert limit > 1 or sum(h.ended for h in best) <= 1 < len(best)


def test_scores_that_are_no_numbers_are_an_error() -> None:
    model = translation_model("swift")
    with torch.no_grad():
        model.target.head.out.weight[:] = float("nan")
    with pytest.raises(WeftError, match="not numbers"):
        found(model, beam=2)


@pytest.mark.parametrize("bad", [{"beam": 0}, {"beam": 101}, {"best": 6}, {"best": 0}, {"length_penalty": 11.0},
                                 {"max_tokens": 0}, {"temperature": -1.0}, {"top_p": 0.0}])  # fmt: skip
def test_impossible_settings_are_refused(bad: dict) -> None:
    with pytest.raises(ConfigError):
        Decoding(**bad)


def test_a_search_over_nothing_finds_nothing() -> None:
    model = translation_model("swift")
    assert decode(model, [], end=END, limits=[], how=Decoding()) == []
    search(Session(model.target), [], BeamSearch(END, [], Beam()))


def test_rows_that_stay_where_they_are_are_not_copied() -> None:
    model = translation_model("transformer")
    session = Session(model.target, memory=memorise(model, SOURCES[:2], END), capacity=8)
    session.start([[END], [END]])

    def buffer() -> torch.Tensor:
        return session.cache.slots("block 0")._lines["k"][0]

    first, (keys, _) = buffer(), session.cache.slots("block 0")._once["memory"]
    session.take(torch.tensor([0, 1]), torch.tensor([0, 1]))
    assert buffer() is first and keys.is_contiguous()
    session.take(torch.tensor([1, 0]), torch.tensor([1, 0]))
    assert buffer() is not first and close(buffer()[:, :, :1], first[[1, 0], :, :1])
