"""Talks: read in every form, marked by a template, learned by their answers, answered in turns."""

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import TINY_SETTINGS

import weft
from weft.batches.packed import PackedRows, PackedWindows, ScoredIds
from weft.domains.recognising import judge, surest
from weft.domains.texts.codec.templates import Refused, rendered
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.codec.turns import MARKS, PLAIN, TurnCodec
from weft.domains.texts.reading.talks import SpokenTurn, Talk, read_talks, spoken
from weft.errors import ConfigError, DataError, WeftError
from weft.files.survey import Survey
from weft.runs import exporting

CAPITALS = {"France": "Paris", "Italy": "Rome", "Peru": "Lima", "Cuba": "Havana"}
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] | trim "
    "+ '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def talks(count: int = 40) -> list[list[tuple[str, str]]]:
    """Questions about capitals, each asked in another way, and a second question."""
    draw = random.Random(0)
    names = [draw.choice(list(CAPITALS)) for _ in range(count)]
    return [
        [
            ("user", f"{i}: what is the capital of {name}?"),
            ("assistant", f"It is {CAPITALS[name]}, {i}."),
            ("user", "Sure?"),
            ("assistant", f"Yes, {CAPITALS[name]}."),
        ]
        for i, name in enumerate(names)
    ]


def openai(path: Path) -> Path:
    rows = ({"messages": [{"role": role, "content": text} for role, text in talk]} for talk in talks())
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def sharegpt(path: Path) -> Path:
    who = {"user": "human", "assistant": "gpt"}
    rows = [{"id": 1, "conversations": [{"from": who[role], "value": text} for role, text in talk]} for talk in talks()]
    path.write_text(json.dumps(rows))
    return path


def alpaca(path: Path) -> Path:
    rows = [{"instruction": talk[0][1], "input": "", "output": talk[1][1]} for talk in talks()]
    path.write_text(json.dumps(rows))
    return path


def table(path: Path) -> Path:
    with path.open("w") as file:
        writer = csv.writer(file)
        writer.writerows([("instruction", "input", "output"), *((talk[0][1], "", talk[1][1]) for talk in talks())])
    return path


def plain(path: Path) -> Path:
    name = {"user": "User", "assistant": "Bot"}
    path.write_text("\n\n".join("\n".join(f"{name[role]}: {text}" for role, text in talk) for talk in talks()))
    return path


FORMS: list[tuple[Callable[[Path], Path], str, int]] = [
    (openai, "chat.jsonl", 4), (sharegpt, "chat.json", 4), (alpaca, "alpaca.json", 2), (table, "alpaca.csv", 2),
    (plain, "talk.txt", 4),
]  # fmt: skip


@pytest.mark.parametrize(("write", "name", "turns"), FORMS, ids=[name for _, name, _ in FORMS])
def test_every_form_is_recognised_and_gives_the_same_turns(
    tmp_path: Path, write: Callable[[Path], Path], name: str, turns: int
) -> None:
    path = write(tmp_path / name)
    survey = Survey([path])
    taken = surest(survey, judge(survey))
    assert taken is not None and taken.card.name == "language-model" and "talks" in taken.why
    found = read_talks([path]).rows
    assert [[(turn.role, turn.text) for turn in talk.turns] for talk in found] == [talk[:turns] for talk in talks()]


def test_a_text_with_a_colon_now_and_then_is_no_talk(tmp_path: Path) -> None:
    path = tmp_path / "play.txt"
    path.write_text("First Citizen: Speak.\nAll: Speak, speak.\n" * 50)
    survey = Survey([path])
    assert "talks" not in judge(survey)["language-model"].why


def test_a_blank_line_ends_a_talk_unless_it_stands_between_all_turns() -> None:
    assert [len(talk) for talk in spoken("User: a\nBot: b\nmore\n\nUser: c\nBot: d")] == [2, 2]
    assert [len(talk) for talk in spoken("User: a\n\nBot: b\n\nUser: c\n\nBot: d")] == [4]
    assert next(spoken("User: a\nBot: b\nmore"))[1].text == "b\nmore"


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        ({"role": "tool", "content": "x"}, "a turn of 'tool'"),
        ({"role": "user", "content": 3}, "is a number"),
        ("x", "a turn is a string"),
    ],
)
def test_a_bad_turn_is_named_by_its_line_and_may_be_left_out(tmp_path: Path, turn: Any, problem: str) -> None:
    path = openai(tmp_path / "chat.jsonl")
    path.write_text(path.read_text() + "\n" + json.dumps({"messages": [turn, {"role": "assistant", "content": "y"}]}))
    with pytest.raises(DataError, match=problem) as error:
        read_talks([path])
    assert "line 41" in error.value.where
    assert len(read_talks([path], skip=1).rows) == 40


# Templates

ASKED = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    "template",
    [
        "{% if %}",
        "{{ ''.__class__.__mro__ }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{% include 'secret' %}",
        "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ 'a' * 10 ** 9 }}",
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{{ messages[7].content }}",
        "x" * 2**19,
    ],
)
def test_a_bad_template_is_an_error_in_words(template: str) -> None:
    with pytest.raises(ConfigError, match="the chat template"):
        rendered(template, ASKED, prompt=True, tokens={}, where="tokenizer_config.json")


def test_a_template_may_refuse_a_talk() -> None:
    with pytest.raises(Refused, match="no system"):
        rendered("{{ raise_exception('no system') }}", ASKED, prompt=True, tokens={}, where="")


def test_a_template_is_rendered_as_in_the_library_that_it_was_written_for(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    text = codec(("<|im_start|>", "<|im_end|>"))
    (tmp_path / "tokenizer.json").write_text(text.tokenizer.to_json())
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    messages = [{"role": role, "content": said} for role, said in talks()[0]]
    found = theirs.apply_chat_template(messages[:3], chat_template=CHATML, add_generation_prompt=True, tokenize=False)
    turns = TurnCodec(TurnCodec.Config(template=CHATML))
    assert turns.written(messages[:3], prompt=True) == found
    ids = theirs.apply_chat_template(messages[:1], chat_template=CHATML, add_generation_prompt=True, return_dict=False)
    assert turns.prompt(text, [("user", messages[0]["content"])]).tolist() == ids


# Turns as ids


def codec(marks: tuple[str, ...] = MARKS) -> TextCodec:
    """The codec of a tokenizer of characters with some marks."""
    pieces = [text for talk in talks() for _, text in talk]
    return TextCodec.learn(
        iter([*pieces, "systemassistant\n"]), "characters", None, characters=1, role="line", marks=marks
    )


def as_talk(*turns: str) -> Talk:
    return Talk(tuple(SpokenTurn("assistant" if i % 2 else "user", text) for i, text in enumerate(turns)), "a line")


@pytest.mark.parametrize("template", [None, CHATML, PLAIN], ids=["own", "chatml", "plain"])
def test_answers_and_their_ends_count_and_a_prompt_is_the_beginning_of_a_row(template: str | None) -> None:
    text = codec() if template is None else codec(("<|im_start|>", "<|im_end|>"))
    turns = TurnCodec.of(text)
    if template is not None:
        turns = TurnCodec(turns.config.replace(template=template))
    (row,) = turns.rows(text, as_talk("ab?", "It is.", "Sure?", "Yes."))
    stop = turns.ends(text)[0]
    names = text.tokenizer.names
    counted = "".join("|" if id == stop else names[id] for id in row.ids[row.counts])
    assert counted.replace(" ", "") == "Itis.|Yes.|"
    prompt = turns.prompt(text, [("user", "ab?")])
    assert row.ids[: len(prompt)].tolist() == prompt.tolist() and not row.counts[: len(prompt)].any()


def test_a_mark_in_what_is_said_is_refused() -> None:
    text = codec()
    turns = TurnCodec.of(text)
    with pytest.raises(WeftError, match="is a mark"):
        turns.prompt(text, [("user", "say <Bot:> to me")])
    with pytest.raises(Refused, match="is a mark"):
        turns.rows(text, as_talk("<User:>", "no"))


def test_a_template_that_rewrites_what_was_said_gives_a_row_for_each_answer() -> None:
    template = "{% for m in messages %}[{{ m['content'] if m['role'] == 'user' or loop.last else '' }}]{% endfor %}"
    text = codec(("<|im_end|>",))
    turns = TurnCodec(TurnCodec.Config(template=template))
    assert len(turns.rows(text, as_talk("a", "b", "c", "d"))) == 2


# Packed


def rows_of(lengths: list[int]) -> list[ScoredIds]:
    """Rows of rising numbers, of which the last half counts."""
    starts = np.cumsum([0, *lengths])[:-1]
    return [ScoredIds(np.arange(a, a + n), np.arange(n) >= n // 2) for a, n in zip(starts, lengths, strict=True)]


def test_every_token_that_counts_is_in_one_window_behind_what_it_follows() -> None:
    rows = rows_of([5, 9, 3, 40, 8, 2, 7, 17])
    packed = PackedRows.of(rows, 16, filler=0)
    assert packed.ids.shape[1] <= 17
    wanted = [id for row in rows for id in row.ids[row.counts] if id != row.ids[0]]
    assert sorted(packed.ids[packed.counts].tolist()) == sorted(wanted)
    for ids, counts in zip(packed.ids, packed.counts, strict=True):
        assert all(ids[i - 1] == ids[i] - 1 for i in np.flatnonzero(counts))


def test_the_order_of_windows_is_a_function_of_their_number() -> None:
    packed = PackedRows.of(rows_of([9] * 12), 9, filler=0)
    source = PackedWindows(packed, packed, fingerprint="x", seed=3)
    whole = source.batch(np.arange(24)).given.ids[:, 0].tolist()
    assert sorted(whole[:12]) == sorted(whole[12:]) == sorted(packed.ids[:, 0].tolist()) and whole[:12] != whole[12:]
    assert source.batch(np.array([17])).given.ids[0, 0] == whole[17]


# Runs


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    """A run that has learned some capitals."""
    folder = tmp_path_factory.mktemp("talks")
    data = plain(folder / "talk.txt")
    size = {**TINY_SETTINGS, "context": 96, "baselines": True}
    return weft.train(data, out=folder / "run", model="gpt", steps=60, lr=1e-2, quiet=True, **size)


def test_a_run_on_talks_is_measured_by_its_answers_beside_plain_methods(run: weft.Run) -> None:
    report = run.report
    assert run.config["data"]["amounts"]["answers"] == 80
    held = report["metrics"]
    assert held["perplexity"] == pytest.approx(np.exp(held["loss"]), rel=1e-4)
    assert {"unigram", "n-gram"} <= report["baselines"].keys()
    again = run.evaluate()
    assert again["metrics"]["loss"] == pytest.approx(held["loss"], rel=1e-4)
    assert again["answers"] == 2 * again["examples"]


def test_a_question_is_answered_up_to_the_end_of_the_turn(run: weft.Run) -> None:
    (found,) = run.predict("7: what is the capital of Italy?", temperature=0, max_tokens=60)
    assert found["role"] == "assistant" and found["text"].startswith("It") and "<" not in found["text"]
    assert run.task.shown(found) == found["text"]
    (text,) = run.predict("7: what is", temperature=0, max_tokens=5, prompt="text")
    assert "role" not in text


@pytest.fixture
def exported(run: weft.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run for the other library; that it answers alike there is proved elsewhere."""
    monkeypatch.setattr(exporting, "prove", lambda *_: 0.0)
    run.export(tmp_path / "out")
    return tmp_path / "out"


def test_turns_go_out_and_come_back(run: weft.Run, exported: Path) -> None:
    again = weft.load(exported)
    assert again.loaded.codecs["turns"].config == run.loaded.codecs["turns"].config
    asked = "7: what is the capital of Italy?"
    assert again.predict(asked, temperature=0, max_tokens=40) == run.predict(asked, temperature=0, max_tokens=40)
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(exported)
    text, turns = run.loaded.codecs["text"], run.loaded.codecs["turns"]
    ids = theirs.apply_chat_template(
        [{"role": "user", "content": asked}], add_generation_prompt=True, return_dict=False
    )
    assert ids == turns.prompt(text, [("user", asked)]).tolist()


def test_a_run_from_a_model_with_a_template_keeps_it(exported: Path, tmp_path: Path) -> None:
    config = exported / "tokenizer_config.json"
    told = json.loads(config.read_text())
    told["chat_template"] = [{"name": "default", "template": told["chat_template"].replace("<System:>", "<User:>")}]
    config.write_text(json.dumps(told))
    more = weft.train(
        openai(tmp_path / "chat.jsonl"), from_=exported, out=tmp_path / "more", steps=1, quiet=True,
        baselines=False,
    )  # fmt: skip
    assert "<System:>" not in more.loaded.codecs["turns"].config.template


def test_a_model_without_marks_learns_talks_in_plain_words(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("User: Bot: " + "it is what it is. Paris Rome Lima Havana 0123456789?," * 40)
    base = weft.train(book, out=tmp_path / "base", steps=1, quiet=True, **TINY_SETTINGS)
    with pytest.raises(ConfigError, match="knows no turns"):
        base.predict("x", prompt="question")
    talk = plain(tmp_path / "talk.txt")
    more = weft.train(talk, from_=base.folder, out=tmp_path / "more", steps=1, quiet=True, baselines=False)
    assert more.loaded.codecs["turns"].config.template == PLAIN
