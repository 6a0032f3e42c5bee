"""The roles that columns of users' tables have: source and target, text and label, picture and caption or question.

Names are those that public data sets use, the likeliest first.
"""

import re
from collections.abc import Callable, Sequence

from weft.files.columns import NEARLY_ALL, Column, plain
from weft.files.languages import SOURCE as SOURCE_SIDE
from weft.files.languages import TARGET as TARGET_SIDE
from weft.files.languages import bare, language, meaning, side
from weft.files.pictures.formats import named_as_picture
from weft.files.roles import Role, known_as

SURE_TEXT_NAMES = (
    "text", "sentence", "review", "question", "content", "comment", "body", "message", "tweet", "document", "utterance",
    "query",
)  # fmt: skip
TEXT_NAMES = (*SURE_TEXT_NAMES, "description", "headline", "title")
LABEL_NAMES = (
    "label", "class", "category", "sentiment", "target", "labels", "intent", "topic", "emotion", "polarity", "rating",
    "stars", "score", "gold",
)  # fmt: skip
PICTURE_NAMES = (
    "path", "file", "filename", "file_name", "filepath", "image", "image_path", "picture", "image_name", "image_file",
    "img", "photo",
)  # fmt: skip
CLASS_NAMES = ("label", "class", "category", "labels")  # of pictures
NUMBER_NAMES = ("value", "number", "target", "score")  # of numbers to be learned of pictures
SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smile", "smiles_string", "smi")  # of molecules
LAT_NAMES = ("lat", "latitude", "lat_deg", "latitude_deg", "breitengrad")
LON_NAMES = ("lon", "lng", "long", "longitude", "lon_deg", "longitude_deg", "laengengrad")
TIME_NAMES = ("time", "date", "datetime", "timestamp", "valid_time")
VALUE_NAMES = ("value", "label", "class", "category", "target")  # at places
SURE_QUESTION_NAMES = ("question", "questions")  # of questions and of nothing else
QUESTION_NAMES = (*SURE_QUESTION_NAMES, "query", "prompt")
SURE_PASSAGE_NAMES = ("context", "passage", "paragraph")
PASSAGE_NAMES = (*SURE_PASSAGE_NAMES, "document", "article", "text", "content")  # in which questions are answered
KIND_NAMES = ("kind", "question_type", "answer_type", "question_kind", "type")
ANSWER_NAME = re.compile(r"answers?_?\d*")
CAPTION_NAME = re.compile(r"(?:caption|text|sentence|title|description|comment)s?_?\d*")
COUNTED = re.compile(r"(.+\.\w+)#\d+")  # a picture's name with the number of the caption behind it
OFTEN_NUMBERS = ("id", "no")  # "id, en, fr" numbers its rows far more often than it holds Indonesian
UNTEXTLIKE = ("number", "date", "address", "picture", "code", "empty")
SENTENCE = 5  # words of a typical text in a column of another name; names of people, cars and films have fewer
ENOUGH = 10  # rows by which the content of a column is judged


def holds_text(column: Column) -> bool:
    """Whether values may be words or sentences, as far as can be told."""
    return len(column.values) < ENOUGH or column.looks not in UNTEXTLIKE


def holds_sentences(column: Column) -> bool:
    """Whether values are texts to learn from, beyond doubt: many different ones, of several words each."""
    words = 2 if plain(column.name or "") in SURE_TEXT_NAMES else SENTENCE
    return column.looks == "text" and column.words >= words


# Pairs


def _named_side(wanted: str) -> Callable[[Sequence[str | None]], list[int]]:
    def by_name(names: Sequence[str | None]) -> list[int]:
        languages = [place for place, name in enumerate(names) if language(name) and not side(name)]
        if len(languages) > 2:
            languages = [place for place in languages if bare(names[place] or "") not in OFTEN_NUMBERS]
        return [*(place for place, name in enumerate(names) if side(name) == wanted), *languages]

    return by_name


def _first_text(columns: Sequence[Column]) -> list[int]:
    """The first column that is not of numbers, dates or the like; of two columns always the first."""
    texts = [column for column in columns if holds_text(column)]
    enough = len(texts) > 1 or (texts and len(columns) != 2)
    return [column.place for column in (texts if enough else columns)]


SOURCE = Role("source", _named_side(SOURCE_SIDE), _first_text, meaning)
TARGET = Role("target", _named_side(TARGET_SIDE), _first_text, meaning)
PAIR = (SOURCE, TARGET)

# Labelled texts


def _only_label(columns: Sequence[Column]) -> list[int]:
    """The one column that can only be a label. Of just two columns, the one with far fewer different values."""
    classes = sorted((column for column in columns if column.is_class), key=lambda column: column.distinct)
    numbers = [column for column in columns if column.is_number and not column.is_class]
    if len(classes) == 2 == len(columns) and classes[0].distinct * 4 <= classes[1].distinct:
        return [classes[0].place]
    return [(classes + numbers)[0].place] if len(classes) + len(numbers) == 1 else []


def _longest(columns: Sequence[Column]) -> list[int]:
    """The only column, or one whose values are twice as long as all others."""
    order = sorted(columns, key=lambda column: -column.length)
    clear = bool(order) and (len(order) == 1 or order[0].length >= 2 * order[1].length)
    return [order[0].place] if clear and order[0].length > 0 else []


TEXT = known_as("text", TEXT_NAMES, _longest, like=".*_text", last=True)
LABEL = known_as("label", LABEL_NAMES, _only_label, like=".*_label")
LABELLED = (TEXT, LABEL)

# Pictures


def picture_name(cell: str) -> str:
    """The name of a picture without the number of the caption behind it, as in dog.jpg#2."""
    counted = COUNTED.fullmatch(cell.strip())
    return counted[1] if counted else cell.strip()


def _pictures(columns: Sequence[Column]) -> list[int]:
    """The columns most of whose cells are names of pictures."""
    return [
        c.place
        for c in columns
        if c.values and 2 * sum(named_as_picture(picture_name(v)) for v in c.values) > len(c.values)
    ]


def _captions(names: Sequence[str | None]) -> list[int]:
    return [place for place, name in enumerate(names) if CAPTION_NAME.fullmatch(plain(name or ""))]


PICTURE = known_as("picture", PICTURE_NAMES, _pictures)
CAPTION = Role("caption", _captions, lambda columns: [], lambda name: "caption" if _captions([name]) else None)
CAPTIONED = (PICTURE, CAPTION)

# Questions about pictures


def _questions(columns: Sequence[Column]) -> list[int]:
    """The columns nearly all of whose texts end in a question mark."""
    marks = ("?", "？", "؟")
    return [
        c.place for c in columns if c.values and sum(v.endswith(marks) for v in c.values) >= NEARLY_ALL * len(c.values)
    ]


def _answers(names: Sequence[str | None]) -> list[int]:
    return [place for place, name in enumerate(names) if ANSWER_NAME.fullmatch(plain(name or ""))]


QUESTION = known_as("question", QUESTION_NAMES, _questions)
ANSWER = Role("answer", _answers, lambda columns: [], lambda name: "answer" if _answers([name]) else None)
KIND = known_as("kind", KIND_NAMES)
ASKED = (PICTURE, QUESTION, ANSWER, KIND)

# Questions about passages

PASSAGE = known_as("passage", PASSAGE_NAMES, _longest, last=True)
PASSAGE_ASKED = (PASSAGE, QUESTION, ANSWER)

# Talks in turns

TALK_LISTS = ("messages", "conversations", "conversation")
TALK_ASKED, TALK_ANSWERED = ("instruction", "prompt", "question"), ("output", "completion", "response")
INSTRUCTION = known_as("instruction", TALK_ASKED)
RESPONSE = known_as("response", TALK_ANSWERED)


def holds_talks(names: Sequence[str | None]) -> bool:
    """Whether columns of these names are those of talks; pictures beside them are other data."""
    known = {plain(name or "") for name in names}
    if known & {"image", "images"}:
        return False
    return bool(known & {*TALK_LISTS} or (known & {*TALK_ASKED} and known & {*TALK_ANSWERED}))


# Places


def _only_other(columns: Sequence[Column]) -> list[int]:
    """The one column that is left."""
    filled = [column for column in columns if column.values]
    return [filled[0].place] if len(filled) == 1 else []


LAT = known_as("latitude", LAT_NAMES, like=r".*latitude(_.*)?|(.*_)?lat(_.*)?")
LON = known_as("longitude", LON_NAMES, like=r".*longitude(_.*)?|(.*_)?(lon|lng)(_.*)?|.*_long")
TIME = known_as("time", TIME_NAMES)
VALUE = known_as("value", VALUE_NAMES, _only_other, last=True)
PLACED = (LAT, LON, VALUE)

ALL = (*PAIR, *LABELLED, *CAPTIONED, LAT, LON, INSTRUCTION, RESPONSE)
