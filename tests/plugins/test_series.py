"""A domain of another package, from its tables to its answers. Nothing in weft knows its name.

The laws of tasks, of asking and of learning are tried on it as on weft's own (tests/laws).
"""

import json
import os
import sys
from pathlib import Path

import pytest
from helpers import processes
from helpers.plugins import SERIES, installed
from helpers.trials import EVERY

import weft
from weft.cli.app import run as command
from weft.domains.registry import CARDS, all_cards
from weft.errors import WeftError
from weft.tasks.labels.classes import ClassCodec

SOURCE = Path(weft.__file__).parents[1]
NAME = "classify-series"
DATA, INPUT = str(EVERY[NAME].data[0]), EVERY[NAME].input
MOST_LINES = 350  # of all files of the package


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learned to tell rising series from falling ones."""
    with installed():
        return weft.train(DATA, out=tmp_path_factory.mktemp("series") / "run", steps=40, quiet=True).folder


def printed(code: str, *places: Path) -> str:
    """What a new process prints, with packages installed that stand in some folders."""
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [SOURCE, *places]))}
    return processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=known).stdout


def test_a_domain_is_a_folder_and_no_line_elsewhere() -> None:
    files = [path for path in SERIES.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= MOST_LINES
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "weft_series" not in text and NAME not in text, path


def test_its_task_is_listed_behind_wefts_own_and_gone_when_it_is_not_installed() -> None:
    with installed():
        assert list(all_cards()) == [*CARDS, NAME]
    assert list(all_cards()) == list(CARDS)


def test_its_cards_and_its_reader_load_no_torch() -> None:
    code = f"""if True:
        import sys
        from weft.domains.recognising import recognise
        print(recognise([{DATA!r}])[0].name, "torch" in sys.modules)
    """
    assert printed(code, SERIES).split() == [NAME, "False"]


def test_the_whole_way_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*words: str) -> dict:
        assert command([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    run, look = str(tmp_path / "run"), tmp_path / "look.png"
    with installed():
        assert told("tasks", NAME)["tasks"][0]["summary"] == "learn labels of time series"
        assert told("check", DATA)["task"] == NAME
        assert told("train", DATA, "--steps", "40", "--out", run)["task"] == NAME
        assert told("predict", run, INPUT)["predictions"][0]["label"] == "rise"
        assert told("evaluate", run, DATA)["metrics"]["accuracy"] > 0.9
        assert command(["look", run, INPUT, "--output", str(look)]) == 0 and look.stat().st_size > 1000
        capsys.readouterr()
        assert command(["train", DATA, "--out", str(tmp_path / "again"), "--set", "patch=0"]) == 2
        assert "must be at least 1, found 0" in capsys.readouterr().err


def test_a_run_opens_in_a_new_process_and_answers_alike(folder: Path) -> None:
    code = f"import weft; print(weft.load({str(folder)!r}).predict({INPUT!r})[0])"
    with installed():
        assert printed(code, SERIES).strip() == str(weft.load(folder).predict(INPUT)[0])


def test_without_the_package_a_run_says_which_task_is_missing(folder: Path) -> None:
    code = f"""if True:
        import weft
        from weft.errors import WeftError
        try:
            weft.load({str(folder)!r})
        except WeftError as error:
            print(error.problem, error.fix, sep="|")
    """
    problem, fix = printed(code).strip().split("|")
    assert problem == f"there is no task {NAME!r} here: the one that this run is of is not installed"
    assert "install the package that the task came with" in fix


def test_what_other_tools_do_not_know_is_refused_in_words(folder: Path, tmp_path: Path) -> None:
    with installed():
        run = weft.load(folder)
        for to, said in (("onnx", "over such inputs has no graph of its own"), ("hf", "SeriesEmbed")):
            with pytest.raises(WeftError, match=said):
                run.export(tmp_path / to, to=to)


def test_bad_rows_are_refused_with_their_line_or_left_out(tmp_path: Path) -> None:
    table, lines = tmp_path / "slopes.csv", Path(DATA).read_text().splitlines()
    lines[3] = lines[3].replace(",", ",x", 1)
    table.write_text("\n".join(lines) + "\n")
    with installed():
        with pytest.raises(WeftError, match=r"line 4: no series: 'x9"):
            weft.train(str(table), task=NAME, out=tmp_path / "run", steps=1, quiet=True)
        run = weft.train(str(table), task=NAME, out=tmp_path / "run", steps=1, skip=1, quiet=True)
    assert run.config["data"]["amounts"]["train"] + run.config["data"]["amounts"]["held_out"] == len(lines) - 2


def test_a_head_goes_on_where_the_labels_are_the_same_and_begins_anew_where_not(folder: Path, tmp_path: Path) -> None:
    with installed():
        run = weft.load(folder)
        other = {**run.loaded.codecs, "label": ClassCodec(ClassCodec.Config(names=("a", "b", "c")))}
        for codecs, kept in ((run.loaded.codecs, True), (other, False)):
            assert ("head.out.weight" in run.task.start(run.loaded, codecs, run.loaded.model.config)) == kept
        table = tmp_path / "flats.csv"
        lines = Path(DATA).read_text().splitlines()
        flats = [f"flat,{one.partition(',')[2]}" if i % 3 == 1 else one for i, one in enumerate(lines)]
        table.write_text("\n".join(flats) + "\n")
        again = weft.train(str(table), from_=folder, out=tmp_path / "run", steps=1, quiet=True)
    assert again.model.head.out.out_features == 3
