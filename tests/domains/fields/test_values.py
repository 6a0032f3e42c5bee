"""What is missing, packed, infinite or constant is found, counted and said."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.grids import dataset, everything, numbers, opened, refused, stored, written

from weft.domains.fields.reading import scan
from weft.domains.fields.reading.units import same_units


def planted(*cells: tuple[int, int, int], value: float = np.nan, dtype: str = "f4") -> np.ndarray:
    values = numbers().astype(dtype)
    for cell in cells:
        values[cell] = value
    return values


def notes(path: Path) -> str:
    return "\n".join(opened(path).notes)


def test_declared_fillers_are_missing_and_their_share_is_said(tmp_path: Path) -> None:
    values = planted((0, 0, 0), value=-1.0)
    values[1, 0, 0] = -2.0
    fields = opened(
        written(tmp_path / "a.nc", dataset(values, _FillValue=np.float32(-1), missing_value=np.float32(-2)))
    )
    assert np.isnan(everything(fields)).sum() == 2
    assert fields.notes == ("missing values: t2m 0.35 %",)


def test_undeclared_nan_is_missing_and_named_with_its_place(tmp_path: Path) -> None:
    said = notes(written(tmp_path / "a.nc", dataset(planted((3, 5, 1), (4, 0, 0)))))
    assert "2 values of t2m are NaN" in said and "at 2001-01-04, latitude 75, longitude 45" in said
    assert "NaN" not in notes(written(tmp_path / "b.nc", dataset(planted((3, 5, 1)), _FillValue=np.float32("nan"))))


@pytest.mark.parametrize("filler", [-9999.0, -999.0, 9.969209968386869e36, 1e20])
def test_undeclared_fillers_are_missing_and_named(filler: float, tmp_path: Path) -> None:
    fields = opened(written(tmp_path / "a.nc", dataset(planted((3, 5, 1), (4, 0, 0), value=filler))))
    assert np.isnan(everything(fields)).sum() == 2 and np.nanmax(everything(fields)) < 100
    assert f"2 values of t2m are exactly {filler:g}" in fields.notes[0]


def test_values_that_look_like_fillers_but_lie_among_the_others_stay(tmp_path: Path) -> None:
    values = np.linspace(-2000, 2000, 12 * 6 * 8, dtype=np.float32).reshape(12, 6, 8)
    values[3, :2] = -999.0
    fields = opened(written(tmp_path / "a.nc", dataset(values)))
    assert not np.isnan(everything(fields)).any() and fields.notes == ("no value is missing",)


def test_infinite_values_are_refused_with_their_place(tmp_path: Path) -> None:
    message = refused(written(tmp_path / "a.nc", dataset(planted((3, 5, 1), value=np.inf))))
    assert "1 values of t2m are infinite" in message and "at 2001-01-04, latitude 75, longitude 45" in message
    assert "beyond float32" in refused(written(tmp_path / "b.nc", dataset(planted((3, 5, 1), value=1e300, dtype="f8"))))


def test_values_and_fields_that_are_too_large_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.nc", dataset(planted((3, 5, 1), value=3e35)))
    assert "values of t2m reach from" in refused(path) and "expected them within 1e+30" in refused(path)
    monkeypatch.setattr("weft.domains.fields.reading.scanned.memory", lambda: 1e4)
    assert "48 values at each time need about" in refused(
        written(tmp_path / "b.nc", dataset(planted((3, 5, 1), value=1.0)))
    )


def test_a_variable_without_values_is_left_out_and_empty_times_are_listed(tmp_path: Path) -> None:
    data = dataset(planted((2,), (7,)))  # type: ignore[arg-type]
    data["empty"] = (("time", "lat", "lon"), np.full((12, 6, 8), np.nan, np.float32), {"units": "1"})
    fields = opened(path := written(tmp_path / "a.nc", data))
    assert [layer.name for layer in fields.layers] == ["t2m"] and everything(fields).shape == (12, 1, 6, 8)
    assert fields.skipped == (("empty", "all its values are missing"),)
    assert any("missing at 2 times: 2001-01-03, 2001-01-08" in note for note in fields.notes)
    assert "all values of empty are missing" in refused(path, names=("empty",))


def test_an_empty_level_is_left_out(tmp_path: Path) -> None:
    data = dataset().drop_vars("t2m")
    values = np.stack([numbers(), np.full_like(numbers(), np.nan), numbers(seed=2)], axis=1)
    data["z"] = (("time", "plev", "lat", "lon"), values, {"units": "m"})
    fields = opened(written(tmp_path / "a.nc", data.assign_coords(plev=[300, 500, 850])))
    assert [layer.name for layer in fields.layers] == ["z at 300", "z at 850"]
    np.testing.assert_array_equal(everything(fields)[:, 1], np.roll(numbers(seed=2)[:, ::-1], 4, axis=2))


def test_a_constant_field_is_warned_of(tmp_path: Path) -> None:
    assert "t2m is 0 everywhere" in notes(written(tmp_path / "a.nc", dataset(0 * numbers())))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", ">i4", "i8", ">f4", "f8"])
def test_numbers_of_every_type_are_read(dtype: str, tmp_path: Path) -> None:
    data = dataset(numbers().astype(dtype))
    np.testing.assert_array_equal(
        everything(opened(written(tmp_path / "a.nc", data))), np.roll(data.t2m.values[:, None, ::-1], 4, axis=3)
    )


def test_complex_numbers_are_refused(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.zarr", dataset(numbers().astype("c8")))
    assert "complex numbers" in refused(path)


def test_packed_numbers_at_the_end_of_their_range_are_warned_of(tmp_path: Path) -> None:
    values = numbers().astype("i2")
    values[0, 0, :3] = 32767
    said = notes(written(tmp_path / "a.nc", dataset(values, scale_factor=0.01, add_offset=5.0)))
    assert "3 packed values of t2m stand at the end" in said


def test_unsigned_bytes_and_valid_ranges_follow_their_attributes(tmp_path: Path) -> None:
    values = np.full((12, 6, 8), -1, "i1")
    values[0, 0] = 1
    data = dataset(values, _Unsigned="true", valid_range=np.array([2, -1], "i1"))
    found = everything(opened(written(tmp_path / "a.nc", data)))
    assert np.nanmax(found) == 255 and np.isnan(found).sum() == 8


def test_large_files_are_looked_at_in_an_even_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MOST", 6 * 6 * 8 * 4)
    monkeypatch.setattr(scan, "BLOCK", 6 * 8 * 4)
    assert "looked at 6 of 12 times" in notes(written(tmp_path / "a.nc", dataset()))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("m/s", "m s-1", True), ("M/S", "m s**-1", True), ("degC", "Celsius", True), ("DEG C", "°C", True),
        ("mb", "hPa", True),
        ("K", "degC", False), ("Pa", "hPa", False), ("kg m-2 s-1", "kg/m^2/s", True), ("1", "", True),
        ("m", "m2", False), ("m**2 s**-2", "m2/s2", True),
    ],
)  # fmt: skip
def test_units_are_the_same_however_they_are_spelt(one: str, other: str, same: bool) -> None:
    assert same_units(one, other) is same


def test_reading_any_times_gives_the_same_values(tmp_path: Path) -> None:
    fields: Any = opened(written(tmp_path / "a.nc", dataset(), encoding={"t2m": {"chunksizes": (5, 6, 8)}}))
    whole = everything(fields)
    fields.block, fields.kept = 2, 2
    fields._forget()
    for start, stop in ((0, 12), (3, 4), (5, 11), (1, 1)):
        np.testing.assert_array_equal(fields.read(start, stop), whole[start:stop])
    assert len(fields._blocks) <= 2
    with pytest.raises(IndexError):
        fields.read(0, 13)


def test_fields_may_be_sent_to_another_process(tmp_path: Path) -> None:
    import pickle

    fields = opened(written(tmp_path / "a.nc", dataset()))
    whole = everything(fields)
    np.testing.assert_array_equal(everything(pickle.loads(pickle.dumps(fields))), whole)
