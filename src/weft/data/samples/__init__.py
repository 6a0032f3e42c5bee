"""Data that ships with weft or comes with every Python."""

from weft.data.text import Given


def python_topics() -> Given:
    """The help texts of Python itself (`help("LAMBDA")` and so on), about half a megabyte."""
    from pydoc_data import topics

    text = "\n\n".join(topics.topics[name].strip("\n") for name in sorted(topics.topics))
    return Given("python-topics", text + "\n")
