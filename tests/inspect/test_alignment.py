"""Alignments: pieces become words without losing weight, and every script can be drawn."""

import re
import xml.etree.ElementTree as xml
from importlib.util import find_spec
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
import torch
from helpers.drawings import size, texts
from helpers.tiny import numbers, randomised
from hypothesis import given
from hypothesis import strategies as st

from weft.core import Additive, Attention, Block, Lstm, Mlp, Trunk, record
from weft.errors import ConfigError, DataError
from weft.inspect import fonts
from weft.inspect.alignment import END, Alignment, piece_labels, piece_spans
from weft.inspect.matrix import draw
from weft.inspect.views import AttentionChoice, NoAttention
from weft.inspect.weights import weights_of
from weft.modalities.tokenizer import Tokenizer
from weft.modalities.tokenizer_making import train
from weft.modalities.words import words
from weft.tokens import Tokens

ENGLISH = "The agreement on the European Economic Area was signed in August 1992."
FRENCH = "L'accord sur la zone économique européenne a été signé en août 1992."
JAPANESE = "欧州経済領域に関する協定は1992年8月に署名された。"
ARABIC = "تم توقيع الاتفاق بشأن المنطقة الاقتصادية الأوروبية في أغسطس 1992."
EVERY = AttentionChoice(every=True)
TEXTS = [ENGLISH, FRENCH, JAPANESE, ARABIC, "  two  spaces\n\tand more ", "👩‍👩‍👧 naïve", "", " ", '"Oui," dit-il.']


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    return {
        "bytes": train("bytes", []),
        "characters": train("characters", TEXTS),
        "bpe": train("bpe", [text + "\n" for text in (ENGLISH, FRENCH, '"Oui," dit-il.') for _ in range(20)], 400),
        "bpe of another language": train("bpe", [JAPANESE + "\n" for _ in range(20)], 330),
    }


KINDS = ["bytes", "characters", "bpe", "bpe of another language"]


def made(source: tuple[str, ...], target: tuple[str, ...], layers: int = 2, heads: int = 3, seed: int = 0) -> Alignment:
    scores = np.random.default_rng(seed).normal(size=(layers, heads, len(target), len(source))) * 2
    weights = np.exp(scores)
    return Alignment(source, target, weights / weights.sum(-1, keepdims=True))


def of_texts(tokenizer: Tokenizer, source: str, target: str, seed: int = 0) -> Alignment:
    sides = [[*tokenizer.encode(text), tokenizer.end] for text in (source, target)]
    labels, spans = ([tuple(f(tokenizer, ids)) for ids in sides] for f in (piece_labels, piece_spans))
    plain = made(*labels, seed=seed)
    return Alignment(plain.source, plain.target, plain.weights, *spans)


# --- pieces


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TEXTS)
def test_pieces_cover_the_text_in_order_and_overlap_in_no_more_than_one_character(kind, text, tokenizers):
    tokenizer = tokenizers[kind]
    ids = tokenizer.encode(text)
    spans = piece_spans(tokenizer, ids)
    assert len(spans) == len(ids) and None not in spans
    assert {n for start, end in spans for n in range(start, end)} == set(range(len(tokenizer.decode(ids))))
    for (start, end), (after, last) in pairwise(spans):
        assert start <= after and end <= last and end - after in (0, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_has_no_characters_and_is_called_so(kind, tokenizers):
    tokenizer = tokenizers[kind]
    ids = [*tokenizer.encode("été"), tokenizer.end, *tokenizer.encode("août")]
    spans, labels = piece_spans(tokenizer, ids), piece_labels(tokenizer, ids)
    place = ids.index(tokenizer.end)
    assert [n for n, span in enumerate(spans) if span is None] == [place] == [labels.index(END)]
    assert spans[-1][1] == len("étéaoût")


def test_a_piece_of_a_character_covers_it_and_is_marked(tokenizers):
    ids = tokenizers["bytes"].encode("aéb")
    assert piece_spans(tokenizers["bytes"], ids) == [(0, 1), (1, 2), (1, 2), (2, 3)]
    assert piece_labels(tokenizers["bytes"], ids) == ["a", "‹é›", "‹é›", "b"]


def test_bytes_that_are_no_text_still_have_places(tokenizers):
    ids = [0xC3, ord("x"), 0xE3, 0x81]  # half an é, a letter, two thirds of a kana
    assert tokenizers["bytes"].decode(ids) == "\ufffdx\ufffd"
    assert piece_spans(tokenizers["bytes"], ids) == [(0, 1), (1, 2), (2, 3), (2, 3)]


@pytest.mark.parametrize("rest", ["", "??"])
def test_what_never_becomes_text_ends_where_the_text_does(rest):
    class Library:  # a tokenizer whose last two ids wait for more
        end = 9
        decode = staticmethod(lambda ids: "?")

        def stream(self):
            return mock.Mock(feed=lambda id: "ab" if id == 0 else "", finish=lambda: rest)

    assert piece_spans(Library(), [0, 1, 2]) == [(0, 2), (2, 2 + len(rest)), (2, 2 + len(rest))]


# --- words


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", TEXTS)
@pytest.mark.parametrize("target", TEXTS[:4])
def test_words_keep_all_the_weight_and_all_the_text(kind, source, target, tokenizers):
    tokenizer = tokenizers[kind]
    source, target = (tokenizer.decode(tokenizer.encode(text)) for text in (source, target))
    pieces = of_texts(tokenizer, source, target)
    merged = pieces.by_words(source, target)
    assert np.allclose(merged.weights.sum(-1), 1, atol=1e-5)
    assert merged.source[-1] == merged.target[-1] == END
    for labels, text in ((merged.source, source), (merged.target, target)):
        assert "".join("".join(labels[:-1]).split()) == "".join(text.split())


@pytest.mark.parametrize("kind", ["bytes", "characters", "bpe"])
def test_labels_are_the_words_where_no_piece_spans_two(kind, tokenizers):
    merged = of_texts(tokenizers[kind], ENGLISH, FRENCH).by_words(ENGLISH, FRENCH)
    assert merged.source == (*words(ENGLISH), END) and merged.target == (*words(FRENCH), END)


def test_columns_of_a_word_are_added_and_rows_averaged():
    weights = np.array([[[[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.0, 0.0, 1.0, 0.0]]]])
    spans = ((0, 2), (2, 5), (5, 7), None), ((0, 3), (3, 6), None)
    pieces = Alignment(("ab", " cd", "ef", END), ("uvw", "xyz", END), weights, *spans)
    merged = pieces.by_words("ab cdef", "uvwxyz")
    assert merged.source == ("ab", "cdef", END) and merged.target == ("uvwxyz", END)
    assert np.allclose(merged.weights[0, 0], [[0.3, 0.35, 0.35], [0.0, 1.0, 0.0]])


def test_pieces_that_read_nothing_do_not_thin_out_their_word():
    pieces = Alignment(("a", "b"), ("x", "y"), [[[[0.25, 0.75], [0.0, 0.0]]]], ((0, 1), (2, 3)), ((0, 1), (1, 2)))
    assert np.allclose(pieces.by_words("a b", "xy").weights, [[[[0.25, 0.75]]]])


def test_white_space_belongs_to_the_word_after_it_and_at_the_end_to_the_last():
    spans = ((0, 1), (1, 2), (2, 3), (3, 4))
    pieces = Alignment((" ", "a", " ", " "), ("x",), [[[[0.1, 0.2, 0.3, 0.4]]]], spans, ((0, 1),))
    assert pieces.by_words(" a  ", "x").source == ("a",)
    assert np.allclose(pieces.by_words(" a b", "x").weights, [[[[0.3, 0.7]]]])


def test_a_piece_of_two_words_shows_both():
    pieces = Alignment(("です", "か"), ("x",), [[[[0.4, 0.6]]]], ((0, 2), (2, 3)), ((0, 1),))
    assert pieces.by_words("ですか", "x").source == ("です", "か")


def test_a_piece_belongs_to_the_word_it_has_most_of():
    spans = ((0, 3), (3, 9), (9, 12))  # "the", " cat s", "ats"
    pieces = Alignment(("the", " cat s", "ats"), ("x",), [[[[0.2, 0.3, 0.5]]]], spans, ((0, 1),))
    assert pieces.by_words("the cat sats", "x").source == ("the", "cat", "sats")
    assert np.allclose(pieces.by_words("the cat sats", "x").weights, [[[[0.2, 0.3, 0.5]]]])


@pytest.mark.parametrize("kind", KINDS)
def test_words_of_words_are_the_same_words(kind, tokenizers):
    once = of_texts(tokenizers[kind], ENGLISH, JAPANESE).by_words(ENGLISH, JAPANESE)
    twice = once.by_words(ENGLISH, JAPANESE)
    assert once.source == twice.source and once.target == twice.target
    assert np.allclose(once.weights, twice.weights)


@given(text=st.text(max_size=12), seed=st.integers(0, 99))
def test_any_text_at_all_keeps_its_weight(text, seed):
    tokenizer = train("bytes", [])
    merged = of_texts(tokenizer, text, text, seed).by_words(text, text)
    assert np.allclose(merged.weights.sum(-1), 1, atol=1e-5)
    assert merged.weights.shape[2:] == (len(merged.target), len(merged.source))


def test_words_need_to_know_which_characters_a_piece_covers():
    with pytest.raises(DataError, match="which characters"):
        made(("a", "b"), ("c",)).by_words("a b", "c")
    pieces = Alignment(("a",), ("b",), np.ones((1, 1, 1, 1)), ((0, 9),), ((0, 1),))
    with pytest.raises(DataError, match="more than the 1 characters"):
        pieces.by_words("a", "b")


# --- layers and heads


def test_layers_and_heads_can_be_picked_and_averaged():
    a = made(("a", "b"), ("c", "d", "e"))
    assert np.array_equal(a.of(AttentionChoice(2, 3)).weights, a.weights[1:2, 2:3])
    assert np.array_equal(a.of(AttentionChoice(layer=2)).weights, a.weights[1:2])
    assert np.array_equal(a.of(AttentionChoice()).weights, a.weights)
    assert np.allclose(a.mean().weights[0, 0], a.weights.mean((0, 1)), atol=1e-6)
    assert np.allclose(a.of(AttentionChoice(head=2)).mean().weights[0, 0], a.weights[:, 1].mean(0), atol=1e-6)
    for wrong in ({"layer": 3}, {"head": 4}, {"head": 0}, {"layer": -1}):
        with pytest.raises(ConfigError, match="expected a number from 1 to [23], found"):
            a.of(AttentionChoice(**wrong))


@pytest.mark.parametrize("weights", [np.ones((1, 1, 2, 3)), np.ones((3, 2)), np.full((1, 1, 3, 2), np.nan)])
def test_weights_that_do_not_fit_the_labels_are_refused(weights):
    with pytest.raises(DataError):
        Alignment(("a", "b"), ("c", "d", "e"), weights)


def test_readings_of_a_memory_become_layers_whether_read_at_once_or_step_by_step():
    memory, tokens = Tokens.free(numbers(2, 4, 5)), Tokens.line(numbers(2, 3, 8))
    attention = Attention.Config(heads=2, score=Additive.Config())
    block = Block.Config(mix=Attention.Config(heads=2), read=attention, transform=Mlp.Config())
    stepping = Block.Config(mix=Lstm.Config(read=attention))
    for config, name in ((block, "read"), (stepping, "mix.read")):
        trunk = randomised(Trunk.Config(depth=2, block=config).build(dim=8, memory_dim=5)).double()
        with record(trunk) as recorder, torch.no_grad():
            trunk(tokens, memory)
        readings = [recorder.readings[f"blocks.{i}.{name}"] for i in range(2)]
        weights = weights_of(readings, row=1)
        assert weights.shape == (2, 2, 3, 4) and np.allclose(weights.sum(-1), 1, atol=1e-6)
        at_end = readings[1][-1].weights()[1, 0, -1].detach().numpy()
        assert np.allclose(weights[1, 0, 2], at_end, atol=1e-6)
    with pytest.raises(NoAttention, match="no cross-attention"):
        weights_of([])


# --- the picture


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("source, target", [(ENGLISH, FRENCH), (ARABIC, JAPANESE), ("Yes", "Oui")])
def test_every_word_stands_in_the_svg_as_text_in_its_order(source, target, every):
    a = made((*words(source), END), (*words(target), END))
    found = texts(draw(a, AttentionChoice(every=every), format="svg", title="A title"))
    assert found[: len(a.source) + len(a.target)] == [*a.source, *a.target]
    assert "A title" in found and any("averaged over 2 layers × 3 heads" in text for text in found)
    assert [text for text in found if text.startswith("head ")] == (["head 1", "head 2", "head 3"] if every else [])


@pytest.mark.parametrize("format", ["png", "svg"])
def test_drawing_twice_gives_the_same_bytes(format):
    a = made(tuple(words(ENGLISH)), tuple(words(FRENCH)))
    assert draw(a, EVERY, format=format) == draw(a, EVERY, format=format)


def test_a_longer_sentence_has_a_larger_picture_up_to_a_limit():
    sizes = [size(draw(made((f"w{n}",) * n, (f"w{n}",) * n, 1, 1), format="png"))[0] for n in (1, 14, 60, 400)]
    assert sizes == sorted(sizes) and sizes[-1] < 160 * 25


def test_the_picture_of_one_layer_and_head_is_the_picture_of_its_weights():
    a = made(("a", "b"), ("c", "d"))
    alone = Alignment(a.source, a.target, a.weights[1:, 2:])
    picked, by_itself = (
        re.findall(rb"base64,\s*([^\"]+)", draw(x, choice, format="svg"))
        for x, choice in ((a, AttentionChoice(2, 3)), (alone, AttentionChoice()))
    )
    assert picked == by_itself != re.findall(rb"base64,\s*([^\"]+)", draw(a, format="svg"))
    assert "how much each row attends to each column, layer 2, head 3" in texts(
        draw(a, AttentionChoice(2, 3), format="svg")
    )


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("format", ["png", "svg"])
@pytest.mark.parametrize("rows, columns", [(1, 1), (0, 0), (3, 0), (0, 2), (2, 3)])
def test_nothing_read_and_nothing_to_read_can_be_drawn(rows, columns, format, every):
    a = Alignment(("a",) * columns, ("b",) * rows, np.zeros((2, 2, rows, columns)))
    picture = draw(a, AttentionChoice(every=every), format=format)
    assert size(picture) if format == "png" else "nothing was read: all weights are 0" in texts(picture)


def test_the_biggest_weight_is_the_darkest_cell_and_its_number_stands_at_the_scale():
    a = made(("a", "b"), ("c", "d"), 1, 1)
    paler = draw(Alignment(a.source, a.target, a.weights / 4), format="svg")
    assert re.findall(rb"base64,\s*([^\"]+)", paler) == re.findall(rb"base64,\s*([^\"]+)", draw(a, format="svg"))
    assert f"{a.weights.max() / 4:.2g}" in texts(paler) and f"{a.weights.max():.2g}" not in texts(paler)


def test_signs_with_a_meaning_elsewhere_are_drawn_as_they_are():
    a = made(("$x^2$", "<&>", "a\nb\tc d"), ("_{", "\x1b[1m", "%" + "x" * 60))
    found = texts(draw(a, format="svg", title="$5 & <b>"))
    assert found[:4] == ["$x^2$", "<&>", "a↵b⇥c␣d", "_{"] and "$5 & <b>" in found
    noncharacters = made(("a\ufffe\uffff\x0b",), ("\ud800",))
    assert texts(draw(noncharacters, format="svg"))[:2] == ["a\ufffd\ufffd␣", "\ufffd"]
    assert found[4] == "\ufffd[1m" and found[5] == "%" + "x" * 22 + "…"
    assert size(draw(a, format="png", title="$"))


def test_scripts_written_right_to_left_say_where_they_begin():
    def notes(source: str, target: str) -> list[str]:
        found = texts(draw(made(tuple(words(source)), tuple(words(target))), format="svg"))
        return [text for text in found if "right to left" in text]

    assert notes(ENGLISH, ARABIC) == ["target written right to left: first word at the top"]
    assert notes("שלום", ENGLISH) == ["source written right to left: first word at the left"]
    assert notes(ENGLISH, FRENCH) == []


def test_an_unknown_format_is_refused():
    with pytest.raises(ConfigError, match="png, svg or pdf"):
        draw(made(("a",), ("b",)), format="gif")


def test_drawing_warns_of_nothing_and_leaves_the_settings_of_matplotlib(recwarn):
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw(made(tuple(words(JAPANESE)), ("a",)), format="png", title="日本")
    assert not [w for w in recwarn if "Glyph" in str(w.message)] and dict(matplotlib.rcParams) == before


# --- fonts


def test_latin_greek_cyrillic_arabic_and_hebrew_need_no_other_font():
    labels = ["été", "Ελλάδα", "Россия", *words(ARABIC), "שלום", END, "␣", "↵", "⇥"]
    assert fonts.missing_glyphs(labels) is None and fonts.families(labels) == ["DejaVu Sans"]


@pytest.fixture
def only_dejavu(monkeypatch):
    monkeypatch.setattr(fonts, "_files", lambda real=fonts._files(): {fonts.LATIN: real[fonts.LATIN]})


def test_signs_without_a_font_are_named_with_what_to_do(only_dejavu):
    said = fonts.missing_glyphs(["cat", "猫", "ねこ"])
    assert "Chinese characters" in said and "Japanese kana" in said and "猫" in said and "weft[cjk]" in said
    assert "Hangul" in fonts.missing_glyphs(["한국"])
    assert "Devanagari" in fonts.missing_glyphs(["हिन्दी"]) and "cjk" not in fonts.missing_glyphs(["हिन्दी"])
    assert "some symbols" in fonts.missing_glyphs(["\U0001fabf"])
    assert fonts.missing_glyphs(["a\u200db\ufe0f"]) is None


def test_a_font_is_chosen_by_what_it_has_and_in_the_order_of_the_language():
    have = {"DejaVu Sans": "abc", "Noto Sans CJK SC": "猫한", "IPAexGothic": "猫ね", "Malgun Gothic": "한", "Zzz": "ઋ"}
    files = dict.fromkeys(have, ("", 0))
    with (
        mock.patch.object(fonts, "_files", lambda: files),
        mock.patch.object(fonts, "_signs", lambda family: frozenset(map(ord, have[family]))),
    ):
        assert fonts.families(["a"]) == ["DejaVu Sans"]
        assert fonts.families(["猫"]) == ["DejaVu Sans", "Noto Sans CJK SC"]
        assert fonts.families(["猫ね"]) == ["DejaVu Sans", "IPAexGothic"]
        assert fonts.families(["한"]) == ["DejaVu Sans", "Malgun Gothic"]
        assert fonts.families(["ઋ"]) == ["DejaVu Sans", "Zzz"]
        assert fonts.without_font(["猫x"]) == "x"


def test_fonts_that_claim_every_sign_and_draw_none_are_never_used():
    assert not [family for family in fonts._files() if "resort" in family.lower()]


@pytest.mark.skipif(not find_spec("zhplot") or not find_spec("koreanize_matplotlib"), reason="weft[cjk] is absent")
def test_the_fonts_of_the_optional_packages_have_chinese_japanese_and_korean():
    assert fonts.missing_glyphs([JAPANESE, "欧洲经济区协定于", "유럽 경제 지역"]) is None


def test_the_svg_names_fonts_for_every_script_once():
    svg = draw(made(tuple(words(JAPANESE)), ("a",)), format="svg").decode()
    assert svg.count("font-family") == 1 and "sans-serif" in svg
    assert svg.index("Noto Sans CJK JP") < svg.index("Noto Sans CJK SC") < svg.index("Noto Sans CJK KR")
    xml.fromstring(svg)
