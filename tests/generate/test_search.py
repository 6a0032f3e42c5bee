"""The search: draws until a stop, for each row on its own; what is shown as it comes is what is returned."""

import pytest
import torch
from helpers.spaced_tokenizer import spaced
from helpers.tiny import language_model

from weft.errors import WeftError
from weft.generate import Generated, Sampling, Session, generate
from weft.generate.choices import Choices
from weft.generate.search import TextLine
from weft.modalities import tokenizer_making as tokenizers

CHARACTERS = tokenizers.train("characters", ["abcdefghij"])
BYTES = tokenizers.train("bytes", [])
A = {letter: int(CHARACTERS.encode(letter)[0]) for letter in "abcdefghij"}
HOW = Sampling(temperature=0.0, max_tokens=50)


class Scripted:
    """A session whose rows go on as written: row by row, one token after the other, whatever is drawn."""

    def __init__(self, *scripts: list[int], size: int = CHARACTERS.size):
        self.scripts, self.size, self.model = [list(s) for s in scripts], size, torch.nn.Linear(1, 1)
        self.started: list[list[int]] = []

    def start(self, prompts: list[list[int]]) -> torch.Tensor:
        self.started = prompts
        self.place = 0
        return self._logits()

    def step(self, ids: torch.Tensor) -> torch.Tensor:
        self.place += 1
        return self._logits()

    def ahead(self) -> int:
        return 0

    def take(self, rows: torch.Tensor, memory: torch.Tensor | None = None) -> None:
        self.scripts = [self.scripts[i] for i in rows.tolist()]

    def _logits(self) -> torch.Tensor:
        logits = torch.zeros(len(self.scripts), self.size)
        for row, script in enumerate(self.scripts):
            logits[row, script[self.place]] = 9.0
        return logits


def written(text: str) -> list[int]:
    return CHARACTERS.encode(text).tolist()


def search(*texts: list[int], how: Sampling = HOW, tokenizer=CHARACTERS, **options) -> list[Generated]:
    session = Scripted(*texts, size=tokenizer.size)
    return [made for (made,) in generate(session, tokenizer, [[1]] * len(texts), how, **options)]


@pytest.fixture(autouse=True)
def unchecked_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scripted session stands in for a real one, which the type of the argument would not allow."""
    from weft.generate import search as module

    for name in ("generate", "search"):
        function = getattr(module, name)
        monkeypatch.setattr(module, name, getattr(function, "__wrapped__", function))
    monkeypatch.setitem(globals(), "generate", module.generate)


def test_a_row_ends_at_the_end_token_which_has_no_text():
    (made,) = search([*written("abc"), CHARACTERS.end, *written("def")])
    assert made == Generated("abc", tuple(written("abc")), "end")


def test_a_row_ends_at_the_length_asked_for():
    (made,) = search(written("abcdef"), how=HOW.replace(max_tokens=3))
    assert made == Generated("abc", tuple(written("abc")), "length")


def test_no_tokens_asked_for_is_no_text_and_no_computing():
    session = Scripted(written("abc"))
    ((made,),) = generate(session, CHARACTERS, [[1]], HOW.replace(max_tokens=0))
    assert made == Generated("", (), "length") and session.started == []
    assert generate(session, CHARACTERS, [], HOW) == []


@pytest.mark.parametrize("stop, text", [
    (("d",), "abc"), (("cd",), "ab"), (("abc",), ""), (("zz", "e"), "abcd"), (("e", "bc"), "a"), (("cde", "d"), "abc"),
    (("abcde", "cd"), "ab"), (("bcx",), None),
])  # fmt: skip
def test_a_row_ends_before_the_first_stop_string_also_if_it_came_in_several_tokens(
    stop: tuple[str, ...], text: str | None
):
    (made,) = search([*written("abcdefg"), CHARACTERS.end], how=HOW.replace(stop=stop))
    if text is None:
        assert (made.text, made.ended) == ("abcdefg", "end")
    else:
        assert (made.text, made.ended) == (text, "stop")


def test_a_stop_string_in_one_token_with_other_text_cuts_the_text_in_the_middle():
    bpe = tokenizers.train("bpe", ["low lower lowest " * 50], vocab=270)
    ids = bpe.encode(" lowest low").tolist()
    assert len(ids) < 6, "whole words are tokens"
    (made,) = search([*ids, bpe.end], how=HOW.replace(stop=("we",)), tokenizer=bpe)
    assert (made.text, made.ended) == (" lo", "stop")


@pytest.mark.parametrize("stop", [(), ("bc",), ("cb", "aab"), ("aaab",), ("xyz",), ("ab", "b")])
@pytest.mark.parametrize("text", ["aaaab", "abcabc", "aabaaab", "abababcb", "bbbb"])
def test_what_is_heard_as_it_comes_is_what_is_returned(text: str, stop: tuple[str, ...]):
    heard: list[str] = []
    (made,) = search(
        [*written(text), CHARACTERS.end], how=HOW.replace(stop=stop), listen=lambda row, new: heard.append(new)
    )
    assert "".join(heard) == made.text
    assert all(heard), "silence is not said"
    assert (made.text, made.ended) == by_definition(text, stop)


def by_definition(text: str, stop: tuple[str, ...]) -> tuple[str, str]:
    """Letter after letter, until a stop string stands in what was written."""
    for n in range(len(text) + 1):
        found = [text[:n].index(s) for s in stop if s in text[:n]]
        if found:
            return text[: min(found)], "stop"
    return text, "end"


def test_letters_of_several_bytes_are_heard_whole():
    heard: list[str] = []
    ids = BYTES.encode("é漢🙂z").tolist()
    (made,) = search([*ids, BYTES.end], tokenizer=BYTES, listen=lambda row, new: heard.append(new))
    assert heard == ["é", "漢", "🙂", "z"] and made.text == "é漢🙂z" and made.ids == tuple(ids)


def test_a_continuation_keeps_the_space_before_its_first_word():
    tokenizer = spaced()
    prompt, whole = (tokenizer.encode(text).tolist() for text in ("hello", "hello the cat"))
    session = Scripted([*whole[len(prompt) :], tokenizer.end], size=tokenizer.size)
    ((made,),) = generate(session, tokenizer, [prompt], HOW)
    assert tokenizer.decode(prompt) + made.text == "hello the cat"


def test_a_stop_string_of_letters_of_several_bytes_is_found():
    (made,) = search([*BYTES.encode("aé漢b").tolist(), BYTES.end], how=HOW.replace(stop=("漢",)), tokenizer=BYTES)
    assert (made.text, made.ended) == ("aé", "stop")


def test_rows_end_on_their_own_and_are_heard_by_their_number():
    heard: dict[int, str] = {}
    end = CHARACTERS.end
    made = search(
        [*written("a"), end], [*written("bcd"), end], [end], [*written("efghij"), end],
        how=HOW.replace(stop=("h",)), listen=lambda row, new: heard.update({row: heard.get(row, "") + new}),
    )  # fmt: skip
    assert [m.text for m in made] == ["a", "bcd", "", "efg"]
    assert [m.ended for m in made] == ["end", "end", "end", "stop"]
    assert heard == {0: "a", 1: "bcd", 3: "efg"}


def test_text_that_might_become_a_stop_string_is_held_back_until_it_is_clear():
    row = TextLine(CHARACTERS, [1], HOW.replace(stop=("abc",)), 0)
    shown = []
    for token in written("jabab"):
        row.take(token)
        shown.append(row.fresh())
    assert shown == ["j", "", "", "ab", ""]
    row.take(A["d"])
    assert row.fresh() == "abd"


MODEL = None


def real() -> Session:
    global MODEL
    MODEL = MODEL or language_model("gpt", vocab=CHARACTERS.size)
    return Session(MODEL)


DRAWN = Sampling(temperature=1.0, top_p=1.0, max_tokens=8, seed=1)


def test_the_same_seed_gives_the_same_text_and_another_seed_another():
    prompts = [[1, 2], [3]]
    first, again, other = (generate(real(), CHARACTERS, prompts, DRAWN.replace(seed=s)) for s in (1, 1, 2))
    assert first == again and first != other


def test_several_samples_of_a_prompt_differ_and_come_in_order():
    many = generate(real(), CHARACTERS, [[1, 2], [3]], DRAWN.replace(samples=3))
    assert [len(group) for group in many] == [3, 3]
    assert len({one.ids for one in many[0]}) > 1
    (first,) = generate(real(), CHARACTERS, [[1, 2]], DRAWN)[0]
    assert many[0][0] == first, "more samples do not change the first"


def test_samples_of_a_greedy_search_are_all_the_same():
    (group,) = generate(real(), CHARACTERS, [[1, 2]], HOW.replace(samples=3, max_tokens=5))
    assert len(set(group)) == 1


def test_drawing_depends_on_nothing_outside_its_own_seed():
    torch.manual_seed(1)
    first = generate(real(), CHARACTERS, [[1, 2]], DRAWN)
    torch.manual_seed(2)
    state = torch.get_rng_state()
    assert generate(real(), CHARACTERS, [[1, 2]], DRAWN) == first
    assert torch.equal(torch.get_rng_state(), state), "and leaves the global generator as it was"


def test_the_penalty_sees_prompt_and_text():
    session = Scripted([0])
    session._logits = lambda: torch.arange(9.0, 9.0 - CHARACTERS.size, -1)[None].clamp(min=0.1)
    (made,) = generate(session, CHARACTERS, [[1, 3]], HOW.replace(repetition_penalty=100.0, max_tokens=6))[0]
    assert made.ids == (2, 4, 5, 6, 7, 8), "the likeliest that did not occur yet; 0 is the unknown character"


def test_a_model_whose_weights_are_not_numbers_is_an_error_and_no_text():
    model = language_model("gpt", vocab=CHARACTERS.size)
    with torch.no_grad():
        model.trunk.blocks[0].transform.up.bias[0] = torch.nan
    with pytest.raises(WeftError, match="not numbers"):
        generate(Session(model), CHARACTERS, [[1, 2]], HOW)


def test_the_sign_for_unknown_characters_is_never_written():
    (unknown,) = CHARACTERS.unwritten
    script = [unknown, A["b"], unknown]
    for how in (HOW, Sampling(temperature=1.0, top_p=1.0, max_tokens=3)):
        (made,) = search([*script, CHARACTERS.end], how=how)
        assert unknown not in made.ids and "\ufffd" not in made.text
    assert BYTES.unwritten == ()


def test_under_a_rule_a_row_ends_where_the_rule_does_whatever_else_ends_the_model():
    rule = Choices([written("ab")], CHARACTERS.end)
    (made,) = search(written("jjjj"), ends=(A["j"],), rule=rule)
    assert made == Generated("ab", tuple(written("ab")), "end")
