"""Data that ships with weft or comes with every Python."""

import tempfile
from pathlib import Path

PYTHON_TOPICS = "python-topics"


def python_topics() -> Path:
    """The help texts of Python itself (`help("LAMBDA")` and so on) as a text file, about half a megabyte."""
    from pydoc_data import topics

    text = "\n\n".join(topics.topics[name].strip("\n") for name in sorted(topics.topics))
    folder = Path(tempfile.mkdtemp(prefix="weft-"))
    path = folder / "python-topics.txt"
    path.write_text(text + "\n", encoding="utf-8")
    return path
