"""What is done with a run in a process of its own: it is opened and answers, or goes on and ends.

These functions are called by name through `fresh`. They import weft when they are called, and nothing of it before.
"""

import hashlib
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

from helpers.kept_runs import DATA, FIXTURES, KEPT, LINKED, PIXELS, STEPS


def answered(folder: str, name: str) -> dict[str, Any]:
    """What a finished run of a kept kind answers and how it measures its own data."""
    import weft

    kept, run = KEPT[name], weft.load(folder)
    answers = plain(run.predict(kept.input, **kept.predict))
    return {"answers": answers, "metrics": plain(run.evaluate(kept.data, baselines=False)["metrics"])}


def resumed(folder: str, name: str) -> dict[str, Any]:
    """How a begun run of a kept kind ends, and what it answers then."""
    import weft

    kept = KEPT[name]
    run = weft.train(kept.data, out=folder, resume=True, quiet=True)
    answers = plain(run.predict(kept.input, **kept.predict))
    return {
        "losses": [line["loss"] for line in run.metrics],
        "metrics": plain(run.report["metrics"]),
        "answers": answers,
        **weights_of(Path(folder)),
    }


def started(out: str, name: str, begins: dict[str, str]) -> list[str]:
    """Train a linked run that begins with the runs in some folders; returns what its config.json says it began with."""
    import weft

    linked = LINKED[name]
    data = [str(DATA / file) for file in linked.files]
    how = {**linked.settings, **begins, "steps": STEPS, "evaluate_every": 100, "precision": "fp32", "baselines": False}
    weft.train(data, task=linked.task, out=out, quiet=True, **how)
    config = json.loads((Path(out) / "config.json").read_text(encoding="utf-8"))
    return sorted(f"{word}: {one['task']}" for word, one in config["began_with"].items())


def mixed(out: str, runs: list[str], data: list[str]) -> str:
    """Make a soup of runs; returns its kind."""
    from weft.runs.soup import soup

    return soup(runs, out, data=data).config["soup"]["kind"]


def predicted(folder: str, given: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """The task of a run or of a folder of another library, and what it answers or how it refuses to."""
    import weft
    from weft.errors import WeftError

    run = weft.load(folder)
    try:
        answers = plain(run.predict(with_pixels(given), **settings))
    except WeftError as error:
        return {"task": run.config["task"], "refused": error.problem}
    return {"task": run.config["task"], "answers": answers}


def embedded(folder: str, given: Any) -> Any:
    """The vectors of an input, summed up."""
    import weft

    return plain(np.asarray(weft.load(folder).embed([with_pixels(given)])))


def imported(source: str, out: str) -> dict[str, Any]:
    """Import a model of another library; returns what config.json says of its use."""
    from weft.runs.importing import import_run

    import_run(source, out)
    config = json.loads((Path(out) / "config.json").read_text(encoding="utf-8"))
    codecs = {end: codec["type"] for end, codec in config["codecs"].items()}
    objective = config["objective"]
    return {"task": config["task"], "codecs": codecs, "objective": None if objective is None else objective["type"]}


def known_after(config: dict[str, Any]) -> tuple[bool, list[str]]:
    """Whether the settings of a run's task are known once its config.json is read, and the names of all known parts."""
    import weft.config
    from weft.domains.registry import task_of

    task = task_of(config, "config.json")
    known = list(weft.config._parts)
    return task is not None and task.training.__name__ in known, known


def with_pixels(given: Any) -> Any:
    """An input, with a picture for the word "pixels"."""
    if isinstance(given, dict):
        return {key: with_pixels(value) for key, value in given.items()}
    return PIXELS if isinstance(given, str) and given == "pixels" else given


def weights_of(folder: Path) -> dict[str, Any]:
    """The weights of a run: two means of each tensor, and a digest of all with the kind of machine it holds on."""
    from safetensors.numpy import load_file

    tensors, digest = load_file(folder / "model.safetensors"), hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + str(tensors[name].shape).encode() + tensors[name].tobytes())
    means = {name: summed(tensors[name]) for name in sorted(tensors)}
    return {"weights": means, "digest": digest.hexdigest()[:16], "machine": machine()}


def machine() -> str:
    """What decides the last bits of sums: the processor, its instruction set and the versions that compute."""
    import torch

    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    processor = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    parts = (platform.machine(), processor, torch.backends.cpu.get_cpu_capability(), torch.__version__, np.__version__)
    return ", ".join(parts)


def summed(values: np.ndarray) -> list[float]:
    """The mean of an array, and its mean along a ramp from -1 to 1."""
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    if not flat.size:
        return [0.0, 0.0]
    return [round(float(flat.mean()), 6), round(float((flat * np.linspace(-1, 1, flat.size)).mean()), 6)]


def plain(value: Any) -> Any:
    """Answers as JSON has them: arrays are summed up, and paths are told from the folder of fixtures."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "means": summed(value)}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return round(value, 6) if np.isfinite(value) else str(value)
    if isinstance(value, str | Path):
        return str(value).replace(f"{FIXTURES}/", "")
    return value if value is None or isinstance(value, bool | int) else repr(type(value))
