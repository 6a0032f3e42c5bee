"""Files that are cut off, damaged, crafted or lead elsewhere are refused by name. Nothing outside of a file is read."""

import json
import os
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.grids import LEADING_ELSEWHERE, dataset, everything, numbers, opened, refused, stored, written

from weft.domains.fields.reading import probe
from weft.domains.fields.reading.scanned import open_fields
from weft.errors import DataError, WeftError

h5py = pytest.importorskip("h5py")


def test_a_file_that_is_cut_off_anywhere_is_refused_by_name(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole.nc", dataset()).read_bytes()
    cut = tmp_path / "cut.nc"
    for share in np.linspace(0, 0.99, 12):
        cut.write_bytes(whole[: int(share * len(whole))])
        assert "cut.nc" in refused(cut)
    dataset().to_netcdf(classic := tmp_path / "classic.nc", engine="scipy")
    for size in (3, 40, 200, classic.stat().st_size - 100):
        cut.write_bytes(classic.read_bytes()[:size])
        assert "cut.nc" in refused(cut)


def test_a_damaged_chunk_is_found_before_training_and_named(tmp_path: Path) -> None:
    packed = {"t2m": {"zlib": True, "chunksizes": (1, 6, 8)}}
    path = written(tmp_path / "a.nc", dataset(), encoding=packed)
    with h5py.File(path) as file:
        chunk = file["t2m"].id.get_chunk_info(7)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset : chunk.byte_offset + 40] = b"\xff" * 40
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match="a.nc: cannot be read"):
        open_fields([path])


def test_a_file_that_crashes_its_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = (
        "import json, os, signal\nprint(json.dumps({'at': 'bad.nc'}), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    (tmp_path / "crashing.py").write_text(crash)
    monkeypatch.setattr(probe, "MODULE", "crashing")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(DataError, match="bad.nc: reading it ended its process: SIGSEGV"):
        probe.look_apart(["bad.nc"], (), strict=True)


def test_what_a_process_of_its_own_finds_is_the_same_as_here(tmp_path: Path) -> None:
    values = numbers()
    values[3, 2, 1], values[4, :2] = np.nan, -9999.0
    path, heard = written(tmp_path / "a.nc", dataset(values)), []
    apart = open_fields([path], count=lambda *done: heard.append(done))
    assert apart.notes == opened(path).notes and len(apart.notes) == 3 and heard[-1] == (1, 1)
    assert np.array_equal(everything(apart), everything(opened(path)), equal_nan=True)
    with pytest.raises(DataError, match="no variable is named 'u'"):
        open_fields([path], ["u"])


@pytest.mark.parametrize(
    ("craft", "words"),
    [
        ("linked", "external link"),
        ("virtual", "virtual dataset"),
        ("external", "in another file"),
        ("huge", "one chunk of"),
    ],
)
def test_hdf5_files_that_lead_elsewhere_are_refused(craft: str, words: str, tmp_path: Path) -> None:
    written(tmp_path / "secret.nc", dataset())
    with h5py.File(path := written(tmp_path / "a.nc", dataset()), "a") as file:
        LEADING_ELSEWHERE[craft](file)
    assert words in refused(path)


def test_more_steps_than_any_file_has_are_refused_before_they_are_counted(tmp_path: Path) -> None:
    import h5netcdf

    with h5netcdf.File(path := tmp_path / "a.nc", "w") as file:
        file.dimensions = {"time": 10**9, "lat": 6, "lon": 8}
        file.create_variable("t2m", ("time", "lat", "lon"), "f4", chunks=(1000, 6, 8))
    assert "1,000,000,000 steps along" in refused(path)


def test_references_to_objects_are_never_followed(tmp_path: Path) -> None:
    with h5py.File(path := written(tmp_path / "a.nc", dataset()), "a") as file:
        references = file.create_dataset("references", (12,), h5py.ref_dtype)
        references[0] = file["t2m"].ref
    try:
        assert [layer.name for layer in opened(path).layers] == ["t2m"]
    except DataError as error:
        assert "a.nc" in str(error)


def edited(path: Path, name: str, **changes: Any) -> Path:
    file = path / name
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shape": [10**12, 6, 8]}, "cannot be read"),
        ({"shape": [10**400, 6, 8]}, "shape is"),
        ({"chunks": [-1, 6, 8]}, "chunks is"),
        ({"chunks": [10**6, 10**6, 8]}, "cannot be read"),
        ({"chunks": [1, 6]}, "3 axes, but chunks along 2"),
        ({"compressor": {"id": "mystery"}}, "codec 'mystery' is not known"),
        ({"filters": [{"id": "pickle"}]}, "never read"),
        ({"dtype": "|O"}, "Python objects"),
    ],
)
def test_crafted_metadata_of_a_store_is_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = edited(stored(tmp_path / "a.zarr", dataset()), "t2m/.zarray", **changes)
    message = refused(path)
    assert words in message and "t2m/.zarray" in message


@pytest.mark.parametrize("codec", ["numcodecs.pickle", "mystery"])
def test_crafted_codecs_of_the_third_version_are_refused(codec: str, tmp_path: Path) -> None:
    path = edited(stored(tmp_path / "a.zarr", dataset(), zarr_format=3), "t2m/zarr.json", codecs=[{"name": codec}])
    assert "codec" in refused(path) or "never read" in refused(path)


def test_metadata_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (stored(tmp_path / "a.zarr", dataset()) / "t2m/.zarray").write_text("{" * 10**5)
    assert "no metadata of zarr" in refused(tmp_path / "a.zarr")


def test_a_missing_chunk_is_named_and_counted_where_its_fill_value_means_missing(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.zarr", dataset())
    (path / "t2m" / "3.0.0").unlink()
    fields = opened(path)
    assert "t2m: 1 of 12 chunks are not in the store: t2m/3.0.0; their cells count as missing" in fields.notes
    assert np.isnan(everything(fields)[3]).all() and not np.isnan(everything(fields)[2]).any()


def test_a_missing_chunk_is_refused_where_its_fill_value_is_a_number(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.zarr", dataset(), zarr_format=3)
    edited(path, "t2m/zarr.json", fill_value=0.0, attributes={"units": "K"})
    assert opened(path).notes == ("no value is missing",)
    shutil.rmtree(path / "t2m/c/3")
    assert "1 of 12 chunks are not in the store: t2m/c/3/0/0" in refused(path)


def test_a_missing_chunk_of_a_coordinate_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.zarr", dataset())
    (path / "lat" / "0").unlink()
    assert "lat/0" in refused(path)


def test_names_and_links_that_leave_a_store_are_refused(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.zarr", dataset())
    with zipfile.ZipFile(tmp_path / "b.zarr.zip", "w") as archive:
        archive.writestr("../t2m/.zarray", "{}")
    assert "leads out of the store" in refused(tmp_path / "b.zarr.zip")
    (path / "t2m" / "3.0.0").unlink()
    os.symlink(written(tmp_path / "secret.nc", dataset()), path / "t2m" / "3.0.0")
    assert "leads out of the store" in refused(path)


def test_a_missing_library_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5netcdf", None)
    with pytest.raises(WeftError, match=r"need h5netcdf, which is not installed\n  -> pip install 'weft\[weather\]'"):
        open_fields(["a.nc"])


def test_without_a_process_of_its_own_a_file_is_looked_through_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no python"))
    assert open_fields([written(tmp_path / "a.nc", dataset())]).notes == ("no value is missing",)


def test_other_files_are_refused_with_the_formats_that_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_text("no fields")
    assert "neither netCDF nor zarr" in refused(tmp_path / "a.nc")
    assert "no such file" in refused(tmp_path / "b.nc")
    (tmp_path / "empty").mkdir()
    assert "no file of fields" in refused(tmp_path / "empty")
