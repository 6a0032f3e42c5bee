"""Sentences to learn vectors of words from, and the analogies that hold in them."""

from weft.data.readers.corpus import Given
from weft.data.readers.word_questions import Analogies


def small_world_sentences() -> Given:
    """Sentences about a small world of our own, in which analogies hold: 60,000 short ones, one a line."""
    from weft.data.samples.small_world import drawn_sentences

    return Given("weft-small-world", "".join(f"{text}\n" for text in drawn_sentences()))


def small_world_questions() -> Analogies:
    """The analogies that hold in it: capitals, people, young animals, plurals."""
    from weft.data.samples.small_world import questions

    return Analogies(questions())
