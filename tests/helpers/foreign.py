"""Small models of the Hugging Face library, with random weights, and folders of them."""

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import torch

from weft.generate.sampling import Sampling, generator
from weft.generate.search import Drawing, Line, search
from weft.generate.session import Session
from weft.models.stream import Model, Stream

os.environ["HF_HUB_OFFLINE"] = "1"
TOLERANCE = 1e-5  # in fp32
NO_TOKENIZER = "no tokenizer.json: texts have to be given as ids"  # what is said of the folders of these tests


def library():
    """The transformers library; the test is skipped where it is not installed."""
    return pytest.importorskip("transformers", reason="transformers is not installed")


def randomised(model: torch.nn.Module) -> torch.nn.Module:
    """All weights drawn anew, biases and norms too, so that none could be left out unseen."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.requires_grad:  # sinusoids
                continue
            from_one = (
                name.endswith(("norm.weight", ".excess")) and not weight.any()
            )  # gains stored by the excess over one
            weight.normal_(std=0.15)
            if from_one:
                continue
            if "norm" in name or "ln_" in name or name.endswith("gain"):
                weight.add_(1.0)
    return model.eval()


def built(architecture: str, keys: dict[str, Any]):
    """A model of their library with random weights, among them those that start as constants."""
    kind = getattr(library(), architecture)
    torch.manual_seed(1)
    model = unsettled(randomised(kind(kind.config_class(**keys))))
    if architecture == "ViTMAEForPreTraining":
        model.decoder.decoder_pos_embed.data[:, 0] = 0.0  # as it is always
    if "final_logits_bias" in dict(model.named_buffers()):
        model.final_logits_bias.normal_()
    return model


def unsettled(model):
    """The model with other statistics of batches than those it starts with."""
    for name, buffer in model.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_()
        if name.endswith("running_var"):
            buffer.uniform_(2.0, 8.0)
        if name.endswith("num_batches_tracked"):
            buffer.fill_(7)
    return model


def saved(model, folder: Path, **options) -> Path:
    """A folder as their library writes it."""
    model.save_pretrained(folder, **options)
    return folder


def changed(folder: Path, name: str = "config.json", **keys) -> Path:
    """The folder with keys of one of its JSON files changed; None takes a key out."""
    path = folder / name
    data = {**json.loads(path.read_text()), **keys}
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))
    return folder


def greedy(model: Stream, prompt: list[int], tokens: int, *, end: int = -1, memory=None) -> list[int]:
    """The likeliest continuation, by weft's own search."""
    line = Line(prompt, end, tokens, generator(0, prompt, 0))
    search(Session(model, memory=memory), [prompt], Drawing([line], Sampling(temperature=0.0)))
    return line.ids


def difference(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference between two tensors of one shape."""
    assert a.shape == b.shape
    return float((a - b).abs().max())


def same_files(a: Path, b: Path, but: Collection[str] = ()) -> bool:
    """Whether two folders hold the same files, byte for byte, `but` some."""
    names = [sorted(path.name for path in folder.iterdir() if path.name not in but) for folder in (a, b)]
    return names[0] == names[1] and all((a / n).read_bytes() == (b / n).read_bytes() for n in names[0])


def perturbed(config: Model.Config) -> Model:
    """A model of ours with all weights drawn at random."""
    return randomised(config.build())
