"""Work that is stopped: between the steps of a search, drawn and by beams, and in no other work."""

import pytest
import torch
from helpers.trials import TRIALS, train

import weft
from weft.generate.stopping import Stopped, check_stop, never, stopped_by
from weft.runs.asking import ask, checked
from weft.tasks.asks import Given


class Counted:
    """Stops when it was asked often enough."""

    def __init__(self, most: int):
        self.most, self.asked = most, 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.asked > self.most


@pytest.fixture(scope="module", params=["language-model", "translate"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    return train(request.param, TRIALS[request.param].data, out=tmp_path_factory.mktemp("stopped") / "run")


@pytest.mark.parametrize("settings", [{}, {"temperature": 1.0}], ids=str)
def test_generation_ends_after_the_present_step(run: weft.Run, settings: dict[str, float]) -> None:
    how = checked(run, "predict", {**settings, "max_tokens": 500}, files=False)
    steps: list[str] = []
    stop = Counted(5)
    assert (
        list(ask(run, [Given("The dog is small.")], how, stop=stop, listen=lambda row, text: steps.append(text))) == []
    )
    assert stop.asked == 6 and len("".join(steps)) < 200


def test_a_step_that_nobody_stops_gives_the_same(run: weft.Run) -> None:
    how = checked(run, "predict", {"max_tokens": 20}, files=False)
    plain = [one.values for one in ask(run, [Given("The dog")], how)]
    assert [one.values for one in ask(run, [Given("The dog")], how, stop=lambda: False)] == plain


def test_stopping_holds_within_its_block_alone() -> None:
    check_stop()
    with stopped_by(lambda: True), pytest.raises(Stopped):
        check_stop()
    check_stop()
    assert never() is False and torch.is_grad_enabled()


def test_rows_are_what_a_language_model_goes_on_from(run: weft.Run) -> None:
    if run.task.name != "language-model":
        return
    how = checked(run, "predict", {"choices": "a,b"}, files=False)
    rows = run.task.rows(run.loaded, [Given("The"), Given("")], how)
    codec = run.loaded.codecs["text"]
    opening = list(codec.marks.before)
    assert rows[0].ids == [*opening, *codec.tokenizer.encode("The").tolist()]
    assert rows[1].ids == opening == [codec.tokenizer.end]
    assert all(row.how == how and row.rule is not None and row.ends == tuple(codec.ends) for row in rows)
