"""Measures of captions and answers: what the reference implementations say, and what must hold by definition."""

import random

import numpy as np
import pytest

from weft.domains.captions.measures.answering import answer_accuracies, answer_accuracy, plain_answer
from weft.domains.captions.measures.captions import CaptionScorer, caption_words
from weft.domains.captions.measures.looking import another, beside, in_words
from weft.objectives.measures.ngrams import longest_common

REFERENCES = [
    ["A brown dog runs across the wet grass.", "The dog is running.", "A dog, wet and happy, runs in a field!"],
    ["Two children's kites fly above the beach.", "Kites over a beach"],
    [
        "A man in a T-shirt can't open the red/white door.",
        "the man doesn't open the door",
        "A man at a door",
        "Someone tries a door.",
    ],
    ["A cat sleeps on the mat on the mat."],
    ["An old woman reads a newspaper on a bench.", "A woman is sitting on a park bench and reading."],
]
FOUND = [
    "A brown dog is running in the grass.",
    "Two kites are flying over the sea",
    "a man can't open a door .",
    "A cat on a mat on the mat on the mat",
    "a red bus",
]
# Computed by pycocoevalcap 1.2 (PTBTokenizer, Bleu(4), Rouge, Cider) for the sentences above.
THEIRS = {
    "cider_d": 2.100891721576793,
    "rouge_l": 0.5902515552529826,
    "bleu_1": 0.6769192311661417,
    "bleu_2": 0.5158129699606724,
    "bleu_3": 0.39651855065422564,
    "bleu_4": 0.2967176994065811,
}
THEIR_CIDER_D = [2.0202710958098757, 0.9021402115139889, 2.10774978730992, 5.474297513250178, 0.0]
THEIR_ROUGE_L = [0.6931818181818181, 0.4680306905370844, 0.8224719101123595, 0.8146911519198664, 0.15288220551378442]
THEIRS_MOVED = {"cider_d": 0.016989586338900443, "rouge_l": 0.21779286119010388, "bleu_1": 0.1947001957570346}

# Captions


def test_captions_are_scored_as_by_pycocoevalcap() -> None:
    scores = CaptionScorer(REFERENCES)(FOUND)
    assert scores.means() == pytest.approx(THEIRS, abs=1e-12)
    assert scores.cider_d == pytest.approx(THEIR_CIDER_D, abs=1e-12)
    assert scores.rouge_l == pytest.approx(THEIR_ROUGE_L, abs=1e-12)
    moved = CaptionScorer(REFERENCES)([*FOUND[1:], FOUND[0]]).means()
    assert {name: moved[name] for name in THEIRS_MOVED} == pytest.approx(THEIRS_MOVED, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man's dogs can't, won't and don't!", "a man 's dogs ca n't wo n't and do n't"),
        ("He said \"hello\" (twice) - 'bye'...", "he said hello -lrb- twice -rrb- bye"),
        ("Mr. Smith of St. Mary's at 10:30 a.m.", "mr. smith of st. mary 's at 10:30 a.m."),
        ("a T-shirt, half-eaten; red/white & 50% off $5.50", "a t-shirt half-eaten red/white & 50 % off $ 5.50"),
        ("They're gonna sit--I cannot…", "they 're gon na sit i can not"),
        ("No. 7 says no. “It’s” snow.The dog", "no. 7 says no it 's snow.the dog"),
        ("car wash. In Wash. they ride 1,000 miles", "car wash in wash. they ride 1,000 miles"),
        ("wow!! what?! ok", "wow !! what ?! ok"),
        ("rock 'n' roll o'clock 1990's '90s", "rock 'n' roll o'clock 1990 's '90s"),
        ("", ""),
    ],
)
def test_words_are_those_of_the_penn_treebank(text: str, words: str) -> None:
    """As PTBTokenizer of pycocoevalcap 1.2 gives them."""
    assert caption_words(text) == words.split()


def test_a_caption_equal_to_its_only_reference_is_perfect() -> None:
    texts = ["a red kite over the sea", "two dogs run on a wet field", "a man opens an old door"]
    means = CaptionScorer([[text] for text in texts])(texts).means()
    assert means == pytest.approx({**dict.fromkeys(THEIRS, 1.0), "cider_d": 10.0})


def test_the_order_of_references_and_the_company_of_pictures_change_nothing_but_their_places() -> None:
    scores = CaptionScorer(REFERENCES)(FOUND)
    turned = CaptionScorer([texts[::-1] for texts in REFERENCES[::-1]])(FOUND[::-1])
    assert (
        turned.cider_d[::-1] == pytest.approx(scores.cider_d)
        and turned.rouge_l[::-1].tolist() == scores.rouge_l.tolist()
    )
    assert turned.counts[::-1].tolist() == scores.counts.tolist()


def test_one_caption_for_all_pictures_is_scored_the_same_both_ways() -> None:
    scorer = CaptionScorer(REFERENCES)
    for text in ("a dog on the mat on the mat", "a submarine", "", "door"):
        assert scorer.cider_d_of_one(text) == pytest.approx(scorer.cider_d([text] * len(REFERENCES)))


def test_captions_without_words_and_single_pictures_score_without_a_warning() -> None:
    assert CaptionScorer([["a dog"], ["..."]])(["", "!"]).means()["rouge_l"] == 0.5  # nothing equals nothing
    assert CaptionScorer([["a dog"]])(["a dog"]).means()["cider_d"] == 0  # among one picture no word is rare


def test_the_longest_common_subsequence_is_that_of_the_table() -> None:
    chance = random.Random(0)
    for _ in range(200):
        a, b = ([chance.choice("abcd") for _ in range(chance.randrange(1, 12))] for _ in range(2))
        table = np.zeros((len(a) + 1, len(b) + 1), int)
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                table[i + 1, j + 1] = table[i, j] + 1 if x == y else max(table[i, j + 1], table[i + 1, j])
        assert longest_common(a, b) == table[-1, -1]


# Answers


@pytest.mark.parametrize(
    ("found", "answers", "accuracy"),
    [
        ("Two dogs.", ["2 dogs"], 1.0),
        ("a cat", ["the dog"], 0.0),
        ("2", ["two"] * 3 + ["3"] * 7, 0.9),  # leaving out one of the three: 2/3
        ("yes", ["yes"] * 10, 1.0),
        ("Yes", ["yes"] * 10, 0.0),  # where all agree, the published evaluation normalises nothing
        ("no", ["no"] + ["yes"] * 9, 0.3),
        ("dont know", ["don't know"] * 5 + ["yes"] * 5, 1.0),
        ("red", ["red", "red"], 1.0),
        ("red", ["red", "blue"], 0.5),
    ],
)
def test_an_answer_is_right_as_far_as_people_gave_it(found: str, answers: list[str], accuracy: float) -> None:
    """The rows of ten answers as GT-Vision-Lab's vqaEval.py scores them."""
    assert answer_accuracy(found, answers) == pytest.approx(accuracy)


def test_answers_are_compared_without_marks_articles_and_case() -> None:
    texts = ("The  T-shirt!", "red/white", "left , right", "1,000", "3.5 ft.", "Ten", "somebodyll", "a")
    plain = ["t shirt", "red white", "left right", "1000", "3.5 ft", "10", "somebody'll", ""]
    assert [plain_answer(text) for text in texts] == plain


def test_every_answer_has_an_accuracy() -> None:
    assert answer_accuracies(["2", "red", "red"], [["two"], ["blue"], ["red"]]).tolist() == [1.0, 0.0, 1.0]


# Whether a model looked


def test_every_picture_gets_the_caption_of_another_and_always_the_same_one() -> None:
    names = [f"{n}.jpg" for n in range(50)] + ["0.jpg"]
    places = another(names)
    assert sorted(places) == list(range(51)) and (places != np.arange(51)).all()
    assert places.tolist() == another(names).tolist() and another(["a"]).tolist() == [0]


def test_a_gain_within_chance_is_called_none() -> None:
    own = np.random.default_rng(0).normal(1.0, 0.1, 100)
    found = beside(own, {"shuffled": own - 0.5, "constant": own[::-1], "nearest": own + 0.2})
    assert found["shuffled"]["gain"] == pytest.approx(0.5) and found["constant"]["gain"] == pytest.approx(0, abs=1e-9)
    assert beside(own, {}) == {}
    lines = in_words("CIDEr-D", "caption", 1.0, found)
    assert "not clearly better" in lines[2] and lines[3].endswith("the model is worse") and lines[1].endswith(")")


def test_questions_about_one_picture_are_drawn_together() -> None:
    """Two pictures with 50 questions each, all right and all wrong: by pictures, any accuracy is within chance."""
    own, none = np.repeat([0.0, 1.0], 50), np.zeros(100)
    apart = beside(own, {"shuffled": none})["shuffled"]["interval"]
    together = beside(own, {"shuffled": none}, np.repeat([7, 3], 50))["shuffled"]["interval"]
    assert together == [0.0, 1.0] and 0.3 < apart[0] < 0.5 < apart[1] < 0.7
