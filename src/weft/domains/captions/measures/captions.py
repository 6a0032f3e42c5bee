"""How good captions are: CIDEr-D, ROUGE-L and BLEU-1 to BLEU-4 as pycocoevalcap computes them.

References are counted once; any number of captions for the same pictures can then be scored. Everything is kept for
each picture, so that means, differences and intervals over pictures follow. Knows words, refuses to know pictures and
models.

Words are those of the Penn Treebank, in lower case, without punctuation: what pycocoevalcap's PTBTokenizer gives
(Stanford CoreNLP 3.4.1 with -lowerCase, then a list of marks dropped), without Java. Languages other than English are
not known, nor marks that captions do not have, such as telephone numbers in brackets.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from weft.objectives.measures.ngrams import ORDERS, Grams, Words, count_grams, longest_common, places_of

DROPPED = re.compile(r"''|['`\".?!,:;-]|``|--+|\.\.\.+")
MOST_REMEMBERED = 2**17  # pieces of text between spaces whose words are remembered

# Abbreviations keep their full stop: in any case, with a capital alone, or before a number alone.
ABBREVIATIONS = (
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu|thurs|fri|ala|ariz|calif|colo|conn|ct|dak|fla|ga|ind|kans?|ky|md|mich|"
    "minn|mo|mont|neb|nev|okla|penn|tenn|vt|va|wisc?|wyo|mrs?|ms|drs?|profs?|sens?|reps?|attys?|lt|col|gen|messrs|govs?|adm|rev|maj|sgt|cpl|"
    "pvt|capt|ste?|ave|pres|lieut|hon|brig|comdr|cmdr|pfc|spc|supts?|det|jr|sr|bros|esq|inc|cos?|corp|ptys?|plc|bancorp|dept|bhd|assn|univ|"
    "intl|sys|ltd|bldg|vs|al|seq|etc|cf|est|tel|rd|blvd|mt|ft|asst|ext|mme|mlle|msgr|ph|rt|sq|wm"
)
WITH_CAPITAL = "A(?i:z|rk)|D(?i:el)|I(?i:ll)|L(?i:a)|M(?i:ass|iss)|O(?i:re)|P(?i:a)|T(?i:ex)|W(?i:ash)"
BEFORE_NUMBER = frozenset(("ca.", "fig.", "figs.", "prop.", "no.", "nos.", "art.", "pp.", "op."))

LETTER = r"[^\W\d_]"
ENDS = r"'(?:s|m|d|ll|re|ve)(?!\w)|n't(?!\w)"  # what is split off a word
KEPT_WHOLE = (
    r"</?[a-z!][^<>\s]*>"  # marks of markup
    r"|(?:https?|ftp)://[^\s\"<>|]+|www\.[^\s\"<>|]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # addresses
    rf"|[#@]{LETTER}\w*"
    # no space behind a mark
    rf"|{LETTER}+(?:[.!?]{LETTER}{{2,}})+|{LETTER}{{2,}}(?:[.!?]{LETTER}+)+(?!\.)|{LETTER}[!?]{LETTER}+"
)
APOSTROPHES = (
    rf"'n'|'n(?!\w)|'t(?=(?:is|was)(?!\w))|'(?:em|till?|cause)(?!\w)|'[2-9]0s(?!\w)|ol'(?!\w)|y'(?=all(?!\w))|c'mon(?!\w)"
    rf"|[a-hj-xz]'{LETTER}{{2,}}|{LETTER}*[aeiouy]'(?:[aeiou]{LETTER}*)|ma'am(?!\w)"
)
NUMBERS = (
    r"\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}-\d{1,2}-\d{2,4}(?!\w)|\d+:\d\d(?=[ap]\.?m)"
    r"|[-+]?(?:\d+(?:[.,:]\d+)+|[.,]\d+)(?:-\w+)*|[-+]\d+(?!\w)|\d+/\d+(?:-\w+)*|\d+-\d+/\d+"
)
MARKS = r"\.\.\.+|--+|``|''|[!?]+|us\$|\S"


def _spellings() -> re.Pattern[str]:
    """Words of a piece of text without spaces, the first that fits at each place."""
    short = rf"(?:(?i:{ABBREVIATIONS})|{WITH_CAPITAL})\.(?!\w)|(?i:(?:ph|ed)\.d\.)"
    initials = rf"(?:{LETTER}\.)+(?:{LETTER}(?!\w))?|[A-Z]+&[A-Z]+(?!\w)"
    word = rf"(?:(?!{ENDS})\w)+(?:[-_/](?:(?!{ENDS})\w)+)*"
    return re.compile(
        rf"(?i:{KEPT_WHOLE})|{short}|(?i:{APOSTROPHES})|(?i:{ENDS})|(?<!\w)(?:{initials})|(?i:{NUMBERS})|(?i:{word})|(?i:{MARKS})"
    )


SPELLINGS = _spellings()
JOINED = {"cannot": ("can", "not"), "gonna": ("gon", "na"), "gotta": ("got", "ta"), "lemme": ("lem", "me"),
          "gimme": ("gim", "me"), "wanna": ("wan", "na")}  # fmt: skip
BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
TYPED = {"“": '"', "”": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "…": "...", "–": "--", "—": "--", "―": "--",
         "½": "1/2", "¼": "1/4", "£": "#", "€": "$", "¤": "$", "¢": "cents", "&amp;": "&", "&quot;": '"', "&lt;": "<",
         "&gt;": ">", "&nbsp;": " "}  # fmt: skip
UNTYPED = re.compile("|".join(map(re.escape, TYPED)))


def caption_words(text: str) -> list[str]:
    """The words of a caption."""
    pieces = UNTYPED.sub(lambda found: TYPED[found[0]], text).split()
    words: list[str] = []
    for place, piece in enumerate(pieces):
        if piece.lower() in BEFORE_NUMBER and place + 1 < len(pieces) and pieces[place + 1][0].isdigit():
            words.append(piece.lower())
        else:
            words.extend(_words_of(piece))
    return words


@lru_cache(maxsize=MOST_REMEMBERED)
def _words_of(piece: str) -> tuple[str, ...]:
    found: list[str] = []
    for match in SPELLINGS.finditer(piece):
        word = match[0].lower()
        found.extend(JOINED.get(word, (BRACKETS.get(word, word),)))
    return tuple(word for word in found if not DROPPED.fullmatch(word))


SIGMA = 6.0  # of CIDEr-D's penalty for another length, in words
BETA = 1.2  # of ROUGE-L: how much more recall counts than precision
SMALL, TINY = 1e-9, 1e-15  # keep BLEU's fractions defined
LENGTHS = 2  # columns of BLEU's counts before the hits: the length of the caption, and of the reference closest to it


@dataclass(frozen=True)
class CaptionScores:
    """The scores of one caption for each picture.

    `counts` (pictures, 2 + 4 + 4) is what BLEU adds up: both lengths, n-grams that a reference has too, all n-grams.
    """

    cider_d: np.ndarray
    rouge_l: np.ndarray
    counts: np.ndarray

    def means(self, places: np.ndarray | None = None) -> dict[str, float]:
        """The measures over all pictures, or over those at some places."""
        at = slice(None) if places is None else places
        bleu = {f"bleu_{n}": value for n, value in enumerate(bleu_of(self.counts[at].sum(0)), 1)}
        return {"cider_d": float(self.cider_d[at].mean()), **bleu, "rouge_l": float(self.rouge_l[at].mean())}


def bleu_of(counts: np.ndarray) -> list[float]:
    """BLEU-1 to BLEU-4 (Papineni et al., 2002) of summed counts, from 0 to 1."""
    length, wanted = counts[:LENGTHS]
    hits, all = counts[LENGTHS:].reshape(2, ORDERS)
    means = np.cumprod((hits + TINY) / (all + SMALL)) ** (1 / np.arange(1, ORDERS + 1))
    ratio = (length + TINY) / (wanted + SMALL)
    return [float(value) for value in means * (np.exp(1 - 1 / ratio) if ratio < 1 else 1.0)]


class _Known:
    """The n-grams of one order in all references: how rare each is, and how often each picture's references have it."""

    def __init__(self, grams: Grams, owner: np.ndarray, pictures: int):
        self.grams = grams
        self.codes, self.first, self.number = np.unique(grams.code, return_index=True, return_inverse=True)
        self.key = self.numbered(
            owner[grams.text], self.number
        )  # of each n-gram of each reference: its picture, its number
        order = np.argsort(self.key, kind="stable")
        first = np.flatnonzero(np.r_[True, np.diff(self.key[order]) != 0][: len(order)])
        self.keys = self.key[order][first]
        self.most = np.maximum.reduceat(grams.often[order], first) if len(first) else np.zeros(0)
        self.unseen = float(np.log(pictures))  # the weight of an n-gram that no reference has
        in_pictures = np.bincount(self.keys % max(len(self.codes), 1), minlength=len(self.codes))
        self.rarity = self.unseen - np.log(np.maximum(in_pictures, 1))
        self.norm = self._norms(grams.text, grams.often * self.rarity[self.number], len(owner))

    def numbered(self, picture: np.ndarray, number: np.ndarray) -> np.ndarray:
        """One number for a picture and an n-gram."""
        return picture * max(len(self.codes), 1) + number

    def _norms(self, text: np.ndarray, weights: np.ndarray, texts: int) -> np.ndarray:
        return np.sqrt(np.bincount(text, weights**2, texts))

    def cosines(self, found: Grams, owner: np.ndarray, pictures: int) -> np.ndarray:
        """For each reference, the cosine of its weights and its caption's, clipped to the counts of the reference."""
        number, known = places_of(self.codes, found.code)
        weight = np.where(known, self.rarity[number] if len(self.codes) else 0.0, self.unseen)
        norm = self._norms(found.text, found.often * weight, pictures)
        order = np.argsort(keys := self.numbered(found.text[known], number[known]))
        at, there = places_of(keys[order], self.key)
        often = np.where(there, found.often[known][order][at] if len(order) else 0.0, 0.0)
        products = np.minimum(often, self.grams.often) * self.grams.often * self.rarity[self.number] ** 2
        both = self.norm * norm[owner]
        return np.bincount(self.grams.text, products, len(owner)) / np.where(both > 0, both, 1.0)

    def cosines_of_one(self, found: Grams, texts: int) -> np.ndarray:
        """The same for one caption and all references."""
        number, known = places_of(self.codes, found.code)
        weight = np.where(known, self.rarity[number] if len(self.codes) else 0.0, self.unseen)
        products, ends = np.zeros(texts), np.append(self.first[1:], len(self.number))
        for place, often in zip(number[known], found.often[known], strict=True):
            rows = slice(self.first[place], ends[place])  # n-grams stand together
            theirs = self.grams.often[rows]
            products[self.grams.text[rows]] += np.minimum(often, theirs) * theirs * self.rarity[place] ** 2
        both = self.norm * np.linalg.norm(found.often * weight)
        return products / np.where(both > 0, both, 1.0)

    def hits(self, found: Grams, pictures: int) -> np.ndarray:
        """How many n-grams of each caption a reference has too, each at most as often as in one reference."""
        number, known = places_of(self.codes, found.code)
        at, there = places_of(self.keys, self.numbered(found.text, number))
        most = np.where(known & there, self.most[at] if len(self.keys) else 0.0, 0.0)
        return np.bincount(found.text, np.minimum(most, found.often), pictures)


class CaptionScorer:
    """Scores captions for pictures that have these references, at least one each."""

    def __init__(self, references: Sequence[Sequence[str]]):
        self.references = [[caption_words(text) for text in texts] for texts in references]
        flat = [words for texts in self.references for words in texts]
        self.many = np.array([len(texts) for texts in references])
        self.owner = np.repeat(np.arange(len(references)), self.many)
        self.lengths = np.array([len(words) for words in flat])
        self.known = [_Known(grams, self.owner, len(references)) for grams in count_grams(flat)]

    def __call__(self, found: Sequence[str]) -> CaptionScores:
        """The scores of one caption for each picture."""
        words = [caption_words(text) for text in found]
        grams = count_grams(words)
        rouge = [_rouge_l(one, texts) for one, texts in zip(words, self.references, strict=True)]
        return CaptionScores(self._cider_d(words, grams), np.array(rouge), self._bleu_counts(words, grams))

    def cider_d(self, found: Sequence[str]) -> np.ndarray:
        """CIDEr-D (Vedantam et al., 2015) of one caption for each picture, from 0 to 10."""
        words = [caption_words(text) for text in found]
        return self._cider_d(words, count_grams(words))

    def cider_d_of_one(self, text: str) -> np.ndarray:
        """CIDEr-D of the same caption for every picture."""
        words = [caption_words(text)]
        cosines = [k.cosines_of_one(g, len(self.owner)) for k, g in zip(self.known, count_grams(words), strict=True)]
        return self._averaged(cosines, _lengths(words).repeat(len(self.many)))

    def _cider_d(self, words: Sequence[Words], grams: Sequence[Grams]) -> np.ndarray:
        cosines = [known.cosines(one, self.owner, len(words)) for known, one in zip(self.known, grams, strict=True)]
        return self._averaged(cosines, _lengths(words))

    def _averaged(self, cosines: Sequence[np.ndarray], lengths: np.ndarray) -> np.ndarray:
        """The mean over orders and references, less where lengths differ (in pairs of words, as in pycocoevalcap)."""
        away = np.maximum(lengths - 1, 0)[self.owner] - np.maximum(self.lengths - 1, 0)
        near = np.exp(-(away**2) / (2 * SIGMA**2))
        return 10 * np.bincount(self.owner, np.mean(cosines, 0) * near, len(self.many)) / self.many

    def _bleu_counts(self, words: Sequence[Words], grams: Sequence[Grams]) -> np.ndarray:
        length = _lengths(words)
        away = np.abs(length[self.owner] - self.lengths)
        order = np.lexsort((self.lengths, away, self.owner))  # of references as close, the shorter
        closest = self.lengths[order][np.cumsum(self.many) - self.many]
        hits = [known.hits(one, len(words)) for known, one in zip(self.known, grams, strict=True)]
        all = [np.maximum(length - n, 0) for n in range(ORDERS)]
        return np.stack([length, closest, *hits, *all], 1).astype(np.float64)


def _lengths(words: Sequence[Words]) -> np.ndarray:
    return np.array([len(one) for one in words])


def _rouge_l(words: Words, references: Sequence[Words]) -> float:
    """ROUGE-L (Lin, 2004): best precision and best recall over the references, by longest common subsequences."""
    words = words or [""]
    common = [(longest_common(one or [""], words), len(one) or 1) for one in references]
    precision, recall = max(n for n, _ in common) / len(words), max(n / length for n, length in common)
    if precision == 0 or recall == 0:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)
