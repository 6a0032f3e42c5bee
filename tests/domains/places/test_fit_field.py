"""fit-field as users see it: pictures drawn at any size, tables of places answered, the globe, looks, baselines."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import weft
from weft.cli.app import run as command
from weft.domains.places.codec import PlaceCodec
from weft.domains.places.rasters import Raster, values_at
from weft.errors import WeftError
from weft.objectives.measures.nearest import nearest_classes, nearest_numbers, neighbours, psnr

TINY: dict[str, Any] = {
    "dim": 16,
    "depth": 1,
    "steps": 60,
    "batch": 4,
    "features": 32,
    "evaluate_every": 10,
    "quiet": True,
}


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    """A run on a picture of two halves."""
    folder = tmp_path_factory.mktemp("picture")
    pixels = np.full((12, 24, 3), (200, 40, 40), np.uint8)
    pixels[:, 12:] = (20, 60, 220)
    Image.fromarray(pixels).save(folder / "halves.png")
    return weft.train(folder / "halves.png", task="fit-field", out=folder / "run", scale=0.5, **TINY)


@pytest.fixture(scope="module")
def globe(tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    """A run on a grid whose values are those of a smooth wave."""
    folder = tmp_path_factory.mktemp("globe")
    lat, lon = np.linspace(-85, 85, 18), np.arange(36) * 10.0
    waves = 1000 * np.sin(np.deg2rad(lat))[:, None] + 300 * np.cos(np.deg2rad(lat))[:, None] * np.cos(np.deg2rad(lon))
    np.savez(folder / "waves.npz", lat=lat, lon=lon, metres=waves)
    return weft.train(
        folder / "waves.npz", out=folder / "run", degree=4, **{**TINY, "steps": 150, "evaluate_every": 75}
    )


def test_a_picture_is_drawn_at_any_size(picture: weft.Run, tmp_path: Path) -> None:
    (found,) = picture.predict([], size="60x30", output=str(tmp_path / "large.png"))
    pixels = np.asarray(Image.open(found["output"]), int)
    assert pixels.shape == (30, 60, 3) and found["input"] == "60x30"
    assert np.abs(pixels[5:25, 3:24] - (200, 40, 40)).mean() < 25
    assert np.abs(pixels[5:25, 36:57] - (20, 60, 220)).mean() < 25
    assert set(picture.report["metrics"]) == {"psnr", "nearest_psnr", "constant_psnr"}
    assert picture.report["metrics"]["psnr"] > picture.report["metrics"]["constant_psnr"] + 3


def test_the_command_writes_the_picture_and_needs_no_input(
    picture: weft.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["predict", str(picture.folder), "--set", "size=8x4"]
    assert command([*words, "--output", "small.png"]) == 0 and Image.open("small.png").size == (8, 4)
    assert command(["predict", str(picture.folder), "--output", "own.png"]) == 0
    assert Image.open("own.png").size == (24, 12)
    assert command(["predict", str(picture.folder), "0.2, 0.1", "--set", "size=huge"]) == 2
    assert "expected width and height as in 2048x1536" in capsys.readouterr().err


def test_a_picture_grows_sharp_in_the_run_folder(picture: weft.Run) -> None:
    with Image.open(picture.folder / "learning.gif") as film:
        assert film.n_frames >= 5 and film.size == (24, 12)
    assert Image.open(picture.folder / "field.png").size == (24, 12)


def test_a_table_of_places_is_answered_row_by_row(globe: weft.Run, tmp_path: Path) -> None:
    asked, answered = tmp_path / "asked.csv", tmp_path / "answered.csv"
    asked.write_text("name,latitude,longitude\na,80,0\nb,-80,0\nc,0,0\n")
    assert command(["predict", str(globe.folder), "--input", str(asked), "--output", str(answered)]) == 0
    rows = list(csv.DictReader(answered.open()))
    assert [row["latitude"] for row in rows] == ["80", "-80", "0"]
    assert list(rows[0]) == ["name", "latitude", "longitude", "value"] and [row["name"] for row in rows] == list("abc")
    assert float(rows[0]["value"]) > 500 and float(rows[1]["value"]) < -500
    one = globe.predict({"lat": 80, "lon": 0}) + globe.predict([np.array([80, 0])]) + globe.predict("80, 0")
    assert {round(found["value"], 3) for found in one} == {round(float(rows[0]["value"]), 3)}
    asked.write_text("lat,lon\n80,0\n99,0\n")
    with pytest.raises(WeftError, match="line 3: a latitude of 99"):
        globe.predict(str(asked))


def test_the_globe_has_no_seam_in_what_is_predicted(globe: weft.Run) -> None:
    west, east = globe.predict(["30, -180", "30, 180"])
    assert west["value"] == pytest.approx(east["value"], abs=0.5)
    poles = globe.predict([f"90, {lon}" for lon in (0, 90, 200)])
    assert max(one["value"] for one in poles) - min(one["value"] for one in poles) < 0.5


def test_a_smooth_field_is_learned_better_than_a_constant(globe: weft.Run) -> None:
    metrics = globe.report["metrics"]
    assert metrics["rmse"] < 0.3 * metrics["constant_rmse"] and "nearest_rmse" in metrics


def test_a_look_at_a_place_tells_the_value_there(globe: weft.Run, picture: weft.Run) -> None:
    view, (known,) = globe.look("30, 10"), globe.predict(["30, 10"])
    assert view.text().startswith(f"value: {known['value']:g}")
    assert picture.look("10, 12").text().startswith("colour: ")


@pytest.mark.parametrize("what", ["codes", "errors"])
def test_looks_show_codes_and_errors(globe: weft.Run, picture: weft.Run, what: str) -> None:
    for run in (globe, picture):
        view = run.look(None, what=what)
        assert view.picture().startswith(b"\x89PNG") and view.text()
    with pytest.raises(WeftError, match="codes or errors"):
        globe.look(None, what="hats")


def test_a_place_is_marked_where_it_is() -> None:
    config = PlaceCodec.Config(axes=("lat", "lon"), middle=(0.0, 0.0), reach=(1.0, 1.0))
    raster = Raster(PlaceCodec(config, read=str), 180, 360)
    cells = raster.places()
    for row in (0, 179 * 360 + 359, 90 * 360 + 7):
        down, across = raster.marked(cells[row].tolist())
        assert (int(down * 180), int(across * 360)) == divmod(row, 360)


def test_time_is_an_axis_of_the_globe(tmp_path: Path) -> None:
    rows = [f"{i % 9 * 20 - 80},{i % 12 * 30},2024-01-{i % 28 + 1:02},{i % 28}.5" for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["lat,lon,date,value", *rows]))
    run = weft.train(tmp_path / "t.csv", out=tmp_path / "run", degree=2, **TINY)
    early, late = run.predict(["0, 0, 2024-01-02", {"lat": 0, "lon": 0, "time": "2024-01-27"}])
    assert late["value"] - early["value"] > 10


def test_places_computed_in_parts_are_the_same(globe: weft.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    places = np.random.default_rng(0).uniform(-80, 80, (100, 2)).astype(np.float32)
    whole = values_at(globe.model, places)
    monkeypatch.setattr("weft.domains.places.rasters.AT_ONCE", 7)
    assert torch.allclose(values_at(globe.model, places), whole, atol=1e-6)


def test_the_nearest_known_places_answer() -> None:
    known = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    rows, weights = neighbours(known, np.array([[0.0, 0.0], [0.5, 0.0]]), count=2)
    assert rows[0, 0] == 0 and weights[0, 0] > 0.999 and set(rows[1].tolist()) == {0, 1}
    assert nearest_numbers(rows, weights, np.array([2.0, 4.0, 9.0, 9.0])) == pytest.approx([2.0, 3.0], abs=1e-3)
    assert nearest_classes(rows, weights, np.array([1, 0, 0, 2]), 3)[0] == 1
    assert psnr(np.array([0.0]), np.array([255.0])) == 0.0 and psnr(np.array([250.0]), np.array([255.0])) > 34
