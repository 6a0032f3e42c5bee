"""Whatever the layout of a file, its fields are the same; and they are written back in that layout."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.grids import COLUMNS, dataset, everything, numbers, opened, refused, stored, written, xr

from weft.domains.fields.reading.scanned import fingerprint
from weft.domains.fields.reading.writing import FieldsToWrite, as_dataset, write_fields
from weft.errors import WeftError

WEST_FIRST = np.roll(numbers()[:, ::-1], 4, axis=2)  # 180 to 315 degrees are -180 to -45


def flipped(data: Any) -> Any:
    return data.isel(lat=slice(None, None, -1))


def rolled(data: Any) -> Any:
    there = data.roll(lon=4, roll_coords=True)
    return there.assign_coords(lon=("lon", (there.lon.values + 180) % 360 - 180, there.lon.attrs))


def closed(data: Any) -> Any:
    """With the first column once more at 360 degrees."""
    last = data.isel(lon=[0]).assign_coords(lon=("lon", [360.0], data.lon.attrs))
    return xr.concat([data, last], "lon", combine_attrs="override").assign_coords(
        lon=("lon", np.append(data.lon.values, 360.0), data.lon.attrs)
    )


def beyond(data: Any) -> Any:
    return data.assign_coords(lon=("lon", data.lon.values + 720, data.lon.attrs))


def jittered(data: Any) -> Any:
    noise = np.random.default_rng(0).normal(0, 1e-6, COLUMNS)
    return data.assign_coords(lon=("lon", data.lon.values + noise, data.lon.attrs))


def last_dimension_first(data: Any) -> Any:
    return data.transpose("lon", "lat", "time")


def as_float64(data: Any) -> Any:
    return data.assign(t2m=data.t2m.astype(">f8"))


def one_level(data: Any) -> Any:
    return data.expand_dims(height=[2.0], axis=1)


def without_units(data: Any) -> Any:
    """Axes are known by their names alone, whatever the case."""
    renamed = data.rename(lat="LATITUDE", lon="Lon", time="TIME")
    for name in ("LATITUDE", "Lon"):
        renamed[name].attrs.clear()
    return renamed


LAYOUTS = [flipped, rolled, closed, beyond, jittered, last_dimension_first, as_float64, one_level, without_units]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The fingerprint of the fields in a plain file."""
    return fingerprint(opened(written(tmp_path_factory.mktemp("plain") / "b.nc", dataset())))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_fields_are_the_same_in_every_layout(layout: Any, plain: str, tmp_path: Path) -> None:
    fields = opened(written(tmp_path / "a.nc", layout(dataset())))
    np.testing.assert_array_equal(everything(fields), WEST_FIRST[:, None])
    np.testing.assert_allclose(fields.grid.x, np.arange(-180, 180, 45), atol=1e-4)
    np.testing.assert_allclose(fields.grid.y, np.linspace(75, -75, 6))
    assert fields.grid.wraps and fields.grid.surface == "sphere"
    assert fingerprint(fields) == plain


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_what_is_written_has_the_layout_of_the_file_that_was_read(layout: Any, tmp_path: Path) -> None:
    data = layout(dataset())
    fields = opened(written(tmp_path / "a.nc", data))
    same(as_dataset(fields, FieldsToWrite(everything(fields), fields.times.days)), data)


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_files_are_written_whole_and_may_be_written_again(ending: str, tmp_path: Path) -> None:
    data = closed(dataset())
    fields = opened(written(tmp_path / "a.nc", data))
    for _ in range(2):
        write_fields(tmp_path / f"out{ending}", fields, FieldsToWrite(everything(fields), fields.times.days))
    with xr.open_dataset(tmp_path / f"out{ending}", decode_times=False) as back:
        same(back, data)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nc", f"out{ending}"]


def same(back: Any, data: Any) -> None:
    """Values, dimensions, coordinates and attributes are those of the file that was read."""
    assert back.t2m.dims == data.t2m.dims and back.t2m.attrs["units"] == "K"
    np.testing.assert_array_equal(back.t2m.values, data.t2m.values)
    for dim in data.t2m.dims:
        np.testing.assert_array_equal(back[dim].values, data[dim].values)
        assert back[dim].attrs == data[dim].attrs
    assert back.attrs["history"].startswith("weft ")


@pytest.mark.parametrize("form", ["classic", "packed", "chunked", "zarr2", "zarr3", "zip"])
def test_fields_are_the_same_in_every_format(form: str, plain: str, tmp_path: Path) -> None:
    data = dataset()
    if form == "classic":
        data.to_netcdf(path := tmp_path / "a.nc", engine="scipy")
    elif form == "packed":
        packing = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 30.0, "_FillValue": -32768}
        path = written(tmp_path / "a.nc", data, encoding={"t2m": packing})
    elif form == "chunked":
        path = written(tmp_path / "a.nc", data, encoding={"t2m": {"chunksizes": (12, 2, 2), "zlib": True}})
    elif form == "zip":
        folder = stored(tmp_path / "folder", data)
        path = Path(shutil.make_archive(str(tmp_path / "a.zarr"), "zip", folder))
    else:
        path = stored(tmp_path / "folder", data, zarr_format=int(form[-1]))
    fields = opened(path)
    np.testing.assert_allclose(everything(fields)[:, 0], WEST_FIRST, atol=0.005 if form == "packed" else 0)
    assert fingerprint(fields) == plain
    assert fields.notes == ("no value is missing",)


def test_a_region_across_the_date_line_stays_in_one_piece(tmp_path: Path) -> None:
    data = dataset().assign_coords(lon=("lon", 160.0 + 5 * np.arange(8), {"units": "degrees_east"}))
    fields = opened(written(tmp_path / "a.nc", data))
    np.testing.assert_allclose(fields.grid.x, 160.0 + 5 * np.arange(8))
    assert not fields.grid.wraps
    np.testing.assert_array_equal(everything(fields)[:, 0], numbers()[:, ::-1])
    sorted_by_longitude = data.assign_coords(lon=(data.lon + 180) % 360 - 180).sortby("lon")
    again = opened(written(tmp_path / "b.nc", sorted_by_longitude))
    np.testing.assert_allclose(again.grid.x, fields.grid.x)
    np.testing.assert_array_equal(everything(again), everything(fields))


def test_projected_coordinates_are_a_plane(tmp_path: Path) -> None:
    data = dataset().rename(lat="y", lon="x")
    for name, word in (("y", "projection_y_coordinate"), ("x", "projection_x_coordinate")):
        data[name].attrs = {"standard_name": word, "units": "m"}
    fields = opened(written(tmp_path / "a.nc", data))
    assert fields.grid.surface == "plane" and not fields.grid.wraps
    assert (fields.grid.weights == 1).all()


def test_cells_without_coordinates_are_a_plane_whatever_their_names(tmp_path: Path) -> None:
    fields = opened(written(tmp_path / "a.nc", data := dataset().drop_vars(["lat", "lon"])))
    assert fields.grid.surface == "plane" and fields.grid.x.tolist() == list(range(8))
    back = as_dataset(fields, FieldsToWrite(everything(fields), fields.times.days))
    np.testing.assert_array_equal(back.t2m.values, data.t2m.values)
    assert set(back.coords) == {"time"}


@pytest.mark.parametrize(
    ("axis", "at", "value", "words"),
    [
        ("lat", 3, np.nan, "lat[3] is nan"),
        ("lat", 3, -90.0, "lat[3] is -90 after -15: it turns back"),
        ("lat", 5, 95.0, "lat[5] is 95; expected a latitude"),
        ("lon", 2, 45.0, "lon[2] is 45 after 45: it repeats"),
        ("lon", 2, 10.0, "lon[2] is 10 after 45: it turns back"),
    ],
)
def test_wrong_coordinates_are_refused_with_their_place(
    axis: str, at: int, value: float, words: str, tmp_path: Path
) -> None:
    data = dataset()
    coordinate = data[axis].values.copy()
    coordinate[at] = value
    assert words in refused(
        written(tmp_path / "a.nc", data.assign_coords({axis: (axis, coordinate, data[axis].attrs)}))
    )


def test_curvilinear_grids_are_refused_in_words(tmp_path: Path) -> None:
    data = dataset().drop_vars(["lat", "lon"]).rename(lat="y", lon="x")
    for name in ("nav_lat", "nav_lon"):
        data[name] = (("y", "x"), numbers()[0])
    assert "curvilinear" in refused(written(tmp_path / "a.nc", data))


def test_cells_that_are_no_grid_are_refused_with_the_command_that_interpolates_them(tmp_path: Path) -> None:
    cells = xr.Dataset({"t2m": (("time", "cell"), numbers().reshape(len(numbers()), -1))})
    for name, units in (("clat", "degrees_north"), ("clon", "degrees_east")):
        cells[name] = ("cell", np.arange(cells.sizes["cell"]) * 0.1, {"units": units})
    assert "cdo remapdis" in refused(written(tmp_path / "a.nc", cells))


def test_a_field_without_times_is_refused_with_the_command_that_learns_it_as_places(tmp_path: Path) -> None:
    flat = dataset().isel(time=0, drop=True)
    assert "weft train" in refused(written(tmp_path / "a.nc", flat)) and "--task fit-field" in refused(
        tmp_path / "a.nc"
    )
    plane = xr.Dataset({"height": (("y", "x"), numbers()[0])})
    assert "--set plane_columns=x,y --set value_column=height" in refused(written(tmp_path / "b.nc", plane))
    tracks = xr.Dataset({"lon": (("trajectory", "obs"), numbers()[0]), "z": (("trajectory", "obs"), numbers()[0])})
    assert "to_dataframe()" in refused(written(tmp_path / "c.nc", tracks))


def test_arrays_of_hdf5_without_named_dimensions_are_refused_with_the_command_that_takes_them_out(
    tmp_path: Path,
) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["altitude"] = numbers()[0]
    assert "numpy.savez" in refused(tmp_path / "a.h5")


def test_levels_are_layers_and_are_written_back_as_levels(tmp_path: Path) -> None:
    levels = np.stack([numbers(), numbers(seed=1) + 5], axis=1)
    data = dataset().drop_vars("t2m")
    data["z"] = (("time", "plev", "lat", "lon"), levels, {"units": "m", "standard_name": "geopotential_height"})
    data = data.assign_coords(plev=("plev", [500, 850], {"units": "hPa"}))
    fields = opened(written(tmp_path / "a.nc", data))
    assert [layer.name for layer in fields.layers] == ["z at 500", "z at 850"]
    np.testing.assert_array_equal(everything(fields)[:, 1], np.roll(levels[:, 1, ::-1], 4, axis=2))
    many = np.stack([everything(fields)] * 3)
    back = as_dataset(fields, FieldsToWrite(many, fields.times.days, spread=many[0] * 0 + 1))
    assert back.z.dims == ("member", "time", "plev", "lat", "lon") and back.z_spread.dims == data.z.dims
    np.testing.assert_array_equal(back.z.values[2], levels)
    assert "standard_name" not in back.z_spread.attrs and back.z_spread.attrs["units"] == "m"


def test_variables_that_are_no_fields_are_left_out_and_listed(tmp_path: Path) -> None:
    data = dataset()
    data["land"] = (("lat", "lon"), numbers()[0])
    data["ensemble"] = (("member", "time", "lat", "lon"), np.stack([numbers()] * 3))
    data["time_bnds"] = (("time", "bnds"), np.zeros((12, 2)))
    data["words"] = (("time", "lat", "lon"), np.full((12, 6, 8), "a"))
    fields = opened(path := written(tmp_path / "a.nc", data))
    assert [layer.name for layer in fields.layers] == ["t2m"]
    reasons = dict(fields.skipped)
    assert set(reasons) == {"land", "ensemble", "words"}
    assert "no time axis" in reasons["land"] and "ds.isel(member=0)" in reasons["ensemble"]
    for names in (("ensemble",), ("t2m", "ensemble")):
        assert "member of size 3" in refused(path, names=names)
    assert "did you mean 't2m'?" in refused(path, names=("t2",))


def test_a_name_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    fields = opened(written(tmp_path / "a.nc", dataset()))
    (tmp_path / "full.zarr").mkdir()
    for name in ("a.txt", "full.zarr", "nowhere/a.nc"):
        with pytest.raises(WeftError):
            write_fields(tmp_path / name, fields, FieldsToWrite(everything(fields), fields.times.days))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nc", "full.zarr"]
