"""Runs in training, watched from outside; runs that are found while others are served."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.kept_runs import RUNS
from helpers.serving import FINISHED, Running, until
from safetensors.torch import load_file, save_file

from weft.storage.lock import RunLock
from weft.training.folder import RunFolder
from weft.training.seal import FileSeal
from weft.web.scanning import Scanner
from weft.web.table import RunTable
from weft.web.watched import MOST_POINTS, Curve, WatchedRun

BEGUN = RUNS / "language-model" / "begun"


def noted(run: Path, *lines: dict[str, Any]) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_a_long_curve_stays_short_and_keeps_its_mean():
    curve = Curve()
    for step in range(10_000):
        curve.add(step, 1 / (1 + step))
    points = curve.told()
    assert MOST_POINTS // 2 <= len(points) <= MOST_POINTS + 1
    assert points == sorted(points) and points[0][1] > points[1][1] > points[-1][1]


def test_metrics_are_read_as_they_grow_and_damage_costs_a_line(tmp_path: Path):
    run = WatchedRun("it", shutil.copytree(BEGUN, tmp_path / "run"))
    run.update()
    first = run.told(lambda page: "")
    assert [step for step, _ in first["curves"]["loss"]] == [1, 2] and first["end"] == 4
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "loss": 3.0, "held_out": 3.5, "seconds": 0.232}\nnonsense\n[]\n{"step": 4, "lo')
    run.update()
    run.update()
    told = run.told(lambda page: "")
    assert [step for step, _ in told["curves"]["loss"]] == [1, 2, 3] and told["curves"]["held_out"] == [[3, 3.5]]
    assert told["step"] == 3 and told["left"] == pytest.approx((0.232 - 0.066) / 2, abs=1e-3)
    (run.path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.5}\n')
    run.update()
    assert run.told(lambda page: "")["curves"]["loss"] == [[1, 2.5]], "a run that goes on from a checkpoint"


def test_what_the_model_answers_by_now_comes_from_the_newest_checkpoint(tmp_path: Path):
    run = WatchedRun("it", shutil.copytree(BEGUN, tmp_path / "run"))
    before = sorted((path, path.stat().st_mtime_ns) for path in run.path.rglob("*"))
    run.trial()
    told = run.told(lambda page: "/look/x")["tried"]
    assert told["step"] == 2 and told["input"] == "Once upon a" and told["said"].startswith("Once upon a")
    assert told["page"] == "/look/x" and run.tried is not None and run.tried.page is not None
    assert b"<!doctype html>" in run.tried.page
    assert sorted((path, path.stat().st_mtime_ns) for path in run.path.rglob("*")) == before, "nothing is written"
    known = run.tried
    run.trial()
    assert run.tried is known, "a checkpoint is tried once"


def test_runs_are_shown_in_training_and_served_as_they_finish(tmp_path: Path):
    shutil.copytree(FINISHED / "classify-text", tmp_path / "classify-text")
    said: list[str] = []
    run = shutil.copytree(BEGUN, tmp_path / "story")
    with RunLock(run):
        table = RunTable.of([tmp_path])
        assert list(table) == ["classify-text"] and list(table.training) == ["story"]
        scanner, server = Scanner(table, [tmp_path], say=said.append), Running(table)
        try:
            scanner.look()
            known = server.get("/api/training/story").json
            assert known["state"] == "training" and len(known["curves"]["loss"]) == 2
            assert server.get("/api/runs").json["training"] == [{"name": "story", "state": "training"}]
            assert server.post("/api/predict/story", {"input": "a"}).status == 404
            noted(run, {"step": 3, "loss": 2.0, "seconds": 0.2})
            (tmp_path / "broken").mkdir()
            (tmp_path / "broken" / "config.json").write_text("{")
            scanner.look()
            scanner.look()
            assert server.get("/api/training/story").json["step"] == 3
            assert len(said) == 1 and "broken: not served" in said[0]
            for path in (FINISHED / "language-model").iterdir():
                shutil.copy(path, run / path.name)
            scanner.look()
            assert "story" not in table, "its last files may still be written"
        except BaseException:
            server.close()
            raise
    try:
        scanner.look()
        assert list(table) == ["classify-text", "story"] and len(said) == 2
        assert server.get("/api/training").json == {
            "runs": ["classify-text", "story"], "training": [{"name": "story", "state": "finished"}]}  # fmt: skip
        assert server.post("/api/predict/story", {"input": "a", "settings": {"max_tokens": 2}}).status == 200
        assert server.get("/api/runs").json["training"] == [] and server.get("/api/training/x").status == 404
    finally:
        server.close()


def test_a_run_whose_process_has_gone_is_shown_as_stopped(tmp_path: Path):
    run = shutil.copytree(BEGUN, tmp_path / "story")
    with RunLock(run):
        table = RunTable.of([run])
    Scanner(table, [run]).look()
    assert table.training["story"].state == "stopped" and not table


def replaced(run: Path, by: Path) -> None:
    """Another run takes the place of one, file by file, as a training in the same folder writes them."""
    for path in by.iterdir():
        shutil.copy(path, run / path.name)


def test_a_run_that_was_replaced_is_loaded_aside_and_takes_the_place_of_the_old_one(tmp_path: Path):
    run = shutil.copytree(FINISHED / "language-model-sealed", tmp_path / "story")
    table, said = RunTable.of([run]), list[str]()
    scanner, server = Scanner(table, [run], say=said.append), Running(table)
    ask = {"model": "story", "prompt": "Once", "max_tokens": 20, "temperature": 0}
    try:
        old = table["story"]
        first = server.post("/v1/completions", ask).json
        scanner.look()
        assert table["story"] is old and not said, "nothing has changed"
        with server.connected() as made:
            made.sendall(
                server.request("POST", "/v1/completions", {**ask, "max_tokens": 100_000, "stream": True}, None)
            )
            until(lambda: not server.state.engine.idle)
            weights = load_file(run / "model.safetensors")
            config = RunFolder(run).config()
            save_file(
                {name: value * 0.5 for name, value in weights.items()}, run / "model.safetensors", {"format": "pt"}
            )
            scanner.look()
            assert table["story"] is old, "what is not sealed is not taken"
            files = {"model.safetensors": FileSeal.of_file(run / "model.safetensors")}
            RunFolder(run).write_config(config, {**RunFolder(run).seals(), **files})
            scanner.look()
            assert table["story"] is not old and "replaced" in said[0]
            assert server.post("/v1/completions", ask).json["choices"][0]["text"] != first["choices"][0]["text"]
            assert old in [one.served for one in server.state.engine._working], "who has begun goes on with the old one"
        until(lambda: server.state.engine.idle)
        scanner.look()
        assert len(said) == 1
    finally:
        server.close()


def test_a_run_whose_folder_is_cut_short_or_removed_is_answered_as_before(tmp_path: Path):
    run = shutil.copytree(FINISHED / "language-model-sealed", tmp_path / "story")
    table, said = RunTable.of([run]), list[str]()
    scanner, server = Scanner(table, [tmp_path, run], say=said.append), Running(table)
    ask = {"model": "story", "prompt": "Once", "max_tokens": 20, "temperature": 0}
    try:
        known = server.post("/v1/completions", ask).json["choices"]
        with (run / "model.safetensors").open("r+b") as file:
            file.truncate(100)
        scanner.look()
        assert server.post("/v1/completions", ask).json["choices"] == known
        (run / "config.json").write_text("{")
        scanner.look()
        scanner.look()
        assert len(said) == 1 and "story: not served" in said[0]
        assert server.post("/v1/completions", ask).json["choices"] == known
        shutil.rmtree(run)
        scanner.look()
        assert server.post("/v1/completions", ask).json["choices"] == known and list(table) == ["story"]
        assert server.post("/api/look/story", {"input": "Once"}).status == 200
    finally:
        server.close()
