"""weft runs: what is listed, compared, removed and verified; sweeps; the words of weft train in a file."""

import json
import sys
from pathlib import Path

import pytest
import torch
from helpers import processes

from weft.cli.config_file import with_file
from weft.errors import ConfigError, WeftError
from weft.runs import sweep as sweeps
from weft.runs.cleaning import clean_run
from weft.runs.comparing import compare
from weft.runs.listing import list_runs
from weft.runs.ranking import deciding, score
from weft.training.checkpoint import save_checkpoint
from weft.training.folder import RunFolder

CONFIG = {"task": "language-model", "model_name": "gpt", "data": {"described": "book.txt (3 kB)"}, "codecs": {},
          "from": None, "budget": {"steps": 5, "minutes": None, "epochs": None}, "fingerprint": "ab", "preset": None,
          "model": {}, "objective": {}}  # fmt: skip


def made(path: Path, *, lr: float = 0.1, loss: float = 2.0, finished: bool = True) -> Path:
    """A run folder with a checkpoint, as a training of five steps leaves it."""
    folder, tensors = RunFolder(path), {"w": torch.ones(3)}
    path.mkdir(parents=True)
    config = {**CONFIG, "training": {"type": "Training", "lr": lr, "batch": 4}}
    folder.begin(config, {})
    lines = [{"step": step, "loss": 3.0, "seconds": 60.0 * step, "held_out": loss} for step in (1, 5)]
    folder.write("metrics.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    save_checkpoint(path, 5, {"model": tensors}, {})
    if finished:
        result = {
            "parameters": 3,
            "steps": 5,
            "seconds": 300.0,
            "metrics": {"loss": loss},
            "intervals": {"loss": [1, 3]},
        }
        folder.finish(tensors, {**config, "result": result}, {})
    return path


def test_runs_are_listed_with_what_they_learned_and_how_far_they_came(tmp_path: Path):
    made(tmp_path / "done")
    made(tmp_path / "half", finished=False)
    (made(tmp_path / "bad") / "config.json").write_text("{")
    (tmp_path / "no run").mkdir()
    (tmp_path / "exported").mkdir()
    (tmp_path / "exported/config.json").write_text('{"model_type": "gpt2"}')
    found = {Path(entry.run).name: entry for entry in list_runs([tmp_path])}
    assert sorted(found) == ["bad", "done", "half"]
    assert {name: entry.state for name, entry in found.items()} == {
        "bad": "damaged",
        "done": "finished",
        "half": "stopped",
    }
    done, half = found["done"], found["half"]
    assert (done.task, done.model, done.data, done.steps) == ("language-model", "gpt", "book.txt (3 kB)", 5)
    assert done.metrics == {"loss": 2.0} and done.bytes > 500
    assert (half.steps, half.seconds, half.metrics) == (5, 300.0, {})
    assert "JSON" in found["bad"].problem or found["bad"].problem


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(WeftError, match="no such folder"):
        list_runs(["nowhere"])


def test_a_comparison_has_what_differs_and_nothing_else(tmp_path: Path):
    found = compare([made(tmp_path / "a"), made(tmp_path / "b", lr=0.2, loss=1.5)])
    assert found.settings == {"lr": (0.1, 0.2)}
    assert found.metrics == {"loss": (2.0, 1.5)} and found.intervals == {"loss": ((1, 3), (1, 3))}
    assert found.curves == {"a": [(1.0, 2.0), (5.0, 2.0)], "b": [(1.0, 1.5), (5.0, 1.5)]}
    assert found.remarks == ()
    assert found.picture("svg").lstrip().startswith(b"<")


def test_cleaning_removes_the_checkpoints_of_whole_finished_runs_only(tmp_path: Path):
    done, half, changed = made(tmp_path / "a"), made(tmp_path / "b", finished=False), made(tmp_path / "c")
    weights = bytearray((changed / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (changed / "model.safetensors").write_bytes(weights)
    assert clean_run(done, dry=True).bytes > 0 and (done / "checkpoints").exists()
    found = clean_run(done)
    assert found.checkpoints == 1 and found.bytes > 0 and not (done / "checkpoints").exists()
    assert clean_run(done).bytes == 0
    for kept, why in ((half, "not finished"), (changed, "changed since")):
        assert why in clean_run(kept).kept and (kept / "checkpoints").exists()
    assert RunFolder(done).weights()["w"].tolist() == [1.0, 1.0, 1.0]


def test_a_sweep_halves_until_one_is_left():
    assert [sweeps.rounds(n) for n in (1, 2, 3, 6)] == [[1], [2, 1], [3, 2, 1], [6, 3, 2, 1]]


def test_several_values_are_a_grid_and_lists_are_not(tmp_path: Path):
    words = {"task": "language-model", "model": "gpt,swift"}
    assert sweeps.several(words, {"lr": "1e-3, 3e-3", "batch": "8"}) == {
        "model": ["gpt", "swift"],
        "lr": ["1e-3", "3e-3"],
    }
    assert sweeps.several({"task": "language-model"}, {"learned": "a,b"}) == {}
    with pytest.raises(ConfigError, match="different values"):
        sweeps.several({"task": "language-model"}, {"lr": "1,1"})


def test_a_sweep_keeps_the_better_half_and_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch):
    trained: list[tuple[str, float]] = []

    def train(*, out: Path, minutes: float, lr: str, **_) -> None:
        trained.append((lr, minutes))
        made(out, lr=float(lr), loss=abs(float(lr) - 0.3))

    monkeypatch.setattr(sweeps, "train", train)
    words = {"data": ["book.txt"], "minutes": 12.0}
    done = sweeps.sweep(words, {}, {"lr": ["0.1", "0.2", "0.3"]}, out=tmp_path / "s", say=lambda text: None)
    assert done.best.words == {"lr": "0.3"} and done.measure == "loss"
    assert trained == [("0.1", 4 / 3), ("0.2", 4 / 3), ("0.3", 4 / 3), ("0.3", 2.0), ("0.2", 2.0), ("0.3", 4.0)]
    trained.clear()
    assert sweeps.is_sweep(tmp_path / "s")
    assert sweeps.resume_sweep(tmp_path / "s", lambda text: None) == done and trained == []
    with pytest.raises(WeftError, match="a sweep needs a time"):
        sweeps.sweep({}, {}, {"lr": ["1", "2"]}, out=tmp_path / "t", say=lambda text: None)


def test_a_file_says_the_same_words_and_what_is_typed_wins(tmp_path: Path):
    file = tmp_path / "run.toml"
    file.write_text(
        'data = "book.txt"\nminutes = 5\nfrom = "runs/a"\nseed = 3\n'
        "[set]\nlr = [1e-3, 3e-3]\n[set.augment]\nflip = true\n"
    )
    words, settings = with_file(file, {"minutes": 1.0}, {"lr": "0.1"})
    assert words == {"data": ["book.txt"], "minutes": 1.0, "from_": "runs/a"}
    assert settings == {"lr": "0.1", "augment.flip": "true", "seed": 3}
    assert with_file(file, {}, {})[1]["lr"] == "0.001,0.003"


@pytest.mark.parametrize(
    "text, said", [("minuts = 5", "minutes"), ("minutes = 'x'", "minutes"), ("[", "TOML"), ("set = 3", "table")]
)
def test_a_file_with_a_mistake_is_refused_with_its_place(tmp_path: Path, text: str, said: str):
    file = tmp_path / "run.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="run.toml") as caught:
        with_file(file, {}, {})
    assert said in str(caught.value)


def test_accuracy_decides_before_the_loss_and_more_is_better():
    assert deciding({"loss": 1.0, "accuracy": 0.5}) == "accuracy" and deciding({"loss": 1.0}) == "loss"
    assert score({"loss": 1.0}) > score({"loss": 2.0}) and score({"accuracy": 0.6}) > score({"accuracy": 0.5})


def test_listing_and_comparing_runs_load_no_torch(tmp_path: Path):
    made(tmp_path / "a")
    made(tmp_path / "b", lr=0.2)
    code = (
        "import sys; from weft.runs.comparing import compare; from weft.runs.listing import list_runs; "
        "names = [run.run for run in list_runs(sys.argv[1:])]; assert len(names) == 2; compare(names); "
        "print('torch' in sys.modules)"
    )
    done = processes.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
