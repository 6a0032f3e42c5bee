"""The words of a text, as people count them: for pictures and alignments. Models never see them."""

from itertools import pairwise

import regex

# One sign at a time where writing has no spaces; else a run of letters, marks and digits with the apostrophe that joins
# it to the next ("L'" "accord"); any other visible character alone.
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_WORD = regex.compile(rf"{_UNSPACED}\p{{M}}*|(?:(?!{_UNSPACED})[\p{{L}}\p{{M}}\p{{N}}_])+['’]?|\S")
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
