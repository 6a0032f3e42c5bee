"""forecast from end to end on a small file: predicted, filled, measured, looked at; whatever the layout of the file."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.grids import xr
from helpers.trials import DATA, train
from PIL import Image

import weft
from weft.cli.app import run as command
from weft.domains.fields import dataset as datasets
from weft.domains.fields.measures import model as field_measures
from weft.domains.fields.reading import measured
from weft.domains.fields.reading.scanned import open_fields
from weft.errors import ConfigError, DataError, WeftError

WAVES = DATA / "waves.nc"
STEPS = 5


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Files are looked through in this process, and measuring draws nothing: both are slow and tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (datasets, measured):
            patch.setattr(module, "open_fields", lambda *args, **more: open_fields(*args, **more, apart=False))
        patch.setattr(field_measures, "_pictures", lambda *args: {})
        yield


@pytest.fixture(scope="module")
def run(quick: None, tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    return train("forecast", WAVES, out=tmp_path_factory.mktemp("forecast") / "run", patch=3)


@pytest.fixture(scope="module")
def waves() -> Any:
    """The fields of the file."""
    return xr.load_dataset(WAVES)


def predicted(run: weft.Run, path: Path, output: Path, **settings: Any) -> Any:
    """What is predicted from a file, as a file."""
    run.predict(str(path), output=str(output), **settings)
    return xr.load_dataset(output, engine="zarr" if output.suffix == ".zarr" else None)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert command([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert command([*words]) == 2
    return capsys.readouterr().err


# Files


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_a_forecast_is_written_with_the_axes_and_units_of_the_file(run, waves, tmp_path, capsys, ending):
    output = tmp_path / f"forecast{ending}"
    found = told(capsys, "predict", str(run.folder), str(WAVES), "--set", f"steps={STEPS}", "--output", str(output))
    (prediction,) = found["predictions"]
    assert prediction["times"] == [f"2001-02-{day}" for day in range(18, 18 + STEPS)]
    made = xr.load_dataset(output, engine="zarr" if ending == ".zarr" else None)
    for name in ("z", "v"):
        assert made[name].dims == waves[name].dims and made[name].attrs["units"] == waves[name].attrs["units"]
        assert (made[f"{name}_spread"] > 0).all()
        mean = (made[name] * np.cos(np.radians(made.lat))).mean(("lat", "lon")) / np.cos(np.radians(made.lat)).mean()
        np.testing.assert_allclose(mean, prediction["layers"][name]["mean"], atol=1e-3)
    np.testing.assert_array_equal(made.lat, waves.lat)
    np.testing.assert_array_equal(made.lon, waves.lon)
    assert made.time.values[0] == waves.time.values[-1] + np.timedelta64(1, "D") and made.sizes["time"] == STEPS


def test_a_forecast_is_drawn_and_filmed(run, tmp_path, capsys):
    for name, more in (("maps.png", "variable=v"), ("film.gif", "steps=3")):
        words = ("predict", str(run.folder), str(WAVES), "--set", more, "--output", str(tmp_path / name))
        assert command([*words]) == 0
        with Image.open(tmp_path / name) as picture:
            assert picture.width > 100 and getattr(picture, "n_frames", 1) == (3 if name == "film.gif" else 1)
    assert "film.gif" in capsys.readouterr().err
    assert "there are z, v" in refused(
        capsys, "predict", str(run.folder), str(WAVES), "--set", "variable=q", "--output", str(tmp_path / "a.png")
    )


def test_members_are_written_beside_each_other(run, tmp_path):
    made = predicted(run, WAVES, tmp_path / "a.nc", steps=2, members=3)
    assert made.z.dims[0] == "member" and made.z.sizes["member"] == 3 and float(made.z.std("member").max()) > 0
    assert "member" not in made.z_spread.dims


def test_gaps_are_filled_and_known_cells_stay_exactly(run, waves, tmp_path):
    made = predicted(run, WAVES, tmp_path / "filled.nc", fill=True)
    for name in ("z", "v"):
        known = waves[name].notnull().values
        assert not known.all() and made[name].notnull().all()
        np.testing.assert_array_equal(made[name].values[known], waves[name].values[known])
        spread = made[f"{name}_spread"].values
        assert not spread[known].any() and (spread[~known] > 0).all()
    np.testing.assert_array_equal(made.time, waves.time)
    with Image.open(written_picture(run, tmp_path / "filled.png", fill=True)) as picture:
        assert picture.width > 100


def written_picture(run: weft.Run, path: Path, **settings: Any) -> Path:
    run.predict(str(WAVES), output=str(path), **settings)
    return path


def test_states_between_stand_half_way(run, waves, tmp_path):
    made = predicted(run, WAVES, tmp_path / "finer.nc", between=True)
    assert made.sizes["time"] == 47
    assert (made.time.values == waves.time.values[:-1] + np.timedelta64(12, "h")).all()


def test_without_a_file_the_held_out_part_goes_on(run, tmp_path, capsys):
    own = told(capsys, "predict", str(run.folder), "--set", "steps=2")["predictions"][0]
    named = told(capsys, "predict", str(run.folder), str(WAVES), "--set", "steps=2")["predictions"][0]
    assert own["times"] == named["times"] and own["layers"] == named["layers"]


def test_one_output_for_several_inputs_is_refused_before_anything_is_computed(run, tmp_path, capsys):
    words = refused(capsys, "predict", str(run.folder), str(WAVES), str(WAVES), "--output", str(tmp_path / "a.nc"))
    assert "2 inputs" in words and "a folder or pattern" in words and not (tmp_path / "a.nc").exists()


def test_files_that_belong_together_are_named_by_a_pattern(run, waves, tmp_path):
    for part, times in (("a", slice(0, 20)), ("b", slice(20, 48))):
        waves.isel(time=times).to_netcdf(tmp_path / f"{part}.nc")
    whole = run.predict(str(WAVES), steps=2)[0]["layers"]
    assert run.predict(str(tmp_path / "*.nc"), steps=2)[0]["layers"] == whole
    assert run.predict(str(tmp_path), steps=2)[0]["layers"] == whole


def test_wrong_settings_are_refused_with_words(run, tmp_path):
    for settings, words in (
        ({"steps": 0}, "expected from 1 to"),
        ({"members": 5000}, "expected from 1 to"),
        ({"fill": True, "between": True}, "fill and between cannot"),
    ):
        with pytest.raises(ConfigError, match=words):
            run.predict(str(WAVES), **settings)
    with pytest.raises(DataError, match="its folder is not there"):
        run.predict(str(WAVES), output=str(tmp_path / "no" / "a.nc"))


# The same fields, laid out in other ways


def packed(data: Any) -> tuple[Any, dict[str, Any]]:
    plan = {}
    for name in ("z", "v"):
        low, high = float(data[name].min()), float(data[name].max())
        scale = (high - low) / 60000
        plan[name] = {"dtype": "int16", "scale_factor": scale, "add_offset": (low + high) / 2, "_FillValue": -32768}
    return data, plan


def rolled(data: Any) -> Any:
    longitude = (data.lon + 180) % 360 - 180
    return data.assign_coords(lon=longitude.assign_attrs(data.lon.attrs)).sortby("lon")


VARIANTS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "from the south": (lambda data: data.sortby("lat"), 2e-5),
    "from -180 degrees": (rolled, 2e-5),
    "columns begun elsewhere": (lambda data: data.roll(lon=5, roll_coords=True), 2e-5),
    "other order of dimensions": (lambda data: data.transpose("lat", "time", "lon"), 2e-5),
    "other order of variables": (lambda data: data[["v", "z"]], 2e-5),
    "in float64": (lambda data: data.astype(np.float64), 2e-5),
    "packed": (packed, 2e-3),
    "in chunks": (lambda data: (data, {n: {"chunksizes": (5, 4, 7)} for n in ("z", "v")}), 2e-5),
}


@pytest.fixture(scope="module")
def usual(run: weft.Run, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return predicted(run, WAVES, tmp_path_factory.mktemp("usual") / "a.nc", steps=STEPS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_layout_of_a_file_changes_no_forecast(run, waves, usual, tmp_path, variant):
    change, most = VARIANTS[variant]
    clean = waves.copy()
    for name in waves.variables:
        clean[name].encoding = {}
    made = change(clean)
    data, plan = made if isinstance(made, tuple) else (made, {})
    path = tmp_path / "variant.nc"
    data.to_netcdf(path, engine="h5netcdf", encoding=plan)
    found = predicted(run, path, tmp_path / "a.nc", steps=STEPS)
    for axis in ("lat", "lon"):
        np.testing.assert_array_equal(found[axis], data[axis])  # as the user has it
    back = found.assign_coords(lon=found.lon % 360).sortby("lon").sortby("lat", ascending=False)
    for name in ("z", "v"):
        error = np.abs(back[name].transpose(*usual[name].dims).values - usual[name].values).max()
        assert error <= most * float(usual[name].std()) * STEPS, variant


def test_a_calendar_of_360_days_has_the_same_forecast(run, waves, usual, tmp_path):
    other = waves.assign_coords(
        time=("time", np.arange(48.0), {"units": "days since 2001-01-01", "calendar": "360_day"})
    )
    path = tmp_path / "variant.nc"
    other.to_netcdf(path, engine="h5netcdf")
    (found,) = run.predict(str(path), steps=STEPS, output=str(tmp_path / "a.nc"))
    assert found["times"][0] == "2001-02-19"  # the 49th day of months of 30 days
    made = xr.load_dataset(tmp_path / "a.nc", decode_times=False)
    assert made.time.attrs["calendar"] == "360_day"
    for name in ("z", "v"):  # seasons differ by less than a day of the year
        assert np.abs(made[name].values - usual[name].values).max() < 0.02 * float(usual[name].std())


# Too little, and too different


def test_one_field_is_enough_for_a_forecast_with_the_step_of_the_run(run, waves, tmp_path):
    path = tmp_path / "one.nc"
    waves.isel(time=[40]).to_netcdf(path)
    (found,) = run.predict(str(path), steps=2)
    assert found["times"] == ["2001-02-11", "2001-02-12"]
    with pytest.raises(WeftError, match="one field alone has nothing to interpolate"):
        run.predict(str(path), between=True)
    with pytest.raises(DataError, match="1 field is too few to measure forecasts on"):
        run.evaluate(path)


def test_the_horizon_may_lie_far_beyond_the_data(run):
    (found,) = run.predict(str(WAVES), steps=60, members=1)
    assert len(found["times"]) == 60 or found["note"].startswith("the forecast diverged at step")


def test_fields_with_another_time_step_are_refused_by_name(run, waves, tmp_path):
    path = tmp_path / "hourly.nc"
    waves.assign_coords(time=waves.time.values[0] + np.arange(48) * np.timedelta64(6, "h")).to_netcdf(path)
    with pytest.raises(DataError, match=r"(?s)other fields.*fields +daily +6-hourly"):
        run.predict(str(path))


def test_too_few_fields_and_fields_that_never_follow_each_other_are_refused(waves, tmp_path):
    few, lone = tmp_path / "few.nc", tmp_path / "lone.nc"
    waves.isel(time=slice(0, 5)).to_netcdf(few)
    with pytest.raises(DataError, match=r"few.nc: 5 fields are too few(?s:.*)at least 8"):
        train("forecast", few, out=tmp_path / "run", patch=3)
    days = np.cumsum(np.arange(1, 13) ** 2)
    waves.isel(time=slice(0, 12)).assign_coords(time=waves.time.values[0] + days * np.timedelta64(1, "D")).to_netcdf(
        lone
    )
    with pytest.raises(DataError, match="lone.nc: of the .* fields .* none follows another by one step"):
        train("forecast", lone, out=tmp_path / "run", patch=3)
    assert not (tmp_path / "run").exists()


def test_a_short_file_has_short_windows(waves, tmp_path):
    path = tmp_path / "short.nc"
    waves.isel(time=slice(0, 9)).to_netcdf(path)
    run = train("forecast", path, out=tmp_path / "run", history=None, ahead=None, steps=2, patch=3)
    assert run.config["training"]["history"] == 2 and run.config["training"]["ahead"] == 2


def test_diverging_weights_are_said_and_no_map_of_them_is_written(run, tmp_path):
    broken, output = weft.load(run.folder), tmp_path / "a.nc"
    bias = broken.model.head.out.bias.data
    bias.fill_(float("nan"))
    with pytest.raises(WeftError, match="diverged at its first step"):
        broken.predict(str(WAVES), output=str(output))
    assert not output.exists()
    bias.zero_()[: len(bias) // 2] = 40.0
    (found,) = broken.predict(str(WAVES), steps=40, output=str(output), members=1)
    made = xr.load_dataset(output)
    assert found["note"] == f"the forecast diverged at step {len(found['times']) + 1}: it ends before it"
    assert made.sizes["time"] == len(found["times"]) < 40 and np.isfinite(made.z).all()


def test_a_missing_extra_is_named_in_one_line(run, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.split(".")[0] == "xarray"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "xarray", None)
    words = refused(capsys, "predict", str(run.folder), str(WAVES), "--set", "steps=2")
    assert "weft[weather]" in words and len(words.strip().splitlines()) <= 2
    assert "weft[weather]" in refused(capsys, "train", str(WAVES), "--steps", "2")


# Measured and looked at


def test_another_file_is_measured(run, waves, tmp_path):
    path = tmp_path / "later.nc"
    (1.02 * waves.isel(time=slice(5, 40))).assign(
        {name: (1.02 * waves[name].isel(time=slice(5, 40))).assign_attrs(waves[name].attrs) for name in ("z", "v")}
    ).to_netcdf(path)
    found = run.evaluate(path)
    assert found["metrics"].keys() == run.report["metrics"].keys()
    assert found["skill"]["leads"] == [1, 2] and len(found["skill"]["by_latitude"]) == 3
    assert found["looked"][0].startswith("rmse over damped persistence") and len(found["looked"]) == 5
    assert set(found["by_lead"]["model"]) == {"1", "2"} and {"persistence", "damped"} <= set(found["by_lead"])
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    "how",
    [{}, {"at": "48.2,16.4"}, {"at": "48.2N, 16.4E"}, {"at": "-33.9,-70"}, {"variable": "v", "at": "10,350"},
     {"time": 1}, {"layer": 1}, {"layer": 1, "head": 1}, {"through": True}],
    ids=str,
)  # fmt: skip
def test_a_place_is_looked_at(run, how):
    found = json.loads(json.dumps(run.look(str(WAVES), **how).to_json(), allow_nan=False))
    shares = np.array(found["map"])
    assert shares.shape == (2, 4) and (shares >= 0).all() and shares.sum() == pytest.approx(1, abs=1e-4)
    if "48.2" in how.get("at", ""):
        assert (found["place"]["row"], found["place"]["y"], found["place"]["x"]) == (1, 48.2, 16.4)
    assert ("through all layers" in found["title"]) == how.get("through", False)
    assert ("layer 1" in found["title"]) == ("layer" in how)
    said = [one["text"] for one in found["answer"]["said"]]
    assert found["answer"]["called"].startswith("forecast for 20") or found["answer"]["called"].startswith(
        "forecast for 19"
    )
    assert [text.split()[0] for text in said] == (["v"] if "variable" in how else ["z", "v"]) and all(
        " ± " in text for text in said
    )


def test_each_lead_is_explained_by_the_times_without_which_it_changes(run):
    """A token holds all times here, so attention alone could not tell them apart."""
    found = [run.look(str(WAVES), ahead=lead).to_json() for lead in (1, 2)]
    shares = [dict(one["by_time_hidden_in_turn"]) for one in found]
    assert [len(one) for one in shares] == [3, 3] and shares[0] != shares[1]  # the history; nothing of the future
    assert all(sum(one.values()) == pytest.approx(1, abs=1e-4) for one in shares)
    assert found[0]["answer"]["called"] != found[1]["answer"]["called"]
    assert found[1]["answer"] == run.look(str(WAVES)).to_json()["answer"]  # the farthest is looked at by itself


def test_a_look_is_drawn(run, tmp_path):
    path = tmp_path / "map.png"
    assert command(["look", str(run.folder), str(WAVES), "--set", "at=48.2,16.4", "-o", str(path)]) == 0
    with Image.open(path) as picture:
        assert picture.width > 200


@pytest.mark.parametrize(
    ("how", "words"),
    [({"at": "Vienna"}, "expected latitude,longitude"), ({"at": "95,0"}, "from -90 to 90"), ({"at": "1"}, "expected"),
     ({"variable": "q"}, "there are z, v"), ({"time": 49}, "expected from 1 to 48"), ({"time": 0}, "expected from 1"),
     ({"ahead": 3}, "expected from 1 to 2 steps"),
     ({"layer": 2}, "layer"), ({"layer": 1, "head": 2}, "head"),
     ({"through": True, "layer": 1}, "layer and head do not apply")],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_looked_at_is_refused(run, how, words):
    with pytest.raises(WeftError, match=words):
        run.look(str(WAVES), **how)
