"""What to do with a file in which nothing can be forecast. Knows dimensions and their roles; opens nothing."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from weft.domains.fields.reading.axes import COLUMNS, ROWS, Role
from weft.files.decoding import shown
from weft.files.foreign import formats

TRACKS = {"trajectory", "obs"}  # the dimensions of tracks by the CF conventions
UNNAMED = "phony_dim_"  # how h5netcdf calls dimensions that HDF5 does not name
AS_TABLE = (
    'python -c "import sys, xarray; xarray.open_dataset(sys.argv[1]{engine}).to_dataframe().reset_index()'
    '.to_csv(sys.argv[2], index=False)" {file} {stem}.csv'
)

Dimensions = Mapping[str, Role | None]


def remedy(path: Path, variables: Mapping[str, Dimensions], cells: str | None) -> str:
    """What to do, by the dimensions of the variables that are no fields in time.

    `cells` is a dimension along which each entry has a latitude and a longitude of its own.
    """
    name, stem = shlex.quote(shown(path)), shlex.quote(shown(path.with_suffix("")))
    engine = ", engine='zarr'" if path.is_dir() else ""
    as_table = AS_TABLE.format(engine=engine, file=name, stem=stem)
    named = {dim for dims in variables.values() for dim in dims}
    if cells is not None:
        return (
            f"its cells stand along the one dimension {cells}, not in rows and columns; interpolate them to a regular "
            f"grid: cdo remapdis,r360x180 {name} {stem}-regular.nc"
        )
    if flat := next((one for one, dims in variables.items() if _is_flat(dims)), None):
        globe = {"latitude", "longitude"} <= set(variables[flat].values())
        plane = f"--set plane_columns={','.join(reversed([*variables[flat]]))}"
        command = (
            f"weft train {name} --task fit-field --set value_column={flat}"
            if globe
            else f"{as_table} && weft train {stem}.csv --task fit-field {plane} --set value_column={flat}"
        )
        return f"without times there is nothing to forecast; learn it as a function of the place: {command}"
    if named >= TRACKS:
        return f"tracks are no fields on a grid; write them as a table: {as_table}"
    if named and all(dim.startswith(UNNAMED) for dim in named):
        known = formats()["hdf"]
        return f"its dimensions have no names, so that none is time, rows or columns. {known.remedy(path, shown(path))}"
    return "expected variables with a time axis, rows and columns; name those to use with --set variables=NAME,NAME"


def _is_flat(dims: Dimensions) -> bool:
    """Whether dimensions are rows and columns and nothing else."""
    roles = set(dims.values())
    return len(dims) == 2 and bool(roles & {*ROWS}) and bool(roles & {*COLUMNS})
