"""Places with values: tables, grids and pictures become rows; what is wrong is named with its file and row or index."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from weft.domains.places.dataset import PlacesWithValues, split_places
from weft.domains.places.reading.grids import pixel_places
from weft.domains.places.reading.rows import read_places
from weft.domains.places.reading.tables import judge
from weft.domains.places.settings import PlaceTraining
from weft.errors import DataError
from weft.files.survey import Survey

ASKED = PlaceTraining()


def written(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def stations(tmp_path: Path, *more: str, head: str = "lat,lon,metres") -> str:
    rows = [f"{i * 5 - 40},{i * 15 - 120},{100.5 * i + 0.25}" for i in range(16)]
    return written(tmp_path / "stations.csv", head, *rows, *more)


def test_a_table_of_places_is_recognised_by_its_names(tmp_path: Path) -> None:
    found = judge(Survey([stations(tmp_path)]))
    assert found.level == "sure" and "metres" in found.why
    assert judge(Survey([stations(tmp_path, head="a,b,metres")])).level == "no"
    unclear = written(tmp_path / "two.csv", "lat,lon,a,b", *(f"{i},{i},{i}.5,{i}.25" for i in range(12)))
    assert judge(Survey([unclear])).level == "possible"


@pytest.mark.parametrize(
    ("head", "asked"),
    [
        ("X_CENTROID,Y_CENTROID,rate", "plane_columns=X_CENTROID,Y_CENTROID --set value_column=rate"),
        ("centre_x,centre_y,rate", "plane_columns=centre_x,centre_y --set value_column=rate"),
        ("lat,long,delta_long,delta_lat", "--set value_column=delta_lat"),
    ],
)
def test_columns_named_nearly_as_places_are_possible_ones(tmp_path: Path, head: str, asked: str) -> None:
    rows = [",".join(str(i * k % 31 + 0.5) for k in (1, 7, 11, 13)[: head.count(",") + 1]) for i in range(30)]
    (tmp_path / "a.csv").write_text("\n".join([head, *rows]))
    found = judge(Survey([tmp_path / "a.csv"]))
    assert found.level == "possible" and asked in found.settings


def test_columns_by_number_need_no_header(tmp_path: Path) -> None:
    path = written(tmp_path / "c.tsv", *(f"name{i}\t{'NA' if i % 2 else 'DE'}\t{i}\t{-i}" for i in range(20)))
    asked = ASKED.replace(lat_column="3", lon_column="4", value_column="2")
    found = read_places([path], asked)
    assert found.kind == "classes" and set(found.rows.values.tolist()) == {"NA", "DE"}  # NA is Namibia, not absent
    assert found.rows.where[3].tolist() == [3.0, -3.0]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("91,0,5", "a latitude of 91 degrees"),
        ("0,700,5", "a longitude of 700 degrees"),
        ("north,0,5", "the coordinate lat is 'north', which is not a number"),
        ("1,2,high", "the value 'high' is not a number"),
        ("1,2", "2 columns, expected 3"),
        ("nan,2,5", "the coordinate lat is 'nan'"),
    ],
)
def test_a_bad_row_is_named_with_its_line_and_may_be_left_out(tmp_path: Path, row: str, said: str) -> None:
    path = stations(tmp_path, row)
    with pytest.raises(DataError, match=said) as error:
        read_places([path], ASKED)
    assert "stations.csv, line 18" in str(error.value)
    found = read_places([path], ASKED.replace(skip=1.0))
    assert len(found.rows) == 16 and found.skipped[0][0].endswith("line 18")


def test_rows_without_a_value_are_left_out_and_counted(tmp_path: Path) -> None:
    found = read_places([stations(tmp_path, "1,2,", "3,4,n/a")], ASKED)
    assert len(found.rows) == 16 and "rows without a value, left out: 2" in found.notes


def test_dates_are_an_axis_of_their_own(tmp_path: Path) -> None:
    rows = [f"{i},{i},2024-01-{i + 1:02},{i}.5" for i in range(12)]
    found = read_places([written(tmp_path / "t.csv", "lat,lon,date,value", *rows)], ASKED)
    assert found.axes == ("lat", "lon", "time") and found.dates
    assert np.diff(found.rows.where[:, 2]).tolist() == [1.0] * 11


def test_a_plane_has_the_columns_that_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "p.csv", "easting,northing,ph", *(f"{i}00,{i * i},{i}.5" for i in range(12)))
    found = read_places([path], ASKED.replace(plane_columns="easting,northing"))
    assert found.axes == ("x", "y") and found.rows.where[2].tolist() == [200.0, 4.0] and found.value == "ph"


def test_a_grid_has_a_place_for_each_cell_and_none_where_it_has_no_number(tmp_path: Path) -> None:
    metres = np.arange(20.0).reshape(4, 5)
    metres[1, 2] = np.nan
    np.savez(tmp_path / "g.npz", lat=np.arange(4.0), lon=np.arange(5.0) + 357, metres=metres)
    found = read_places([str(tmp_path / "g.npz")], ASKED)
    assert judge(Survey([tmp_path / "g.npz"])).level == "sure"
    assert len(found.rows) == 19 and found.cells == (4, 5) and "no number, left out: 1" in found.notes[1]
    assert found.rows.where[-1].tolist() == [3.0, 361.0] and found.rows.values[-1] == 19


def test_a_bad_grid_is_named_with_its_index_or_arrays(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    np.savez(path, lat=np.array([0.0, 95.0, 1.0]), lon=np.arange(5.0), v=np.zeros((3, 5)))
    with pytest.raises(DataError, match=r"lat\[1\]: a latitude of 95 degrees"):
        read_places([str(path)], ASKED)
    np.savez(path, lat=np.arange(3.0), lon=np.arange(5.0), v=np.zeros((5, 3)))
    with pytest.raises(DataError, match=r"no array of \[3, 5\].*v \[5, 3\]"):
        read_places([str(path)], ASKED)
    np.savez(path, lat=np.arange(3.0), lon=np.arange(5.0), v=np.zeros((3, 5)), w=np.ones((3, 5)))
    with pytest.raises(DataError, match="value_column=v"):
        read_places([str(path)], ASKED)


def test_a_netcdf_variable_is_read(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    data = np.random.default_rng(0).normal(size=(2, 6, 8)).astype("float32")
    axes = {"time": [0, 1], "latitude": np.linspace(-50, 50, 6), "longitude": np.arange(8) * 45.0}
    path = tmp_path / "a.nc"
    xarray.Dataset({"t2m": (("time", "latitude", "longitude"), data)}, axes).to_netcdf(path, engine="h5netcdf")
    found = read_places([str(path)], ASKED)
    assert found.value == "t2m" and np.allclose(found.rows.values, data[0].ravel())


def test_pixels_are_places_in_proportion_and_transparent_ones_are_left_out(tmp_path: Path) -> None:
    pixels = np.zeros((10, 20, 4), np.uint8)
    pixels[..., 3] = 255
    pixels[0, 0, 3] = 0
    pixels[..., 0] = np.arange(20)
    Image.fromarray(pixels).save(tmp_path / "p.png")
    found = read_places([str(tmp_path / "p.png")], ASKED)
    assert found.kind == "colours" and found.cells == (10, 20) and len(found.rows) == 199
    assert found.rows.where[0].tolist() == [-0.85, -0.45]
    coarse, fine = pixel_places(10, 20), pixel_places(30, 60)
    assert np.allclose(coarse[0], fine.reshape(30, 60, 2)[1, 1])  # the same place, whatever the number of pixels


def test_columns_are_asked_of_tables_alone(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "p.png")
    with pytest.raises(DataError, match="plane_columns: only tables have columns"):
        read_places([str(tmp_path / "p.png")], ASKED.replace(plane_columns="x,y"))


def test_equal_places_fall_on_the_same_side_and_every_class_is_learned(tmp_path: Path) -> None:
    rows = [f"{i % 30},{i % 30},{'abc'[i % 3]}" for i in range(90)] + ["80,80,rare", "79,79,b"]
    data = PlacesWithValues().read([written(tmp_path / "s.csv", "lat,lon,kind", *rows)], None, ASKED)
    train, held = ({tuple(place) for place in side.where.tolist()} for side in (data.train, data.held_out))
    assert not train & held and "rare" in data.train.values and len(data.held_out) >= 9
    assert data.classes == ("a", "b", "c", "rare")


def test_held_out_cells_are_a_tenth_and_always_the_same() -> None:
    data = PlacesWithValues().read([], None, ASKED)
    again = split_places(data.found)
    assert len(data.held_out) == round(0.1 * 256 * 256)
    assert np.array_equal(again.held_out.where, data.held_out.where)


def test_what_holds_nothing_to_learn_is_refused(tmp_path: Path) -> None:
    few = written(tmp_path / "few.csv", "lat,lon,v", "1,2,3.5", "2,3,4.5")
    same = written(tmp_path / "same.csv", "lat,lon,v", *(f"{i},2,3.5" for i in range(20)))
    names = written(tmp_path / "names.csv", "lat,lon,v", *(f"{i},2,n{i}" for i in range(20)))
    for path, said in ((few, "too few"), (same, "nothing to learn"), (names, "does not look like classes")):
        with pytest.raises(DataError, match=said):
            read_places([path], ASKED)
