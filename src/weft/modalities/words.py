"""The words of a text, as people count them: for pictures, alignments, and vectors of words."""

from itertools import pairwise
from typing import Literal

import regex

# One sign at a time where writing has no spaces; else a run of letters, marks and digits with the apostrophe that joins
# it to the next ("L'" "accord"); any other visible character alone.
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_WORD = regex.compile(rf"{_UNSPACED}\p{{M}}*|(?:(?!{_UNSPACED})[\p{{L}}\p{{M}}\p{{N}}_])+['’]?|\S")
# A word of a vocabulary has no sign around it, and keeps an apostrophe within it ("don't"); a short word that is joined
# to a longer one by it stands alone ("l'" "accord").
_LETTER = rf"(?:(?!{_UNSPACED})[\p{{L}}\p{{M}}\p{{N}}_])"
_PLAIN = rf"{_UNSPACED}\p{{M}}*|{_LETTER}{{1,2}}['’](?={_LETTER}{{3}})|{_LETTER}+(?:['’]{_LETTER}+)*"
_BREAKS = {name: regex.compile(f"{end}|{_PLAIN}") for name, end in
           (("lines", r"\n"), ("paragraphs", r"\n[^\S\n]*\n"), ("documents", r"(?!)"))}  # fmt: skip
Breaks = Literal["lines", "paragraphs", "documents"]
_ALONE = regex.compile(_UNSPACED)
_SENTENCE = regex.compile(r"(?<=[.!?…。！？।؟])[\"'»”’)\]]*\s+|(?<=[。！？])")


def is_unspaced(sign: str) -> bool:
    """Whether a sign belongs to a writing without spaces, where each is a word of its own."""
    return _ALONE.fullmatch(sign) is not None


def spans(text: str) -> list[tuple[int, int]]:
    """Where each word begins and ends."""
    return [found.span() for found in _WORD.finditer(text)]


def words(text: str) -> list[str]:
    """The words in their order: "L'accord." gives "L'", "accord" and "."."""
    return [text[start:end] for start, end in spans(text)]


def sentences(text: str) -> list[str]:
    """A text cut behind the marks that end sentences."""
    cuts = [0, *(found.end() for found in _SENTENCE.finditer(text)), len(text)]
    found = (text[a:b].strip() for a, b in pairwise(cuts))
    return [sentence for sentence in found if sentence]


def plain_words(text: str, breaks: Breaks) -> list[str]:
    """The words without the signs around them, and the white space with a line end where a sentence may end.

    `breaks` says where that is: at the end of each line, at an empty line, or nowhere within a document.
    """
    return _BREAKS[breaks].findall(text)
