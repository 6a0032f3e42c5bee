"""Which column is the source and which the target. Knows names of languages and roles; refuses to know files.

A column is a list's place with a name, or None where nobody named it: cells of a header, keys of a JSON object,
languages of a translation memory.
"""

import re
from collections.abc import Sequence

from weft.errors import DataError, nearest

ISO_639_1 = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz "
    "ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik "
    "io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml "
    "mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd "
    "se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi "
    "vo wa wo xh yi yo za zh zu"
)
NAMES = {  # other words for the languages people translate most
    "ar": "arabic ara العربية", "bg": "bulgarian bul", "ca": "catalan cat català",
    "cs": "czech ces cze čeština", "da": "danish dan dansk", "de": "german deu ger deutsch",
    "el": "greek ell gre ελληνικά", "en": "english eng", "eo": "esperanto epo",
    "es": "spanish spa español castellano", "et": "estonian est", "eu": "basque eus euskara",
    "fa": "persian fas farsi", "fi": "finnish fin suomi", "fr": "french fra fre français",
    "ga": "irish gle gaeilge", "he": "hebrew heb עברית", "hi": "hindi hin हिन्दी",
    "hr": "croatian hrv hrvatski", "hu": "hungarian hun magyar", "id": "indonesian ind", "is": "icelandic isl",
    "it": "italian ita italiano", "ja": "japanese jpn 日本語", "ko": "korean kor 한국어", "la": "latin lat",
    "lt": "lithuanian lit", "lv": "latvian lav", "nl": "dutch nld nederlands", "no": "norwegian nor norsk",
    "pl": "polish pol polski", "pt": "portuguese por português", "ro": "romanian ron română",
    "ru": "russian rus русский", "sk": "slovak slk", "sl": "slovene slovenian slv", "sr": "serbian srp srpski",
    "sv": "swedish swe svenska", "sw": "swahili swa", "ta": "tamil tam", "th": "thai tha",
    "tr": "turkish tur türkçe", "uk": "ukrainian ukr українська", "ur": "urdu urd", "vi": "vietnamese vie",
    "zh": "chinese zho mandarin cmn 中文",
}  # fmt: skip
CODES = frozenset(ISO_639_1.split())
WORDS = {word: code for code, words in NAMES.items() for word in words.split()}
TAG = re.compile(r"([a-z]{2,3})(?:-(?:hans|hant|latn|cyrl|arab))?(?:-(?:[a-z]{2}|\d{3}))?")
SOURCE, TARGET = "source", "target"
ROLES = {"source": SOURCE, "src": SOURCE, "target": TARGET, "tgt": TARGET, "trg": TARGET, "translation": TARGET}
OFTEN_NUMBERS = ("id", "no")  # "id, en, fr" numbers its rows far more often than it holds Indonesian
FILLERS = {"text", "sentence", "segment"}  # "source_text", "sentence en"


def language(name: str | None) -> str | None:
    """The code of the language that a name stands for: en, en-US, eng, English, text_en."""
    plain = _plain(name or "")
    if plain in WORDS:
        return WORDS[plain]
    tag = TAG.fullmatch(plain)
    base = tag[1] if tag else ""
    return base if base in CODES else WORDS.get(base)


def is_known(name: str) -> bool:
    """Whether a name alone tells that a column holds texts to translate: a role or a language."""
    return bool(_role(name) or language(name))


def label(name: str | None, place: int) -> str:
    """What to call a column in a report: its language, else its name, else its number."""
    return language(name) or name or f"column {place + 1}"


def is_header(cells: Sequence[str], source: str | None, target: str | None) -> bool:
    """Whether a first row names columns: it has those asked for, or names two different roles or languages."""
    asked = [name for name in (source, target) if name is not None and not name.isdecimal()]
    if asked and all(_matches(cells, name) for name in asked):
        return True
    return len({_role(cell) or language(cell) for cell in cells} - {None}) > 1


def languages_of_file(stem: str, count: int) -> list[str | None]:
    """Names for columns without a header, if the file's name has exactly as many languages: tatoeba.en-fr -> en, fr."""
    words = [language(word) for word in re.split(r"[._\-]", stem)]
    last = next((i for i in range(len(words), 0, -1) if words[i - 1]), 0)
    first = next((i for i in range(last, 0, -1) if not words[i - 1]), 0)
    found = words[first:last]
    return list(found) if len(found) == count == len(set(found)) else [None] * count


def choose(names: Sequence[str | None], source: str | None, target: str | None, *, where: str) -> tuple[int, int]:
    """The places of source and target: those asked for, else by role, else the first languages, else the first two."""
    if len(names) < 2:
        fix = "a pair needs two columns: in .tsv a tab separates them, in .csv a comma"
        raise DataError(f"{len(names)} column{'s' * (len(names) != 1)}, expected at least 2", where=where, fix=fix)
    asked = [None if name is None else _place(names, name, where) for name in (source, target)]
    if asked[0] is not None and asked[0] == asked[1]:
        raise DataError(f"source and target are both column {asked[0] + 1}", where=where, fix="name two columns")
    first = asked[0] if asked[0] is not None else next(i for i in _ranked(names, SOURCE) if i != asked[1])
    second = asked[1] if asked[1] is not None else next(i for i in _ranked(names, TARGET) if i != first)
    return first, second


def _ranked(names: Sequence[str | None], role: str) -> list[int]:
    """Places in the order in which they are taken for a role that nobody named."""
    languages = [i for i, name in enumerate(names) if language(name)]
    if len(languages) > 2:
        languages = [i for i in languages if _plain(names[i] or "") not in OFTEN_NUMBERS]

    def rank(place: int) -> tuple[int, int]:
        known = _role(names[place])
        return (0 if known == role else 3) if known else 1 if place in languages else 2, place

    return sorted(range(len(names)), key=rank)


def _place(names: Sequence[str | None], name: str, where: str) -> int:
    """The place of a column that was asked for by name or by number from 1."""
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return int(name) - 1
    matches = _matches(names, name)
    if len(matches) == 1:
        return matches[0]
    known = [n for n in names if n]
    if matches:
        fix = f"name it by number: {' or '.join(str(i + 1) for i in matches)}"
        raise DataError(f"{len(matches)} columns are named {name!r}", where=where, fix=fix)
    found = f"its columns: {', '.join(map(repr, known))}" if known else f"it has {len(names)} columns without names"
    fix = f"{nearest(name, known)}, or" if known else "give it a header line, or"
    raise DataError(f"no column {name!r}; {found}", where=where, fix=f"{fix} name it by number, from 1 to {len(names)}")


def _matches(names: Sequence[str | None], name: str) -> list[int]:
    """The places that bear a name, else those of its language."""
    exact = [i for i, n in enumerate(names) if n is not None and _plain(n) == _plain(name)]
    role, code = _role(name), language(name)
    alike = [i for i, n in enumerate(names) if (role and _role(n) == role) or (code and language(n) == code)]
    return exact or alike


def _plain(name: str) -> str:
    words = [word for word in re.split(r"[\s_\-]+", name.casefold().strip()) if word]
    return "-".join([word for word in words if word not in FILLERS] or words)


def _role(name: str | None) -> str | None:
    return ROLES.get(_plain(name or ""))
