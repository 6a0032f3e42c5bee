"""What all views share: the choice of a layer and a head, and the pages around pictures."""

import numpy as np
import pytest
from tiny import encoder_model, pictures, vision_model

from weft.errors import ConfigError
from weft.inspect.reading import ReadingView
from weft.inspect.views import AttentionChoice, View, page, picture_page, svg_figure
from weft.inspect.vision import Glance, PictureView
from weft.modalities import tokenizer_making as tokenizers

TOKENIZER = tokenizers.train("characters", ["abcdefghij"])


def picture_view(choice: AttentionChoice) -> View:
    how = Glance(choice.layer, choice.head, choice.every)
    return PictureView(vision_model("vit"), pictures(1), np.zeros((8, 8, 3), np.uint8), how)


def reading_view(choice: AttentionChoice) -> View:
    return ReadingView(encoder_model("swift", "pooled"), TOKENIZER, np.arange(4), "abcd", choice)


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


def test_a_page_holds_its_picture_and_no_markup_of_its_title():
    html = picture_page("<b> & more", b"\x89PNG").decode()
    assert html.count("&lt;b&gt; &amp; more") == 3 and "<b>" not in html and "base64,iVBORw==" in html
    assert svg_figure(b'<?xml version="1.0"?>\n<svg a="1"/>\n') == '<figure><svg a="1"/>\n</figure>'
    assert page("a", "<p>b</p>").startswith(b"<!doctype html>") and b"<p>b</p>" in page("a", "<p>b</p>")
