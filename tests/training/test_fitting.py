"""How a step is made to fit into memory: the same run, with less held at once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.trials import EVERY, train

import weft
from weft.batches.samples import AtTokens, EvenIds, PaddedIds, Samples
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import NextToken, TargetToken
from weft.objectives.token_loss import MANY_LOGITS
from weft.training.fitting import in_chunks
from weft.training.settings import Training


class Tokens:
    """A source whose samples are of so many tokens."""

    fingerprint, per_epoch = "none", 100

    def __init__(self, tokens: int):
        self.tokens = tokens

    def batch(self, indices: np.ndarray) -> Any:
        ids = torch.zeros(len(indices), self.tokens, dtype=torch.int64)
        return Samples(EvenIds(ids), AtTokens(ids))


def model(vocab: int) -> Any:
    return LANGUAGE_MODELS["llama"](Size(dim=16, depth=1, heads=2, context=16), vocab=vocab)


def test_a_loss_is_in_chunks_where_its_logits_are_many() -> None:
    tokens = MANY_LOGITS // 2**18 // 4
    chosen = in_chunks(NextToken.Config(), model(2**18), Training(batch=4), Tokens(tokens))  # type: ignore[arg-type]
    assert chosen.chunk is not None and chosen.chunk * 2**18 < MANY_LOGITS
    for fewer in (Training(batch=3), Training(batch=4, micro=2)):
        assert in_chunks(NextToken.Config(), model(2**18), fewer, Tokens(tokens)).chunk is None  # type: ignore[arg-type]
    given = in_chunks(TargetToken.Config(), model(32), Training(loss_chunk=5), Tokens(1))  # type: ignore[arg-type]
    assert given.chunk == 5


def test_target_tokens_are_counted_without_padding() -> None:
    class Pairs(Tokens):
        def batch(self, indices: np.ndarray) -> Any:
            long = PaddedIds(torch.zeros(1, 2**9 + 1, dtype=torch.int64), torch.tensor([2**9 + 1]))
            return Samples(long, long if self.tokens else PaddedIds(long.ids, torch.tensor([2**9])))

    for real, chunked in ((1, True), (0, False)):
        found = in_chunks(TargetToken.Config(), model(2**18), Training(), Pairs(real))  # type: ignore[arg-type]
        assert (found.chunk is not None) == chunked


@pytest.mark.parametrize("task", ["language-model", pytest.param("translate", marks=pytest.mark.slow)])
def test_a_run_in_less_memory_is_the_same_run(task: str, tmp_path: Path) -> None:
    trial = EVERY[task]
    given: dict[str, Any] = {**trial.drawn, "precision": "fp32"}
    plain, again, chunks = (
        train(task, trial.data, out=tmp_path / name, **given, **more)
        for name, more in (("plain", {}), ("again", {"recompute": True}), ("chunks", {"loss_chunk": 3}))
    )
    assert losses(plain) == losses(again) and chunks.config["objective"]["chunk"] == 3
    assert losses(chunks) == pytest.approx(losses(plain), rel=1e-5)


def losses(run: weft.Run) -> list[float]:
    return [line["loss"] for line in run.metrics]
