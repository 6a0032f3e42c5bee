"""Model soups: the weights of several runs averaged (Wortsman et al., 2022), measured, and written as a run.

Uniform: all of them. Greedy: the best first, then each that does no harm on held-out data. The better one is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weft.errors import ConfigError, WeftError
from weft.files.writing import refuse_output
from weft.models.adapted import has_adapters, merged
from weft.runs.ranking import deciding, score
from weft.runs.run import Run, open_run
from weft.storage.store import make_folder
from weft.tasks.planning import files_of
from weft.tasks.request import Loaded
from weft.tasks.using import evaluate
from weft.training.card import model_card
from weft.training.folder import RunFolder, check_place
from weft.training.naming import fresh_folder
from weft.training.precision import Weights
from weft.training.progress import Progress
from weft.training.run import parameters


def soup(
    runs: Sequence[str | Path], out: str | Path | None = None, *, data: Sequence[str] = (), quiet: bool = True
) -> Run:
    """Average runs of one model; measured on `data`, by default on the held-out part of the first run's own."""
    if len(runs) < 2:
        raise WeftError(f"expected two runs or more, found {len(runs)}", where="weft soup")
    if out is not None:
        check_place(RunFolder(out), resume=False)
        refuse_output(out, runs=map(Path, runs), option="--out")
    loaded = [_plain(open_run(run)) for run in runs]
    for other, name in zip(loaded[1:], runs[1:], strict=True):
        _check_same(loaded[0], other, str(name))
    progress = Progress(quiet=quiet)
    scores: list[float] = []
    for one, name in zip(loaded, runs, strict=True):
        scores.append(_score(loaded[0], _weights(one), data))
        progress.say(f"  {name}: {_shown(scores[-1])}")
    every = [_weights(one) for one in loaded]
    uniform = _mean(every)
    uniform_score = _score(loaded[0], uniform, data)
    progress.say(f"  uniform soup of {len(runs)}: {_shown(uniform_score)}")
    chosen, greedy, greedy_score = _greedy(loaded[0], every, scores, data)
    progress.say(f"  greedy soup of {len(chosen)}: {_shown(greedy_score)}")
    best = uniform if uniform_score >= greedy_score else greedy
    report = {
        "members": [str(Path(run).absolute()) for run in runs],
        "kind": "uniform" if best is uniform else "greedy",
        "chosen": [str(Path(runs[i]).absolute()) for i in (range(len(runs)) if best is uniform else chosen)],
        "measure": _measure(loaded[0]),
        "scores": [round(score, 6) for score in scores],
        "uniform": round(uniform_score, 6),
        "greedy": round(greedy_score, 6),
        "gain": round(max(uniform_score, greedy_score) - max(scores), 6),
    }
    return _write(loaded[0], best, report, out, data)


def _greedy(
    first: Loaded, every: Sequence[Mapping[str, Tensor]], scores: Sequence[float], data: Sequence[str]
) -> tuple[list[int], Mapping[str, Tensor], float]:
    order = sorted(range(len(every)), key=lambda i: -scores[i])
    chosen, score = [order[0]], scores[order[0]]
    for i in order[1:]:
        tried = _score(first, _mean([every[j] for j in [*chosen, i]]), data)
        if tried >= score:
            chosen, score = [*chosen, i], tried
    return chosen, _mean([every[i] for i in chosen]), score


def _plain(run: Loaded) -> Loaded:
    """With adapters folded into the weights, so that averages mean something."""
    if not has_adapters(run.model):
        return run
    model = merged(run.model)
    config: Any = model.config
    return replace(run, model=model, config={**run.config, "model": config.to_json()})


def _check_same(first: Loaded, other: Loaded, name: str) -> None:
    """Refuse runs whose weights do not mean the same."""
    same_model = first.model.config == other.model.config
    for same, what in ((first.config.get("task") == other.config.get("task"), "task"), (same_model, "model")):
        if not same:
            raise ConfigError(f"its {what} is not that of the first run", where=name, fix="average runs of one kind")
    for end, codec in first.codecs.items():
        if not codec.same(other.codecs.get(end)):
            raise ConfigError(
                f"its {end} is not encoded as in the first run", where=name, fix="average runs of one kind"
            )


def _weights(run: Loaded) -> dict[str, Tensor]:
    return dict(Weights(run.model, torch.float32).tensors())


def _mean(several: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each weight; counts and the like, which are whole numbers, are the first's."""
    first = several[0]
    return {
        name: torch.stack([one[name].double() for one in several]).mean(0).to(t.dtype) if t.is_floating_point() else t
        for name, t in first.items()
    }


def _measure(run: Loaded) -> str:
    return deciding(run.config.get("result", {}).get("metrics", {}))


def _score(run: Loaded, weights: Mapping[str, Tensor], data: Sequence[str]) -> float:
    """How good weights are, more is better."""
    kept = _weights(run)
    held = {name: t.clone() for name, t in kept.items()}
    Weights(run.model, torch.float32).load(dict(weights))
    try:
        metrics = evaluate(Run(run).task, run, list(data), Progress(quiet=True))[0].metrics
    finally:
        Weights(run.model, torch.float32).load(held)
    return score(metrics, _measure(run))


def _shown(score: float) -> str:
    return f"{abs(score):.4g}"


def _write(
    first: Loaded, weights: Mapping[str, Tensor], report: Mapping[str, Any], out: Any, data: Sequence[str]
) -> Run:
    folder = RunFolder(out if out is not None else fresh_folder("soup"))
    make_folder(folder.path)
    Weights(first.model, torch.float32).load(dict(weights))
    measured, _ = evaluate(Run(first).task, first, list(data), Progress(quiet=True))
    result = {"parameters": parameters(first.model), "steps": 0, "seconds": 0.0, "metrics": dict(measured.metrics)}
    facts = {
        "members": ", ".join(Path(m).name for m in report["chosen"]),
        "soup": str(report["kind"]),
        report[
            "measure"
        ]: f"{abs(max(report['uniform'], report['greedy'])):.4g}, best member {abs(max(report['scores'])):.4g}",
    }
    card = model_card(folder.path.absolute().name, result, use=f"weft evaluate {folder.path}", facts=facts,
                      summary="The mean of the weights of several runs, made by weft.")  # fmt: skip
    config = {**first.config, "from": None, "soup": dict(report), "result": result}
    kept = {name: first.folder.content(name) for name in Run(first).task.keeps if (first.folder.path / name).exists()}
    folder.finish(weights, config, {**files_of(first.codecs), **kept, "README.md": card})
    return Run(replace(first, folder=folder, config=folder.config()))
