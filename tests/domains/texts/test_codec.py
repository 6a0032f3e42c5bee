"""TextCodec: what it reads of the run folder, and how often."""

import pytest

from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError
from weft.modalities import tokenizer_making
from weft.modalities.tokenizer import Tokenizer

TOKENIZER: Tokenizer = tokenizer_making.train("characters", ["a text of a few letters"], None, characters=23)


def counted(role: str = "line", digest: str | None = TOKENIZER.digest) -> tuple[TextCodec, list[str]]:
    """A codec, and the names of the files that it read, once for each time."""
    names: list[str] = []

    def read(name: str) -> bytes:
        names.append(name)
        return TOKENIZER.to_json().encode()

    return TextCodec(TextCodec.Config(role=role, digest=digest), read=read), names


def test_the_tokenizer_is_read_once_for_many_texts() -> None:
    codec, names = counted()
    for text in ["a text", "of letters", "few"] * 10:
        (row,) = codec.encode([text], 64).rows
        assert codec.decode(row) == text and codec.marks.after == () and codec.ends
    assert names == ["tokenizer.json"]


def test_the_tokenizer_of_another_run_is_refused_each_time() -> None:
    codec, _ = counted(digest="another")
    for _ in range(2):
        with pytest.raises(ConfigError, match="not the tokenizer that the run was trained with"):
            codec.ids(["a text"])
