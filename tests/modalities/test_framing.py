"""Texts as encoders read them: marks as other tools put them, masks that a text cannot forge, words found again."""

import json
from functools import cache

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from weft.errors import ConfigError, DataError
from weft.modalities.framing import Joins, blanks, frame_blanks, frame_texts, frame_word_ids, marked
from weft.modalities.tokenizer import Tokenizer
from weft.modalities.tokenizer_making import KINDS, train

STORY = "Once upon a time there was a weaver, who wove naïve cloth — and sold it.\n\nThe end: 1999!\n" * 8
DIGESTS = {  # of tokenizers without a mask, as they were before there were masks
    "bytes": "039036f654a6c847e716cc1037cddc7d80a33213effe358bc7ff63eeecc9d759",
    "characters": "6669d86a2cd4782f7e0357e0507d9afb1561486dfc828291f6a61c9c0f0bf5b5",
    "bpe": "cb1a7db640364c233ead8205a28707cdfba283aaad6f051b48e7bfd8c449e496",
}


@cache
def made(kind: str, mask: bool = True) -> Tokenizer:
    return train(kind, [STORY, None, "cloth"], 300 if kind == "bpe" else None, mask=mask)


def bert() -> Tokenizer:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "once", "upon", "a", "time", "weav", "##er", "##s", ",", "."]
    library = tokenizers.Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.add_special_tokens(names[:5])
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    library.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return Tokenizer.from_json(library.to_str())


def roberta(**post) -> Tokenizer:
    data = json.loads(made("bpe", False).to_json())
    names = ["<s>", "</s>", "<mask>"]
    data["added_tokens"] = [{"id": 299 + i, "content": name, "special": True} for i, name in enumerate(names)]
    processing = {"type": "RobertaProcessing", "sep": ["</s>", 300], "cls": ["<s>", 299]}
    data["post_processor"] = {**processing, "trim_offsets": True, "add_prefix_space": False, **post}
    return Tokenizer.from_json(json.dumps(data))


def llama() -> Tokenizer:
    vocab = [["<unk>", 0.0], ["<s>", 0.0], ["</s>", 0.0], ["▁", -3.0], ["▁once", -2.0], *([c, -4.0] for c in "onceupa")]
    library = tokenizers.Tokenizer(models.Unigram([tuple(entry) for entry in vocab], 0, False))
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    library.add_special_tokens(["<unk>", "<s>", "</s>"])
    library.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return Tokenizer.from_json(library.to_str())


# Marks


def test_marks_are_those_of_the_file_or_the_end_on_both_sides():
    assert bert().marks == ((2,), (3,)) and roberta().marks == ((299,), (300,)) and llama().marks == ((1,), ())
    for kind in KINDS:
        assert made(kind).marks == ((made(kind).end,), (made(kind).end,))


@pytest.mark.parametrize("tokenizer", [bert(), roberta(), llama()], ids=["bert", "roberta", "llama"])
@pytest.mark.parametrize("text", ["once upon a time", "once", "upon [x], a!"])
def test_a_framed_text_is_what_the_library_gives(tokenizer: Tokenizer, text: str):
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    library.encode_special_tokens = True
    assert frame_texts(tokenizer, [text], 100).rows[0].tolist() == library.encode(text).ids


def test_marks_that_the_vocabulary_does_not_have_are_refused():
    with pytest.raises(ConfigError, match="ids around a text that the vocabulary does not have"):
        _ = roberta(cls=["<s>", 5000]).marks


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_text_is_cut_and_counted_and_keeps_its_marks(kind: str):
    tokenizer = made(kind)
    rows, cut = frame_texts(tokenizer, ["a", STORY], 12)
    assert cut == 1 and len(rows[1]) == 12 and rows[1][0] == rows[1][-1] == tokenizer.end
    assert rows[1][1:-1].tolist() == tokenizer.encode(STORY)[:10].tolist() and rows[0].dtype == np.int64
    with pytest.raises(ConfigError, match="2 ids leave no room"):
        frame_texts(tokenizer, ["a"], 2)


# Masks


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_mask_tokenizers_are_what_they_were(kind: str):
    plain, masked = made(kind, False), made(kind)
    assert plain.digest == DIGESTS[kind] and plain.mask is None
    assert masked.kind == plain.kind and masked.mask == masked.size - 1
    if kind != "bpe":
        assert masked.size == plain.size + 1 and masked.end == plain.end
        assert masked.encode(STORY).tolist() == plain.encode(STORY).tolist()
    else:
        assert masked.size == plain.size == 300
    again = Tokenizer.from_json(masked.to_json())
    assert (again.digest, again.kind, again.mask, again.end) == (masked.digest, kind, masked.mask, masked.end)


def test_a_mask_is_known_by_its_names_and_added_where_there_is_none():
    assert bert().mask == 4 and roberta().mask == 301 and llama().mask is None
    assert Tokenizer.from_json(bert().to_json(), mask=True).digest == bert().digest
    added = Tokenizer.from_json(llama().to_json(), mask=True)
    assert added.mask == added.size - 1 == llama().size
    with pytest.raises(ConfigError, match=r"from 258 \(256 bytes the end and the mask\)"):
        train("bpe", [STORY], 257, mask=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_of_a_mask_in_a_text_is_text(kind: str):
    tokenizer = made(kind)
    for text in ("<|mask|>", "a <|mask|> b <|end|>"):
        assert not set(tokenizer.encode(text).tolist()) & {tokenizer.mask, tokenizer.end}
    assert bert().mask not in bert().encode("once [MASK] a")


def test_special_ids_are_those_that_stand_for_no_text():
    assert bert().special.tolist() == [0, 1, 2, 3, 4]
    characters = made("characters")
    assert characters.special.tolist() == [0, characters.end, characters.mask]


# Blanks


def test_blanks_part_a_text():
    assert blanks("Once ___ a time") == ["Once ", " a time"] and blanks("[MASK] a<mask>") == ["", " a", ""]
    assert blanks("a_b __") == ["a_b ", ""] and blanks("none") == ["none"] and blanks("<|mask|>[mask]") == ["", "", ""]


def test_a_blank_becomes_the_mask_where_the_hidden_word_would_stand():
    for tokenizer in (bert(), roberta(), made("bpe")):
        ids, places = frame_blanks(tokenizer, "once ___ a time", 100)
        whole, _ = frame_texts(tokenizer, ["once upon a time"], 100)
        hidden = tokenizer.encode(" upon")
        start = int(places[0])
        assert ids[start] == tokenizer.mask and len(places) == 1
        assert [*ids[:start], *hidden, *ids[start + 1 :]] == whole[0].tolist()
    ids, places = frame_blanks(made("characters"), "on__ a", 100)
    assert len(ids) == 2 + len("on_ a") and places.tolist() == [3]


def test_a_blank_that_cannot_be_read_is_an_error():
    with pytest.raises(DataError, match="the last blank stands 21 tokens into the text"):
        frame_blanks(made("characters"), "a" * 20 + "___", 12)
    with pytest.raises(ConfigError, match="no token that stands for a blank"):
        frame_blanks(llama(), "once ___", 12)


# Words


@pytest.mark.parametrize("tokenizer", [bert(), roberta(), llama(), *map(made, KINDS)])
def test_words_are_encoded_as_in_running_text_and_found_again(tokenizer: Tokenizer):
    words = ["once", "upon", "a", "weaver", "."] if tokenizer.kind != "unigram" else ["once", "upon", "once"]
    ((ids, starts),) = tokenizer.encode_words([words])
    joined = " ".join(words)
    assert ids.tolist() == tokenizer.encode(joined).tolist() and len(starts) == len(words) and starts[0] == 0
    bounds = [*starts.tolist(), len(ids)]
    pieces = [tokenizer.decode(ids[a:b]).strip() for a, b in zip(bounds, bounds[1:])]
    assert pieces == words or tokenizer.kind == "wordpiece"
    assert all(a < b for a, b in zip(bounds, bounds[1:]))


def test_a_word_that_becomes_nothing_still_has_a_place():
    ((ids, starts),) = bert().encode_words([["once", "\u200b", "upon"]])
    assert ids.tolist() == [5, 1, 6] and starts.tolist() == [0, 1, 2]
    assert bert().encode_words([[]])[0][0].tolist() == []


def test_sentences_too_long_lose_words_at_their_end_and_say_so():
    tokenizer = bert()
    found = tokenizer.encode_words([["once", "weavers", "time"], ["a"]])
    rows, places, cut, lost = frame_word_ids(tokenizer, found, 5)
    assert rows[0].tolist() == [2, 5, 9, 10, 3] and places[0].tolist() == [1, 2] and places[1].tolist() == [1]
    assert (cut, lost) == (1, 1)


def test_words_begin_where_people_say():
    def parts(tokenizer: Tokenizer, text: str) -> list[str]:
        ids = tokenizer.encode(text)
        bounds = [*np.flatnonzero(Joins.of(tokenizer).starts(ids)).tolist(), len(ids)]
        return [tokenizer.decode(ids[a:b]) for a, b in zip(bounds, bounds[1:])]

    assert parts(made("bpe"), "a weaver, naïve!") == ["a", " weaver", ",", " naïve", "!"]
    assert parts(made("bytes"), "naïve 12") == ["naïve", " ", "12"]
    assert parts(made("characters"), "it sold") == ["it", " ", "sold"]
    assert parts(bert(), "weavers, once") == ["weavers", ",", "once"]
    starts = Joins.of(bert()).starts(marked(bert(), bert().encode("weavers")))
    assert starts.tolist() == [True, True, False, False, True]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_marks_and_words_bear_any_text(text: str):
    for kind in KINDS:
        ids = frame_texts(made(kind), [text], 20).rows[0]
        assert len(ids) <= 20 and Joins.of(made(kind)).starts(ids)[0]
