"""Word vectors from elsewhere and for elsewhere: files that other tools write, and files that they open."""

from pathlib import Path

import torch

from weft.domains.words.codec import WordCodec
from weft.domains.words.settings import WordTraining
from weft.domains.words.vectors import vectors_of
from weft.errors import WeftError
from weft.interop.word_files import is_word_file, read_word_file, write_word_file
from weft.models.word_vectors import WordVectors
from weft.objectives import NegativeSampling
from weft.storage.store import shown
from weft.tasks.adopting import AdoptedFile
from weft.tasks.request import Loaded


def adopted_words(path: Path) -> AdoptedFile | None:
    """The vectors in a file, as a model of words; None where the file holds none."""
    if not is_word_file(path):
        return None
    found = read_word_file(path)
    words, dim = len(found.words), found.vectors.shape[1]
    model = WordVectors.Config(words=words, dim=dim, kind="vectors").build()
    model.word.weight.data.copy_(torch.from_numpy(found.vectors.copy()))
    lower = all(word == word.lower() for word in found.words[:1000])
    return AdoptedFile(
        model=model,
        model_name="word2vec",
        codecs={"word": WordCodec.of(found.words, lower=lower)},
        objective=NegativeSampling.Config(),
        training=WordTraining(dim=dim, lower=lower),
        family="word vectors",
        form=found.form,
        summary="Word vectors that were learned elsewhere, read by weft from a file.",
        facts={"words": f"{words:,}", "width": str(dim)},
    )


def write_words(run: Loaded, path: Path) -> str:
    """Write the vectors of a run in word2vec's form; returns what the form is called."""
    codec = run.codec("word", WordCodec)
    if path.exists():
        raise WeftError(
            "there is something already", where=f"--out {shown(path)}", fix="name a file that does not exist"
        )
    write_word_file(path, list(codec.words), vectors_of(run).vectors().float().cpu().numpy())
    return "word2vec binary" if path.suffix == ".bin" else "word2vec text"
