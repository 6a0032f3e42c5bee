"""Spelling: words are read by their letters, whichever tokens they are cut into and whatever stands beside them."""

import pytest
import torch
from helpers.tiny import close

from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.framing import token_texts
from weft.modalities.spelling import Spelling, spelled
from weft.modalities.text import Text, TextEmbed
from weft.modalities.tokenizer import Tokenizer

CONFIG = Spelling.Config(buckets=4096, grams=16)
SENTENCES = ("evlerden okullardan geldi", "evler okullar gitti", "yollardan yollar geldi gitti", "bir ev bir okul") * 8


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return tokenizers.train("bpe", iter(SENTENCES), 300, mask=False, characters=1000)


@pytest.fixture(scope="module")
def part(tokenizer: Tokenizer) -> Spelling:
    torch.manual_seed(0)
    made = CONFIG.build(dim=8, vocab=tokenizer.size)
    made.load_state_dict({**made.state_dict(), **spelled(CONFIG, tokenizer)})
    return made.double().eval()


def read(tokenizer: Tokenizer, text: str) -> tuple[torch.Tensor, list[int]]:
    ((ids, starts),) = tokenizer.encode_words([text.split()])
    return torch.from_numpy(ids.astype("int64"))[None], starts.tolist()


def test_all_tokens_of_a_word_have_one_vector_and_the_next_word_another(part: Spelling, tokenizer: Tokenizer) -> None:
    ids, starts = read(tokenizer, "evlerdenevler kitaplardan bir")
    x, bounds = part(ids)[0], [*starts, ids.shape[1]]
    assert bounds[2] - bounds[1] > 1, "the word is one token, and shows nothing"
    for first, last in zip(bounds, bounds[1:], strict=False):
        assert close(x[first:last], x[first].expand(last - first, -1))
    assert not close(x[starts[0]], x[starts[1]], 1e-3)


def test_a_word_is_read_alike_beside_any_words_and_any_padding(part: Spelling, tokenizer: Tokenizer) -> None:
    (one, starts), (other, places) = (
        read(tokenizer, "bir kitaplardan geldi"),
        read(tokenizer, "gitti kitaplardan bir ev"),
    )
    assert close(part(one)[0, starts[1]], part(other)[0, places[1]])
    padding = one[:, starts[1] + 1 :]  # tokens that would go on a word, were they real
    for row, shift in ((torch.cat([one, padding], 1), 0), (torch.cat([padding, one], 1), padding.shape[1])):
        valid = torch.zeros_like(row, dtype=torch.bool)
        valid[:, shift : shift + one.shape[1]] = True
        assert close(part(row, valid)[:, shift : shift + one.shape[1]], part(one))


def test_beginnings_and_endings_are_those_of_the_word_however_it_is_cut(part: Spelling, tokenizer: Tokenizer) -> None:
    texts, word = token_texts(tokenizer), "okullardan"
    (whole, _), single = read(tokenizer, word), torch.tensor([[texts.index(letter) for letter in word]])
    assert whole.shape[1] < single.shape[1]
    ends, begins = [], []
    for row in (whole, single):
        on = torch.arange(row.shape[1])[None] > 0
        ends.append(part._outer(part.ends[row], on, 1)[0, -1].tolist())
        begins.append(part._outer(part.begins[row], on.roll(-1, 1), -1)[0, 0].tolist())
    assert ends[0] == ends[1] and begins[0] == begins[1] and all(ends[0]) and all(begins[0]) and ends[0] != begins[0]


def test_dropped_tokens_are_known_by_their_letters(tokenizer: Tokenizer) -> None:
    config = TextEmbed.Config(vocab=tokenizer.size, context=32, reading="free", token_dropout=0.999, spelling=CONFIG)
    embed = config.build(dim=8)
    embed.load_state_dict({**embed.state_dict(), **{f"spelling.{k}": v for k, v in spelled(CONFIG, tokenizer).items()}})
    ids, _ = read(tokenizer, "bir kitaplardan geldi")
    torch.manual_seed(0)
    assert close(embed.train()(Text(ids)).x, embed.spelling(ids))
    assert close(embed.eval()(Text(ids)).x, embed.table(ids) + embed.spelling(ids))
