from pathlib import Path

import pytest

from weft.interop import Marks, write_folder
from weft.modalities import tokenizer_making
from weft.modalities.tokenizer import Tokenizer
from weft.models.zoo import Size, gpt, llama

TEXT = ["Do you like tea? Yes, I like tea. " * 20]


@pytest.fixture
def words() -> Tokenizer:
    return tokenizer_making.train("bpe", TEXT, 280)


@pytest.fixture(params=["gpt2", "llama"])
def folder(request, tmp_path: Path, words) -> Path:
    """A whole model folder."""
    model = {"gpt2": gpt, "llama": llama}[request.param](Size(dim=16, depth=2, heads=2, context=32), vocab=words.size)
    marks = Marks(bos=words.end, eos=(words.end,))
    write_folder(tmp_path / "model", model.build(), tokenizer_json=words.to_json(), marks=marks)
    return tmp_path / "model"
