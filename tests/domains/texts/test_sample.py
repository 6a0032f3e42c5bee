"""The samples of texts that ship: always the same, balanced, varied, and not to be solved by counting words."""

import hashlib
import math
import re
from collections import Counter

import pytest

from weft.domains.texts.reading.labelled_texts import split_labelled
from weft.domains.texts.reading.schemes import entities, scheme_of, violations
from weft.domains.texts.reading.tagged_texts import split_tagged
from weft.domains.texts.sample.names import BOTH, sample_names
from weft.domains.texts.sample.opinions import sample_opinions
from weft.domains.texts.sample.running import english_sentences


def digest(items: list) -> str:
    return hashlib.sha256("\n".join(map(repr, items)).encode()).hexdigest()[:16]


def test_samples_are_the_same_everywhere():
    assert digest(sample_opinions()) == "2e1564dfa8f2b94f" and digest(sample_names()) == "7f0df026a0e1d87e"
    assert sample_opinions(10) == sample_opinions()[:10] and sample_names(10) == sample_names()[:10]


def test_opinions_are_different_and_evenly_good_and_bad():
    found = sample_opinions()
    assert len(found) == len({one.text for one in found}) == 2000
    assert Counter(one.label for one in found) == {"positive": 1000, "negative": 1000}
    assert all(re.fullmatch(r"[A-Z][\w ,:;.'-]+\.", one.text) for one in found)
    assert not any("{" in one.text or re.search(r"\ba [aeiou]", one.text) for one in found)


def test_counting_words_does_not_solve_the_opinions():
    """Naive Bayes over words: better than chance, and far from right."""
    split = split_labelled(sample_opinions())
    counts = {"positive": Counter[str](), "negative": Counter[str]()}
    for one in split.train:
        counts[one.label].update(set(words(one.text)))
    right = 0
    for one in split.held_out:
        vote = sum(math.log((counts["positive"][w] + 1) / (counts["negative"][w] + 1)) for w in set(words(one.text)))
        right += (vote > 0) == (one.label == "positive")
    assert 0.6 < right / len(split.held_out) < 0.85


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_the_same_words_are_said_on_both_sides():
    texts = {
        label: " ".join(o.text for o in sample_opinions() if o.label == label) for label in ("positive", "negative")
    }
    for word in ("quiet", "rude", "wonderful", "awful", "not", "but", "never"):
        assert all(len(re.findall(rf"\b{word}\b", text)) >= 5 for text in texts.values()), word


def test_names_are_tagged_in_clean_bio():
    found = sample_names()
    assert len(found) == len({one.words for one in found}) == 2000
    assert scheme_of([one.tags for one in found]) == "BIO"
    assert sum(violations(one.tags, "BIO") for one in found) == 0
    kinds = Counter(entity.kind for one in found for entity in entities(one.tags))
    assert set(kinds) == {"PER", "LOC", "ORG"} and min(kinds.values()) > 1000
    assert not any("{" in word or not word for one in found for word in one.words)
    assert any(set(one.tags) == {"O"} for one in found), "some sentences have no name at all"


def test_some_names_are_of_several_kinds_and_most_are_new_when_held_out():
    split = split_tagged(sample_names())
    kinds: dict[str, set[str]] = {}
    for one in split.train:
        for word, tag in zip(one.words, one.tags, strict=True):
            kinds.setdefault(word, set()).add(tag[2:])
    assert all({"PER", "LOC", "ORG"} <= kinds[name] for name in BOTH)
    places = [e for one in split.held_out for e in [one.words[x.start] for x in entities(one.tags) if x.kind == "LOC"]]
    assert sum(place not in kinds for place in places) > 0.2 * len(places)


@pytest.mark.slow
def test_sentences_to_fill_are_running_text():
    text = english_sentences().text
    assert text.count("\n") == 40_000 and len(text) > 1_000_000
