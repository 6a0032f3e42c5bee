"""Which languages a translator is used for, where its tokenizer has marks of languages."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from weft.domains.pairs.codec import ChosenLanguages
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError, listed
from weft.files.languages import marks_of
from weft.generate.compute import Compute
from weft.generate.decode import Decoding
from weft.tasks.codec import Codecs
from weft.tasks.request import Loaded

ENDS = ("source", "target")


class Translating(ChosenLanguages, Decoding):
    """How a translation is found, and between which languages."""

    about: ClassVar[Mapping[str, str]] = {**Decoding.about, **ChosenLanguages.about}


class Measuring(ChosenLanguages, Compute):
    """Between which languages translations are measured, and in which precision the model computes."""

    about: ClassVar[Mapping[str, str]] = {**ChosenLanguages.about, **Compute.about}


def in_languages(run: Loaded, how: ChosenLanguages) -> Loaded:
    """The run for texts in the languages that a user names."""
    asked = {end: getattr(how, f"{end}_language") for end in ENDS}
    chosen = {end: _in(run.codec(end, TextCodec), name, end) for end, name in asked.items() if name is not None}
    return replace(run, codecs={**run.codecs, **chosen}) if chosen else run


def in_languages_of_columns(codecs: Codecs, columns: tuple[str, ...]) -> Codecs:
    """The codecs for texts in the languages that columns are named by, as far as they are."""
    chosen: dict[str, TextCodec] = {}
    for end, column in zip(ENDS, columns, strict=False):
        codec = codecs[end]
        assert isinstance(codec, TextCodec)
        marks = marks_of(column, codec.config.languages)
        if len(marks) == 1:
            chosen[end] = codec.in_language(marks[0])
    return {**codecs, **chosen}


def _in(codec: TextCodec, name: str, end: str) -> TextCodec:
    known, where = codec.config.languages, f"--set {end}_language"
    if not known:
        problem = "this model has no marks of languages: it translates between those that it learned"
        raise ConfigError(problem, where=where, fix="leave it out")
    marks = marks_of(name, known)
    if not marks:
        problem = f"the model does not know the language {name!r}"
        raise ConfigError(problem, where=where, fix=f"known: {', '.join(known)}")
    if len(marks) > 1:
        raise ConfigError(f"{name!r} may be {listed(marks)}", where=where, fix="name one of them")
    return codec.in_language(marks[0])
