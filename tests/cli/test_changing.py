"""Changes on the command line: `--set without=1.1`, refused in words where the model has no place for them."""

import json
import shutil
from pathlib import Path

import pytest
from helpers.commands import Weft
from helpers.kept_runs import RUNS


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small language model."""
    folder = tmp_path_factory.mktemp("changed") / "run"
    return str(shutil.copytree(RUNS / "language-model" / "finished", folder))


def test_a_prediction_and_a_look_differ_without_a_layer(weft: Weft, run: str):
    how = ("--set", "temperature=0", "--set", "max_tokens=8", "--json")
    plain, changed = (
        json.loads(weft("predict", run, "The weaver", *how, *more).out)["predictions"][0]["text"]
        for more in ((), ("--set", "without=1.transform,1.1"))
    )
    assert plain != changed
    looks = [weft("look", run, "The weaver", *more).out for more in ((), ("--set", "pinned=1.1~first"))]
    assert looks[0] != looks[1] and "1.00" in looks[1]
    other = ("--set", "replaced=0@2", "--set", "of=A spinner sits")
    assert weft("look", run, "The weaver", *other).out != looks[0]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("without=14.1", "layer 14: this model has 1"),
        ("without=1.9", "head 9: the mix of layer 1 has 1"),
        ("without=one", "is no place in a model"),
        ("hidden=40", "token 40: this input has"),
        ("replaced=1", "does not say of"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_in_words(weft: Weft, run: str, setting: str, said: str):
    refused = weft("look", run, "The weaver", "--set", setting)
    assert refused.code == 2 and said in refused.err


def test_an_evaluation_says_what_a_part_is_worth(weft: Weft, run: str):
    from helpers.kept_runs import DATA

    book = str(Path(DATA) / "book.txt")
    plain, worse = (
        json.loads(weft("evaluate", run, book, "--set", "baselines=false", "--json", *more).out)["metrics"]["loss"]
        for more in ((), ("--set", "scaled=1.mixx-3"))
    )
    assert worse > plain


def test_a_second_input_or_run_stands_beside_the_first(weft: Weft, run: str, tmp_path: Path):
    page = tmp_path / "both.html"
    assert weft("look", run, "The weaver", "--beside", "The spinner", "-o", str(page)).code == 0
    assert "stream of the second input" in page.read_text()
    other = str(shutil.copytree(run, tmp_path / "other"))
    found = json.loads(weft("look", run, "The weaver", "--beside-run", other, "--json").out)
    assert found["beside"]["run"] == other and found["beside"]["look"] == found["look"]
    refused = weft("look", run, "The weaver", "--beside", "A spinner", "-o", str(tmp_path / "both.pdf"))
    assert refused.code == 2 and "use .html" in refused.err
    assert weft("look", run, "The weaver", "-o", str(tmp_path / "one.pdf")).code == 0
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")
