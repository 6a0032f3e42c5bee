"""Fields to train on and fields held out, by time; and files for a model that was trained."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import processes
from helpers.grids import COLUMNS, ROWS, dataset, everything, numbers, opened, stored, written

from weft.domains.fields import dataset as datasets
from weft.domains.fields.dataset import GriddedFields, split_by_time
from weft.domains.fields.reading.grid import FieldLayer
from weft.domains.fields.reading.measured import measured_fields
from weft.domains.fields.reading.writing import FieldsToWrite, as_dataset
from weft.errors import DataError
from weft.files.survey import Survey

ASKED = SimpleNamespace(variables=None)


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking through files in a process of their own is tested elsewhere, and takes a second each."""
    from weft.domains.fields.reading import measured
    from weft.domains.fields.reading.scanned import open_fields

    for module in (datasets, measured):
        monkeypatch.setattr(module, "open_fields", lambda *args, **options: open_fields(*args, **options, apart=False))


def test_the_last_fifth_is_held_out(tmp_path: Path) -> None:
    data = GriddedFields().read([str(written(tmp_path / "a.nc", dataset()))], None, ASKED)
    assert (data.train.start, data.train.stop, data.held_out.start, data.held_out.stop) == (0, 10, 10, 12)
    assert data.rule == "the last fifth: 2 fields from 2001-01-11 to 2001-01-12"
    assert data.described == "12 daily fields 2001-01-01 … 2001-01-12 of t2m (K) on 6 x 8 cells; no gaps in time"
    assert data.amounts == {"train": 10, "held_out": 2, "layers": 1} and data.notes[1] == "no value is missing"


def test_the_last_of_several_years_is_held_out(tmp_path: Path) -> None:
    months = dataset(numbers(48)).assign_coords(time=("time", np.arange(48), {"units": "months since 2001-01-15"}))
    fields = opened(written(tmp_path / "a.nc", months))
    train, held_out, rule = split_by_time(fields, "a.nc")
    assert (len(train), len(held_out)) == (36, 12) and rule == "the last year: 12 fields from 2004-01 to 2004-12"


def test_too_few_times_are_refused_with_the_least_number(tmp_path: Path) -> None:
    path = written(tmp_path / "a.nc", dataset().isel(time=[0]))
    with pytest.raises(DataError, match="1 field is too few to learn from") as caught:
        GriddedFields().read([str(path)], None, ASKED)
    assert "at least 8 times" in str(caught.value)


def test_a_file_of_its_own_may_be_held_out(tmp_path: Path) -> None:
    path, later = written(tmp_path / "a.nc", dataset()), written(tmp_path / "b.nc", dataset(numbers(seed=9)))
    data = GriddedFields().read([str(path)], str(later), ASKED)
    assert len(data.train) == 12 and len(data.held_out) == 12 and data.rule.startswith("the file ")
    np.testing.assert_array_equal(data.held_out.fields.read(0, 12), everything(opened(later)))
    assert data.fingerprint != GriddedFields().read([str(path)], None, ASKED).fingerprint


def test_variables_are_chosen_by_name(tmp_path: Path) -> None:
    both = dataset().assign(q=dataset(numbers(seed=1), name="q").q)
    path = written(tmp_path / "a.nc", both)
    data = GriddedFields().read([str(path)], None, SimpleNamespace(variables="q"))
    assert data.columns == ("q",)


def test_a_file_for_a_model_has_its_layers_in_the_order_of_the_model(tmp_path: Path) -> None:
    both = dataset().assign(q=dataset(numbers(seed=1), name="q").q, more=dataset(name="more").more)
    fields = opened(path := written(tmp_path / "a.nc", both))
    q, t2m = fields.layers[1], FieldLayer("t2m", None, "kelvin")
    found = measured_fields([path], [q, t2m], fields.grid)
    np.testing.assert_array_equal(found.fields.read(0, 5), everything(fields)[:5, [1, 0]])


def test_levels_stand_in_the_order_of_the_model(tmp_path: Path) -> None:
    data = dataset().drop_vars("t2m")
    data["z"] = (("time", "plev", "lat", "lon"), np.stack([numbers(), numbers(seed=1)], axis=1), {"units": "m"})
    data = data.assign_coords(plev=[500, 850])
    fields = opened(written(tmp_path / "a.nc", data))
    upside_down = written(tmp_path / "b.nc", data.isel(plev=[1, 0]))
    found = measured_fields([upside_down], fields.layers, fields.grid)
    np.testing.assert_array_equal(found.fields.read(0, 12), everything(fields))
    back = as_dataset(found.fields, FieldsToWrite(found.fields.read(0, 12), fields.times.days))
    assert back.plev.values.tolist() == [850, 500]
    np.testing.assert_array_equal(back.z.values, data.isel(plev=[1, 0]).z.values)


def test_other_fields_are_refused_with_a_table(tmp_path: Path) -> None:
    fields = opened(written(tmp_path / "a.nc", dataset()))
    other = dataset(numbers(12, ROWS, COLUMNS // 2), name="temp")
    with pytest.raises(DataError) as caught:
        measured_fields([written(tmp_path / "b.nc", other)], fields.layers, fields.grid)
    for words in ("the model", "6 x 8              6 x 4", "t2m", "missing", "others", "temp"):
        assert words in str(caught.value), str(caught.value)
    celsius = dataset(units="degC")
    with pytest.raises(DataError, match="units of t2m"):
        measured_fields([written(tmp_path / "c.nc", celsius)], fields.layers, fields.grid)


def test_files_of_fields_are_known_by_their_names(tmp_path: Path) -> None:
    judge = GriddedFields().judge
    files = written(tmp_path / "a.nc", dataset()), stored(tmp_path / "store", dataset())
    assert judge(Survey(files)) and judge(Survey([tmp_path])) and judge(Survey([tmp_path / "*"]))
    assert Survey([files[1]]).sources[0].kind == "store" and Survey([tmp_path]).sources[0].files == files
    (tmp_path / "text.txt").write_text("words")
    assert not judge(Survey([tmp_path / "text.txt"]))


def test_reading_and_writing_load_no_torch() -> None:
    code = (
        "import sys, weft.domains.fields.dataset, weft.domains.fields.reading.writing; sys.exit('torch' in sys.modules)"
    )
    assert processes.run([sys.executable, "-c", code], check=False).returncode == 0
