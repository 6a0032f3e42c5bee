"""Sealed runs: a change of any file that decides answers is refused while it is read, by every command."""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from helpers.commands import TINY_SETTINGS, Weft, text
from helpers.seals import unsealed
from helpers.stops import stopped_in
from safetensors.torch import load_file, save_file

import weft as weft_
from weft.errors import ConfigError, StorageError, WeftError
from weft.runs.verifying import verify_run
from weft.storage import store
from weft.storage.lock import RunLock
from weft.tasks.request import Measured
from weft.training.base_run import BaseRun
from weft.training.folder import RunFolder
from weft.training.seal import FileSeal

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"


@pytest.fixture(scope="module", autouse=True)
def brief() -> Iterator[None]:
    """Short samples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.domains.texts.language_model.SAMPLE", 5)
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small finished run."""
    folder = tmp_path_factory.mktemp("sealed")
    (folder / "book.txt").write_text(text())
    weft_.train(folder / "book.txt", out=folder / "run", steps=2, quiet=True, **TINY_SETTINGS)
    return folder / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def flips(path: Path, count: int, seed: int) -> Iterator[int]:
    """The file with one bit changed, and then as it was again, over and over."""
    before = path.read_bytes()
    for bit in random.Random(seed).sample(range(8 * len(before)), count):
        flip(path, bit)
        yield bit
        path.write_bytes(before)


def unnoticed(run: Path, name: str, read: Callable[[RunFolder], object], count: int, seed: int) -> list[int]:
    """The flipped bits with which a run is read all the same; any other error than a WeftError fails the test."""
    missed = []
    for bit in flips(run / name, count, seed):
        try:
            read(RunFolder(run))
            missed.append(bit)
        except WeftError:
            pass
    read(RunFolder(run))
    return missed


READ: dict[str, Callable[[RunFolder], object]] = {
    CONFIG: RunFolder.config,
    WEIGHTS: RunFolder.weights,
    TOKENIZER: lambda folder: folder.content(TOKENIZER),
}


@pytest.mark.parametrize(("name", "count"), [(WEIGHTS, 160), (CONFIG, 100), (TOKENIZER, 40)])
def test_every_flipped_bit_is_noticed(run: Path, name: str, count: int) -> None:
    assert unnoticed(run, name, READ[name], count, seed=0) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [(WEIGHTS, 4000), (CONFIG, 4000), (TOKENIZER, 1000)])
def test_every_one_of_many_flipped_bits_is_noticed(run: Path, name: str, count: int) -> None:
    assert unnoticed(run, name, READ[name], count, seed=1) == []


def test_the_seal_holds_length_and_digest_of_every_file(trained: Path) -> None:
    seal = json.loads((trained / CONFIG).read_text())["seal"]
    there = {path.name for path in trained.iterdir() if path.is_file()}
    assert set(seal["files"]) == there - {CONFIG} >= {WEIGHTS, TOKENIZER, "README.md", "loss.png", "metrics.jsonl"}
    for name, entry in seal["files"].items():
        assert (entry["bytes"], entry["sha256"]) == store.digest(trained / name)
    assert weft_.load(trained).config["seal"] == seal


COMMANDS = {
    "predict": ("predict", "run", "The"),
    "evaluate": ("evaluate", "run", "book.txt"),
    "look": ("look", "run", "The"),
    "embed": ("embed", "run", "The", "-o", "vectors.npy"),
    "export": ("export", "run", "--to", "onnx", "--out", "there"),
    "soup": ("soup", "run", "run"),
    "from": ("train", "book.txt", "--from", "run", "--steps", "1"),
    "resume": ("train", "--resume", "--out", "run"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_weights_that_changed(weft: Weft, trained: Path, command: str) -> None:
    path = Path(shutil.copytree(trained, weft.folder / "run")) / WEIGHTS
    flip(path, 8 * path.stat().st_size - 20)  # in the last number, which stays finite
    message = weft.refused(*COMMANDS[command], code=74)
    assert "run/model.safetensors: changed since the run was written" in message and "\n  -> put the run's" in message


def test_a_changed_config_is_refused_and_says_what_changed(run: Path) -> None:
    data = json.loads((run / CONFIG).read_text())
    data["training"]["lr"] = 1.0
    data["budget"]["steps"] = 9
    (run / CONFIG).write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    with pytest.raises(
        StorageError, match="changed since the run was written: budget, training are not what weft wrote"
    ):
        weft_.load(run)
    with pytest.raises(StorageError, match=r"config\.json: changed since"):
        weft_.train(out=run, resume=True, quiet=True)
    assert weft_.load(run, broken=True).config["training"]["lr"] == 1.0


@pytest.mark.parametrize("change", [lambda seal: seal.clear(), lambda seal: seal.update(files=[]),
                                    lambda seal: seal.update(config=3),
                                    lambda seal: seal["files"].update(a=None)])  # fmt: skip
def test_a_seal_that_is_none_is_refused(run: Path, change: Callable[[dict], None]) -> None:
    data = json.loads((run / CONFIG).read_text())
    change(data["seal"])
    (run / CONFIG).write_text(json.dumps(data))
    with pytest.raises(StorageError, match="its seal is damaged or missing"):
        weft_.load(run)
    del data["seal"]
    (run / CONFIG).write_text(json.dumps(data))
    with pytest.raises(StorageError, match="its seal is damaged or missing"):
        weft_.load(run)


def test_weights_of_a_finished_run_that_are_gone_are_not_replaced_by_those_of_a_checkpoint(run: Path) -> None:
    (run / WEIGHTS).unlink()
    with pytest.raises(StorageError, match="missing, though the run has ended") as error:
        weft_.load(run)
    assert "--resume" in error.value.fix
    assert weft_.train(out=run, resume=True, quiet=True).report["steps"] == 2


def test_files_that_the_seal_does_not_name_are_refused(tmp_path: Path, trained: Path) -> None:
    fixture = Path(__file__).parents[1] / "fixtures" / "begun" / "language-model-sealed"
    begun = Path(shutil.copytree(fixture, tmp_path / "begun"))
    shutil.copy(trained / WEIGHTS, begun / WEIGHTS)
    (begun / "known.safetensors").write_bytes(b"of another run")
    folder = RunFolder(begun)
    with pytest.raises(StorageError, match=r"model\.safetensors: not a file that this run wrote") as error:
        folder.weights()
    assert error.value.fix.startswith("remove it, or ")
    with pytest.raises(StorageError, match=r"known\.safetensors: not a file that this run wrote"):
        folder.content("known.safetensors")
    RunFolder(begun, checked=False).weights()
    shutil.copy(begun / "checkpoints" / "00000002" / WEIGHTS, begun / WEIGHTS)  # as is advised where none verifies
    folder.weights()


def test_a_sealed_run_of_which_no_file_is_sealed_is_sealed(tmp_path: Path) -> None:
    RunFolder(tmp_path).begin({"model": {}}, {})
    assert verify_run(tmp_path).sealed


def test_pictures_of_measures_are_sealed_anew_by_whoever_draws_them_and_else_told(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By evaluating on held-out data and on other data: that in the folder `evaluation-other`."""
    drawn = {"errors.png": b"a picture"}
    monkeypatch.setattr(
        "weft.runs.run.evaluate", lambda *args: (Measured(1, {}, {}, pictures=lambda: dict(drawn)), "some data")
    )
    weft_.load(run).evaluate()
    sealed = (run / CONFIG).read_bytes()
    weft_.load(run).evaluate()
    assert (run / CONFIG).read_bytes() == sealed  # nothing is new
    drawn["errors.png"] = b"another picture"
    loaded = weft_.load(run)
    loaded.evaluate()
    loaded.evaluate("data/other.txt")
    assert loaded.predict("The", max_tokens=1) and verify_run(run).whole
    for name in ("errors.png", "evaluation-other/errors.png"):
        (run / name).write_bytes(b"anothen picture")
    assert verify_run(run).changed == dict.fromkeys(
        ("errors.png", "evaluation-other/errors.png"), "its SHA-256 is not that in config.json"
    )
    for name in ("errors.png", "evaluation-other/errors.png"):
        (run / name).unlink()
    assert set(verify_run(run).changed.values()) == {"missing"} and not verify_run(run).refused


def test_pictures_drawn_while_a_run_is_in_use_or_taken_as_it_is_are_not_sealed(run: Path) -> None:
    sealed, files = (run / CONFIG).read_bytes(), {"errors.png": FileSeal.of(b"a picture")}
    with RunLock(run):
        child = os.fork()  # another process
        if child == 0:
            RunFolder(run).seal_anew(files)
            os._exit(0)
        os.waitpid(child, 0)
    RunFolder(run, checked=False).seal_anew(files)
    assert (run / CONFIG).read_bytes() == sealed
    RunFolder(run).seal_anew(files)
    assert RunFolder(run).seals()["errors.png"] == files["errors.png"]


def test_of_two_runs_the_base_is_that_with_its_weights(tmp_path: Path) -> None:
    places = [tmp_path / "first", tmp_path / "second"]
    for place in places:
        place.mkdir()
        (place / WEIGHTS).write_bytes(place.name.encode())
    digest = FileSeal.of(b"second").sha256
    base = BaseRun(run=str(places[0]), beside="../second", sha256=digest, tensors=())
    assert base.find(tmp_path / "adapted").name == WEIGHTS and base.difference(places[0]) == ""
    assert base.find(places[0]).read_bytes() == b"second"
    (places[1] / WEIGHTS).unlink()
    assert base.find(places[0]).read_bytes() == b"first" and "not those that they were" in base.difference(places[0])


def test_a_run_without_a_seal_is_used_as_before(run: Path) -> None:
    expected = weft_.load(run).predict("The", max_tokens=3)
    assert weft_.load(unsealed(run)).predict("The", max_tokens=3) == expected
    assert not verify_run(run).sealed and verify_run(run).whole


def test_numbers_of_another_type_are_refused(run: Path) -> None:
    path = unsealed(run) / WEIGHTS
    tensors = load_file(path)
    name = next(iter(tensors))
    save_file({**tensors, name: tensors[name].view(torch.int32)}, path)
    with pytest.raises(ConfigError, match=f"{name} has numbers of the type int32, the model needs float32") as error:
        weft_.load(run)
    assert "different runs" not in error.value.fix and "float32" in error.value.fix


def test_a_model_card_may_be_edited_and_verifying_tells_it(run: Path) -> None:
    (run / "README.md").write_text("my own words")
    (run / "loss.png").unlink()
    weft_.load(run).predict("The", max_tokens=2)
    found = verify_run(run)
    assert found.sealed and not found.whole and found.refused == {}
    assert (
        found.changed["README.md"].startswith("it has 12 bytes instead of ") and found.changed["loss.png"] == "missing"
    )


def test_verifying_finds_what_is_refused_in_every_file_at_once(run: Path) -> None:
    assert verify_run(run).whole
    flip(run / WEIGHTS, 8 * (run / WEIGHTS).stat().st_size - 20)
    flip(run / TOKENIZER, 800)
    flip(next((run / "checkpoints").glob("*/optimizer.safetensors")), 9000)
    found = verify_run(run)
    assert found.refused[WEIGHTS] == "its SHA-256 is not that in config.json"
    assert set(found.refused) == {WEIGHTS, TOKENIZER} and not found.changed
    assert len(found.checkpoints) == 1 and "optimizer.safetensors is damaged" in next(iter(found.checkpoints.values()))
    flip(run / CONFIG, 800)
    assert set(verify_run(run).refused) == {CONFIG}


def test_settings_edited_in_a_half_finished_run_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "book.txt").write_text(text())
    with stopped_in(1, monkeypatch), pytest.raises(WeftError, match="stopped by SIGTERM"):
        weft_.train(tmp_path / "book.txt", out=tmp_path / "run", steps=4, quiet=True, **TINY_SETTINGS)
    path = tmp_path / "run" / CONFIG
    content = path.read_text()
    for old, new in (('"warmup": ', '"warmup": 1'), ('"steps": 4', '"steps": 5')):
        assert old in content
        path.write_text(content.replace(old, new))
        with pytest.raises(StorageError, match="not what weft wrote"):
            weft_.train(out=tmp_path / "run", resume=True, quiet=True)
    path.write_text(content)
    assert weft_.train(out=tmp_path / "run", resume=True, quiet=True).report["steps"] == 4


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS, TOKENIZER, "metrics.jsonl"])
def test_links_out_of_a_run_are_refused_unless_it_is_taken_as_it_is(run: Path, name: str) -> None:
    shutil.move(run / name, run.parent / "elsewhere")
    (run / name).symlink_to("../elsewhere")
    with pytest.raises(StorageError, match=rf"run/{name}: a link that leads out of the run's folder"):
        weft_.load(run).metrics  # noqa: B018 (read from the folder)
    assert len(weft_.load(run, broken=True).metrics) == 2


def test_links_within_a_run_are_followed(run: Path) -> None:
    (run / WEIGHTS).rename(run / "weights")
    (run / WEIGHTS).symlink_to("weights")
    weft_.load(run)


def test_a_checkpoint_that_is_a_link_out_of_the_run_is_passed_over(tmp_path: Path) -> None:
    fixture = Path(__file__).parents[1] / "fixtures" / "begun" / "language-model-sealed"
    begun = Path(shutil.copytree(fixture, tmp_path / "begun"))
    shutil.move(begun / "checkpoints" / "00000002", tmp_path / "elsewhere")
    (begun / "checkpoints" / "00000002").symlink_to("../../elsewhere")
    with pytest.raises(StorageError, match="leads out of the run's folder"):
        weft_.load(begun)


@pytest.mark.parametrize("name", ["../book.txt", "/etc/passwd", "a/b", ""])
def test_a_file_named_in_config_has_a_plain_name(run: Path, name: str) -> None:
    path = unsealed(run) / CONFIG
    data = json.loads(path.read_text())
    data["codecs"]["text"]["file"] = name
    path.write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=r"config\.json: names the file .* not a plain name"):
        weft_.load(run)
