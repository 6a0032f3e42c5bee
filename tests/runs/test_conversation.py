"""A talk with a language model: turns are kept, the oldest are forgotten, a model without marks gets plain words."""

from pathlib import Path

import pytest

import weft
from weft.errors import WeftError
from weft.runs.conversation import Conversation

FINISHED = Path(__file__).parents[1] / "fixtures" / "finished"


def test_a_talk_goes_on_from_what_was_said_and_forgets_what_does_not_fit():
    talk = Conversation(weft.load(FINISHED / "language-model"), max_tokens=4, seed=1)
    heard: list[str] = []
    first = talk.answer("Who", listen=heard.append)
    assert "".join(heard).strip() == first == talk.said[1][1] and "plain words" in talk.notes[0]
    again = Conversation(talk.run, max_tokens=4, seed=1)
    assert again.answer("Who") == first
    for _ in range(4):
        talk.answer("And then")
    assert len(talk.said) == 10 and talk.forgotten > 0
    assert talk.answer("x", stop=lambda: True) == ""


def test_a_run_that_does_not_write_is_not_talked_to():
    with pytest.raises(WeftError, match="does not talk"):
        Conversation(weft.load(FINISHED / "translate"))


def test_the_command_answers_each_line_that_is_piped_in(tmp_path: Path, monkeypatch, capsys):
    import io

    from weft.cli.app import run

    monkeypatch.setattr("sys.stdin", io.StringIO("Who\n\nAnd\n"))
    assert run(["chat", str(FINISHED / "language-model"), "--set", "max_tokens=3", "--set", "seed=1"]) == 0
    said = capsys.readouterr()
    assert said.out and "plain words" in said.err
