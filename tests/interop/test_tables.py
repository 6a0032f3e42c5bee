"""Tables of weights: every tensor is used once, in both directions, or the names that are odd are told."""

from pathlib import Path

import pytest
import torch

from weft.errors import ConfigError, DataError
from weft.interop import weights
from weft.interop.rules import Ignored, JoinedRows, SameTensor, Shaped, Stacked, Tied, Turned, layers
from weft.interop.weight_table import WeightTable, to_theirs
from weft.interop.weights import Shards, fill
from weft.storage.tensors import write_tensors

TABLE = WeightTable(
    [
        SameTensor("table", "table"),
        *layers(2, [Turned("h.{i}.w", "blocks.{i}.w"), JoinedRows(("h.{i}.q", "h.{i}.k"), "blocks.{i}.qk", (3, 1))]),
        Stacked("places", ("first", "rest")),
        Shaped("patches", "cut", (2, 3, 2)),
        JoinedRows(("gate", "up"), "both"),
        Ignored("h.*.mask"),
    ],
    [Tied("head", "table")],
    prefix="model.",
)


def ours(seed: int = 0) -> dict[str, torch.Tensor]:
    chance = torch.Generator().manual_seed(seed)
    shapes = {"table": (5, 4), "first": (1, 4), "rest": (6, 4), "cut": (2, 6), "both": (8, 3), "blocks.0.w": (2, 3),
              "blocks.1.w": (2, 3), "blocks.0.qk": (4, 2), "blocks.1.qk": (4, 2)}  # fmt: skip
    return {name: torch.randn(shape, generator=chance) for name, shape in shapes.items()}


def folder(place: Path, tensors: dict[str, torch.Tensor]) -> Path:
    place.mkdir(exist_ok=True)
    write_tensors(place / "model.safetensors", tensors)
    return place


def read(place: Path, tensors: dict[str, torch.Tensor], table: WeightTable = TABLE) -> dict[str, torch.Tensor]:
    """What comes back of their tensors."""
    found = {name: torch.full_like(t, 9.0) for name, t in ours().items()}
    with Shards(folder(place, tensors)) as theirs:
        fill(table.fitting(theirs.shapes), found, theirs)
    return found


def test_there_and_back_gives_the_same_bits(tmp_path):
    theirs = to_theirs(TABLE, ours())
    assert {name: tuple(t.shape) for name, t in theirs.items() if name.startswith(("model.p", "model.h.1"))} == {
        "model.h.1.w": (3, 2), "model.h.1.q": (3, 2), "model.h.1.k": (1, 2), "model.places": (7, 4),
        "model.patches": (2, 3, 2)}  # fmt: skip
    found = read(tmp_path, theirs)
    assert all(torch.equal(found[name], tensor) for name, tensor in ours().items())


def test_half_precision_of_more_than_one_buffer_is_read_exactly(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "BUFFER_BYTES", 2**12)
    rows = 3 * 2**12 // (2 * 64) + 5
    whole = torch.randn(rows, 64).to(torch.bfloat16)
    found = {"w": torch.zeros(64, rows), "first": torch.zeros(3, 64), "rest": torch.zeros(rows - 3, 64)}
    with Shards(folder(tmp_path, {"w": whole, "v": whole})) as theirs:
        fill(WeightTable([Turned("w", "w"), Stacked("v", ("first", "rest"))]), found, theirs)
    assert torch.equal(torch.cat([found["first"], found["rest"]]), whole.float())
    assert torch.equal(found["w"], whole.float().t())


def test_a_prefix_may_be_left_out_and_masks_may_be_there(tmp_path):
    bare = {name.removeprefix("model."): t for name, t in to_theirs(TABLE, ours()).items()}
    found = read(tmp_path, {**bare, "h.0.mask": torch.ones(3, dtype=torch.bool), "head": ours()["table"]})
    assert all(torch.equal(found[name], tensor) for name, tensor in ours().items())


def test_names_left_over_or_missing_are_told(tmp_path):
    theirs = to_theirs(TABLE, ours())
    with pytest.raises(DataError, match=r"they hold model\.h\.2\.w too many"):
        read(tmp_path, {**theirs, "model.h.2.w": torch.zeros(3, 2)})
    del theirs["model.h.1.w"]
    with pytest.raises(DataError, match=r"they lack model\.h\.1\.w\n"):
        read(tmp_path, theirs)
    with pytest.raises(DataError, match=r"lack model\.h\.1\.w and hold model\.h\.2\.w too many"):
        read(tmp_path, {**theirs, "model.h.2.w": torch.zeros(3, 2)})


@pytest.mark.parametrize("name", ["model.h.0.w", "model.places", "model.up", "head"])
def test_a_shape_that_differs_names_both(tmp_path, name):
    theirs = {**to_theirs(TABLE, ours()), "head": ours()["table"]}
    found = list(theirs[name].shape)
    with pytest.raises(DataError) as caught:
        read(tmp_path, {**theirs, name: theirs[name][1:].clone()})
    assert f"{name} has the shape {[found[0] - 1, *found[1:]]}, config.json asks for {found}" in str(caught.value)
    assert f"({found[0]} -> {found[0] - 1})" in caught.value.fix


@pytest.mark.parametrize(
    "rules", [[SameTensor("a", "a")], [SameTensor("a", "a"), SameTensor("b", "b"), SameTensor("c", "a")]]
)
def test_a_weight_of_ours_in_no_rule_or_in_two_is_an_error(rules):
    with pytest.raises(ConfigError, match="does not fit this model: [ab]$"):
        WeightTable(rules).pieces({"a": torch.zeros(2), "b": torch.zeros(2)})


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.int8, torch.float64])
def test_numbers_that_fp32_cannot_hold_or_mean_are_refused(tmp_path, dtype):
    theirs = to_theirs(TABLE, ours())
    with pytest.raises(DataError, match=r"model\.table is in (.|\n)+ float32, bfloat16 or float16") as caught:
        read(tmp_path, {**theirs, "model.table": theirs["model.table"].to(dtype)})
    assert "model.safetensors" in caught.value.where


def test_weights_that_are_not_numbers_are_named(tmp_path):
    theirs = {name: tensor.clone() for name, tensor in to_theirs(TABLE, ours()).items()}
    theirs["model.h.0.q"][2, 1], theirs["model.places"][6, 3] = float("nan"), float("inf")
    theirs["model.table"][:] = 3e38  # finite, though their sum is not
    theirs["model.h.1.w"][0, 0] = 1e-39
    found = {name: torch.zeros_like(t) for name, t in ours().items()}
    with Shards(folder(tmp_path, theirs)) as opened:
        odd = fill(TABLE, found, opened)
    assert sorted(odd.broken) == ["model.h.0.q", "model.places"] and odd.denormal == ["model.h.1.w"]
