"""The words of a caption as measures count them: those of the Penn Treebank, in lower case, without punctuation.

Gives what pycocoevalcap's PTBTokenizer gives (Stanford CoreNLP 3.4.1 with -lowerCase, then a list of marks dropped),
without Java. Knows English alone, and no marks that captions do not have, such as telephone numbers in brackets.
"""

import re
from functools import lru_cache

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
