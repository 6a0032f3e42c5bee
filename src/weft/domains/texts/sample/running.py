"""Running texts that ship with weft or come with every Python."""

from weft.domains.texts.reading.corpus import GivenText


def python_topics() -> GivenText:
    """The help texts of Python itself (`help("LAMBDA")` and so on), about half a megabyte."""
    from pydoc_data import topics

    text = "\n\n".join(topics.topics[name].strip("\n") for name in sorted(topics.topics))
    return GivenText("python-topics", text + "\n")


def english_sentences() -> GivenText:
    """The English half of the phrasebook, 40,000 short sentences of our own in random order, one a line."""
    from weft.domains.texts.grammar.drawing import drawn

    train, _ = drawn()
    return GivenText("weft-sentences", "".join(f"{text}\n" for _, _, text in train))
