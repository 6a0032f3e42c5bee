"""The memory and the traffic that a plan states, against torch's fake process group and its memory tracker."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import processes
from helpers.tiny import language_model, pictures, vision_model

from weft.batches.samples import AtTokens, Classes, EvenIds, Samples
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import NextToken
from weft.objectives.classify import Classify
from weft.training.footprint import Footprint, footprint
from weft.training.optimizer import Optimizer
from weft.training.precision import Weights
from weft.training.schedule import Budget
from weft.training.settings import Training
from weft.training.work import Work

SIMULATION = Path(__file__).parents[1] / "helpers" / "many_ranks.py"
WIDTH, DEPTH, HEADS, VOCAB, ROWS, CONTEXT = 512, 6, 8, 16_000, 2, 512


def planned(devices: int, *, parallel: str = "shard", **training: Any) -> Footprint:
    model = LANGUAGE_MODELS["llama"](Size(dim=WIDTH, depth=DEPTH, heads=HEADS, context=CONTEXT), vocab=VOCAB)
    ids = torch.zeros(ROWS, CONTEXT, dtype=torch.int64)
    settings = Training(**{"optimizer": "adamw", "parallel": parallel, **training})
    work = Work(model, NextToken.Config(chunk=settings.loss_chunk), None, settings, Budget(steps=1))  # type: ignore[arg-type]
    batch = Samples(EvenIds(ids), AtTokens(ids))
    return footprint(work, batch, devices=devices, dtype=torch.bfloat16)


@pytest.mark.slow
@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("ranks", [8, 64, 1024])
def test_a_plan_is_what_the_simulation_of_many_ranks_finds(ranks: int, recompute: bool) -> None:
    sizes = {"dim": WIDTH, "depth": DEPTH, "heads": HEADS, "vocab": VOCAB, "rows": ROWS, "context": CONTEXT}
    words = json.dumps({**sizes, "ranks": ranks, "recompute": recompute})
    done = processes.run([sys.executable, str(SIMULATION), words], capture_output=True, text=True, check=True)
    found, plan = json.loads(done.stdout.splitlines()[-1]), planned(ranks, recompute=recompute)
    assert plan.parameters == found["parameters"]
    assert plan.network == pytest.approx(found["network"], rel=0.05)
    assert plan.memory == pytest.approx(found["memory"], rel=0.05)


def test_recomputing_and_chunks_take_less_and_processes_share() -> None:
    plain, again, chunks, many = (
        planned(1), planned(1, recompute=True), planned(1, loss_chunk=64), planned(8)
    )  # fmt: skip
    assert again.activations is not None and plain.activations is not None
    assert again.activations < plain.activations / 2 and again.operations == pytest.approx(plain.operations * 4 / 3)  # type: ignore[operator]
    assert chunks.loss < plain.loss and chunks.memory < plain.memory
    assert many.weights == plain.weights / 8 and many.network > 0 == plain.network
    copies, mixed = planned(8, parallel="replicate"), planned(8, replicas=2)
    assert copies.weights == plain.weights and copies.gathered > many.gathered
    assert mixed.weights == plain.weights / 4 and copies.network < mixed.network
    assert planned(1, optimizer="muon").optimizer < plain.optimizer


@pytest.mark.parametrize("name", ["llama", "resnet"])
def test_a_plan_counts_one_number_of_each_weight_that_muon_updates(name: str) -> None:
    if name == "llama":
        model, objective = language_model(name), NextToken.Config()
        batch = Samples(EvenIds(torch.zeros(2, 8, dtype=torch.int64)), AtTokens(torch.zeros(2, 8, dtype=torch.int64)))
    else:
        model, objective = vision_model(name), Classify.Config()
        batch = Samples(pictures(2), Classes(torch.tensor([0, 1])))

    def remembered(rule: str) -> float:
        work = Work(model.config, objective, None, Training(optimizer=rule), Budget(steps=1))  # type: ignore[arg-type]
        return footprint(work, batch).optimizer

    made = Optimizer(Weights(model, torch.float32), Training(optimizer="muon"), fast=torch.float32)
    hidden = sum(made.weights.master[one].numel() for one in made.hidden)
    assert hidden and remembered("adamw") - remembered("muon") == 4 * hidden
