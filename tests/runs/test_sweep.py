"""A sweep on several machines: each takes a run that nobody holds, and waits for those that others train."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from weft.runs import sweep
from weft.storage.lock import RunLock


def test_two_machines_train_each_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[tuple[str, str]] = []

    def train(out: Path, **words: Any) -> None:
        trained.append((threading.current_thread().name, out.name))
        time.sleep(0.05)
        out.mkdir()
        (out / "model.safetensors").write_bytes(b"weights")
        config = {"result": {"metrics": {"loss": float(out.name[-1])}}}
        (out / "config.json").write_text(json.dumps(config))

    monkeypatch.setattr(sweep, "train", train)
    monkeypatch.setattr(sweep, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(sweep.RunFolder, "config", lambda self: json.loads((self.path / "config.json").read_text()))
    monkeypatch.setattr(sweep, "_refuse_several_processes", lambda: None)
    request = {"words": {"minutes": 1}, "settings": {}, "grid": {"lr": ["1", "2", "3"], "dim": ["8", "9"]}}
    (tmp_path / "sweep.json").write_text(json.dumps(request))
    found: list[sweep.Sweep] = []
    machines = [
        threading.Thread(target=lambda: found.append(sweep.resume_sweep(tmp_path, lambda text: None)), name=name)
        for name in ("one", "two")
    ]
    for one in machines:
        one.start()
    for one in machines:
        one.join()
    names = [name for _, name in trained]
    assert len(names) == len(set(names)) == 6 + 3 + 2 + 1 and {machine for machine, _ in trained} == {"one", "two"}
    assert found[0] == found[1] and not list(tmp_path.glob(".*.lock"))


def test_a_run_that_another_holds_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def one(path: Path, *args: Any) -> str:
        tried.append(path.name)
        if path.name == "1-lr=2":
            held.__exit__(None, None, None)
        return path.name

    held = RunLock(tmp_path, name=".1-lr=1.lock")
    held.__enter__()
    monkeypatch.setattr(sweep, "_one", one)
    monkeypatch.setattr(sweep, "LOOK_EVERY", 0.01)
    assert sweep._round(tmp_path, 1, [{"lr": "1"}, {"lr": "2"}], {}, {}, print) == ["1-lr=1", "1-lr=2"]
    assert tried == ["1-lr=2", "1-lr=1"]
