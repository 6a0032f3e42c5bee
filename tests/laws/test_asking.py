"""The laws of asking, over every task: values open nothing, a bad input costs only itself, work can be stopped.

No string is ever the name of a file: what is given as a value is refused, or read as it is. A table of inputs is
answered as the inputs alone are, in each of its formats, and keeps its columns.
"""

import base64
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.tables import read_cells, write_table
from helpers.trials import DATA, EVERY, PIXELS, train
from PIL import Image

import weft
from weft.config import field_types
from weft.domains.registry import all_cards
from weft.errors import ConfigError, WeftError
from weft.files.table_writing import ENDINGS as TABLES
from weft.inspect.effects import branch_ablation
from weft.runs.answered import Answered
from weft.runs.asking import ask, checked, embedded, given, look, study
from weft.tasks.asks import Answer, Content, Given, Questioned, Spot, Value, Ways

HOSTILE = ("/etc/passwd", "~/x.png", "*", "/", "http://127.0.0.1/x.png", "{}", "/etc/*")


def png(pixels: np.ndarray) -> bytes:
    """A picture as a file has it."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


PICTURE = Content(png(np.tile(PIXELS, (1, 1, 1))), ".png")
VALUES: dict[str, tuple[Value, ...]] = {
    "classify-images": (PIXELS, PICTURE),
    "reconstruct-images": (PIXELS, PICTURE),
    "distill-images": (PIXELS, PICTURE),
    "caption": (PIXELS, PICTURE),
    "answer": (Questioned(PIXELS, "What colour is it?"), Questioned(PICTURE, "What colour is it?")),
    "answer-text": (Questioned("Ada sells wool near the moon.", "What does Ada sell?"),),
    "forecast": (Content((DATA / "ripples.nc").read_bytes(), ".nc"),),
    "fit-field": ("48.1, 11.6", Spot((48.1, 11.6)), Content(b"lat,lon\n48.1,11.6\n", ".csv")),
    "graph": (Content((DATA / "villages.json").read_bytes(), ".json"),),
    "sets": (EVERY["sets"].input,),
}  # of other tasks a text
LOOKED = {"fit-field": 2}  # how many of the values can be looked at, where that is not all

opened: list[str] | None = None  # what is opened while somebody watches


def watch(event: str, args: tuple[Any, ...]) -> None:
    """Note the names of files and folders that are opened."""
    if opened is not None and event in ("open", "os.listdir", "os.scandir", "glob.glob"):
        name = args[0] if args else None
        opened.append(os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else f"number {name}")


sys.addaudithook(watch)


@contextmanager
def watched() -> Iterator[list[str]]:
    """Within this block, the names of what is opened are noted."""
    global opened
    opened = found = []
    try:
        yield found
    finally:
        opened = None


def strange(names: list[str], run: weft.Run) -> list[str]:
    """What was opened besides the run's files, private files of weft, installed modules and pipes of processes."""
    known = (f"{run.folder}{os.sep}", f"{sys.prefix}{os.sep}", os.path.join(tempfile.gettempdir(), "weft-"), "number ")
    return [name for name in names if not name.startswith(known) and name != os.devnull]


@pytest.fixture(scope="module", params=list(EVERY))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    """A tiny run of each task."""
    return train(request.param, EVERY[request.param].data, out=tmp_path_factory.mktemp("asked") / "run")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, which stays empty."""
    monkeypatch.chdir(tmp_path)


def values_of(run: weft.Run) -> tuple[Value, ...]:
    """Inputs of the run's task, as values."""
    name = run.task.name
    return VALUES.get(name, (EVERY[name].input,))


def settings_of(run: weft.Run) -> dict[str, Any]:
    """Settings that make a prediction short."""
    known = field_types(run.task.Predict)
    return {name: value for name, value in (("max_tokens", 4), ("steps", 1)) if name in known}


def use_all(run: weft.Run, one: Given, *, looked: bool) -> list[Answer]:
    """Predict, with all files that are offered; look, drawn; embed, where the task does."""
    found = list(ask(run, [one], checked(run, "predict", settings_of(run), files=False)))
    for answer in found:
        assert answer.error is None, answer.error
        for content in answer.files.values():
            assert content()
    if looked:
        look(run, [one], checked(run, "look", {}, files=False)).picture()
    if run.task.embeds and EVERY[run.task.name].embeds:
        assert len(embedded(run, [one], checked(run, "embed", {}, files=False)).vectors)
    return found


def test_inputs_that_are_values_open_nothing(run: weft.Run, tmp_path: Path) -> None:
    for number, value in enumerate(values_of(run)):
        looked = number < LOOKED.get(run.task.name, len(values_of(run)))
        use_all(run, Given(value, "an input"), looked=looked)  # modules, fonts and tables are loaded by now
        with watched() as names:
            found = use_all(run, Given(value, "an input"), looked=looked)
        assert not strange(names, run)
        assert found and not list(tmp_path.iterdir()), "nothing is written"


def test_a_text_is_never_the_name_of_a_file(run: weft.Run, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(PICTURE.data)
    how = checked(run, "predict", settings_of(run), files=False)
    for text in (*HOSTILE, str(tmp_path / "x.png"), str(DATA / "waves.nc"), str(DATA / "villages.json")):
        with watched() as names:
            for answer in ask(run, [Given(text, text)], how):
                assert answer.error is not None or run.task.asks[0].kind == "text"
            for use in (look, embedded):
                try:
                    use(run, [Given(text, text)], checked(run, "look" if use is look else "embed", {}, files=False))
                except WeftError:
                    continue
        assert not strange(names, run), text


def sent(value: Value) -> Any:
    """A value as a client of the server sends it."""
    if isinstance(value, np.ndarray):
        return {"pixels": value.tolist()}
    if isinstance(value, Content):
        return {"base64": base64.b64encode(value.data).decode(), "ending": value.ending}
    if isinstance(value, Questioned):
        return {"context" if isinstance(value.about, str) else "picture": sent(value.about), "question": value.question}
    return list(value.coordinates) if isinstance(value, Spot) else value


@pytest.fixture(scope="module")
def served(run: weft.Run) -> Iterator[Callable[..., tuple[int, bytes]]]:
    """What asks a server of the run, without a socket."""
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    from helpers.serving import asked

    from weft.web.app import application
    from weft.web.guard import Allowed
    from weft.web.table import RunTable, ServedRun

    app, state = application(RunTable([ServedRun("it", run)]), Allowed(1))

    def ask_it(body: Any, path: str = "/api/predict/it", **more: str) -> tuple[int, bytes]:
        return asked(app, path, body if isinstance(body, bytes) else json.dumps(body).encode(), **more)

    yield ask_it
    state.engine.close()


def test_a_server_answers_values_as_python_does(run: weft.Run, served: Callable[..., tuple[int, bytes]]) -> None:
    for value in values_of(run):
        status, body = served({"input": sent(value), "settings": settings_of(run), "files": True})
        known = list(ask(run, [Given(value, "input 1")], checked(run, "predict", settings_of(run), files=False)))
        assert status == 200 and len(json.loads(body)["predictions"]) == len(known), body[:300]


def test_a_server_sweeps_as_python_does_or_says_why_not(
    run: weft.Run, served: Callable[..., tuple[int, bytes]]
) -> None:
    value, path = values_of(run)[0], "/api/sweep/it"
    status, body = served({"input": sent(value), "sweep": "branches"}, path)
    how = checked(run, "look", {}, files=False)
    try:
        followed = study(run, [Given(value, "input 1")], how)
        known = branch_ablation(followed)
    except WeftError:
        assert status == 400 and json.loads(body)["error"]["message"]
        return
    found = json.loads(body)
    assert status == 200 and found["before"] == pytest.approx(known.before, abs=1e-4), body[:300]
    assert np.allclose(np.array(found["measures"], float), known.measures, atol=1e-4, equal_nan=True)
    row, column = np.argwhere(np.isfinite(known.measures))[0]
    off = {"type": "Without", "layer": int(row) + 1, "branch": known.columns[column], "stream": followed.stream}
    status, body = served({"input": sent(value), "sweep": "changes", "rows": [[off], []]}, path)
    assert status == 200, body[:300]
    changed, plain = json.loads(body)["rows"]
    assert changed["measure"] == pytest.approx(known.measures[row, column], abs=1e-4)
    assert plain["measure"] == pytest.approx(known.before, abs=1e-4) and plain["answers"] == json.loads(body)["answers"]


def test_a_server_opens_nothing_that_a_client_names(run: weft.Run, served: Callable[..., tuple[int, bytes]]) -> None:
    texts = run.task.asks[0].kind == "text"
    for name in ("x", "/etc/passwd", str(DATA / "ripples.nc"), "*", "http://127.0.0.1/x.png"):
        short = settings_of(run)
        forms: list[Any] = [name, {"picture": name, "question": name}, {"base64": name}, {"pixels": name}, [name],
                            {"base64": "", "ending": name}, {"path": name}, {"url": name}, {"file": name},
                            {"picture": {"base64": name}, "question": "x"}, {"nodes": name, "links": name}]  # fmt: skip
        with watched() as names:
            for form in forms:
                status, body = served({"input": form, "settings": short})
                assert status == 400 or (texts and form == name and status == 200), (form, status, body[:300])
                assert len(body) < 4096
            known = [*field_types(run.task.Predict), "output", "out", "schema", "outside", "encoding", "header"]
            for setting in known if name in ("x", "/etc/passwd") else ():
                status, body = served({"input": sent(values_of(run)[0]), "settings": {**short, setting: name}})
                assert status in (200, 400), (setting, body[:300])
            for path, more in (("look", {}), ("sweep", {"sweep": "changes", "rows": [[]]})):
                for form in (name, {"base64": name}, {"path": name}, {"picture": name}):
                    status, body = served({"input": form, **more}, path=f"/api/{path}/it")
                    assert status == 400 or (texts and form == name and status == 200), (path, form, body[:300])
                patched = {"type": "Replaced", "layer": 1, "of": name}
                real = {"input": sent(values_of(run)[0]), **more, "changes": [patched]}
                assert served(real, path=f"/api/{path}/it")[0] == 400
            rows = [[{"type": "Added", "layer": 1, "of": name, "minus": name}]]
            assert served({"input": name, "sweep": "changes", "rows": rows}, path="/api/sweep/it")[0] == 400
            assert served({"input": name}, path=f"/api/predict/{name}")[0] == 404
            assert served(PICTURE.data, kind="image/png", query=f"ending={name}&question={name}")[0] in (200, 400, 415)
            assert served(b"", kind="application/octet-stream", query=f"output={name}")[0] in (400, 415)
        assert name == "x" or not strange(names, run), name  # with the first, modules are loaded


def test_values_are_answered_as_what_a_user_names(run: weft.Run) -> None:
    trial = EVERY[run.task.name]
    named = run.predict(trial.input, **settings_of(run))
    (given_,) = given(run, [trial.input], ways=Ways("predict", run.task.Predict()))
    how = checked(run, "predict", settings_of(run), files=True)
    assert [one.values for one in ask(run, [given_], how)] == named


def test_a_bad_input_is_an_answer_with_an_error_in_its_place(run: weft.Run) -> None:
    good, how = Given(values_of(run)[0], "good"), checked(run, "predict", settings_of(run), files=False)
    bad = Given(Spot(()), "bad")
    unopened = Given(WeftError("not there"), "unopened")
    for rows in (None, 1, 2):
        found = list(ask(run, [good, bad, unopened, good], how, rows=rows))
        assert [one.input for one in found] == sorted(one.input for one in found)
        assert {one.input for one in found if one.error is not None} == {1, 2}
        assert {one.input for one in found if one.error is None} == {0, 3}
    assert list(ask(run, [], how)) == []


def test_work_is_stopped_between_two_inputs(run: weft.Run) -> None:
    taken: list[int] = []

    def inputs() -> Iterator[Given]:
        for number in range(5):
            taken.append(number)
            yield Given(values_of(run)[0], str(number))

    how = checked(run, "predict", settings_of(run), files=False)
    found = ask(run, inputs(), how, rows=1)
    assert next(found).input == 0
    found.close()
    assert taken == [0]
    assert list(ask(run, inputs(), how, rows=1, stop=lambda: len(taken) > 2)) and taken == [0, 0, 1]


def test_settings_that_name_files_are_refused(run: weft.Run) -> None:
    named = set(getattr(run.task.Predict, "names_files", ()))
    assert named == {"schema", "output", "out"} & set(field_types(run.task.Predict))
    for use in ("predict", "look", "embed"):
        for name in ({*named, "outside", "encoding"}) if use == "predict" else ("outside", "encoding"):
            with pytest.raises(ConfigError, match="names a file or says how files are read"):
                checked(run, use, {name: "x.csv"}, files=False)  # type: ignore[arg-type]
    assert checked(run, "predict", {"outside": True}, files=True) == run.loaded.usual(run.task.Predict)


def test_what_a_task_asks_for_and_gives_is_said(run: weft.Run) -> None:
    task = run.task
    assert task.asks and bool(task.embeds) == (EVERY[task.name].embeds or task.name == "caption")
    gives = task.gives(run.loaded)
    assert gives.streams == (task.name == "language-model")
    assert bool(gives.endings) == ("output" in field_types(task.Predict))
    if task.name != "language-model":
        with pytest.raises(WeftError, match="continues no prompts"):
            task.rows(run.loaded, [], task.Predict())


def test_every_setting_about_files_is_known_as_one() -> None:
    for card in all_cards().values():
        for kind in (card.task.Predict, card.task.Look, card.task.Embed):
            about = getattr(kind, "about", {})
            told = {
                name
                for name, text in about.items()
                if any(
                    word in text for word in ("a .json file", "the folder", "the file to write", "the .csv", "the .png")
                )
            }
            assert told <= set(getattr(kind, "names_files", ())), kind


# Tables


def columns_of(run: weft.Run, folder: Path) -> dict[str, Any]:
    """The input of the run's trial as the columns of a row; files that it names are put into a folder."""
    name, trial = run.task.name, EVERY[run.task.name]
    if isinstance(trial.input, str) and Path(trial.input).is_file():
        (folder / Path(trial.input).name).write_bytes(Path(trial.input).read_bytes())
        return {"file": Path(trial.input).name}
    if isinstance(trial.input, str):
        places = dict(zip(("lat", "lon"), trial.input.split(","), strict=True)) if name == "fit-field" else {}
        return places or {{"translate": "source", "sets": "set"}.get(name, "text"): trial.input}
    if isinstance(trial.input, dict) and "picture" not in trial.input:
        return dict(trial.input)
    (folder / "a.png").write_bytes(PICTURE.data)
    asked = {"question": trial.input["question"]} if isinstance(trial.input, dict) else {}
    return {"picture": "a.png", **asked}


def alone(run: weft.Run, row: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """What is answered to the input of a row that stands in no table."""
    named = {"picture": str(folder / "a.png"), "question": row.get("question")}
    inputs = EVERY[run.task.name].input if "picture" not in row else named if "question" in row else named["picture"]
    return run.predict([inputs], **settings_of(run))


@pytest.mark.parametrize("ending", TABLES)
def test_a_table_is_answered_as_its_inputs_alone_and_keeps_its_columns(
    run: weft.Run, ending: str, tmp_path: Path
) -> None:
    row = columns_of(run, tmp_path)
    known = {"id": "007", **row, "note": 'a, "b"'}
    write_table(tmp_path / f"in{ending}", list(known), [list(known.values())] * 2)
    found = Answered(run, [tmp_path / f"in{ending}"], settings_of(run))
    found.write(tmp_path / f"out{ending}", lambda one: None)
    names, rows = read_cells(tmp_path / f"out{ending}")
    said = [cells for one in alone(run, row, tmp_path) for cells in run.task.cells(one)]
    adds = run.task.gives(run.loaded).columns
    assert not found.failed and adds and names[: len(known)] == list(known)
    assert [name.removeprefix("predicted_") for name in names[len(known) :]] == list(adds)
    assert len(rows) == 2 * len(said)
    for cells, expected in zip(rows, said * 2, strict=True):
        assert cells[: len(known)] == [str(one) for one in known.values()]
        for name, cell in zip(adds, cells[len(known) :], strict=True):
            same(cell, expected.get(name), name, spaces=ending == ".tsv")


def same(cell: Any, expected: Any, name: str, *, spaces: bool) -> None:
    """Compare a cell as it is read again with what was answered, of whose tabs and newlines a format made `spaces`."""
    if isinstance(expected, float):
        assert float(cell) == pytest.approx(expected, abs=1e-4), name
    elif isinstance(expected, str) and name != "output":
        assert cell == (re.sub(r"[\t\r\n]+", " ", expected) if spaces else expected), name
    else:
        assert (cell in ("", None)) == (expected is None), name


def test_a_bad_row_costs_itself_and_stays_in_the_table(run: weft.Run, tmp_path: Path) -> None:
    row = columns_of(run, tmp_path)
    write_table(
        tmp_path / "in.csv", [*row, "note"], [[*row.values(), "x"], [*[""] * len(row), "y"], [*row.values(), "z"]]
    )
    found = Answered(run, [tmp_path / "in.csv"], settings_of(run))
    found.write(tmp_path / "out.csv", lambda one: None)
    names, rows = read_cells(tmp_path / "out.csv")
    notes = [cells[names.index("note")] for cells in rows]
    assert list(dict.fromkeys(notes)) == ["x", "y", "z"] and notes.count("y") == 1
    assert set(rows[notes.index("y")][len(row) + 1 :]) == {""} != set(rows[0][len(row) + 1 :])
    ((name, error),) = found.failed
    assert "in.csv, line 3" in str(error)


def test_in_python_a_path_is_a_table_and_each_answer_has_its_row(run: weft.Run, tmp_path: Path) -> None:
    row = columns_of(run, tmp_path)
    write_table(tmp_path / "in.tsv", [*row, "note"], [[*row.values(), "x"]])
    found = run.predict(tmp_path / "in.tsv", **settings_of(run))
    assert [one["row"] for one in found] == [{**row, "note": "x"}] * len(found) and found
    known = alone(run, row, tmp_path)
    assert [set(one) - {"row", "where"} for one in found] == [set(one) for one in known]


TRAINED_ON_TABLES = ("classify-text", "translate", "fit-field", "sets", "classify-series")


def test_the_table_that_was_trained_on_is_answered_row_by_row(run: weft.Run, tmp_path: Path) -> None:
    trial = EVERY[run.task.name]
    if run.task.name not in TRAINED_ON_TABLES:
        return
    whole = (DATA / trial.files[0]).read_text().splitlines()
    (tmp_path / trial.files[0]).write_text("\n".join(whole[:6]) + "\n")
    found = run.predict(tmp_path / trial.files[0], **settings_of(run))
    assert len(found) in (5, 6) and all("row" in one for one in found)
