"""Files as others publish them, each with its own quirks: read, and written back as they were."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.grids import everything, opened, xr

from weft.domains.fields.reading.writing import FieldsToWrite, write_fields

SHARED = Path(__file__).parents[4] / "shared/data/weather"
FILES: dict[str, Any] = {
    "coads_climatology.nc": ((12, 7, 90, 180), "sphere", True, "0000-12"),
    "eraint_uvz-month1-1p5deg.nc": ((1, 9, 121, 240), "sphere", True, "0001-01-16T00:00"),
    "hadgem_a1b_north_america.nc": ((240, 1, 37, 49), "sphere", False, "2099-06"),
    "navy_winds-1982-1990.nc": ((108, 2, 73, 144), "sphere", True, "1990-12"),
    "ostia_sst-months-01-36.nc": ((36, 1, 18, 432), "sphere", True, "2009-03"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.skipif(not SHARED.is_dir(), reason="the files are not here")
def test_files_of_others_are_read_and_written_back(name: str, tmp_path: Path) -> None:
    fields = opened(SHARED / name)
    shape, surface, wraps, last = FILES[name]
    assert (len(fields), len(fields.layers), *fields.grid.shape) == shape
    assert (fields.grid.surface, fields.grid.wraps, fields.times.labels[-1]) == (surface, wraps, last)
    assert fields.times.pieces == ((0, len(fields)),) and fields.grid.y[0] > fields.grid.y[-1]
    write_fields(tmp_path / "out.nc", fields, FieldsToWrite(everything(fields), fields.times.days))
    with (
        xr.open_dataset(SHARED / name, decode_times=False) as theirs,
        xr.open_dataset(tmp_path / "out.nc", decode_times=False) as ours,
    ):
        for variable in ours.data_vars:
            assert ours[variable].dims == theirs[variable].dims
            np.testing.assert_allclose(ours[variable].values, theirs[variable].values, rtol=1e-6)
            for dim in ours[variable].dims:
                np.testing.assert_allclose(ours[dim].values, theirs[dim].values, rtol=1e-9)
