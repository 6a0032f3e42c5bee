"""Texts that ship with weft or come with every Python: running, labelled and tagged ones."""

from weft.data.readers.corpus import Given
from weft.data.readers.labelled_texts import LabelledTexts
from weft.data.readers.tagged_texts import TaggedTexts


def python_topics() -> Given:
    """The help texts of Python itself (`help("LAMBDA")` and so on), about half a megabyte."""
    from pydoc_data import topics

    text = "\n\n".join(topics.topics[name].strip("\n") for name in sorted(topics.topics))
    return Given("python-topics", text + "\n")


def english_sentences() -> Given:
    """The English half of the phrasebook, 40,000 short sentences of our own in random order, one a line."""
    from weft.data.samples.phrasebook import drawn

    train, _ = drawn()
    return Given("weft-sentences", "".join(f"{text}\n" for _, _, text in train))


def labelled_opinions() -> LabelledTexts:
    """2,000 short opinions of our own, half of them positive."""
    from weft.data.samples.opinions import sample_opinions

    return LabelledTexts.given(sample_opinions(), "weft-opinions")


def tagged_names() -> TaggedTexts:
    """2,000 sentences of our own in which persons, places and organisations are tagged."""
    from weft.data.samples.names import sample_names

    return TaggedTexts.given(sample_names(), "weft-names")
