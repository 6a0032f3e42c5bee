"""Make the runs of tests/fixtures/runs, and write down what they give: `python -m helpers.keep_runs [name …]`.

Runs that are there already are left alone, with what they gave: they show that later versions do the same.
"""

import json
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft
from helpers import fresh
from helpers.foreign import library, randomised
from helpers.kept_runs import (
    DATA,
    EXPECTED,
    EXPECTED_LINKED,
    FIXTURES,
    FOREIGN,
    IMPORTED,
    KEPT,
    LINKED,
    RUNS,
    SOMEWHERE,
    STEPS,
    STOPPED,
    Kept,
    expected,
    of_imported,
    of_kept,
    of_linked,
    of_soup,
    settings_of,
)
from helpers.stops import stopped_in
from weft.errors import Interrupted
from weft.training.seal import FileSeal, sealed_config

TEXT = "the cat sat on the mat and the dog ran away from the old house by the sea " * 20
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LEFT_OUT = ("README.md", "metrics.jsonl")  # of finished runs, beside pictures and checkpoints
SIZES: dict[str, Any] = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}


def make_data() -> None:
    """The small files that only these runs read: a field of 4 x 4 cells and 20 days, and a picture of 8 x 8 pixels."""
    import xarray
    from PIL import Image

    day, y, x = np.meshgrid(np.arange(20), np.arange(4), np.arange(4), indexing="ij")
    heat = 10 + 3 * np.sin(2 * np.pi * (x / 4 - day / 10)) + y
    field = xarray.DataArray(heat.astype("float32"), dims=("time", "lat", "lon"), attrs={"units": "degC"})
    places = {"lat": [30.0, 20.0, 10.0, 0.0], "lon": [0.0, 10.0, 20.0, 30.0]}
    days = np.datetime64("2001-01-01", "ns") + np.arange(20) * np.timedelta64(1, "D")
    if not (DATA / "basin.nc").exists():
        made = xarray.Dataset({"heat": field}).assign_coords(time=days, **places)
        made.to_netcdf(DATA / "basin.nc", format="NETCDF3_CLASSIC", engine="scipy")
    if not (DATA / "tile.png").exists():
        across, down = np.meshgrid(np.arange(8), np.arange(8))
        Image.fromarray(np.stack([across * 32, down * 32, (across ^ down) * 32], -1).astype(np.uint8)).save(
            DATA / "tile.png"
        )


def make_foreign() -> None:
    """Folders of the Hugging Face library: encoders with a head for blanks, without a head, with several labels."""
    tokenizers, transformers = pytest.importorskip("tokenizers"), library()
    several = {
        "num_labels": 3,
        "problem_type": "multi_label_classification",
        "id2label": {0: "home", 1: "sea", 2: "animals"},
        "label2id": {"home": 0, "sea": 1, "animals": 2},
    }
    kinds = {
        "bert": ("BertForMaskedLM", {}),
        "bert-headless": ("BertModel", {}),
        "bert-several": ("BertForSequenceClassification", several),
    }
    for name, (kind, more) in kinds.items():
        folder = FOREIGN / name
        if folder.exists():
            continue
        words = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
        words.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        words.train_from_iterator([TEXT], tokenizers.trainers.WordPieceTrainer(vocab_size=80, special_tokens=MARKS))
        words.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        torch.manual_seed(0)
        config = transformers.BertConfig(vocab_size=words.get_vocab_size(), max_position_embeddings=24, **SIZES, **more)
        randomised(getattr(transformers, kind)(config)).save_pretrained(folder)
        words.save(str(folder / "tokenizer.json"))
    if not (FOREIGN / "vit-headless").exists():
        torch.manual_seed(0)
        config = transformers.ViTConfig(image_size=8, patch_size=4, **SIZES)
        randomised(transformers.ViTModel(config, add_pooling_layer=False)).save_pretrained(FOREIGN / "vit-headless")


def moved(folder: Path) -> None:
    """Let the run say `SOMEWHERE` for the folder of fixtures, and seal it again as it is now."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8").replace(f"{FIXTURES}/", f"{SOMEWHERE}/"))
    files = {name: FileSeal.of_file(folder / name) for name in config.pop("seal")["files"] if (folder / name).exists()}
    path.write_bytes(sealed_config(config, files))
    assert str(FIXTURES) not in path.read_text(encoding="utf-8")


def make_begun(kept: Kept, out: Path) -> None:
    """A run that was stopped."""
    given = {**settings_of(kept), **kept.drawn, "steps": STEPS}
    with pytest.MonkeyPatch.context() as patch, stopped_in(STOPPED - 1, patch), pytest.raises(Interrupted):
        weft.train(kept.data, task=kept.task, out=out, quiet=True, **given)
    for path in [*out.glob("*.png"), *out.glob("*.lock")]:
        path.unlink()
    moved(out)


def make_finished(kept: Kept, out: Path) -> None:
    """A run that ended."""
    weft.train(kept.data, task=kept.task, out=out, quiet=True, **settings_of(kept), steps=kept.steps)
    shutil.rmtree(out / "checkpoints", ignore_errors=True)
    for path in [*out.iterdir()]:
        if path.name in LEFT_OUT or path.suffix in (".png", ".lock", ".svg"):
            path.unlink()
    moved(out)


def made_anew(name: str, process: fresh.Fresh) -> dict[str, Any]:
    """Make both runs of a kind; returns what they give."""
    kept, place = KEPT[name], RUNS / name
    make_begun(kept, place / "begun")
    make_finished(kept, place / "finished")
    with tempfile.TemporaryDirectory() as home:
        return {kind: of_kept(process.call, name, kind, Path(home)) for kind in ("begun", "finished")}


def write_expected(path: Path, known: dict[str, Any]) -> None:
    """Write down what runs gave, one in a line."""
    lines = [f"{json.dumps(key)}: {json.dumps(known[key], ensure_ascii=False)}" for key in sorted(known)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def write_linked(process: fresh.Fresh) -> None:
    """Write down what linked and imported runs give, and a soup, where that is not known yet."""
    known = expected(EXPECTED_LINKED) if EXPECTED_LINKED.exists() else {}
    made = {name: partial(of_linked, process.call, name) for name in LINKED}
    made |= {name: partial(of_imported, process.call, name) for name in IMPORTED}
    made["soup"] = partial(of_soup, process.call)
    for name, make in made.items():
        if name not in known:
            print(name, flush=True)
            with tempfile.TemporaryDirectory() as home:
                known[name] = make(Path(home))
            write_expected(EXPECTED_LINKED, known)


def main(names: list[str]) -> None:
    """Make the runs that are named, or all, where they are not there yet."""
    torch.set_num_threads(1)
    make_data()
    make_foreign()
    known = expected() if EXPECTED.exists() else {}
    process = fresh.Fresh(Path(tempfile.mkdtemp()))
    for name in names or KEPT:
        if (RUNS / name).exists():
            continue
        print(name, flush=True)
        try:
            known[name] = made_anew(name, process)
        except BaseException:
            shutil.rmtree(RUNS / name, ignore_errors=True)
            raise
        write_expected(EXPECTED, known)
    write_linked(process)
    process.close()


if __name__ == "__main__":
    main(sys.argv[1:])
