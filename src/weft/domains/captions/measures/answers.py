"""How good short answers are: accuracy as VQA counts it (Antol et al., 2015).

Knows answers as texts, refuses to know pictures and models.
"""

import re
from collections.abc import Sequence

import numpy as np

ENOUGH = 3  # people who agree make an answer right
NUMBERS = {"none": "0", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
           "seven": "7", "eight": "8", "nine": "9", "ten": "10"}  # fmt: skip
ARTICLES = frozenset(("a", "an", "the"))
MARKS = ';/[]"{}()=+\\_-><@`,?!'
THOUSANDS = re.compile(r"\d,\d")
FULL_STOP = re.compile(r"\.(?!\d)")
MOST_STOPS = 32  # full stops that are dropped from one answer; the published evaluation drops no more


def _contractions() -> dict[str, str]:
    """Contractions written without an apostrophe, and as they should be."""
    ends = {
        "n't": "ai are ca could did does do had has have is might must need ought sha should was were wo would",
        "'ve": "could might must not should would we what where who you they",
        "'ll": "how it somebody someone something they what who why you",
        "'d": "he how it someone something there they where who you",
        "'s": "he how somebody someone that there what when where who why",
        "'re": "there they what why you",
    }
    found = {word + end.replace("'", ""): word + end for end, words in ends.items() for word in words.split()}
    for word in ("could", "had", "might", "should", "would"):
        found |= dict.fromkeys((f"{word}nt've", f"{word}n'tve"), f"{word}n't've")
    for word in ("he", "it", "she", "somebody", "someone", "something", "there", "they", "we", "who", "you"):
        found |= dict.fromkeys((f"{word}d've", f"{word}'dve"), f"{word}'d've")
    found |= dict.fromkeys(("ow's'at", "'ows'at", "'ow'sat"), "'ow's'at")
    found |= dict.fromkeys(("yall'll", "y'allll"), "y'all'll")
    found |= dict.fromkeys(("yall'd've", "y'alld've", "y'all'dve"), "y'all'd've")
    others = {"maam": "ma'am", "oclock": "o'clock", "twas": "'twas", "yall": "y'all", "somebody'd": "somebodyd"}
    return found | others


CONTRACTIONS = _contractions()


def plain_answer(text: str) -> str:
    """An answer in lower case, without marks and articles, numbers as digits, contractions with their apostrophe."""
    text = _trimmed(text)
    joined = THOUSANDS.search(text) is not None
    found = text
    for mark in MARKS:
        beside_space = f"{mark} " in text or f" {mark}" in text
        found = found.replace(mark, "" if joined or beside_space else " ")
    found = FULL_STOP.sub("", found, count=MOST_STOPS)
    words = (NUMBERS.get(word, word) for word in found.lower().split())
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


def answer_accuracy(found: str, answers: Sequence[str]) -> float:
    """How right an answer is, from 0 to 1.

    With several people's answers: min(people who gave it / 3, 1), averaged over leaving out each of them (of two or
    three people, all others have to agree). Where all wrote the same, the published evaluation compares answers as they
    are written, and so does this. With one known answer: right or wrong.
    """
    if len(answers) == 1:
        return float(plain_answer(found) == plain_answer(answers[0]))
    wanted, given = [_trimmed(answer) for answer in answers], _trimmed(found)
    if len(set(wanted)) > 1:
        wanted, given = [plain_answer(answer) for answer in wanted], plain_answer(given)
    same, enough = wanted.count(given), min(ENOUGH, len(wanted) - 1)
    others = len(wanted) - same
    return (same * min((same - 1) / enough, 1.0) + others * min(same / enough, 1.0)) / len(wanted)


def answer_accuracies(found: Sequence[str], answers: Sequence[Sequence[str]]) -> np.ndarray:
    """The accuracy of each answer."""
    return np.array([answer_accuracy(one, known) for one, known in zip(found, answers, strict=True)])


def _trimmed(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ").strip()
