"""What all views share: the choice of a layer and a head, and the pages around pictures."""

import numpy as np
import pytest
from helpers.drawings import texts
from helpers.pages import document, documents
from helpers.tiny import encoder_model, language_model, pictures, vision_model

from weft.domains.pictures.views.vision import Glance, PictureView
from weft.domains.texts.views.reading import text_reading
from weft.errors import ConfigError, WeftError
from weft.inspect.answers import probability
from weft.inspect.token_steps import StepView, find_token
from weft.inspect.views import AttentionChoice, View
from weft.modalities import tokenizer_making as tokenizers

TOKENIZER = tokenizers.train("characters", ["abcdefghij"])


def picture_view(choice: AttentionChoice) -> View:
    how = Glance(choice.layer, choice.head, choice.every)
    return PictureView(vision_model("vit"), pictures(1), np.zeros((8, 8, 3), np.uint8), how)


def reading_view(choice: AttentionChoice) -> View:
    return text_reading(encoder_model("swift", "pooled"), TOKENIZER, np.arange(4), "abcd", choice)


VIEWS = [picture_view, reading_view]


def test_layers_and_heads_are_counted_from_1_and_all_of_them_are_none():
    assert AttentionChoice().indices(1, 1) == (None, None)
    assert AttentionChoice(1, 4).indices(2, 4) == (0, 3)
    assert AttentionChoice(layer=2).indices(2, 4) == (1, None)


@pytest.mark.parametrize("make", VIEWS)
def test_the_last_layer_and_head_of_a_model_can_be_chosen(make):
    view = make(AttentionChoice(2, 4))
    assert isinstance(view, View) and view.picture().startswith(b"\x89PNG")


@pytest.mark.parametrize("make", VIEWS)
@pytest.mark.parametrize(
    "layer, head, where, most", [(0, None, "layer", 2), (3, None, "layer", 2), (None, 0, "head", 4), (1, 5, "head", 4)]
)
def test_a_layer_or_head_that_a_model_does_not_have_is_refused_before_anything_is_drawn(make, layer, head, where, most):
    with pytest.raises(ConfigError, match=f"expected a number from 1 to {most}, found") as refused:
        make(AttentionChoice(layer, head))
    assert refused.value.where == where


@pytest.mark.parametrize("make", VIEWS)
def test_a_view_is_saved_by_the_ending_of_the_name_and_says_what_it_is(make, tmp_path):
    view = make(AttentionChoice())
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "html": b"<!doctype html>"}
    for ending, start in starts.items():
        assert view.save(tmp_path / f"look.{ending}").read_bytes().startswith(start)
    assert view.picture("pdf") == (tmp_path / "look.pdf").read_bytes(), "the same bytes each time"
    with pytest.raises(WeftError, match=r"cannot be written as \.jpg"):
        view.save(tmp_path / "look.jpg")
    with pytest.raises(WeftError, match="no frames"):
        view.save(str(tmp_path / "look.gif"))
    assert repr(view).startswith(f"<{type(view).__name__}: attention in 2 layers × 4 heads over")
    assert view._repr_html_().startswith('<iframe sandbox="allow-scripts allow-downloads"')


@pytest.mark.parametrize("make", VIEWS)
def test_a_page_opens_at_the_layer_and_head_that_were_chosen_and_has_all_others(make):
    found = document(make(AttentionChoice(2, 3)).page())
    assert dict(found.start)["layer"] == "2" and dict(found.start)["head"] == "3"
    own = found.streams[0].weights
    assert (own.layers, own.heads) == (2, 4) and found.streams[1].by == "rollout"
    assert np.allclose(own.head(1, 2).sum(1), 1, atol=0.03), "each token reads all in all 1"


@pytest.mark.parametrize("make, token, name", [(picture_view, "2,1", "patch 2,1"), (reading_view, "3", None)])
def test_one_token_is_shown_step_by_step_with_its_layer_named(make, token, name):
    view = make(AttentionChoice())
    name = name or view.labels[2]
    found = view.steps(token)
    assert found.query == name and found.layer == "layer 2 of 2" and np.isclose(found.weights.sum(), 1)
    shown = StepView(found, "a title")
    assert f"How {name} reads" in shown.text() and b"in layer 2 of 2, head 1" in shown.page()
    assert "step by step" in repr(shown) and not document(shown.page()).streams
    with pytest.raises(ConfigError, match="a table, not a picture"):
        shown.picture()


def test_two_looks_stand_beside_each_other_on_one_page(tmp_path):
    first, second = reading_view(AttentionChoice()), picture_view(AttentionChoice())
    path = first.beside(second).save(tmp_path / "both.html")
    assert [one.scene for one in documents(path.read_bytes())] == ["text", "picture"]
    assert len(documents(first.page())) == 1, "the look itself is as it was"


def test_a_token_is_found_by_place_name_beginning_or_bare_mark():
    names = ["<|mask|>", " the", "cat", "patch 1,2"]
    assert [find_token(names, one) for one in ("mask", "The", 3, "cats", "1,2")] == [0, 1, 2, 2, 3]
    for wrong, message in (("5", "from 1 to 4"), ("dog", "not among the tokens")):
        with pytest.raises(ConfigError, match=message):
            find_token(names, wrong)


def test_the_colours_of_a_language_model_are_scaled_without_the_first_token():
    tokenizer = tokenizers.train("characters", ["abcdefghij"])
    model = language_model("gpt", vocab=tokenizer.size)
    letters = tokenizer.encode("abc")
    view = text_reading(model, tokenizer, np.array([tokenizer.end, *letters]), "abc")
    assert [note.split()[0] for note in view.notes] == ["<|end|>", "The"]
    top = view.attention.mean().weights[0, 0][:, 1:].max()
    assert f"≥ {top:.2g}" in texts(view.picture("svg"))
    assert not text_reading(encoder_model("swift", "pooled"), tokenizer, letters, "abc").notes


def test_probabilities_are_written_with_as_many_digits_as_they_need():
    assert [probability(p) for p in (0.0004, 0.004, 0.0501, 0.93, 0.9996, 1.0)] == [
        "below 0.1 %", "0.4 %", "5.0 %", "93 %", "100.0 %", "100.0 %"
    ]  # fmt: skip
