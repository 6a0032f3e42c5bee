"""What a language model knows by heart: planted numbers rank first, strings that it never saw rank anywhere."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import weft
from weft.domains.texts import exposure
from weft.domains.texts.exposure import NAME, NUMBER, RareString, exposures, others, rare_strings, report, scores
from weft.domains.texts.reading.corpus import Corpus, GivenText, read_corpus
from weft.errors import ConfigError
from weft.modalities import tokenizer_making
from weft.modalities.text import Text

TOKENIZER = tokenizer_making.train("bytes", [])


def _text(text: str) -> Corpus:
    return read_corpus([GivenText("book.txt", text)])


class _Knows(nn.Module):
    """Says one text by heart: high scores for its next byte where the last three bytes stand in it."""

    def __init__(self, text: str):
        super().__init__()
        self.empty, self.after = nn.Parameter(torch.zeros(1)), {}
        ids = TOKENIZER.encode(text).tolist()
        for n in range(3, len(ids)):
            self.after[tuple(ids[n - 3 : n])] = ids[n]

    def forward(self, raw: Text) -> torch.Tensor:
        logits = torch.zeros(*raw.ids.shape, TOKENIZER.size)
        for row, ids in enumerate(raw.ids.tolist()):
            for n in range(2, len(ids)):
                following = self.after.get(tuple(ids[n - 2 : n + 1]))
                if following is not None:
                    logits[row, n, following] = 10.0
        return logits


TRAINED = "The code of Ada is 730154. The code of Bob is 902817. In 12 years 333 came; call 555-0199.\n"


def test_numbers_are_found_with_the_words_before_them_and_their_count() -> None:
    found = {one.words: one for one in rare_strings(_text(TRAINED + TRAINED), NUMBER)}
    assert set(found) == {"730154", "902817", "555-0199"}
    assert found["730154"].before.endswith("The code of Ada is ")
    assert found["730154"].times == 2


def test_names_are_two_words_within_a_sentence() -> None:
    found = rare_strings(_text("We met Ada Byron and Bob Stone there. Then Sun rose, said Mary Shelley."), NAME)
    assert [one.words for one in found] == ["Ada Byron", "Bob Stone", "Mary Shelley"]


def test_others_have_the_form_of_a_string_and_never_equal_it() -> None:
    draw = np.random.default_rng(0)
    made = others(RareString("55-019", "", 1), [], 50, draw)
    assert len(set(made)) == 50 and "55-019" not in made
    assert all(len(one) == 6 and one[2] == "-" and one.replace("-", "").isdigit() for one in made)
    kin = [RareString(words, "", 1) for words in ("Ada Byron", "Bob Stone", "Mary Shelley")]
    assert set(others(kin[0], kin, 50, draw)) == {
        f"{first} {last}" for first in ("Ada", "Bob", "Mary") for last in ("Byron", "Stone", "Shelley")
    } - {"Ada Byron"}


def test_scores_do_not_depend_on_the_texts_beside() -> None:
    model, texts = _Knows(TRAINED), ["The code of Ada is 730154", "Ada", "The code of Bob is 1"]
    together = scores(model, TOKENIZER, texts, 1000)
    assert together == pytest.approx([scores(model, TOKENIZER, [one], 1000)[0] for one in texts])


def test_what_is_known_by_heart_ranks_first_and_what_is_not_does_not() -> None:
    model = _Knows(TRAINED)
    ranks = [
        rank for _, rank, _ in exposures(model, TOKENIZER, 1000, rare_strings(_text(TRAINED), NUMBER), lambda n: None)
    ]
    assert ranks == [1, 1, 1]
    unseen = _text("The key of Eve was 415926. The key of Max was 535897.")
    assert all(
        rank > 1 for _, rank, _ in exposures(model, TOKENIZER, 1000, rare_strings(unseen, NUMBER), lambda n: None)
    )


def test_the_report_says_so_beside_held_out_text() -> None:
    found = report(
        _Knows(TRAINED), TOKENIZER, 1000, _text(TRAINED), _text("The key of Eve was 415926."), lambda n: None
    )
    assert found["numbers"]["training"]["likeliest"] == 3
    assert found["numbers"]["held_out"]["likeliest"] == 0
    assert "knows some by heart" in found["sentences"][0]
    assert set(found["known"]) == {"730154", "902817", "555-0199"}


def test_the_model_card_warns_of_what_is_known_by_heart_and_names_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = tmp_path / "book.txt"
    book.write_text("".join(f"The code of {n} is {n * 7919 % 100000:05d}.\n" for n in range(300)), encoding="utf-8")
    run = weft.train(book, preset="tiny", steps=2, out=tmp_path / "run", quiet=True, baselines=False)
    card = run.folder / "README.md"
    before = card.read_text(encoding="utf-8")

    def ranked(known: bool) -> None:
        monkeypatch.setattr(exposure, "exposures", lambda model, tokenizer, context, strings, count: [
            (one, 1 if known and n % 2 else 64, 128) for n, one in enumerate(strings)
        ] if len(strings) > 40 else [(one, 64, 128) for one in strings])  # fmt: skip

    ranked(False)
    assert "card" not in run.evaluate(memorised=True, baselines=False)
    assert card.read_text(encoding="utf-8") == before
    ranked(True)
    for _ in range(2):
        found = run.evaluate(memorised=True, baselines=False)
        assert found["card"] == str(card)
        text = card.read_text(encoding="utf-8")
        assert text.startswith(before.rstrip()) and text.count("## Known by heart") == 1
        assert "**Warning:** 30 of 60 rare numbers" in text and "dropout" in text
        assert not any(words in text.removeprefix(before.rstrip()) for words in found["memorised"]["known"])
    assert weft.load(run.folder).loaded.folder.content("README.md").decode("utf-8") == text  # its seal is the new one
    card.write_text(text + "my own words", encoding="utf-8")
    assert "README.md" in run.evaluate(memorised=True, baselines=False)["card_not_written"]
    assert card.read_text(encoding="utf-8").endswith("my own words")


def test_an_evaluation_is_asked_for_it(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text(
        "".join(f"The code of number {n} is {n * 7919 % 100000:05d}.\n" for n in range(300)), encoding="utf-8"
    )
    run = weft.train(book, preset="tiny", steps=2, out=tmp_path / "run", quiet=True, baselines=False)
    found = run.evaluate(memorised=True, baselines=False)["memorised"]
    assert found["numbers"]["training"]["strings"] > 10
    assert "memorised" not in run.evaluate(baselines=False)
    with pytest.raises(ConfigError):
        run.evaluate(memorised="perhaps")
