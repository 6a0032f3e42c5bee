"""Words about a picture: each with its map on a sheet, in a film and on a page, and a share in what it is about."""

import io
import json
import re

import numpy as np
import pytest
import torch
from helpers.drawings import images, texts
from helpers.pages import document
from PIL import Image

from weft.domains.captions.views import words_sheet as picture_words_sheet
from weft.domains.captions.views import words_view as picture_words_film
from weft.domains.captions.views.occlusion import covered_sentence
from weft.domains.captions.views.words import LookAtWords, PictureSentence, PictureWords, area, inside
from weft.domains.captions.views.words_view import OneWordView, PictureWordsView, look_at_words
from weft.errors import ConfigError, DataError
from weft.files.pictures.regions import Region
from weft.inspect.occlusion import covered_scores
from weft.inspect.views import AttentionChoice, View
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.image import Picture

PHOTO = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
TEXT = "a red <b> cat"
LEFT = (0.0, 0.0, 1.0, 0.5)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Pictures of one inch are drawn fast."""
    monkeypatch.setattr(picture_words_sheet, "SIDE", 1.0)
    monkeypatch.setattr(picture_words_film, "SIDE", 1.0)


def sentence(text: str = TEXT, name: str = "caption", **more) -> PictureSentence:
    """The word number n reads patch n alone, in each of 2 layers and 3 heads."""
    words = tuple(text.split())
    return PictureSentence(
        text, words, np.tile(np.eye(16).reshape(16, 4, 4)[: len(words)], (2, 3, 1, 1, 1)), name, **more
    )


def view(*sentences: PictureSentence, **more) -> PictureWordsView:
    return PictureWordsView(PictureWords(PHOTO, sentences or (sentence(),), "photos/cat.jpg", **more))


def frames(gif: bytes) -> list[np.ndarray]:
    film = Image.open(io.BytesIO(gif))
    found = []
    for n in range(getattr(film, "n_frames", 1)):
        film.seek(n)
        found.append(np.asarray(film.convert("RGB")).astype(int))
    return found


def test_every_word_stands_on_the_sheet_and_is_hot_where_it_read():
    shown = view(score=-0.25)
    assert isinstance(shown, View) and shown.picture().startswith(b"\x89PNG")
    svg = shown.picture("svg")
    said = " ".join(texts(svg))
    assert all(word in texts(svg) for word in shown.words)
    assert "cat.jpg" in said and "photos" not in said and "score -0.25" in said and "100 %" in said
    assert "if all 16 parts had equal attention, each would have 6.2 %" in said
    for n, image in enumerate(images(svg)[1:]):
        heat = image[..., 0].astype(int) - image[..., 2]
        row, column = np.unravel_index(heat.argmax(), heat.shape)
        assert (4 * row // heat.shape[0], 4 * column // heat.shape[1]) == (0, n)


def test_a_text_is_shown_with_its_probability_and_never_with_a_score_of_minus_zero():
    shown = view(score=-0.001, chance=0.93)
    said = " ".join(texts(shown.picture("svg")))
    assert "score 0.00" in said and "probability of the caption 93 %" in said
    assert f"caption: {TEXT} (93 %)" in shown.text() and shown.to_json()["probability"] == 0.93


def test_the_map_of_a_layer_and_head_is_theirs():
    weights = np.random.default_rng(1).random((2, 3, 4, 4, 4))
    both = PictureSentence(TEXT, tuple(TEXT.split()), weights)
    assert both.maps(AttentionChoice(2, 3)) == pytest.approx(weights[1, 2], rel=1e-6)
    assert both.maps(AttentionChoice()) == pytest.approx(weights.mean((0, 1)), rel=1e-6)
    with pytest.raises(ConfigError, match="from 1 to 2"):
        PictureWordsView(PictureWords(PHOTO, (both,)), AttentionChoice(layer=3))


def test_words_with_a_known_region_have_their_box_and_the_share_inside():
    tokens = tokenizers.train("characters", ["a red cat"])
    ids = tokens.encode("a red cat").tolist()
    weights = np.zeros((1, 1, len(ids), 4, 4))
    weights[..., 0, 0], weights[..., 3, 3] = 0.75, 0.25
    found = PictureSentence.of(
        tokens, ids, weights, regions=[Region(2, 5, LEFT), Region(6, 9, LEFT), Region(7, 9, (0, 0, 1, 1))]
    )
    assert found.words == ("a", "red", "cat") and found.boxes == ((), (LEFT,), (LEFT, (0, 0, 1, 1)))
    shown = view(found)
    assert "75 % in the box (area 50 %)" in texts(shown.picture("svg"))
    assert shown.to_json()["boxes"][1] == {"boxes": [list(LEFT)], "inside": 0.75, "area": 0.5}
    assert shown.to_json()["boxes"][0] is None and document(shown.page()).groups[0].boxes == found.boxes


def test_a_patch_that_a_box_cuts_counts_by_its_covered_area():
    map = np.array([[0.5, 0.5], [0.0, 0.0]])
    assert inside(map, ((0.0, 0.0, 0.5, 0.75),)) == pytest.approx(0.75)
    assert inside(map, ((0.0, 0.0, 0.25, 1.0),)) == pytest.approx(0.5)
    assert inside(map, (LEFT,)) == pytest.approx(0.5) and area((LEFT, (0.0, 0.5, 0.5, 1.0))) == pytest.approx(0.75)
    assert inside(np.zeros((2, 2)), (LEFT,)) == 0 and area(((0.0, 0.0, 0.5, 0.5),)) == pytest.approx(0.25)


def test_a_film_lights_up_word_after_word_and_ends_with_the_picture():
    found = frames(view().film())
    assert len(found) == 4 + 2 and len({frame.shape for frame in found}) == 1
    below = [frame[205:] for frame in found]  # a margin of 40 pixels, then a picture of 160
    marked = [(abs(rows - np.array([255, 213, 138])).sum(2) < 24).sum() for rows in below]
    assert min(marked[1:-1]) > 40 and max(marked[0], marked[-1]) == 0
    ink = [int((rows.max(2) < 120).sum()) for rows in below]
    assert ink[0] == 0 < ink[1] < ink[2] < ink[3] < ink[4], "the text grows"
    first, second, last = (found[n][45:195, 45:195] for n in (0, 1, -1))
    assert (first == last).all() and (first != second).any(2).mean() > 0.9


def test_a_page_has_all_maps_and_needs_nothing_else():
    page = view(sentence("What <i> is", "question"), sentence("a cat", "answer")).page().decode()
    shown = document(page.encode())
    assert [len(one.tokens) for one in shown.groups] == [3, 16, 2, 16] and len(shown.pictures) == 1
    assert [one.queries for one in shown.streams] == ["answer", "question"], "the answer is shown first"
    assert not re.search(r'src="(?!data:)|<i>', page) and "&lt;i&gt;" in page


def test_nothing_written_shows_the_picture_and_says_so():
    shown = view(PictureSentence("", (), np.zeros((1, 1, 0, 4, 4))))
    for said in (shown.text(), " ".join(texts(shown.picture("svg"))), shown.page().decode()):
        assert "the model wrote nothing about this picture" in said
    assert len(images(shown.picture("svg"))) == 1 and len(frames(shown.film())) == 1
    with pytest.raises(ConfigError, match="the text is empty"):
        OneWordView(shown, "cat")


def test_a_question_and_its_answer_are_both_shown():
    shown = view(sentence("What is it", "question"), sentence("a cat", "answer"))
    said = shown.to_json()
    assert (said["text"], said["words"], said["question"]["words"]) == ("a cat", ["a", "cat"], ["What", "is", "it"])
    assert json.loads(json.dumps(said)) == said
    assert {"question: What is it", "answer: a cat"} <= set(texts(shown.picture("svg")))
    assert len(frames(shown.film())) == 5 + 2 and "question: What is it" in shown.text()
    by_place, by_name = OneWordView(shown, "5"), OneWordView(shown, "CAT", every=True)
    assert by_place.maps.title == by_name.maps.title == "cat   in: a cat" and by_name.chosen().every
    with pytest.raises(ConfigError, match="they are: What, is, it, a, cat"):
        OneWordView(shown, "dog")


def test_wrong_weights_and_boxes_are_refused():
    for words, shape in ((("a",), (1, 1, 2, 4, 4)), (("a",), (1, 1, 1, 16)), (("a",), (1, 1, 1, 0, 4))):
        with pytest.raises(DataError, match="expected weights"):
            PictureSentence("a", words, np.zeros(shape))
    with pytest.raises(DataError, match="finite"):
        PictureSentence("a", ("a",), np.full((1, 1, 1, 2, 2), np.nan))
    with pytest.raises(DataError, match="expected boxes for 1 words"):
        PictureSentence("a", ("a",), np.zeros((1, 1, 1, 2, 2)), boxes=((), ()))


def test_covering_what_a_word_depends_on_makes_it_less_probable():
    """The second of three letters is as probable as the lower right corner is bright; the others do not look."""
    tokens = tokenizers.train("characters", ["a b"])
    ids = tokens.encode("a b").tolist()
    pixels = torch.zeros(1, 3, 32, 48)
    pixels[:, :, 24:, 36:] = 1.0

    def score(picture: Picture) -> torch.Tensor:
        bright = picture.pixels[:, :, 24:, 36:].mean((1, 2, 3)).clamp_min(1e-3)
        return torch.stack([torch.full_like(bright, -0.5), torch.full_like(bright, -0.25), bright.log()], 1)

    whole, covered = covered_scores(Picture(pixels), score)
    assert whole.shape == (3,) and covered.shape == (8, 12, 3)
    found = covered_sentence(tokens, ids, (whole, covered))
    first, second = found.maps(AttentionChoice())
    assert found.words == ("a", "b") and not first.any()
    row, column = np.unravel_index(second.argmax(), second.shape)
    assert row >= 5 and column >= 8 and second[:4].max() == second[:, :7].max() == 0
    # a blank belongs to the word after it: the word's probability is the product of both
    most = np.exp(-0.25) * (1 - np.exp(covered[row, column, 2]))
    assert second.max() == pytest.approx(most, rel=1e-5)


def test_occlusion_has_no_layers():
    shown = PictureWords(PHOTO, (sentence(),), by="occlusion")
    assert "fall of the word's probability" in look_at_words(shown, LookAtWords()).text()
    for wrong in (LookAtWords(layer=1), LookAtWords(head=1), LookAtWords(word="cat", every=True)):
        with pytest.raises(ConfigError, match="whole model"):
            look_at_words(shown, wrong)
    assert OneWordView(PictureWordsView(shown), "cat").picture().startswith(b"\x89PNG")


def test_regions_count_characters_without_the_blank_before_a_text():
    tokens = tokenizers.train("characters", [" a cat"])
    ids = tokens.encode(" a cat").tolist()
    found = PictureSentence.of(tokens, ids, np.ones((1, 1, len(ids), 2, 2)), regions=[Region(2, 5, LEFT)])
    assert (found.text, found.words, found.boxes) == ("a cat", ("a", "cat"), ((), (LEFT,)))


def test_words_stand_with_or_without_a_blank_as_in_the_text():
    spoken = PictureSentence("Is it 红色?", ("Is", "it", "红", "色", "?"), np.zeros((1, 1, 5, 2, 2)))
    assert spoken.spaced() == [False, True, True, False, False]
