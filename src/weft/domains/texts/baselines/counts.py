"""Plain methods for texts: counts of words for labels, words with their endings for tags, sentences like questions."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from weft.domains.texts.measures import TagScores, answer_tally, tag_tally
from weft.domains.texts.reading.questions import PassageQuestion
from weft.domains.texts.reading.tagged_texts import Tagged
from weft.tasks.baselines import Baseline
from weft.tasks.labels.baselines import LabelTarget, linear_classes
from weft.tasks.measuring import spread

MOST_CHARACTERS = 5_000  # of a text that are counted
LONG_WORD = 15  # characters between spaces, on average, of a script that writes no spaces
MOST_WORDS = 50_000  # whose endings are learned from
ENDING, BEGINNING = 4, 3  # characters
WORD, PARTS = re.compile(r"\w+"), re.compile(r"[.,;:!?()]\s|\n")
HASHED = 2**18  # numbers that features are hashed to


def text_baselines(target: LabelTarget, train: Sequence[str], held_out: Sequence[str]) -> Iterator[Baseline]:
    """TF-IDF of words and pairs of words (of characters, where a script writes no spaces) and a linear model."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    known, asked = ([text[:MOST_CHARACTERS] for text in some] for some in (train, held_out))
    spaced = sum(map(len, known)) <= LONG_WORD * sum(len(text.split()) for text in known)
    kind = (
        {"token_pattern": r"(?u)\w+|[^\w\s]", "ngram_range": (1, 2)}
        if spaced
        else {"analyzer": "char", "ngram_range": (1, 3)}
    )
    counts = TfidfVectorizer(sublinear_tf=True, **kind)
    features = counts.fit_transform(known), counts.transform(asked)
    yield target.fitted("tf-idf", f"TF-IDF with {target.regression}", target.linear(), *features)


def tag_baselines(train: Sequence[Tagged], held_out: Sequence[Tagged], *, spans: bool) -> Iterator[Baseline]:
    """The commonest tag of each word; then a linear model of words with their endings and neighbours."""
    truth = [one.tags for one in held_out]
    usual = _usual_tags(train, held_out)
    yield Baseline("word-tag", "the commonest tag of each word", tag_tally(usual, truth, spans=spans))
    if len({tag for one in train for tag in one.tags}) > 1:
        found = _by_endings(train, held_out)
        words = "suffixes with logistic regression"
        yield Baseline("suffixes", words, tag_tally(found, truth, spans=spans))


def usual_tag(train: Sequence[Tagged]) -> str:
    """The commonest tag of all words."""
    return Counter(tag for one in train for tag in one.tags).most_common(1)[0][0]


def one_tag(tag: str, held_out: Sequence[Tagged], *, spans: bool) -> Baseline:
    """Always the same tag."""
    scores = TagScores(spans=spans)
    for one in held_out:
        scores.add([[tag] * len(one.tags)], [one.tags])
    return Baseline("majority", "always the commonest tag", scores.tally())


def passage_baselines(held_out: Sequence[PassageQuestion]) -> Iterator[Baseline]:
    """The part of a passage, between marks of punctuation, that shares most words with the question."""
    found = [_likest(row.question, row.passage) for row in held_out]
    tally = answer_tally(found, [row.answers for row in held_out])
    yield Baseline("likest-part", "the part of the passage most like the question", tally)


def _likest(question: str, passage: str) -> str:
    """The part of a passage with the most words of a question, less those words."""
    asked = {word.lower() for word in WORD.findall(question)}
    parts = [WORD.findall(part) for part in PARTS.split(passage)]
    best = max(parts, key=lambda part: len(asked & {word.lower() for word in part}) - len(part) / 1000)
    return " ".join(word for word in best if word.lower() not in asked)


def _usual_tags(train: Sequence[Tagged], held_out: Sequence[Tagged]) -> list[list[str]]:
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    every = Counter[str]()
    for one in train:
        every.update(one.tags)
        for word, tag in zip(one.words, one.tags, strict=True):
            seen[word][tag] += 1
    best, usual = {word: counts.most_common(1)[0][0] for word, counts in seen.items()}, every.most_common(1)[0][0]
    return [[best.get(word, usual) for word in one.words] for one in held_out]


def _by_endings(train: Sequence[Tagged], held_out: Sequence[Tagged]) -> list[list[str]]:
    """Tags by a linear model of each word: itself, its ending and beginning, its shape, and its neighbours."""
    from sklearn.feature_extraction import FeatureHasher

    words = sum(len(one.words) for one in train)
    if words > MOST_WORDS:
        train = spread(train, max(1, len(train) * MOST_WORDS // words))
    hasher = FeatureHasher(HASHED, input_type="string", alternate_sign=False)
    known = hasher.transform(row for one in train for row in _described(one.words))
    asked = hasher.transform(row for one in held_out for row in _described(one.words))
    tags = np.array([tag for one in train for tag in one.tags])
    found = iter(linear_classes(len(tags) * len(set(tags)), len(tags)).fit(known, tags).predict(asked))
    return [[str(next(found)) for _ in one.words] for one in held_out]


def _described(words: Sequence[str]) -> Iterator[list[str]]:
    """The features of each word of a sentence, as strings."""
    padded = ["<", *words, ">"]
    for i, word in enumerate(words, 1):
        low, before, after = word.lower(), padded[i - 1].lower(), padded[i + 1].lower()
        shape = "".join("A" if c.isupper() else "9" if c.isdigit() else "a" if c.isalpha() else c for c in word[:8])
        yield [
            "bias", f"w {low}", f"h {shape}", f"b {before}", f"a {after}", f"first {i == 1}",
            *(f"e {low[-n:]}" for n in range(1, ENDING + 1)), *(f"p {low[:n]}" for n in range(1, BEGINNING + 1)),
            *(f"be {before[-n:]}" for n in (2, 3)), *(f"ae {after[-n:]}" for n in (2, 3)),
        ]  # fmt: skip
