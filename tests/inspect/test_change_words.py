"""Changes in the words of the command line, and back."""

import json

import pytest

from weft.core import Added, Change, Hidden, Pinned, Replaced, Scaled, Unread, Without
from weft.errors import ConfigError
from weft.inspect.change_words import change_of, taken, words_of

SAID = {
    "without=3.2": Without(3, head=2),
    "without=3": Without(3),
    "without=3.transform@4+5": Without(3, branch="transform", tokens=(4, 5)),
    "without=target/3.read.2~mean": Without(3, branch="read", head=2, by="mean", stream="target"),
    "scaled=1.mixx-0.5": Scaled(1, branch="mix", factor=-0.5),
    "unread=3.2@5:2+1": Unread(3, head=2, tokens=(5,), keys=(2, 1)),
    "unread=3@:2": Unread(3, keys=(2,)),
    "pinned=3.2~uniform": Pinned(3, head=2, weights="uniform"),
    "hidden=2+3": Hidden((2, 3)),
    "hidden=source/2": Hidden((2,), stream="source"),
    "replaced=0@4": Replaced(0, tokens=(4,), of="other"),
    "added=3x4": Added(3, of="other", minus="second", strength=4.0),
}


@pytest.mark.parametrize("words", SAID)
def test_words_stand_for_a_change_and_a_change_says_its_words(words: str):
    name, _, place = words.partition("=")
    assert change_of(type(SAID[words]), place, of="other", minus="second") == SAID[words]
    assert words_of(SAID[words]) == words


@pytest.mark.parametrize(
    ("kind", "words"),
    [(Without, ""), (Without, "3.2x5"), (Without, "layer 3"), (Scaled, "3.2"), (Unread, "3.2@4"), (Replaced, "3"),
     (Added, "3"), (Pinned, "3.2"), (Hidden, "two"), (Without, "3.2~median"), (Without, "-1")],
)  # fmt: skip
def test_words_that_are_no_change_are_refused_with_an_example(kind: type[Change], words: str):
    with pytest.raises(ConfigError) as refused:
        change_of(kind, words)
    assert "expected" in str(refused.value) or "for example" in str(refused.value)


def test_changes_are_taken_out_of_all_settings_in_words_and_in_json():
    settings = {"layer": "2", "without": "3.2,1.mix", "changes": json.dumps([Hidden((1,)).to_json()])}
    assert taken(settings).found() == (Hidden((1,)), Without(3, head=2), Without(1, branch="mix"))
    assert settings == {"layer": "2"}
