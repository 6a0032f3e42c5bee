"""Whether files are fields on a grid. Told by their names: nothing is opened, and no library is needed."""

from weft.files.grid_formats import ENDINGS, is_fields
from weft.files.survey import NO, Judgement, Survey, Surveyed


def judge(survey: Survey) -> Judgement:
    """Sure where every source is a netCDF file or a zarr store, or consists mostly of them."""
    return survey.weakest(_judge)


def _judge(source: Surveyed) -> Judgement:
    fields = [name for name in source.names if is_fields(name)]
    if len(fields) * 2 <= len(source.names) or not fields:
        return NO
    kind = next(ending for ending in (*ENDINGS[::-1], "") if fields[0].lower().endswith(ending))
    return Judgement("sure", f"{kind or 'zarr'} files hold fields on a grid")
