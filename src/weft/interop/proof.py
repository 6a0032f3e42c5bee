"""The proof of an export: the Hugging Face library, in a process of its own, computes what our model computes."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from weft.errors import DataError, WeftError
from weft.interop.families import FAMILIES
from weft.json_text import read_json
from weft.modalities.embedder import Embedder
from weft.modalities.image import PictureEmbed
from weft.modalities.picture_text import PictureTextEmbed
from weft.modalities.text import TextEmbed
from weft.models.dual_encoder import DualEncoder
from weft.models.grounded import Grounded
from weft.models.stream import Model
from weft.storage.tensors import read_tensors, write_tensors

REFERENCE_RUN = Path(__file__).with_name("reference_run.py")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


class Questions(Protocol):
    """What their library is asked about texts or pictures, as reference_run.py knows it, and what it should answer."""

    def asked(self) -> dict[str, Any]: ...

    def compare(self, found: Sequence[Any], folder: Path) -> None: ...


def prove(
    path: str | Path,
    model: Model,
    inputs: Mapping[str, Tensor],
    texts: Sequence[str] = (),
    trial: Questions | None = None,
) -> float:
    """The largest difference between our values and theirs, in fp32.

    The ids of `texts` must be the same, and the answers to the questions of a `trial`. `inputs` go by their names:
    input_ids, attention_mask, decoder_input_ids, pixel_values.
    """
    if importlib.util.find_spec("transformers") is None:
        raise WeftError("transformers is not installed, so the folder cannot be tried", fix="pip install 'weft[hf]'")
    folder = Path(path).absolute()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    family = FAMILIES[config["model_type"]].as_written(config)
    inputs = family.trial(model.config, inputs)
    with torch.inference_mode():
        ours = family.values(model.eval(), inputs)
    with tempfile.TemporaryDirectory() as place:
        files = [Path(place) / name for name in ("inputs.safetensors", "outputs.safetensors")]
        write_tensors(files[0], inputs)
        asked = {"texts": list(texts), **(trial.asked() if trial is not None else {})}
        if texts or trial is not None:
            files += [Path(place) / "asked.json", Path(place) / "answers.json"]
            files[2].write_text(json.dumps(asked), encoding="utf-8")
        run_reference(REFERENCE_RUN, folder, files, who="the Hugging Face library", where=str(folder))
        found = json.loads(files[3].read_text(encoding="utf-8")) if len(files) > 2 else {}
        theirs = read_tensors(files[1])["values"]
    if texts:
        _compare_ids(folder, texts, found["ids"])
    if trial is not None:
        trial.compare(found["answers"], folder)
    return _difference(ours, theirs, inputs.get("attention_mask"), folder)


def _difference(ours: Tensor, theirs: Tensor, mask: Tensor | None, folder: Path) -> float:
    if theirs.shape != ours.shape:
        raise DataError(f"values of shape {list(theirs.shape)} instead of {list(ours.shape)}", where=str(folder))
    apart = (theirs - ours.float()).abs()
    if mask is not None and apart.ndim == 3 and apart.shape[:2] == mask.shape:
        apart = apart[mask.bool()]  # what stands at padding means nothing, here or there
    return float(apart.max())


def trial_inputs(model: Model, vocab: int | None = None, marks: Collection[int] = ()) -> dict[str, Tensor]:
    """Inputs that both libraries are tried with, by their names there; ids are below `vocab` where it is given.

    None of the `marks` is among the ids, nor an id that fills: some models there count no place for it.
    """
    draw, config = np.random.default_rng(0), model.config
    embed, target = config.reader().embed, getattr(config, "target", None)

    def ids(size: int | None, length: int) -> Tensor:
        known = np.arange(size or 2)
        words = np.setdiff1d(known, np.array([*marks, _padding(embed)], np.int64))
        return torch.from_numpy(draw.choice(words if len(words) else known, (2, length)))

    if isinstance(embed, PictureTextEmbed.Config):
        picture, text = embed.picture, embed.text
        shape = (2, picture.channels, *(side * picture.stride for side in picture.grid))
        inputs = {"pixel_values": torch.from_numpy(draw.normal(size=shape)).float()}
        inputs |= _masked(ids(vocab or text.vocab, min(16, text.context)))
    elif isinstance(embed, PictureEmbed.Config):
        shape = (2, embed.channels, *(side * embed.stride for side in embed.grid))
        inputs = {"pixel_values": torch.from_numpy(draw.normal(size=shape)).float()}
        source = getattr(config, "source", None)
        if isinstance(source, Grounded.Config):
            inputs |= _masked(ids(vocab or source.embed.vocab, min(16, source.embed.context)))
        if isinstance(config, DualEncoder.Config):
            inputs |= _ended_ids(config.text.embed, ids, vocab)
    else:
        assert isinstance(embed, TextEmbed.Config)
        inputs = {"input_ids": ids(vocab or embed.size, min(16, embed.context))}
        if embed.end is not None:  # what stands behind an end is nothing here
            inputs["input_ids"].masked_fill_(inputs["input_ids"] == embed.end, int(embed.end == 0))
        if embed.reading == "free" and target is None:
            inputs = _masked(inputs["input_ids"])
    return inputs if target is None else {**inputs, "decoder_input_ids": ids(target.embed.size, 7)}


def _masked(ids: Tensor) -> dict[str, Tensor]:
    """Ids of which the second half of the second row is padding."""
    mask = torch.ones_like(ids)
    mask[1, ids.shape[1] // 2 :] = 0
    return {"input_ids": ids, "attention_mask": mask}


def _padding(embed: Any) -> int:
    """The id whose tokens their library gives no place, which no text contains; -1 where all have places."""
    return getattr(getattr(getattr(embed, "place", None), "code", None), "start", 0) - 1


def _ended_ids(
    embed: Embedder.Config, ids: Callable[[int | None, int], Tensor], vocab: int | None
) -> dict[str, Tensor]:
    """Ids of two texts, which end at different places where the model knows an end mark."""
    assert isinstance(embed, TextEmbed.Config)
    found = ids(vocab or embed.vocab, min(16, embed.context))
    if embed.end is not None:
        found[0, -1] = found[1, found.shape[1] // 2] = embed.end
    return {"input_ids": found}


def run_reference(script: Path, folder: Path, files: Sequence[Path], *, who: str, where: str) -> None:
    """Let a script that knows nothing of weft open the folder, in a process of its own."""
    command = [sys.executable, "-I", str(script), str(folder), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **OFFLINE})
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise DataError(f"{who} cannot use the folder: {last:.400}", where=where)


def _compare_ids(folder: Path, texts: Sequence[str], found: list[list[int]]) -> None:
    from tokenizers import Tokenizer

    text = (folder / "tokenizer.json").read_text(encoding="utf-8")
    read_json(text, where="tokenizer.json")
    library = Tokenizer.from_str(text)
    for text, ids in zip(texts, found, strict=True):
        if library.encode(text, add_special_tokens=False).ids != ids:
            raise DataError(f"the Hugging Face library reads other ids from {text!r:.60}", where=str(folder))
