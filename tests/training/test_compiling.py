"""When blocks are compiled: long runs, except where native operators compute them."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.tiny import language_model

from weft.training import compiling
from weft.training.settings import Training
from weft.training.world import World


def job(name: str, seconds: float | None, **settings: Any) -> Any:
    training = Training(**{"precision": "fp32", **settings})
    device = torch.device("cpu")
    model = language_model(name)
    return SimpleNamespace(model=model, training=training, seconds=seconds, device=device, world=World())


def test_long_runs_are_compiled_unless_native_code_computes_their_steps(monkeypatch: pytest.MonkeyPatch):
    long = compiling.MIN_COMPILED_SECONDS
    monkeypatch.setattr(compiling, "library", lambda: None)
    assert compiling.compiles(job("swift", long))
    assert not compiling.compiles(job("swift", long - 1)) and not compiling.compiles(job("swift", None))
    monkeypatch.setattr(compiling, "library", lambda: "some library")
    assert not compiling.compiles(job("swift", long))
    assert compiling.compiles(job("swift", long, precision="bf16")), "native operators are fp32"
    assert compiling.compiles(job("gpt", long)), "its norms have gains"
    assert compiling.compiles(job("swift", None, compile="always"))
    assert not compiling.compiles(job("gpt", long, compile="never"))
