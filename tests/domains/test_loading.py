"""A task makes its codecs and settings known when it is imported, in a process that has imported nothing else."""

import pytest
from helpers import fresh

from weft.domains.registry import CARDS

LABELS = {"ClassCodec", "NumberCodec", "SeveralCodec"}
CODECS = {
    "language-model": {"TextCodec", "TurnCodec"},
    "fill-mask": {"TextCodec"},
    "translate": {"TextCodec"},
    "parse": {"TextCodec", "SymbolCodec", "GapCodec"},
    "classify-text": {"TextCodec", *LABELS},
    "tag-text": {"TextCodec", "TagCodec"},
    "answer-text": {"TextCodec"},
    "classify-images": {"PictureCodec", *LABELS},
    "reconstruct-images": {"PictureCodec"},
    "distill-images": {"PictureCodec"},
    "caption": {"PictureCodec", "TextCodec"},
    "answer": {"PictureCodec", "TextCodec", "UsualAnswers", "SeveralCodec"},
    "forecast": {"FieldCodec"},
    "fit-field": {"PlaceCodec", "ColourCodec", *LABELS},
    "embed-words": {"WordCodec"},
    "graph": {"GraphCodec", *LABELS},
    "sets": {"GraphCodec", *LABELS},
}


def known_after(process: fresh.Fresh, config: dict[str, object]) -> tuple[bool, set[str]]:
    """For the config of a run, whose task is imported in a fresh process: whether its settings are known; all names."""
    settings, names = process.call("helpers.opened.known_after", config)
    return settings, set(names)


def test_every_task_has_its_codecs_named_here() -> None:
    assert list(CARDS) == list(CODECS)


@pytest.mark.parametrize("name", CODECS)
def test_a_task_brings_its_own_codecs_and_settings(process: fresh.Fresh, name: str) -> None:
    settings, parts = known_after(process, {"task": name})
    assert settings and CODECS[name] <= parts


def test_the_parts_of_a_task_are_made_of_what_it_brings() -> None:
    for name, card in CARDS.items():
        kinds = {kind for parts in card.task.parts for end in parts.ends.values() for kind in end.codecs}
        own = {kind.__name__ for kind in kinds} - {"LabelCodec"}
        assert own <= CODECS[name], name


def test_a_run_without_a_task_that_has_codecs_knows_them_and_one_without_codecs_imports_no_task(
    process: fresh.Fresh,
) -> None:
    _, parts = known_after(process, {"codecs": {"text": {"type": "TextCodec"}}})
    assert set().union(*CODECS.values()) <= parts
    _, parts = known_after(process, {"codecs": {}})
    assert "TextCodec" not in parts


def test_a_run_with_a_codec_of_another_task_knows_it(process: fresh.Fresh) -> None:
    """As one of a model of pictures that was imported with a tokenizer."""
    settings, parts = known_after(process, {"task": "forecast", "codecs": {"word": {"type": "WordCodec"}}})
    assert settings and {"FieldCodec", "WordCodec"} <= parts
