"""Word vectors from elsewhere as runs, and the vectors of runs as files that other tools open."""

from pathlib import Path
from typing import Any

import torch

from weft.domains.words.cards import EMBED_WORDS
from weft.domains.words.codec import WordCodec
from weft.domains.words.settings import WordTraining
from weft.errors import WeftError
from weft.interop.word_files import read_word_file, write_word_file
from weft.models.word_vectors import WordVectors
from weft.objectives import NegativeSampling
from weft.runs.run import loaded
from weft.storage.store import digest, make_folder, shown
from weft.tasks.record import DataRecord
from weft.tasks.request import Loaded
from weft.training.card import model_card
from weft.training.folder import FORMAT, RunFolder
from weft.training.naming import fresh_folder
from weft.training.run import parameters

TASK = EMBED_WORDS.name


def import_words(source: str | Path, out: str | Path | None) -> tuple[Loaded, tuple[str, ...]]:
    """A file of word vectors written as a run; also what users should know of it."""
    path = Path(source)
    found = read_word_file(path)
    words, dim = len(found.words), found.vectors.shape[1]
    model = WordVectors.Config(words=words, dim=dim, kind="vectors").build()
    model.word.weight.data.copy_(torch.from_numpy(found.vectors.copy()))
    lower = all(word == word.lower() for word in found.words[:1000])
    codec = WordCodec.of(found.words, lower=lower)
    name = path.name.removesuffix(".gz").split(".")[0]
    folder = RunFolder(out if out is not None else fresh_folder(name))
    make_folder(folder.path)
    config: dict[str, Any] = {
        "format": FORMAT,
        "task": TASK,
        "model_name": "word2vec",
        "preset": None,
        "from": None,
        "model": model.config.to_json(),
        "objective": NegativeSampling.Config().to_json(),
        "training": WordTraining(dim=dim, lower=lower).to_json(),
        "budget": {"steps": None, "minutes": None, "epochs": None},
        "fingerprint": None,
        "data": DataRecord(described=f"data of its makers ({path.name})", rule="not known").to_json(),
        "codecs": {"word": codec.config.to_json()},
        "imported": {"source": shown(path.absolute()), "family": "word vectors", "architecture": found.form,
                     "digest": digest(path)[1]},
    }  # fmt: skip
    result = {"parameters": parameters(model), "steps": 0, "seconds": 0.0, "metrics": {}}
    facts = {"came from": config["imported"]["source"], "form": found.form, "words": f"{words:,}", "width": str(dim)}
    summary = "Word vectors that were learned elsewhere, read by weft from a file."
    card = model_card(folder.path.absolute().name, result, summary=summary, use=f"weft tasks {TASK}", facts=facts)
    tensors = {name: tensor.detach() for name, tensor in model.named_parameters()}
    folder.finish(tensors, {**config, "result": result}, {**codec.files(), "README.md": card})
    return loaded(folder, folder.config(), model.eval()), ()


def export_words(run: Loaded, out: str | Path) -> dict[str, Any]:
    """The vectors of a run in word2vec's form; returns where and what."""
    if not isinstance(run.model, WordVectors):
        problem = f"a run of the task {run.config.get('task')} has no vectors of words"
        raise WeftError(problem, where="--to word2vec", fix=f"export a run of the task {TASK}")
    codec, place = run.codec("word", WordCodec), Path(out)
    if place.exists():
        raise WeftError(
            "there is something already", where=f"--out {shown(place)}", fix="name a file that does not exist"
        )
    write_word_file(place, list(codec.words), run.model.vectors().float().cpu().numpy())
    form = "word2vec binary" if place.suffix == ".bin" else "word2vec text"
    return {"run": str(run.folder.path), "to": "word2vec", "folder": str(out), "model_type": form, "difference": 0.0}
