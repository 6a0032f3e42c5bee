"""Names of languages, and of the two sides of a translation, as people write them. Refuses to know tables and files."""

import re
from collections.abc import Iterable

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
FILLERS = {"text", "sentence", "segment"}  # "source_text", "sentence en"


def language(name: str | None) -> str | None:
    """The code of the language that a name stands for: en, en-US, eng, English, text_en."""
    plain = bare(name or "")
    if plain in WORDS:
        return WORDS[plain]
    tag = TAG.fullmatch(plain)
    base = tag[1] if tag else ""
    return base if base in CODES else WORDS.get(base)


def marks_of(name: str, marks: Iterable[str]) -> list[str]:
    """The marks of languages that a name stands for: "en", "eng" and "English" for __en__, en_XX or eng_Latn."""
    known = list(marks)
    if name in known:
        return [name]
    asked, code = bare(name), language(name)
    exact = [mark for mark in known if bare(mark) == asked]
    alike = [mark for mark in known if bare(mark).partition("-")[0] == asked or (code and language(mark) == code)]
    return exact or alike


def side(name: str | None) -> str | None:
    """Which side of a translation a name stands for: source or target."""
    return ROLES.get(bare(name or ""))


def meaning(name: str | None) -> str | None:
    """What a name says of a column of texts to translate: its side, else its language."""
    return side(name) or language(name)


def bare(name: str) -> str:
    """A name in lower case without words that say nothing: "Sentence EN" is "en"."""
    words = [word for word in re.split(r"[\s_\-]+", name.casefold().strip()) if word]
    return "-".join([word for word in words if word not in FILLERS] or words)


def languages_of_file(stem: str, count: int) -> list[str | None]:
    """Names for columns without a header, if the file's name has exactly as many languages: tatoeba.en-fr -> en, fr."""
    words = [language(word) for word in re.split(r"[._\-]", stem)]
    last = next((i for i in range(len(words), 0, -1) if words[i - 1]), 0)
    first = next((i for i in range(last, 0, -1) if not words[i - 1]), 0)
    found = words[first:last]
    return list(found) if len(found) == count == len(set(found)) else [None] * count
