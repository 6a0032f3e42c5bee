"""Search limited to a list: the best-scored of the allowed texts, and nothing else."""

import itertools

import pytest
import torch
from helpers.tiny import VOCAB, ids, translation_model

from weft.errors import DataError
from weft.generate.choices import Choices, limited
from weft.generate.decode import Decoding, memorise, written
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq

END = 0
TEXTS = [(1,), (1, 2), (1, 2, 3), (4, 4), (5, 1, 2), (5, 1, 6), (7,), (8, 9, 9, 2)]
SOURCES = [row.numpy() for row in ids(3, 4, seed=5)]


def found(model: Seq2Seq, texts: list[tuple[int, ...]], **settings: float) -> list[list[tuple[tuple[int, ...], float]]]:
    rule, how = Choices(texts, END), Decoding(**settings)  # type: ignore[arg-type]
    memory = memorise(model, SOURCES, END)
    limits, keys = [rule.limit] * len(SOURCES), [[n] for n in range(len(SOURCES))]
    best = written(
        model, memory, end=END, opening=[END], limits=limits, how=how, keys=keys, rules=[rule] * len(SOURCES)
    )
    assert all(h.ended for some in best for h in some)
    return [[(h.ids, h.score) for h in some] for some in best]


def ranked(model: Seq2Seq, penalty: float) -> list[list[tuple[tuple[int, ...], float]]]:
    """Every text scored by itself, the best first."""
    each: list[list[tuple[tuple[int, ...], float]]] = []
    for source in SOURCES:
        scores = []
        for text in TEXTS:
            line = torch.tensor([[END, *text, END]])
            with torch.no_grad():
                logits = model.target(Text(line[:, :-1]), memory=memorise(model, [source], END))
            log_p = logits.log_softmax(-1).gather(2, line[:, 1:, None]).sum().item()
            scores.append((text, log_p / (len(text) + 1) ** penalty))
        each.append(sorted(scores, key=lambda pair: -pair[1]))
    return each


@pytest.mark.parametrize("penalty", [0.0, 0.6])
def test_a_wide_beam_finds_exactly_the_texts_in_the_order_of_their_scores(penalty: float) -> None:
    model = translation_model("swift")
    best = found(model, TEXTS, beam=len(TEXTS), best=len(TEXTS), length_penalty=penalty)
    for some, truth in zip(best, ranked(model, penalty), strict=True):
        assert [text for text, _ in some] == [text for text, _ in truth]
        assert [score for _, score in some] == pytest.approx([score for _, score in truth])


@pytest.mark.parametrize("beam", [1, 2, 5, 40])
def test_whatever_the_beam_only_allowed_texts_are_found_none_twice(beam: int) -> None:
    for some in found(translation_model("swift"), TEXTS, beam=beam, best=min(beam, 3)):
        texts = [text for text, _ in some]
        assert texts and set(texts) <= set(TEXTS) and len(set(texts)) == len(texts)


def test_drawn_texts_are_allowed_ones() -> None:
    model = translation_model("swift")
    drawn = [text for some in found(model, TEXTS, temperature=3.0, best=20) for text, _ in some]
    assert set(drawn) <= set(TEXTS) and len(set(drawn)) > 2


def test_what_may_follow_is_what_goes_on_some_text() -> None:
    rule = Choices(TEXTS, END)
    written_so_far = {text[:n] for text in TEXTS for n in range(len(text) + 1)}
    for start in written_so_far:
        goes_on = {(*text, END)[len(start)] for text in TEXTS if text[: len(start)] == start}
        assert set(rule.allowed(start)) == goes_on
    assert rule.limit == 5 and set(Choices([()], END).allowed(())) == {END}
    with pytest.raises(DataError, match="nothing to choose from"):
        Choices([], END)


def test_logits_stay_as_they_are_where_a_token_is_allowed() -> None:
    logits = torch.randn(2, VOCAB, generator=torch.Generator().manual_seed(0))
    bounded = limited(logits, [(), (5, 1)], [Choices(TEXTS, END)] * 2)
    allowed = [{1, 4, 5, 7, 8}, {2, 6}]
    for row, token in itertools.product(range(2), range(VOCAB)):
        expected = logits[row, token] if token in allowed[row] else float("-inf")
        assert bounded[row, token] == expected
    assert limited(logits, [(), ()], None) is logits
